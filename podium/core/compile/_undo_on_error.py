"""undo_on_error: a block of eager code that changes either all of its Variables or none.

A compiled step is a transaction (`_program.py`): it stores its new state at its end. An eager step
writes Variables one by one. Inside `undo_on_error` each Variable's value is remembered before it
is written for the first time; values are immutable arrays, so that costs a reference. If an
exception leaves the block, Ctrl-C included, all of them are restored.

It owns the remembered values. It does not undo what is not in a Variable: attributes, files, the
position of an iterator. A Variable that was created in the block remains, with its initial value.
Guarded by tests/core/test_undo_on_error.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from podium.core._context import context
from podium.core.compile._interrupts import defer_interrupts
from podium.core.compile._variable_store import VariableStore, state_lock, write_count

if TYPE_CHECKING:
    from podium.core.tensor._variable import Variable


class undo_on_error:
    """Restore all Variables that were written in the block if an exception leaves it.

    Args:
        keep_on: Exceptions that keep what was written, such as StopIteration for a function that
            runs several steps: those before the end of the data are completed.

    Example:
        >>> from podium.core.internal import undo_on_error
        >>> total = podium.Variable(1.0)
        >>> try:
        ...     with undo_on_error():
        ...         _ = total.assign_add(2.0)
        ...         raise KeyboardInterrupt
        ... except KeyboardInterrupt:
        ...     float(total)
        1.0
    """

    __slots__ = ("_keep_on", "_outer", "_previous")

    def __init__(self, keep_on: tuple[type[BaseException], ...] = ()):
        self._keep_on = keep_on
        # The Variables that were written and their values before, by id.
        self._previous: dict[int, tuple[Variable, Any]] = {}
        self._outer: undo_on_error | None = None

    def __enter__(self) -> None:
        self._outer = context.undo
        context.undo = self

    def __exit__(self, error_type: type[BaseException] | None, *_: object) -> None:
        context.undo = self._outer
        if error_type is not None and not issubclass(error_type, self._keep_on):
            self._restore()
        elif self._outer is not None:
            self._outer._previous = self._previous | self._outer._previous
        self._previous = {}

    def remember(self, variable: Variable, value: Any) -> None:
        """Remember the value of a Variable that is about to be written."""
        if id(variable) not in self._previous:
            self._previous[id(variable)] = (variable, value)

    def remember_store(self, store: VariableStore) -> None:
        """Remember the values of a store that a compiled function is about to donate; it copies
        them, once for each block.
        """
        for slot, variable in enumerate(store.live_variables()):
            if variable is not None:
                self.remember(variable, store.values[slot])
        kept: set[int] = set()
        block: undo_on_error | None = self
        while block is not None:
            kept.update(id(value) for _, value in block._previous.values())
            block = block._outer
        store.exposed.update(slot for slot, value in enumerate(store.values) if id(value) in kept)

    def _restore(self) -> None:
        with state_lock, defer_interrupts():
            for variable, value in self._previous.values():
                variable.restore_value(value)
            write_count[0] += 1
