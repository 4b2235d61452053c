"""Weights of TensorFlow checkpoints and SavedModels, read without TensorFlow.

A checkpoint is a graph of objects. It is traversed together with the model, by the names of
attributes, as TensorFlow restores it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from podium.core import Variable
from podium.layers import Layer
from podium.saving._savable_model import SavableModel
from podium.saving.io._errors import InvalidFileError
from podium.saving.io._load_plan import LoadPlan, LoadReport, convert_values, describe_mismatch
from podium.saving.tensorflow_files._object_graph import (
    ObjectGraph,
    read_object_graph,
)
from podium.saving.tensorflow_files._tensor_bundle import TensorBundle
from podium.state import summarize

_NO_WEIGHTS = (
    "optimizer",
    "keras_api",
    "metrics",
    "save_counter",
    "signatures",
    "_random_generator",
    "seed_generator",
)
_NOT_OWNED = ("_inbound_nodes", "_init_arguments", "optimizer")


_Matches = dict[int, tuple[Variable, int | None]]  # by id of the variable: its node, or None


class _StoredVariable(NamedTuple):
    name: str
    shape: tuple[int, ...]
    dtype: str

    @property
    def is_float(self) -> bool:
        return bool(jnp.issubdtype(jnp.dtype(self.dtype), np.floating))


def plan_checkpoint_load(
    prefix: str, model: SavableModel, by_name: bool, skip_mismatch: bool
) -> LoadPlan:
    """Read what fits a model from a TensorFlow checkpoint, or raise `InvalidFileError`. Nothing is
    assigned yet.
    """
    if by_name:
        raise InvalidFileError(
            "is a TensorFlow checkpoint, whose weights have paths in a model and no names. "
            "Leave `by_name` out."
        )
    bundle, nodes = _open_checkpoint(prefix)
    start = (
        0
        if set(nodes[0].children) - {"model", "root", "save_counter", "optimizer"}
        else nodes[0].children.get("model", 0)
    )
    matches: _Matches = {}
    _match_layer(model, start, nodes, matches, set())
    pairs, report = _match_weights(matches, nodes, start, bundle)
    if report.problems and not skip_mismatch:
        raise InvalidFileError(
            f"does not fit model {model.name!r}, and nothing was loaded: "
            f"{summarize(report.problems)}. Build the model as it was "
            "when it was saved, or pass `skip_mismatch=True` to load what fits."
        )
    values = [(variable, bundle.read(stored.name)) for variable, stored in pairs]
    warnings = (
        [f"These were left as they were: {summarize(report.problems)}."] if report.problems else []
    )
    return LoadPlan(convert_values(values, model.name), [], warnings, report)


def _open_checkpoint(prefix: str) -> tuple[TensorBundle, ObjectGraph]:
    bundle = TensorBundle(prefix, "load_weights")
    nodes = read_object_graph(bundle)
    if nodes is None:
        raise InvalidFileError(
            "has no graph of objects: it was written by TensorFlow 1's Saver, whose names "
            "are not paths in a model."
        )
    return bundle, nodes


# --- traversing the graph and the model


def _match_layer(
    layer: Any, node: int | None, nodes: ObjectGraph, matches: _Matches, visited: set[int]
) -> None:
    """Find the nodes of all weights of a layer, and of the layers inside it."""
    if id(layer) in visited:
        return
    visited.add(id(layer))
    children = nodes[node].children if node is not None else {}
    names = {id(value): name for name, value in vars(layer).items() if isinstance(value, Variable)}
    for variable in layer._own_weights():
        candidates = (names.get(id(variable)), variable.name)
        match = next((children[name] for name in candidates if name in children), None)
        matches.setdefault(id(variable), (variable, match))
    for name, value in _attributes(layer, children):
        _match_value(value, _find_child(children, name), nodes, matches, visited)


def _match_value(
    value: object, node: int | None, nodes: ObjectGraph, matches: _Matches, visited: set[int]
) -> None:
    if isinstance(value, Layer):
        _match_layer(value, node, nodes, matches, visited)
    elif isinstance(value, (list, tuple, dict)) and id(value) not in visited:
        visited.add(id(value))
        children = nodes[node].children if node is not None else {}
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            _match_value(item, children.get(str(key)), nodes, matches, visited)


def _attributes(layer: Any, children: dict[str, int]) -> Iterator[tuple[str, object]]:
    """Yield the attributes of a layer, by the names that TensorFlow has for them."""
    if hasattr(layer, "get_layer") and "layer_with_weights-0" in children:
        with_weights = [inner for inner in layer.layers if inner.weights]
        yield from (
            (f"layer_with_weights-{index}", inner) for index, inner in enumerate(with_weights)
        )
    yield from ((name, value) for name, value in vars(layer).items() if name not in _NOT_OWNED)


def _find_child(children: dict[str, int], name: str) -> int | None:
    return children.get(name, children.get(name.removeprefix("_"), children.get(f"_{name}")))


# --- matching


def _match_weights(
    matches: _Matches, nodes: ObjectGraph, start: int, bundle: TensorBundle
) -> tuple[list[tuple[Variable, _StoredVariable]], LoadReport]:
    shapes = {name: tensor.shape for name, tensor in bundle.tensors.items()}
    types = {name: tensor.dtype for name, tensor in bundle.tensors.items()}
    pairs: list[tuple[Variable, _StoredVariable]] = []
    report = LoadReport([], [], [], [])
    for variable, node in matches.values():
        key = nodes[node].value_key if node is not None else None
        if key is None or key not in shapes:
            report.missing.append(f"{variable.path!r} {variable.shape} (not in the checkpoint)")
            continue
        stored = _StoredVariable(key, tuple(shapes[key]), types[key])
        problem = describe_mismatch(variable, stored)
        if problem is None:
            pairs.append((variable, stored))
        else:
            report.mismatched.append(problem)
    matched = {node for _, node in matches.values() if node is not None}
    surplus = [key for node, key in _weights_below(start, nodes) if node not in matched]
    report.unexpected.extend(
        f"{key!r} {tuple(shapes.get(key, ()))} (not in the model)" for key in surplus
    )
    report.loaded.extend(variable.path for variable, _ in pairs)
    return pairs, report


def _weights_below(start: int, nodes: ObjectGraph) -> Iterator[tuple[int, str]]:
    """Yield the variables that belong to the model, and not to optimizers, metrics or random
    generators.
    """
    pending, visited = [start], {start}
    while pending:
        node = pending.pop()
        key = nodes[node].value_key
        if key is not None:
            yield node, key
        for name, child in nodes[node].children.items():
            if child not in visited and name not in _NO_WEIGHTS:
                visited.add(child)
                pending.append(child)
