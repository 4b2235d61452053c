"""VariableStore: the values of many Variables in one list.

A compiled step takes and returns all of them at a cost that does not grow with their number. This
file owns the stored values, their lock and the count of their changes.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from podium.core.tensor._variable import Variable

state_lock = threading.RLock()  # held while a compiled step takes and returns state

# The number of changes of stored Variables. A compiled step compares it with the number at its
# previous call, to reuse its list of values that it only reads.
write_count = [0]


class VariableStore:
    """The values of many Variables in one list, which a compiled step takes and returns.

    A Variable belongs to one store at most. When another step needs a different grouping, the store
    is dissolved and each of its Variables takes its value back. A store that no step uses any more
    is dissolved too, but later: garbage collection can run at any time, also in the middle of a
    step or of an assignment.

    Args:
        variables: The Variables whose values it takes.

    Attributes:
        values: The values, in the order of the Variables.
        exposed: The slots whose array is referenced elsewhere, so that it must not be donated.
        valid: Whether the store has not been dissolved.
    """

    # Stores that no step uses; creating the next store dissolves them.
    _abandoned: ClassVar[deque[weakref.ref[VariableStore]]] = deque()

    def __init__(self, variables: Sequence[Variable]):
        for variable in variables:
            if variable.store is not None:
                variable.store.dissolve()
        self._variables = [weakref.ref(variable) for variable in variables]
        self.values: list[Any] = [variable._value for variable in variables]
        self.exposed = {slot for slot, variable in enumerate(variables) if variable.exposed}
        self.valid = True
        self._users: set[int] = set()
        for slot, variable in enumerate(variables):
            variable.store, variable.slot = self, slot

    @classmethod
    def for_variables(cls, variables: Sequence[Variable]) -> VariableStore:
        """Return the store of exactly these Variables: their present one, or a new one."""
        cls._dissolve_abandoned()
        store = variables[0].store if variables else None
        if store is None or len(store._variables) != len(variables):
            return cls(variables)
        is_same = all(
            variable.store is store and variable.slot == slot
            for slot, variable in enumerate(variables)
        )
        return store if is_same else cls(variables)

    def add_user(self, user: object) -> weakref.finalize[..., Any]:
        """Keep the store for the lifetime of `user`; call the result to end that earlier."""
        self._users.add(id(user))
        finalizer = weakref.finalize(user, self._release, weakref.ref(self), id(user))
        finalizer.atexit = False
        return finalizer

    @classmethod
    def _release(cls, reference: weakref.ref[VariableStore], user: int) -> None:
        store = reference()
        if store is not None:
            store._users.discard(user)
            if not store._users:
                cls._abandoned.append(reference)

    @classmethod
    def _dissolve_abandoned(cls) -> None:
        while cls._abandoned:
            store = cls._abandoned.popleft()()
            if store is not None and not store._users:
                store.dissolve()

    def live_variables(self) -> list[Variable | None]:
        """Return the Variables in order, with None for those that no longer exist."""
        return [reference() for reference in self._variables]

    def dissolve(self) -> None:
        """Return the values to their Variables; the store is not valid afterwards."""
        if not self.valid:
            return
        self.valid = False
        for slot, reference in enumerate(self._variables):
            variable = reference()
            if variable is not None:
                variable.leave_store(self.values[slot], exposed=slot in self.exposed)
        self.values = []
