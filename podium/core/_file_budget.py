"""FileBudget: what reading one file may cost, in proportion to its size.

Readers of files charge it for what they visit, parse and allocate, and so do classes that allocate
memory for an argument which may come from a config in a file. Outside of a `file_budget` block
nothing is limited.
"""

from __future__ import annotations

import contextlib
import threading
from typing import NamedTuple

from podium.core._context import override
from podium.core.compile._restore_on_error import register_thread_local


class FileBudgetError(ValueError):
    """A file costs more than its size allows. Messages continue the sentence "'path' ..."."""


class _Limit(NamedTuple):
    """The amount for an empty file, and what each byte of the file adds."""

    base: int
    per_byte: float


_LIMITS = {
    "nodes": _Limit(10_000, 1 / 32),  # groups, datasets and members visited
    "values": _Limit(1_000_000, 1 / 16),  # of JSON
    "fields": _Limit(1_000_000, 1 / 2),  # of protocol buffers
    "bytes": _Limit(64 << 20, 20),  # of arrays
}


class FileBudget:
    """How much of each kind the reader of a file may still use.

    Args:
        num_bytes: The size of the file.
    """

    def __init__(self, num_bytes: int):
        self._remaining = {
            kind: int(limit.base + limit.per_byte * num_bytes) for kind, limit in _LIMITS.items()
        }

    def allow(self, kind: str, amount: int) -> None:
        """Set what may be used of a kind that depends on the contents: "weights" of the file,
        "new weights" that are initialized, "objects".
        """
        self._remaining[kind] = amount

    def limits(self, kind: str) -> bool:
        """Return whether a kind is limited."""
        return kind in self._remaining

    def charge(self, kind: str, amount: int, reason: str) -> None:
        """Subtract an amount; raise if more than that was used.

        Raises:
            FileBudgetError: The file costs too much; the message is the reason.
        """
        if kind in self._remaining:
            self._remaining[kind] -= amount
            if self._remaining[kind] < 0:
                raise FileBudgetError(reason)


class _Current(threading.local):
    budget: FileBudget | None = None


_current = register_thread_local(_Current())


def file_budget(num_bytes: int) -> contextlib.AbstractContextManager[None]:
    """Limit what is charged in a `with` block to what a file of this size may cost."""
    return override(_current, budget=FileBudget(num_bytes))


def current_file_budget() -> FileBudget | None:
    """Return the budget of the file that is being read, or None."""
    return _current.budget


def charge_file_budget(kind: str, amount: int, reason: str) -> None:
    """Charge the budget of the file that is being read, if there is one."""
    if _current.budget is not None:
        _current.budget.charge(kind, amount, reason)
