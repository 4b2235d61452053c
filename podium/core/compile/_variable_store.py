"""VariableStore: the values of many Variables in one list.

A compiled step takes and returns all of them at a cost that does not grow with their number. This
file owns the stored values, their lock and the count of their changes.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from typing import Any, ClassVar

state_lock = threading.RLock()  # held while a compiled step takes and returns state

# The number of changes of stored Variables. A compiled step compares it with the number at its
# previous call, to reuse its list of values that it only reads.
write_count = [0]


class VariableStore:
    """The values of many Variables in one list, given to a compiled step whole.

    A Variable lives in one VariableStore at most. When another step wants a different grouping, the VariableStore
    is dissolved and each of its Variables takes its own value back. So it is when no step uses it
    any more, but not at once: garbage is collected at any moment, also in the middle of a step, or
    of another Variable's assignment.
    """

    _abandoned: ClassVar[deque[weakref.ref[VariableStore]]] = (
        deque()
    )  # that no step uses; the next new VariableStore dissolves them

    def __init__(self, variables: list[Any]):
        for variable in variables:
            if variable.home is not None:
                variable.home.dissolve()
        self._variables = [weakref.ref(variable) for variable in variables]
        self.values = [variable.held for variable in variables]
        self.exposed: set[int] = (
            set()
        )  # slots whose array somebody outside holds: never donate those
        self.valid = True
        self._users: set[int] = set()
        for slot, variable in enumerate(variables):
            if variable.exposed:
                self.exposed.add(slot)
            variable.home, variable.slot = self, slot

    @classmethod
    def of(cls, variables: list[Any]) -> VariableStore:
        """Return the VariableStore of just these Variables: the one they live in, or a new one."""
        cls._dissolve_abandoned()
        home = variables[0].home if variables else None
        if home is not None and len(home._variables) == len(variables):
            places = zip(variables, range(len(variables)), strict=True)
            if all(variable.home is home and variable.slot == slot for variable, slot in places):
                return home
        return cls(variables)

    def hold(self, user: Any) -> weakref.finalize:
        """Keep the VariableStore together for as long as `user` lives; returns what ends that earlier when
        it is called.
        """
        self._users.add(id(user))
        ending = weakref.finalize(user, self._release, weakref.ref(self), id(user))
        ending.atexit = False
        return ending

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

    def dissolve(self) -> None:
        """Give every Variable its value back; this VariableStore is finished."""
        if not self.valid:
            return
        self.valid = False
        for slot, reference in enumerate(self._variables):
            variable = reference()
            if variable is not None:
                variable.leave_home(self.values[slot], exposed=slot in self.exposed)
        self.values = []
