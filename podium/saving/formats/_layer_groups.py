"""Weights in Keras 2's layout: a group for each layer directly inside a model, a dataset for each
weight of it.

What a file lists is compared with the model before arrays are read. `_hdf5.py` reads and validates
datasets.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from podium.core import Variable
from podium.saving._savable_model import SavableModel
from podium.saving.formats._hdf5 import (
    TOP,
    StoredLayer,
    StoredWeight,
    list_layers,
    read_all,
    require_digests,
    weights_root,
    write_names,
)
from podium.saving.formats._hdf5_writer import Hdf5Image
from podium.saving.io._array_io import host_value
from podium.saving.io._errors import InvalidFileError
from podium.saving.io._load_plan import LoadPlan, LoadReport, convert_values, describe_mismatch
from podium.state import summarize

LayerWeights = list[tuple[str, list[Variable]]]


def write_groups(image: Hdf5Image, root: Any, layers: LayerWeights) -> None:
    """Add the weights of layers to a group of a file to be written."""
    write_names(root, "layer_names", [name for name, _ in layers if name != TOP])
    root.attrs["backend"], root.attrs["keras_version"] = b"jax", b"2.15.0"  # whose layout this is
    require_digests(root)
    for name, weights in layers:
        group = root.create_group(name)
        names = _names_in_file(weights)
        write_names(group, "weight_names", names)
        for weight_name, variable in zip(names, weights, strict=True):
            image.add_dataset(group, weight_name, f"{name}/{weight_name}", host_value(variable))


def plan_groups_load(
    file: Any,
    model: SavableModel,
    layers: LayerWeights,
    by_name: bool = False,
    skip_mismatch: bool = False,
) -> LoadPlan:
    """Read what fits a model, or raise `InvalidFileError`. Nothing is assigned yet."""
    stored = list_layers(file)
    pairs, report = _match_layers(layers, stored, by_name)
    if report.mismatched and not skip_mismatch:
        raise InvalidFileError(
            f"does not fit model {model.name!r}, and nothing was loaded: "
            f"{summarize(report.problems)}. Build the model as it was "
            "when it was saved, or pass `skip_mismatch=True` to load what fits."
        )
    by_path = {
        f"{layer.name}/{weight.name}": weight for layer in stored for weight in layer.weights
    }
    path_of = {id(weight): path for path, weight in by_path.items()}
    values = read_all(
        file, weights_root(file), by_path, [path_of[id(weight)] for _, weight in pairs]
    )
    assignments = convert_values(
        [(variable, values[path_of[id(weight)]]) for variable, weight in pairs], model.name
    )
    warnings = []
    if report.problems:
        skipped = summarize(report.missing + report.mismatched)
        warnings.append(
            f"load_weights took {len(pairs)} weights from the file. These were left as they "
            f"were: {skipped}."
        )
    return LoadPlan(assignments, [], warnings, report)


def weights_by_layer(model: SavableModel, caller: str, unique_names: bool = False) -> LayerWeights:
    """List the layers directly inside a model with their weights, and last the weights that the
    model owns itself.

    Args:
        model: The model.
        caller: The method that was called, for messages.
        unique_names: Whether layers are stored or found by name, so that two of one name are an
            error.
    """
    all_layers = model._flatten_layers(include_self=False)
    if not model.built and (not model.weights or not all(layer.built for layer in all_layers)):
        raise ValueError(
            f"{caller} was called on model {model.name!r} ({type(model).__name__}), which is not "
            "built: its weights do not exist yet. Call it on a batch first, or "
            "`model.build(input_shape)`."
        )
    layers = list(model.layers)
    layers += [
        other
        for other in model._own_layers()
        if other.weights and not any(other is layer for layer in layers)
    ]
    result = [(layer.name, _statistics_last(layer.weights)) for layer in layers] + [
        (TOP, _statistics_last(model._own_weights()))
    ]
    names = [name for name, _ in result] if unique_names else []
    for name in names:
        if names.count(name) > 1:
            raise ValueError(
                f"{caller} was called on model {model.name!r}, which has {names.count(name)} "
                f"layers named {name!r}. In this layout names must be unique: give one of them "
                "another `name=`, or save to a name that ends in `.weights.h5`."
            )
    return result


def _statistics_last(weights: Sequence[Variable]) -> list[Variable]:
    """Put statistics last, as Keras 2 does. Weights of frozen layers keep their positions; a frozen
    weight beside trained ones, as LoRA leaves it, is put last too.
    """

    def layer_path(variable: Variable) -> str:
        return variable.path.rpartition("/")[0]

    trained_layers = {layer_path(variable) for variable in weights if variable.trainable}

    def is_first(variable: Variable) -> bool:
        in_frozen_layer = variable.frozen and layer_path(variable) not in trained_layers
        return variable.trainable or in_frozen_layer

    return sorted(weights, key=lambda variable: not is_first(variable))


def _names_in_file(weights: Sequence[Variable]) -> list[str]:
    """Return Keras 2's names, such as `dense/kernel:0`, made unique."""
    names: list[str] = []
    for variable in weights:
        name, count = f"{variable.path}:0", 0
        while name in names:
            count += 1
            name = f"{variable.path}_{count}:0"
        names.append(name)
    return names


# --- matching


def _match_layers(
    layers: LayerWeights, stored: list[StoredLayer], by_name: bool
) -> tuple[list[tuple[Variable, StoredWeight]], LoadReport]:
    """Return matching variables and arrays, and a report; with `by_name` a layer that the file does
    not have is not an error.
    """
    stored_by_name = {layer.name: layer for layer in stored}
    missing: list[str] = []
    if by_name:
        missing = [
            f"layer {name!r} (not in the file)"
            for name, weights in layers
            if weights and name not in stored_by_name
        ]
        matches = [
            (name, weights, stored_by_name[name])
            for name, weights in layers
            if name in stored_by_name
        ]
    else:
        in_model = [layer for layer in layers if layer[1] and layer[0] != TOP]
        in_file = [layer for layer in stored if layer.weights and layer.name != TOP]
        if len(in_model) != len(in_file):
            raise InvalidFileError(
                f"does not fit the model, and nothing was loaded: the file has {len(in_file)} "
                f"layers with weights ({summarize([repr(layer.name) for layer in in_file])}) and "
                f"the model has {len(in_model)} "
                f"({summarize([repr(name) for name, _ in in_model])}). Build the "
                "model as it was when it was saved, and call it once so that all layers have "
                "weights; or pass `by_name=True`."
            )
        matches = [
            (name, weights, layer) for (name, weights), layer in zip(in_model, in_file, strict=True)
        ]
        matches.append((TOP, layers[-1][1], stored_by_name.get(TOP, StoredLayer(TOP, []))))
    pairs: list[tuple[Variable, StoredWeight]] = []
    problems: list[str] = []
    for name, weights, layer in matches:
        label = "the model itself" if name == TOP else f"layer {name!r}"
        if len(weights) != len(layer.weights):
            names = summarize([repr(weight.name) for weight in layer.weights])
            problems.append(
                f"{label} has {len(weights)} weights, and {len(layer.weights)} in the file "
                f"({names})"
            )
            continue
        for variable, weight in zip(weights, _sort_like(weights, layer.weights), strict=True):
            problem = describe_mismatch(variable, weight)
            if problem is None:
                pairs.append((variable, weight))
            else:
                problems.append(f"{label}: {problem}")
    return pairs, LoadReport([variable.path for variable, _ in pairs], missing, [], problems)


def _sort_like(weights: Sequence[Variable], stored: list[StoredWeight]) -> list[StoredWeight]:
    """Sort stored weights like the model's if their names show that the order differs: Keras 2
    lists frozen ones elsewhere.
    """
    if [weight.bare_name.rpartition("/")[2] for weight in stored] == [
        variable.name for variable in weights
    ]:
        return stored
    by_name = {weight.bare_name: weight for weight in stored}
    is_same = len(by_name) == len(stored) and set(by_name) == {
        variable.path for variable in weights
    }
    return [by_name[variable.path] for variable in weights] if is_same else stored
