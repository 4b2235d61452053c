"""SlotTable: the state Variables that an optimizer keeps for each variable it trains.

It owns the order of the trained variables and the lookup of their slots. Which slots there are is
decided by the optimizer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from podium.core import Variable


class VariableList(list[Variable]):
    """A list that may be called, as Keras 2 code does: `optimizer.variables()`."""

    def __call__(self) -> VariableList:
        return self


class SlotTable:
    """Trained variables in order, each with its slots by name."""

    def __init__(self) -> None:
        self.variables: list[Variable] = []
        self._slots: list[dict[str, Variable]] = []
        self._index: dict[int, int] = {}  # id of a variable -> its position in both lists

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a copy, whose variables have new identities."""
        vars(self).update(state)
        self._index = {id(variable): position for position, variable in enumerate(self.variables)}

    def __contains__(self, variable: Variable) -> bool:
        return id(variable) in self._index

    def __iter__(self) -> Iterator[tuple[Variable, dict[str, Variable]]]:
        return zip(self.variables, self._slots, strict=True)

    def add(self, variables: Iterable[Variable]) -> list[Variable]:
        """Add the variables that are not in the table yet, without slots, and return them."""
        new = [variable for variable in variables if variable not in self]
        for variable in new:
            self._index[id(variable)] = len(self.variables)
            self.variables.append(variable)
            self._slots.append({})
        return new

    def index_of(self, variable: Variable) -> int:
        """Return the position of a variable in `variables`."""
        return self._index[id(variable)]

    def slots_of(self, variable: Variable) -> dict[str, Variable]:
        """Return the slots of a variable by name."""
        return self._slots[self._index[id(variable)]]
