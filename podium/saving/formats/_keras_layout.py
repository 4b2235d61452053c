"""Weights in Keras 3's layout (`layers/dense/vars/0`): how they are written and matched to a model.

The paths are those of `podium.state`. Writing puts arrays at the paths; reading compares what the
file lists with what the model has before arrays are read, and assigns nothing unless everything
fits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from podium.core import Variable
from podium.layers import Layer
from podium.optimizers import Optimizer
from podium.saving._savable_model import SavableModel
from podium.saving.formats._hdf5 import list_weights, read_all, require_digests
from podium.saving.formats._hdf5_writer import Hdf5Image
from podium.saving.io._array_io import NumpyArray, host_value
from podium.saving.io._errors import InvalidFileError
from podium.saving.io._load_plan import (
    LoadPlan,
    LoadReport,
    StoredArray,
    convert_values,
    describe_mismatch,
    fits,
)
from podium.state import StateNode, state_nodes, summarize

# Keras's random states, which Podium's generators cannot use.
_IGNORED = ("seed_generator", "_random_generator")

ReadArrays = Callable[[list[str]], dict[str, NumpyArray]]
_Pairs = list[tuple[Variable, StoredArray]]
_OwnStores = list[tuple[Layer, dict[str, str]]]


# --- writing


def weights_by_path(model: SavableModel) -> dict[str, Variable]:
    """Return the weights of a model, without the state of its optimizer."""
    return {
        node.path_of(f"vars/{index}"): variable
        for node in state_nodes(model)
        if isinstance(node.owner, Layer)
        for index, variable in enumerate(node.variables)
    }


def state_to_hdf5(model: SavableModel, with_optimizer: bool = True) -> Hdf5Image:
    """Return an HDF5 file to be written, with all variables of a model at their paths."""
    image = Hdf5Image()
    require_digests(image.file)
    for node in state_nodes(model):
        if isinstance(node.owner, Optimizer) and not with_optimizer:
            continue
        values = _stored_values(node)
        if not values:
            continue
        group = image.file.create_group(node.path_of("vars"))
        group.attrs["name"] = node.owner.name
        for key, array in values.items():
            image.add_dataset(group, key, f"{group.name[1:]}/{key}", array)
    return image


def _stored_values(node: StateNode) -> dict[str, NumpyArray]:
    if _has_own_store(node.owner):
        return _save_own_store(node.owner)
    return {str(index): host_value(variable) for index, variable in enumerate(node.variables)}


def weights_by_name(model: SavableModel) -> dict[str, NumpyArray]:
    """Return the values of a model's weights by path and name: `layers/dense/kernel`."""
    result: dict[str, NumpyArray] = {}
    for node in state_nodes(model):
        if isinstance(node.owner, Optimizer):
            continue
        if _has_own_store(node.owner, by_name=True):
            values = _save_own_store(node.owner)
        else:
            names = _unique_names(node.variables)
            values = dict(zip(names, map(host_value, node.variables), strict=True))
        for name, value in values.items():
            result[node.path_of(name)] = value
    return result


def layout_path(name: str) -> str:
    """Return the path in Keras's layout for a name such as `layers/dense/kernel`."""
    path, _, last = name.rpartition("/")
    return f"{path}/vars/{last}" if path else f"vars/{last}"


def _unique_names(variables: list[Variable]) -> list[str]:
    """Return the names of the variables of one owner, made unique."""
    names: list[str] = []
    for variable in variables:
        base = name = variable.name.replace("/", "_")
        while name in names:
            count = names.count(base) + sum(known.startswith(f"{base}_") for known in names)
            name = f"{base}_{count}"
        names.append(name)
    return names


def _save_own_store(owner: Any) -> dict[str, NumpyArray]:
    store: dict[str, Any] = {}
    owner.save_own_variables(store)
    return {key: np.asarray(value) for key, value in store.items()}


def _has_own_store(owner: object, by_name: bool = False) -> bool:
    """Return whether a layer defines itself what is written of it."""
    return isinstance(owner, Layer) and owner._has_own_store(by_name)


# --- reading


def list_hdf5_state(file: Any) -> tuple[dict[str, StoredArray], ReadArrays]:
    """List the weights of an HDF5 file in Keras 3's layout, and return a function that reads them
    by name.
    """
    stored = list_weights(file)
    return dict(stored), lambda names: read_all(file, file, stored, names)


def plan_state_load(
    stored: Mapping[str, StoredArray],
    read: ReadArrays,
    model: SavableModel,
    skip_mismatch: bool = False,
    with_optimizer: bool = True,
) -> LoadPlan:
    """Read what fits a model by its paths in Keras 3's layout. Nothing is assigned yet.

    Args:
        stored: The arrays of the file by path.
        read: Reads arrays by name.
        model: The model.
        skip_mismatch: Whether to leave out what does not fit, instead of raising an error.
        with_optimizer: Whether to read the optimizer's state too.

    Raises:
        InvalidFileError: The file does not fit the model.
    """
    nodes = state_nodes(model)
    layers = [node for node in nodes if isinstance(node.owner, Layer)]
    pairs, own_stores, report = _match_layers(layers, stored)
    _report_unexpected(stored, _OwnedPaths(nodes), report)
    if report.problems and not skip_mismatch:
        raise InvalidFileError(
            f"does not fit model {model.name!r}, and nothing was loaded: "
            f"{summarize(report.problems)}. Build the model as it was "
            "when it was saved, or pass `skip_mismatch=True` to load what fits."
        )
    warnings = []
    if report.problems:
        warnings.append(f"These were left as they were: {summarize(report.problems)}.")
    for node in nodes if with_optimizer else []:
        if isinstance(node.owner, Optimizer):
            slots, warning = _match_optimizer(node, stored)
            pairs = pairs + slots
            warnings += warning
    names = [weight.name for _, weight in pairs]
    names += [name for _, own_names in own_stores for name in own_names.values()]
    values = read(names)
    return LoadPlan(
        convert_values([(variable, values[weight.name]) for variable, weight in pairs], model.name),
        [
            (layer, {key: values[name] for key, name in own_names.items()})
            for layer, own_names in own_stores
        ],
        warnings,
        report,
    )


class _OwnedPaths:
    """Decides which stored weights have an owner, so that the others can be reported."""

    def __init__(self, nodes: list[StateNode]):
        paths = [path for node in nodes for path in (node.path, _older_path(node.path))]
        self.prefixes = {f"{path}/vars/" if path else "vars/" for path in paths}
        self.optimizers = tuple(
            f"{node.path}/" for node in nodes if isinstance(node.owner, Optimizer)
        )

    def contains(self, name: str) -> bool:
        parts = name.split("/")
        is_ignored = (
            any(part in _IGNORED for part in parts)
            or parts[0] in ("optimizer", "metrics")
            or name.startswith(self.optimizers)
        )
        return is_ignored or f"{'/'.join(parts[:-1])}/" in self.prefixes


def _older_path(path: str) -> str:
    """Return the path that files of Keras 2.15 and the first Keras 3 use: `_query_dense`."""
    parent, _, last = path.rpartition("/")
    return f"{parent}/_{last}" if last.endswith("_dense") else path


def _match_layers(
    layers: list[StateNode], stored: Mapping[str, StoredArray]
) -> tuple[_Pairs, _OwnStores, LoadReport]:
    """Return matching variables and arrays, the names of arrays for layers that load their own, and
    a report of what does not fit.
    """
    pairs: _Pairs = []
    own_stores: _OwnStores = []
    report = LoadReport([], [], [], [])
    by_group: dict[str, dict[str, StoredArray]] = {}
    for name, weight in stored.items():
        group, _, key = name.rpartition("/")
        by_group.setdefault(group, {})[key] = weight
    for node in layers:
        layer, variables = node.owner, node.variables
        weights = by_group.get(node.path_of("vars")) or by_group.get(
            f"{_older_path(node.path)}/vars", {}
        )
        by_name = not all(key.isdecimal() for key in weights)
        if isinstance(layer, Layer) and _has_own_store(layer, by_name):
            own_stores.append((layer, {key: weight.name for key, weight in weights.items()}))
            report.loaded.extend(weight.name for weight in weights.values())
            continue
        label = f"layer {layer.name!r} ({node.path or 'the model itself'})"
        keys = _keys_in_order(weights, variables)
        if keys is None:
            problems = report.missing if len(weights) <= len(variables) else report.unexpected
            problems.append(f"{label} {_describe_difference(weights, variables)}")
            continue
        for key, variable in zip(keys, variables, strict=True):
            mismatch = describe_mismatch(variable, weights[key])
            if mismatch is None:
                pairs.append((variable, weights[key]))
            else:
                report.mismatched.append(f"{label}: {mismatch}")
    report.loaded.extend(variable.path for variable, _ in pairs)
    return pairs, own_stores, report


def _report_unexpected(
    stored: Mapping[str, StoredArray], owned_paths: _OwnedPaths, report: LoadReport
) -> None:
    unexpected = [
        f"{weight.name!r} {weight.shape}"
        for name, weight in stored.items()
        if not owned_paths.contains(name)
    ]
    if unexpected:
        report.unexpected.append(
            "the file has weights that the model does not have (unexpected): "
            f"{summarize(unexpected)}"
        )


def _keys_in_order(
    weights: Mapping[str, StoredArray], variables: list[Variable]
) -> list[str] | None:
    """Return the keys of one owner's weights in the order of its variables, by name or by number;
    None if they differ.
    """
    if all(key.isdecimal() for key in weights):
        if len(weights) != len(variables):
            return None
        return sorted(weights, key=lambda key: (len(key), key))
    names = _unique_names(variables)
    return names if set(names) == set(weights) else None


def _describe_difference(weights: Mapping[str, StoredArray], variables: list[Variable]) -> str:
    expected = summarize([f"{variable.path} {variable.shape}" for variable in variables])
    stored = summarize([f"{weight.name!r} {weight.shape}" for weight in weights.values()])
    surplus = len(weights) - len(variables)
    difference = "missing under these names"
    if surplus:
        difference = f"{abs(surplus)} {'missing' if surplus < 0 else 'unexpected'}"
    return (
        f"has {len(variables)} weights ({expected}), and {len(weights)} were found in the file "
        f"({stored}): {difference}"
    )


def _match_optimizer(
    node: StateNode, stored: Mapping[str, StoredArray]
) -> tuple[_Pairs, list[str]]:
    """Return what the file has of an optimizer's state; or a warning if that does not fit."""
    names = (node.path_of(f"vars/{index}") for index in range(len(stored)))
    weights = [stored[name] for name in names if name in stored]
    variables = optimizer_variables_in_file(node.variables, weights)
    if fits(variables, weights):
        return list(zip(variables, weights, strict=True)), []
    if not weights:
        return [], []
    return [], [
        f"The state of optimizer {node.owner.name!r} was not restored: it has {len(variables)} "
        f"Variables, and {len(weights)} of other "
        "number or shape were found in the file. Training continues with a fresh optimizer."
    ]


def optimizer_variables_in_file(variables: list[Variable], weights: list[Any]) -> list[Variable]:
    """Return the variables of an optimizer that a file has arrays for."""
    if weights and len(weights) < len(variables) and all(w.shape == () for w in weights):
        return variables[: len(weights)]  # saved before the first step: no slots yet
    if len(weights) == len(variables) - 1 and "learning_rate" in variables[1].path:
        return [variables[0], *variables[2:]]  # Keras 2 keeps the rate in the config alone
    return variables
