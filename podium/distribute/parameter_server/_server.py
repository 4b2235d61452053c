"""ParameterServer: stores shards of Variables, and applies the changes that steps make to them.

A change is staged first and applied when the coordinator commits it. A worker that is lost in the
middle of a step leaves staged changes only, which are discarded, so each step is applied once.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.distribute.parameter_server._messages import Changes, RowChange, ShardRows, Values


class Ledger:
    """The set of the applied steps, in memory that does not grow with their number.

    Example:
        >>> ledger = Ledger()
        >>> [ledger.add(step) for step in (0, 2, 1, 2)], ledger.count
        ([True, True, True, False], 3)
    """

    def __init__(self) -> None:
        self._next = 0  # all steps before this one have been applied
        self._later: set[int] = set()  # applied steps after it
        self.count = 0

    @property
    def next_missing(self) -> int:
        """The first step that has not been applied."""
        return self._next

    def __contains__(self, step: int) -> bool:
        return step < self._next or step in self._later

    def add(self, step: int) -> bool:
        """Record a step, and return whether it was not recorded before."""
        if step in self:
            return False
        self.count += 1
        self._later.add(step)
        while self._next in self._later:
            self._later.remove(self._next)
            self._next += 1
        return True


class ParameterServer:
    """Stores shards by key. All methods run in one event loop, one at a time between their waits.

    Example:
        >>> import asyncio
        >>> async def double_counts():
        ...     server = ParameterServer()
        ...     await server.assign({"w": np.float32([1, 2])})
        ...     for _ in range(2):  # the same step again
        ...         await server.stage(0, 0, {"w": np.float32([10, 10])})
        ...         await server.commit(0, 0)
        ...     return await server.pull(["w"])
        >>> asyncio.run(double_counts())
        [array([11., 12.], dtype=float32)]
    """

    def __init__(self) -> None:
        self._values: Values = {}
        # Keys whose array may be referenced elsewhere, such as by a message on its way to a worker.
        self._shared: set[str] = set()
        self._staged: dict[tuple[int, int], Changes] = {}  # by step and attempt
        self._ledger = Ledger()
        self._next_commit = asyncio.Event()  # set by the next commit, and replaced

    async def pid(self) -> int:
        """Return the id of the process."""
        return os.getpid()

    async def assign(self, values: Values) -> None:
        """Set values, of new shards too."""
        self._values |= values
        self._shared |= values.keys()

    async def remove(self, keys: Sequence[str]) -> None:
        """Forget shards."""
        for key in keys:
            self._values.pop(key, None)

    async def pull(
        self, keys: Sequence[str | ShardRows], min_version: int = 0
    ) -> list[NDArray[Any]]:
        """Return values, or rows of them, when at least `min_version` steps have been applied."""
        while self._ledger.count < min_version:
            await self._next_commit.wait()
        self._shared.update(key for key in keys if isinstance(key, str))
        return [
            self._values[key] if isinstance(key, str) else self._values[key.key][key.indices]
            for key in keys
        ]

    async def stage(self, step: int, attempt: int, changes: Changes) -> None:
        """Keep the changes of a step until they are committed: differences, to be added; of bools
        the new values.
        """
        if step not in self._ledger:
            self._staged[step, attempt] = changes

    async def commit(self, step: int, attempt: int) -> None:
        """Apply the changes of a step, unless that has been done before."""
        changes = self._staged.pop((step, attempt), {})
        for other in [key for key in self._staged if key[0] == step]:
            del self._staged[other]  # of workers that were lost
        if not self._ledger.add(step):
            return
        for key, change in changes.items():
            if key in self._values:
                self._apply(key, change)
        self._next_commit.set()
        self._next_commit = asyncio.Event()

    def _apply(self, key: str, change: NDArray[Any] | RowChange) -> None:
        value = self._values[key]
        if not isinstance(change, RowChange):  # not in place: the array may be referenced elsewhere
            self._values[key] = change if value.dtype == np.bool_ else value + change
            self._shared.add(key)
            return
        if key in self._shared:
            value = self._values[key] = value.copy()
            self._shared.remove(key)
        if value.dtype == np.bool_:
            value[change.indices] = change.values
        else:
            value[change.indices] += change.values

    async def status(self) -> dict[str, int]:
        """Return how many steps have been applied, how many are staged, and the bytes stored."""
        return {
            "applied": self._ledger.count,
            "staged": len(self._staged),
            "bytes": sum(value.nbytes for value in self._values.values()),
        }
