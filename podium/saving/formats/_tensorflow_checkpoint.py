"""Weights in TensorFlow checkpoints and SavedModels, read and written without TensorFlow.

A checkpoint is a graph of objects. It is traversed together with the model, by the names of
attributes, as TensorFlow restores it; one of TensorFlow 1 has names of variables alone.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from podium.core import Variable
from podium.layers import Normalization
from podium.optimizers import Optimizer
from podium.saving._savable_model import SavableModel
from podium.saving.formats._tensorflow_names import objects_by_name, weights_in_order
from podium.saving.formats._tensorflow_optimizer import (
    full_names,
    is_optimizer_node,
    match_optimizer,
    state_to_write,
)
from podium.saving.io._array_io import NumpyArray, host_value
from podium.saving.io._errors import InvalidFileError
from podium.saving.io._load_plan import LoadPlan, LoadReport, convert_values, describe_mismatch
from podium.saving.tensorflow_files._bundle_entry import StoredTensor
from podium.saving.tensorflow_files._object_graph import (
    GRAPH_KEY,
    VALUE_ATTRIBUTE,
    ObjectGraph,
    empty_node,
    encode_object_graph,
    read_object_graph,
)
from podium.saving.tensorflow_files._tensor_bundle import TensorBundle
from podium.saving.tensorflow_files._tensor_bundle_writer import write_bundle
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


class _Matches(NamedTuple):
    """The nodes of Variables and of optimizers, by their ids; None for those without one."""

    variables: dict[int, tuple[Variable, int | None]]
    optimizers: dict[int, tuple[Optimizer, int | None]]

    def nodes_by_id(self) -> dict[int, int]:
        """Return the nodes of the Variables that have one, by their ids."""
        return {key: node for key, (_, node) in self.variables.items() if node is not None}


_Pairs = list[tuple[Variable, StoredTensor]]


# --- reading


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
    bundle = TensorBundle(prefix, "load_weights")
    nodes = read_object_graph(bundle)
    if nodes is None:
        pairs, report = _match_by_name(model.weights, bundle)
        problems = report.mismatched + report.missing
        return _make_plan(bundle, model.name, pairs, report, skip_mismatch, problems)
    start = _find_model(model, nodes)
    return plan_objects_load(bundle, nodes, start, model, model.name, model.weights, skip_mismatch)


def _find_model(model: SavableModel, nodes: ObjectGraph) -> int:
    """Return the node of the model: the root; or, in `tf.train.Checkpoint(step=step, net=model)`,
    the only child with something that the model has.
    """
    names = [name for name, _ in objects_by_name(model) if name not in _NO_WEIGHTS]

    def is_model(node: int) -> bool:
        return any(_find_child(nodes[node].children, name) is not None for name in names)

    children = {
        child
        for name, child in nodes[0].children.items()
        if name not in _NO_WEIGHTS and not is_optimizer_node(nodes[child]) and is_model(child)
    }
    return children.pop() if not is_model(0) and len(children) == 1 else 0


def plan_objects_load(
    bundle: TensorBundle,
    nodes: ObjectGraph,
    start: int,
    root: object,
    name: str,
    weights: Sequence[Variable],
    skip_mismatch: bool,
) -> LoadPlan:
    """Read what fits an object from a graph of objects, or raise `InvalidFileError`.

    Args:
        bundle: The checkpoint.
        nodes: Its objects.
        start: The node of the object.
        root: The object: a model, or a dictionary of objects.
        name: The name of the object, for messages.
        weights: The Variables that must be in the checkpoint.
        skip_mismatch: Whether to leave out what does not fit, instead of raising an error.
    """
    matches = _match_objects(root, start, nodes)
    pairs, report = _match_weights(weights, matches, nodes, start, bundle)
    plan = _make_plan(bundle, name, pairs, report, skip_mismatch, report.problems)
    for optimizer, node in matches.optimizers.values():
        if node is not None and not optimizer.built:
            optimizer.build([weight for weight in weights if weight.trainable])
    state, warnings = _match_optimizers(matches, nodes, bundle, weights_in_order(root))
    values = [(variable, _read_as(bundle, stored, variable)) for variable, stored in state]
    assignments = [*plan.assignments, *convert_values(values, name)]
    return LoadPlan(assignments, [], plan.warnings + warnings, report)


def _make_plan(
    bundle: TensorBundle,
    name: str,
    pairs: _Pairs,
    report: LoadReport,
    skip_mismatch: bool,
    problems: list[str],
) -> LoadPlan:
    if problems and not skip_mismatch:
        raise InvalidFileError(
            f"does not fit model {name!r}, and nothing was loaded: {summarize(problems)}. Build "
            "the model as it was when it was saved, or pass `skip_mismatch=True` to load what fits."
        )
    values = [(variable, _read_as(bundle, stored, variable)) for variable, stored in pairs]
    warnings = [f"These were left as they were: {summarize(problems)}."] if problems else []
    return LoadPlan(convert_values(values, name), [], warnings, report)


def _read_as(bundle: TensorBundle, stored: StoredTensor, variable: Variable) -> NumpyArray:
    """Return a value; ints in the dtype of the variable, if they fit it, as counters do."""
    value = bundle.read(stored.name)
    dtype = np.dtype(variable.dtype) if value.dtype.kind in "iu" else value.dtype
    if dtype == value.dtype:
        return value
    converted = value.astype(dtype)
    if not np.array_equal(converted.astype(value.dtype), value):
        raise InvalidFileError(
            f"has values in {stored.name!r} ({stored.dtype}) that {variable.path!r}, of dtype "
            f"{variable.dtype}, cannot have. Nothing was loaded."
        )
    return converted


def _match_objects(root: object, start: int, nodes: ObjectGraph) -> _Matches:
    """Find the nodes of all Variables and optimizers of an object, each the one that is nearest to
    the root.
    """
    matches = _Matches({}, {})
    visited: dict[int, tuple[object, int | None]] = {id(root): (root, start)}
    pending: deque[tuple[object, int | None]] = deque([(root, start)])
    while pending:
        owner, node = pending.popleft()
        children = nodes[node].children if node is not None else {}
        for name, value in objects_by_name(owner):
            child = _find_child(children, name)
            if isinstance(value, Variable):
                if matches.variables.get(id(value), (value, None))[1] is None:
                    matches.variables[id(value)] = value, child
            elif isinstance(value, Optimizer):
                if matches.optimizers.get(id(value), (value, None))[1] is None:
                    matches.optimizers[id(value)] = value, child
            elif id(value) not in visited or (visited[id(value)][1] is None and child is not None):
                visited[id(value)] = value, child
                pending.append((value, child))
    return matches


def _find_child(children: Mapping[str, int], name: str) -> int | None:
    return children.get(name, children.get(name.removeprefix("_"), children.get(f"_{name}")))


def _match_weights(
    weights: Sequence[Variable],
    matches: _Matches,
    nodes: ObjectGraph,
    start: int,
    bundle: TensorBundle,
) -> tuple[_Pairs, LoadReport]:
    pairs: _Pairs = []
    report = LoadReport([], [], [], [])
    for variable in weights:
        default = nodes[start].children.get(variable.path)
        node = matches.variables.get(id(variable), (variable, default))[1]
        matches.variables[id(variable)] = variable, node
        key = nodes[node].value_key if node is not None else None
        _compare(variable, bundle.tensors.get(key or ""), pairs, report)
    matched = set(matches.nodes_by_id().values())
    skipped = {node for _, node in matches.optimizers.values()}
    surplus = [key for node, key in _weights_below(start, nodes, skipped) if node not in matched]
    shapes = [bundle.tensors[key].shape if key in bundle.tensors else () for key in surplus]
    report.unexpected.extend(
        f"{key!r} {shape} (not in the model)" for key, shape in zip(surplus, shapes, strict=True)
    )
    report.loaded.extend(variable.path for variable, _ in pairs)
    return pairs, report


def _compare(
    variable: Variable, stored: StoredTensor | None, pairs: _Pairs, report: LoadReport
) -> None:
    if stored is None:
        report.missing.append(f"{variable.path!r} {variable.shape} (not in the checkpoint)")
        return
    problem = describe_mismatch(variable, stored)
    if problem is None:
        pairs.append((variable, stored))
    else:
        report.mismatched.append(problem)


def _weights_below(
    start: int, nodes: ObjectGraph, skipped: set[int | None]
) -> Iterator[tuple[int, str]]:
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
            if child in visited or child in skipped or name in _NO_WEIGHTS:
                continue
            if not is_optimizer_node(nodes[child]):
                visited.add(child)
                pending.append(child)


def _match_optimizers(
    matches: _Matches, nodes: ObjectGraph, bundle: TensorBundle, order: Sequence[Variable]
) -> tuple[_Pairs, list[str]]:
    """Return what the checkpoint has of the state of optimizers, and warnings about the others."""
    pairs: _Pairs = []
    warnings = []
    known = matches.nodes_by_id()
    trained = {id(weight): known[id(weight)] for weight in order if id(weight) in known}
    for optimizer, node in matches.optimizers.values():
        if node is None or not is_optimizer_node(nodes[node]):
            continue
        state = match_optimizer(optimizer, nodes[node], nodes, trained)
        problem = state.problem
        found: _Pairs = []
        for variable, index in state.pairs:
            stored = bundle.tensors.get(nodes[index].value_key or "")
            if stored is None:
                problem = problem or f"{variable.path!r} is not in the checkpoint"
            else:
                problem = problem or describe_mismatch(variable, stored)
                found.append((variable, stored))
        if problem is None:
            pairs += found
        else:
            warnings.append(
                f"The state of optimizer {optimizer.name!r} was not restored: {problem}. Training "
                "continues with a fresh optimizer."
            )
    return pairs, warnings


def _match_by_name(weights: Sequence[Variable], bundle: TensorBundle) -> tuple[_Pairs, LoadReport]:
    """Match variables with a checkpoint of TensorFlow 1: by their paths, or by the names of layer
    and weight where only one has them. It may have others, as of optimizers.
    """
    endings: dict[str, list[str]] = {}
    for name in bundle.tensors:
        endings.setdefault(_last_parts(name), []).append(name)
    own_endings = [_last_parts(variable.path) for variable in weights]
    pairs: _Pairs = []
    report = LoadReport([], [], [], [])
    for variable, ending in zip(weights, own_endings, strict=True):
        stored = bundle.tensors.get(variable.path)
        names = endings.get(ending, [])
        if stored is None and len(names) == 1 and own_endings.count(ending) == 1:
            stored = bundle.tensors[names[0]]
        _compare(variable, stored, pairs, report)
    matched = {stored.name for _, stored in pairs}
    report.unexpected.extend(
        f"{name!r} {stored.shape} (not in the model)"
        for name, stored in bundle.tensors.items()
        if name not in matched
    )
    report.loaded.extend(variable.path for variable, _ in pairs)
    return pairs, report


def _last_parts(name: str) -> str:
    return "/".join(name.split("/")[-2:])


# --- writing


def write_checkpoint(caller: str, prefix: str, root: object, weights: Sequence[Variable]) -> None:
    """Write a checkpoint of an object that TensorFlow reads: its weights, and the state of its
    optimizers. If writing fails, a previous one remains.

    Args:
        caller: The function that the user called, for messages.
        prefix: The path, without `.index`; its directory is created.
        root: A model, or a dictionary of objects.
        weights: The Variables that must be in the checkpoint.
    """
    tensors = collect_checkpoint(root, weights).tensors
    os.makedirs(os.path.dirname(prefix) or ".", exist_ok=True)
    write_bundle(caller, prefix, tensors)


class Checkpoint(NamedTuple):
    """What a checkpoint of an object has: its objects, and Variables and tensors by key."""

    nodes: ObjectGraph
    variables: dict[str, Variable]
    tensors: dict[str, NumpyArray | bytes]


def collect_checkpoint(
    root: object, weights: Sequence[Variable], with_optimizer: bool = True
) -> Checkpoint:
    """Collect what a checkpoint has.

    Args:
        root: A model, or a dictionary of objects.
        weights: The Variables that must be in the checkpoint.
        with_optimizer: Whether it has the state of optimizers.
    """
    nodes, variables, counters = _collect_objects(root, weights, with_optimizer)
    tensors: dict[str, NumpyArray | bytes] = {GRAPH_KEY: encode_object_graph(nodes)}
    for key, variable in variables.items():
        value = host_value(variable)
        tensors[key] = value.astype(np.int64) if id(variable) in counters else value
    return Checkpoint(nodes, variables, tensors)


def _collect_objects(
    root: object, weights: Sequence[Variable], with_optimizer: bool
) -> tuple[ObjectGraph, dict[str, Variable], set[int]]:
    """Return the graph of an object, its Variables by key, and the ids of counters, which are
    int64 in TensorFlow.
    """
    nodes = [empty_node()]
    variables: dict[str, Variable] = {}
    optimizers: list[Optimizer] = []
    counters: set[int] = set()
    order = weights_in_order(root)
    visited: dict[int, tuple[object, int]] = {id(root): (root, 0)}  # with its node
    pending: deque[tuple[object, int, str]] = deque([(root, 0, "")])

    def add(parent: int, path: str, name: str, value: object) -> None:
        if id(value) not in visited:
            visited[id(value)] = value, len(nodes)
            nodes.append(empty_node())
            below = f"{path}{_escape_name(name)}/"
            if isinstance(value, Variable):
                variables[f"{below}.ATTRIBUTES/{VALUE_ATTRIBUTE}"] = value
            else:
                pending.append((value, visited[id(value)][1], below))
        nodes[parent].children.setdefault(name, visited[id(value)][1])

    while pending:
        owner, node, path = pending.popleft()
        if isinstance(owner, Optimizer):
            optimizers.append(owner)
            counters.add(id(owner._iterations))
            objects = iter(state_to_write(owner, order).items())
        else:
            objects = objects_by_name(owner)
            if isinstance(owner, Normalization):
                counters.add(id(owner.count))
        for name, value in objects:
            if with_optimizer or not isinstance(value, Optimizer):
                add(node, path, name, value)
    for weight in weights:
        if id(weight) not in visited:
            add(0, "", weight.path, weight)
    nodes[0].children.setdefault("root", 0)
    names = {id(variable): variable.path for variable in variables.values()}
    for optimizer in optimizers:
        names |= full_names(optimizer, names)
    for key, variable in variables.items():
        index = visited[id(variable)][1]
        nodes[index].keys[VALUE_ATTRIBUTE] = key
        nodes[index].full_names[VALUE_ATTRIBUTE] = names[id(variable)]
    return nodes, variables, counters


def _escape_name(name: str) -> str:
    return name.replace(".", "..").replace("/", ".S")
