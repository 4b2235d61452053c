"""The interface of objects that own variables: layers, models and optimizers.

Each class declares what it owns itself, so that this package depends on none of them. `_paths.py`
iterates over owners, and `saving/formats` maps them to the layout of a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from podium.core import Variable


class OwnState(NamedTuple):
    """The variables that an object owns itself, without those of the objects inside it.

    Attributes:
        type_name: The name of the object inside a list, such as "dense".
        variables: Its weights or slots, in the order in which files list them.
        attributes: Its attributes by the names that files use, in the order in which to visit
            them. Other owners are found among them, directly or in lists, tuples and dictionaries.
        seeds: The states of its seed generators.

    Example:
        >>> podium.layers.Dense(2)._own_state().type_name
        'dense'
    """

    type_name: str
    variables: list[Variable]
    attributes: list[tuple[str, object]]
    seeds: list[Variable]


class StateOwner(Protocol):
    """An object that owns variables and may contain other owners.

    Example:
        >>> def num_variables(owner: podium.state.StateOwner) -> int:
        ...     return len(owner._own_state().variables)
        >>> num_variables(podium.layers.BatchNormalization())
        0
    """

    @property
    def name(self) -> str:
        """The name of the object."""
        ...

    def _own_state(self) -> OwnState: ...


def keras_order(attributes: Mapping[str, object]) -> list[tuple[str, object]]:
    """Sort attributes as Keras visits them: by name, private ones last.

    Example:
        >>> podium.state.keras_order({"_gate": 1, "output": 2, "kernel": 3})
        [('kernel', 3), ('output', 2), ('_gate', 1)]
    """
    return sorted(
        attributes.items(), key=lambda item: f"~{item[0]}" if item[0].startswith("_") else item[0]
    )
