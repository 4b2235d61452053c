"""The variables of a model by their paths through it: weights, optimizer slots, seeds, metric sums,
running means, counters.

Weights and slots have the paths of Keras 3's weight files (`layers/dense/vars/0`), so that a
checkpoint does not depend on the names of variables. `_snapshot.py` reads and assigns the values.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol, TypeGuard

from podium.core import Variable, global_seed_generator
from podium.state._owner import OwnState, StateOwner


class StateNode(NamedTuple):
    """An owner of variables, its path from the root, and what it owns itself.

    Example:
        >>> model = podium.Sequential([podium.layers.Dense(2)])
        >>> [node.path for node in podium.state.state_nodes(model)]
        ['', 'layers/dense']
    """

    path: str
    owner: StateOwner
    state: OwnState

    @property
    def variables(self) -> list[Variable]:
        """The variables that the owner has itself."""
        return self.state.variables

    def path_of(self, name: str) -> str:
        """Return the path of something that belongs to this owner."""
        return f"{self.path}/{name}" if self.path else name


class TrainedModel(StateOwner, Protocol):
    """A model with the variables of its training besides its weights."""

    def _training_variables(self) -> dict[str, Variable]: ...


def state_nodes(root: StateOwner) -> list[StateNode]:
    """List the layers and optimizers of a model with their paths, in the order in which Keras
    visits them.

    Args:
        root: The model. Its own path is empty.

    Example:
        >>> model = podium.Sequential([podium.layers.Dense(2), podium.layers.Dense(2)])
        >>> [node.path for node in podium.state.state_nodes(model)]
        ['', 'layers/dense', 'layers/dense_1']
    """
    nodes: list[StateNode] = []
    _visit(root, root._own_state(), "", nodes, set())
    return nodes


def _is_owner(value: object) -> TypeGuard[StateOwner]:
    return hasattr(type(value), "_own_state")


def _visit(
    owner: StateOwner, state: OwnState, path: str, nodes: list[StateNode], visited: set[int]
) -> None:
    if id(owner) in visited:
        return
    visited.add(id(owner))
    node = StateNode(path, owner, state)
    nodes.append(node)
    for name, value in state.attributes:
        if _is_owner(value):
            _visit(value, value._own_state(), node.path_of(name), nodes, visited)
        elif isinstance(value, (list, tuple, dict)):
            _visit_container(value, node.path_of(name), nodes, visited, set())


def _visit_container(
    container: list[object] | tuple[object, ...] | dict[object, object],
    path: str,
    nodes: list[StateNode],
    visited: set[int],
    open_containers: set[int],
) -> None:
    if id(container) in open_containers:
        return
    open_containers.add(id(container))
    counts: dict[str, int] = {}
    for item in container.values() if isinstance(container, dict) else container:
        if _is_owner(item):
            state = item._own_state()
            name = _unique_name(state.type_name, counts)
            _visit(item, state, f"{path}/{name}", nodes, visited)
        elif isinstance(item, (list, tuple, dict)):
            name = _unique_name("container", counts)
            _visit_container(item, f"{path}/{name}", nodes, visited, open_containers)


def _unique_name(name: str, counts: dict[str, int]) -> str:
    counts[name] = counts.get(name, -1) + 1
    return f"{name}_{counts[name]}" if counts[name] else name


def variables_by_path(model: TrainedModel, others: Iterable[Variable] = ()) -> dict[str, Variable]:
    """Return all state of a model, each variable once.

    Args:
        model: The model.
        others: Further variables, such as those that a compiled step uses. The ones that do not
            belong to the model are listed under `others/` and their own paths.

    Example:
        >>> model = podium.Sequential([podium.Input((3,)), podium.layers.Dense(2)])
        >>> list(podium.state.variables_by_path(model))
        ['layers/dense/vars/0', 'layers/dense/vars/1', 'counters/train', 'seeds/global']
    """
    result: dict[str, Variable] = {}
    listed: set[int] = set()

    def add(path: str, variable: Variable) -> None:
        if id(variable) not in listed:
            listed.add(id(variable))
            result[path] = variable

    for node in state_nodes(model):
        for index, variable in enumerate(node.variables):
            add(node.path_of(f"vars/{index}"), variable)
        for index, variable in enumerate(node.state.seeds):
            add(node.path_of(f"seeds/{index}"), variable)
    for path, variable in model._training_variables().items():
        add(path, variable)
    add("seeds/global", global_seed_generator().state)
    for variable in others:
        path, number = f"others/{variable.path}", 0
        while id(variable) not in listed and path in result:
            number += 1
            path = f"others/{variable.path}_{number}"
        add(path, variable)
    return result
