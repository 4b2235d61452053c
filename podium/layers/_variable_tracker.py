"""VariableTracker: what a layer holds directly, searched for when its attributes change.

It owns the search of attributes, and of lists, tuples, dictionaries and sets in them, for
Variables, sublayers, metrics and seed generators. How those of nested layers are combined is
decided by the functions below it; what they are used for is decided by `Layer`.

Design note. The contents of a tracker are always what a new search would find, yet a search runs
only after a change: `Layer.__setattr__` reports attributes that hold tracked objects or containers,
mutable containers are compared with a fingerprint (so `self.blocks.append(Dense(3))` is noticed),
and attributes written without `__setattr__`, as `functools.cached_property` does, change the number
of attributes. `tests/layers/test_variable_collection.py` guards this.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from podium.core import SeedGenerator, Variable
from podium.metrics import Metric

if TYPE_CHECKING:
    from podium.layers._layer import Layer

_T = TypeVar("_T")

_CONTAINERS = (list, tuple, dict, set, frozenset)
_MUTABLE_CONTAINERS = (list, dict, set)

# Types of attribute values that can change the contents of a tracker; `Layer` is the other one.
TRACKED_TYPES = (Variable, Metric, SeedGenerator, *_CONTAINERS)

# Attributes that are not searched: records of calls, which refer to other layers.
_NOT_SEARCHED = frozenset({"_inbound_nodes", "_init_arguments", "built_shape"})


class _Fingerprint(NamedTuple):
    """The items of a mutable container, and what they were when it was searched.

    Items that are not tracked are not kept alive; one of the same type at the same address in their
    place would not be tracked either.
    """

    items: Iterable[Any]
    ids: list[int]
    types: list[type]


class TrackedObjects(NamedTuple):
    """What a layer holds directly, as of `num_changes` reported changes."""

    variables: list[Variable]
    sublayers: list[Layer]
    metrics: list[Metric]
    seed_generators: list[SeedGenerator]
    containers: list[_Fingerprint]
    num_attributes: int
    num_changes: int


_NOT_SEARCHED_YET = TrackedObjects([], [], [], [], [], -1, -1)


class VariableTracker:
    """Finds the Variables, sublayers, metrics and seed generators of one layer.

    Attributes:
        contents: What the last search found.
        num_changes: How many changes of attributes have been reported.
        untracked: The names of attributes that are not searched.
    """

    def __init__(self) -> None:
        self.untracked: frozenset[str] = frozenset()
        self.contents = _NOT_SEARCHED_YET
        self.num_changes = 0
        self._added_variables: list[Variable] = []
        self._added_metrics: dict[str, Metric] = {}

    def mark_changed(self) -> None:
        """Search again before the contents are used next."""
        self.num_changes += 1

    def add_variable(self, variable: Variable) -> None:
        """Track a Variable that need not be an attribute."""
        self._added_variables.append(variable)
        self.mark_changed()

    def remove_variable(self, variable: Variable) -> None:
        """Forget a Variable, unless another attribute holds it."""
        self._added_variables = [added for added in self._added_variables if added is not variable]
        self.mark_changed()

    def add_metric(self, metric: Metric) -> None:
        """Track a metric that is not an attribute, under its name."""
        self._added_metrics[metric.name] = metric
        self.mark_changed()

    def containers_changed(self) -> bool:
        """Return whether a list, dictionary or set has other items than at the last search."""
        for items, ids, types in self.contents.containers:
            if list(map(id, items)) != ids or list(map(type, items)) != types:
                return True
        return False

    def search(self, attributes: Mapping[str, Any], layer_type: type[Layer]) -> TrackedObjects:
        """Search a layer's attributes, in the order in which they were set."""
        num_changes, num_attributes = self.num_changes, len(attributes)
        containers: list[_Fingerprint] = []
        leaves = _attribute_leaves(attributes, _NOT_SEARCHED | self.untracked, containers)
        self.contents = TrackedObjects(
            unique_objects([*self._added_variables, *_instances(leaves, Variable)]),
            unique_objects(_instances(leaves, layer_type)),
            unique_objects([*_instances(leaves, Metric), *self._added_metrics.values()]),
            unique_objects(_instances(leaves, SeedGenerator)),
            containers,
            num_attributes,
            num_changes,
        )
        return self.contents

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for copies, which search their own attributes."""
        return {**vars(self), "contents": _NOT_SEARCHED_YET}


def no_automatic_dependency_tracking(method: Callable[..., _T]) -> Callable[..., _T]:
    """Decorate a method of a layer: the attributes that it sets are not searched for Variables,
    sublayers and metrics.
    """

    @functools.wraps(method)
    def run(self: Layer, *args: Any, **kwargs: Any) -> _T:
        before = dict(vars(self))
        result = method(self, *args, **kwargs)
        now = vars(self).items()
        names = {name for name, value in now if before.get(name, now) is not value}
        self._tracker.untracked |= names
        self._tracker.mark_changed()
        return result

    return run


def _attribute_leaves(
    attributes: Mapping[str, Any], not_searched: frozenset[str], containers: list[_Fingerprint]
) -> list[Any]:
    """List the values of attributes, with the items of containers in place of the containers.

    Fingerprints of the mutable containers are added to `containers`.
    """
    leaves: list[Any] = []
    visited: set[int] = set()
    for name, value in list(attributes.items()):
        if name in not_searched:
            continue
        if isinstance(value, _CONTAINERS):
            _add_items(value, leaves, containers, visited)
        else:
            leaves.append(value)
    return leaves


def _add_items(
    container: Any, leaves: list[Any], containers: list[_Fingerprint], visited: set[int]
) -> None:
    if id(container) in visited:
        return
    visited.add(id(container))
    items = container.values() if isinstance(container, dict) else container
    if isinstance(container, _MUTABLE_CONTAINERS):
        containers.append(_Fingerprint(items, list(map(id, items)), list(map(type, items))))
    for item in items:
        if isinstance(item, _CONTAINERS):
            _add_items(item, leaves, containers, visited)
        else:
            leaves.append(item)


def _instances(values: Iterable[Any], kind: type[Any]) -> list[Any]:
    return [value for value in values if isinstance(value, kind)]


def unique_objects(values: Iterable[Any]) -> list[Any]:
    """Drop repeated objects, keeping the first of each."""
    return list({id(value): value for value in values}.values())


# --- nested layers; loops without calls per layer, since large models have hundreds of them


def flatten_layers(
    root: Layer, recursive: bool = True, trainable_only: bool = False
) -> list[Layer]:
    """List a layer and the layers inside it, each once, outermost first.

    Args:
        root: The layer to start from.
        recursive: Whether layers inside the sublayers are listed too. If so, the trackers of all
            listed layers are up to date afterwards.
        trainable_only: Whether frozen layers are left out, with the layers that only they hold.
    """
    flat: dict[int, Layer] = {}
    pending = [root]
    while pending:
        layer = pending.pop()
        if id(layer) in flat or (trainable_only and not layer._trainable):
            continue
        flat[id(layer)] = layer
        if not recursive and layer is not root:
            continue
        tracker = layer._tracker
        contents = tracker.contents
        if (
            contents.num_changes != tracker.num_changes
            or contents.num_attributes != len(vars(layer))
            or (contents.containers and tracker.containers_changed())
        ):
            contents = layer._search_attributes()
        pending += contents.sublayers[::-1]
    return list(flat.values())


def collect_variables(root: Layer, include_seeds: bool) -> list[Variable]:
    """List the Variables of a layer and the layers inside it, each once.

    Within a layer, the order is: those that are or were trainable, the others, and the states of
    seed generators, if included.
    """
    collected: dict[int, Variable] = {}
    for layer in flatten_layers(root):
        contents = layer._tracker.contents
        not_trainable = []
        for variable in contents.variables:
            if variable.trainable or variable.frozen:
                collected.setdefault(id(variable), variable)
            else:
                not_trainable.append(variable)
        if include_seeds and contents.seed_generators:
            not_trainable += [generator.state for generator in contents.seed_generators]
        for variable in not_trainable:
            collected.setdefault(id(variable), variable)
    return list(collected.values())


def collect_trainable_weights(root: Layer) -> list[Variable]:
    """List the weights that training updates, each once.

    A weight is among them if it is trainable itself and a chain of trainable layers leads to it
    from `root`: what a frozen layer holds is frozen, whenever it was added to that layer.
    """
    return unique_objects(
        [
            variable
            for layer in flatten_layers(root, trainable_only=True)
            for variable in layer._tracker.contents.variables
            if variable.trainable
        ]
    )


def collect_metrics(root: Layer) -> list[Metric]:
    """List the metrics of a layer and the layers inside it, each once."""
    return unique_objects(
        [metric for layer in flatten_layers(root) for metric in layer._tracker.contents.metrics]
    )


def seed_states(attributes: Mapping[str, Any], not_searched: frozenset[str]) -> list[Variable]:
    """List the states of the seed generators in an object's attributes, each once."""
    generators = _instances(_attribute_leaves(attributes, not_searched, []), SeedGenerator)
    return [generator.state for generator in unique_objects(generators)]
