"""Weights in Keras 2's layout: a group for each layer directly inside a model, a dataset for each
weight of it.

What a file lists is compared with the model before numbers are read; `_hdf5.py` owns what is read
and refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from podium.core import Variable
from podium.saving.formats._hdf5 import (
    TOP,
    StoredPart,
    StoredWeight,
    read_all,
    seal,
    stored_parts,
    weights_root,
    write_names,
)
from podium.saving.formats._hdf5_writer import Hdf5Image
from podium.saving.io._array_io import value_of
from podium.saving.io._errors import Unfit
from podium.saving.io._load_plan import Loaded, LoadReport, checked, misfit
from podium.state import summarize

Parts = list[tuple[str, list[Variable]]]


def write_groups(image: Hdf5Image, root: Any, parts: Parts) -> None:
    """Put parts below a group of a file in the making."""
    write_names(root, "layer_names", [name for name, _ in parts if name != TOP])
    root.attrs["backend"], root.attrs["keras_version"] = b"jax", b"2.15.0"  # whose layout this is
    seal(root)
    for name, weights in parts:
        group = root.create_group(name)
        names = _names_in_file(weights)
        write_names(group, "weight_names", names)
        for weight_name, variable in zip(names, weights, strict=True):
            image.put(group, weight_name, f"{name}/{weight_name}", value_of(variable))


def read_groups(
    file: Any, model: Any, parts: Parts, by_name: bool = False, skip_mismatch: bool = False
) -> Loaded:
    """Read what fits a model, or raise `Unfit`; nothing is assigned yet."""
    stored = stored_parts(file)
    pairs, report = _matched(parts, stored, by_name)
    if report.mismatched and not skip_mismatch:
        raise Unfit(
            f"does not fit model {model.name!r}, and nothing was loaded: "
            f"{summarize(report.problems)}. Build the model as it was "
            "when it was saved, or pass `skip_mismatch=True` to load what fits."
        )
    by_path = {f"{part.name}/{weight.name}": weight for part in stored for weight in part.weights}
    path_of = {id(weight): path for path, weight in by_path.items()}
    values = read_all(
        file, weights_root(file), by_path, [path_of[id(weight)] for _, weight in pairs]
    )
    assignments = checked(
        [(variable, values[path_of[id(weight)]]) for variable, weight in pairs], model
    )
    complaints = []
    if report.problems:
        left = summarize(report.missing + report.mismatched)
        complaints.append(
            f"load_weights took {len(pairs)} weights from the file. These were left as they "
            f"were: {left}."
        )
    return Loaded(assignments, [], complaints, report)


def parts_of(model: Any, asked: str) -> Parts:
    """List the layers directly inside with their weights, and last the weights that the model holds
    itself.
    """
    inside = model._flatten_layers(include_self=False)
    if not model.built and (not model.weights or not all(layer.built for layer in inside)):
        raise ValueError(
            f"{asked} was called on model {model.name!r} ({type(model).__name__}), which is not "
            "built: its weights do not exist yet. Call it on a batch first, or "
            "`model.build(input_shape)`."
        )
    layers = list(model.layers)
    layers += [
        one
        for one in model._own_layers()
        if one.weights and not any(one is layer for layer in layers)
    ]
    parts = [(layer.name, _ordered(layer.weights)) for layer in layers] + [
        (TOP, _ordered(model._own_weights()))
    ]
    names = [name for name, _ in parts]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(
                f"{asked} was called on model {model.name!r}, which has {names.count(name)} layers "
                f"named {name!r}. In a file of weights names must be unique: give one of them "
                "another `name=`."
            )
    return parts


def _ordered(weights: Sequence[Variable]) -> list[Variable]:
    """Put statistics last, as Keras 2 does; frozen weights stay in their places."""
    return sorted(weights, key=lambda variable: not (variable.trainable or variable.frozen))


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


# --- comparing


def _matched(
    parts: Parts, stored: list[StoredPart], by_name: bool
) -> tuple[list[tuple[Variable, StoredWeight]], LoadReport]:
    """Return what fits together, and what does not; with `by_name` what the file does not have is
    no error.
    """
    found = {part.name: part for part in stored}
    missing: list[str] = []
    if by_name:
        missing = [
            f"layer {name!r} (not in the file)"
            for name, weights in parts
            if weights and name not in found
        ]
        couples = [(name, weights, found[name]) for name, weights in parts if name in found]
    else:
        own = [part for part in parts if part[1] and part[0] != TOP]
        theirs = [part for part in stored if part.weights and part.name != TOP]
        if len(own) != len(theirs):
            raise Unfit(
                f"does not fit the model, and nothing was loaded: the file has {len(theirs)} "
                f"layers with weights ({summarize([repr(part.name) for part in theirs])}) and the "
                f"model has {len(own)} ({summarize([repr(name) for name, _ in own])}). Build the "
                "model as it was when it was saved, and call it once so that all layers have "
                "weights; or pass `by_name=True`."
            )
        couples = [(name, weights, part) for (name, weights), part in zip(own, theirs, strict=True)]
        couples.append((TOP, parts[-1][1], found.get(TOP, StoredPart(TOP, []))))
    pairs: list[tuple[Variable, StoredWeight]] = []
    problems: list[str] = []
    for name, weights, part in couples:
        where = "the model itself" if name == TOP else f"layer {name!r}"
        if len(weights) != len(part.weights):
            there = summarize([repr(weight.name) for weight in part.weights])
            problems.append(
                f"{where} has {len(weights)} weights, and {len(part.weights)} in the file ({there})"
            )
            continue
        for variable, weight in zip(weights, _in_order_of(weights, part.weights), strict=True):
            problem = misfit(variable, weight)
            if problem is None:
                pairs.append((variable, weight))
            else:
                problems.append(f"{where}: {problem}")
    return pairs, LoadReport([variable.path for variable, _ in pairs], missing, [], problems)


def _in_order_of(weights: Sequence[Variable], stored: list[StoredWeight]) -> list[StoredWeight]:
    """Sort stored weights like ours if their names say that the order differs: Keras 2 puts frozen
    ones elsewhere.
    """
    if [weight.plain_name.rpartition("/")[2] for weight in stored] == [
        variable.name for variable in weights
    ]:
        return stored
    by_name = {weight.plain_name: weight for weight in stored}
    same = len(by_name) == len(stored) and set(by_name) == {variable.path for variable in weights}
    return [by_name[variable.path] for variable in weights] if same else stored
