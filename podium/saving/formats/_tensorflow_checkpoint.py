"""Weights of TensorFlow checkpoints and SavedModels, read through tensorflow if it is installed;
never imported otherwise.

A checkpoint is a graph of objects. It is walked beside the model, by the names of attributes, as
TensorFlow restores it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from podium.core import Variable
from podium.layers import Layer
from podium.saving.io._errors import Unfit
from podium.saving.io._load_plan import Loaded, LoadReport, checked, misfit
from podium.state import summarize

_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
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


class _StoredVariable(NamedTuple):
    name: str
    shape: tuple[int, ...]
    dtype: str

    @property
    def is_float(self) -> bool:
        return bool(jnp.issubdtype(jnp.dtype(self.dtype), np.floating))


def read_checkpoint(prefix: str, model: Any, by_name: bool, skip_mismatch: bool) -> Loaded:
    """Read what fits a model from a TensorFlow checkpoint, or raise `Unfit`; nothing is assigned
    yet.
    """
    if by_name:
        raise Unfit(
            "is a TensorFlow checkpoint, whose weights have places in a model and no names. "
            "Leave `by_name` out."
        )
    reader, nodes = _opened(prefix)
    start = (
        0
        if set(_children(nodes[0])) - {"model", "root", "save_counter", "optimizer"}
        else _children(nodes[0]).get("model", 0)
    )
    places: dict[int, tuple[Variable, int | None]] = {}
    _walk(model, start, nodes, places, set())
    pairs, report = _matched(places, nodes, start, reader)
    if report.problems and not skip_mismatch:
        raise Unfit(
            f"does not fit model {model.name!r}, and nothing was loaded: "
            f"{summarize(report.problems)}. Build the model as it was "
            "when it was saved, or pass `skip_mismatch=True` to load what fits."
        )
    values = [(variable, np.asarray(reader.get_tensor(stored.name))) for variable, stored in pairs]
    complaints = (
        [f"These were left as they were: {summarize(report.problems)}."] if report.problems else []
    )
    return Loaded(checked(values, model), [], complaints, report)


def _opened(prefix: str) -> tuple[Any, Any]:
    try:
        import tensorflow
        from tensorflow.core.protobuf.trackable_object_graph_pb2 import TrackableObjectGraph
    except ImportError as error:
        raise ImportError(
            f"load_weights was given {prefix!r}, a TensorFlow checkpoint. To read it, install "
            "tensorflow (`pip install tensorflow-cpu`); or load it with Keras, and save its "
            "weights as `.h5` or `.weights.h5`."
        ) from error
    try:
        reader = tensorflow.train.load_checkpoint(prefix)
        if not reader.has_tensor(_GRAPH):
            raise Unfit(
                "has no graph of objects: it was written by TensorFlow 1's Saver, whose names "
                "have no places in a model."
            )
        graph = TrackableObjectGraph()
        graph.ParseFromString(reader.get_tensor(_GRAPH))
    except Unfit:
        raise
    except Exception as error:
        raise Unfit(
            "cannot be read as a TensorFlow checkpoint: it is damaged or incomplete "
            f"({str(error)[:300]})."
        ) from error
    return reader, graph.nodes


def _children(node: Any) -> dict[str, int]:
    return {child.local_name: child.node_id for child in node.children}


def _key(node: Any) -> str | None:
    return next(
        (
            attribute.checkpoint_key
            for attribute in node.attributes
            if attribute.name == "VARIABLE_VALUE"
        ),
        None,
    )


# --- the walk


def _walk(
    owner: Any,
    node: int | None,
    nodes: Any,
    places: dict[int, tuple[Variable, int | None]],
    seen: set[int],
) -> None:
    """Find the places of all weights of a layer, and of the layers inside it."""
    if id(owner) in seen:
        return
    seen.add(id(owner))
    there = _children(nodes[node]) if node is not None else {}
    names = {id(value): name for name, value in vars(owner).items() if isinstance(value, Variable)}
    for variable in owner._own_weights():
        found = next(
            (there[name] for name in (names.get(id(variable)), variable.name) if name in there),
            None,
        )
        places.setdefault(id(variable), (variable, found))
    for name, child in _inside(owner, there):
        _walk_value(child, _named(there, name), nodes, places, seen)


def _walk_value(value: Any, node: int | None, nodes: Any, places: dict, seen: set[int]) -> None:
    if isinstance(value, Layer):
        _walk(value, node, nodes, places, seen)
    elif isinstance(value, (list, tuple, dict)) and id(value) not in seen:
        seen.add(id(value))
        there = _children(nodes[node]) if node is not None else {}
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            _walk_value(item, there.get(str(key)), nodes, places, seen)


def _inside(owner: Any, there: dict[str, int]) -> Iterator[tuple[str, Any]]:
    """Yield what a layer holds, by the names that TensorFlow has for it."""
    if hasattr(owner, "get_layer") and "layer_with_weights-0" in there:
        with_weights = [layer for layer in owner.layers if layer.weights]
        yield from (
            (f"layer_with_weights-{place}", layer) for place, layer in enumerate(with_weights)
        )
    yield from ((name, value) for name, value in vars(owner).items() if name not in _NOT_OWNED)


def _named(there: dict[str, int], name: str) -> int | None:
    return there.get(name, there.get(name.removeprefix("_"), there.get(f"_{name}")))


# --- comparing


def _matched(
    places: dict[int, tuple[Variable, int | None]], nodes: Any, start: int, reader: Any
) -> tuple[list[tuple[Variable, _StoredVariable]], LoadReport]:
    shapes, types = reader.get_variable_to_shape_map(), reader.get_variable_to_dtype_map()
    pairs: list[tuple[Variable, _StoredVariable]] = []
    report = LoadReport([], [], [], [])
    for variable, node in places.values():
        key = _key(nodes[node]) if node is not None else None
        if key is None or key not in shapes:
            report.missing.append(f"{variable.path!r} {variable.shape} (not in the checkpoint)")
            continue
        stored = _StoredVariable(key, tuple(shapes[key]), types[key].name)
        problem = misfit(variable, stored)
        if problem is None:
            pairs.append((variable, stored))
        else:
            report.mismatched.append(problem)
    taken = {node for _, node in places.values() if node is not None}
    surplus = [key for node, key in _weights_below(start, nodes) if node not in taken]
    report.unexpected.extend(
        f"{key!r} {tuple(shapes.get(key, ()))} (not in the model)" for key in surplus
    )
    report.loaded.extend(variable.path for variable, _ in pairs)
    return pairs, report


def _weights_below(start: int, nodes: Any) -> Iterator[tuple[int, str]]:
    """Yield the variables that belong to the model, and not to optimizers, metrics or random
    generators.
    """
    pending, seen = [start], {start}
    while pending:
        node = pending.pop()
        key = _key(nodes[node])
        if key is not None:
            yield node, key
        for name, child in _children(nodes[node]).items():
            if child not in seen and name not in _NO_WEIGHTS:
                seen.add(child)
                pending.append(child)
