"""Weights in Keras 3's layout (`layers/dense/vars/0`): how they are written and matched to a model.

The paths come from `podium.state`. Writing puts arrays at the paths; reading compares what the file
lists with what the model has before arrays are read, and assigns nothing unless everything fits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from podium.core import Variable
from podium.layers import Layer
from podium.optimizers import Optimizer
from podium.saving.formats._hdf5 import read_all, seal, stored_tree
from podium.saving.formats._hdf5_writer import Hdf5Image
from podium.saving.io._array_io import value_of
from podium.saving.io._errors import Unfit
from podium.saving.io._load_plan import Loaded, LoadReport, Stored, checked, misfit
from podium.state import StateNode, state_nodes, summarize

_IGNORED = (
    "seed_generator",
    "_random_generator",
)  # Keras's random states, which mean nothing to our generators


def _private(path: str) -> str:
    """Return the spelling of a path that files of Keras 2.15 and the first Keras 3 have:
    `_query_dense`.
    """
    above, _, last = path.rpartition("/")
    return f"{above}/_{last}" if last.endswith("_dense") else path


# --- writing


def weights_by_path(model: Any) -> dict[str, Variable]:
    """Return the weights of a model, without the state of its optimizer."""
    return {
        node.path_of(f"vars/{index}"): variable
        for node in state_nodes(model)
        if isinstance(node.owner, Layer)
        for index, variable in enumerate(node.variables)
    }


def state_image(model: Any, with_optimizer: bool = True) -> Hdf5Image:
    """Return an HDF5 file to be written, with all Variables of a model at their places."""
    image = Hdf5Image()
    seal(image.file)
    for node in state_nodes(model):
        if isinstance(node.owner, Optimizer) and not with_optimizer:
            continue
        values = _values_of(node)
        if not values:
            continue
        group = image.file.create_group(f"{node.path}/vars" if node.path else "vars")
        group.attrs["name"] = node.owner.name
        for key, array in values.items():
            image.put(group, key, f"{group.name[1:]}/{key}", array)
    return image


def _values_of(node: StateNode) -> dict[str, np.ndarray]:
    if _has_own_form(node.owner):
        return _own_form(node.owner)
    return {str(place): value_of(variable) for place, variable in enumerate(node.variables)}


def named_values(model: Any) -> dict[str, np.ndarray]:
    """Return the weights of a model by their places and names: `layers/dense/kernel`."""
    found: dict[str, np.ndarray] = {}
    for node in state_nodes(model):
        if isinstance(node.owner, Optimizer):
            continue
        named = dict(zip(_names(node.variables), map(value_of, node.variables), strict=True))
        for name, value in (_own_form(node.owner) if _has_own_form(node.owner) else named).items():
            found[f"{node.path}/{name}" if node.path else name] = value
    return found


def tree_name(name: str) -> str:
    """Return the place in Keras's layout that a name such as `layers/dense/kernel` stands for."""
    path, _, last = name.rpartition("/")
    return f"{path}/vars/{last}" if path else f"vars/{last}"


def _names(variables: list[Variable]) -> list[str]:
    """Return the names of the Variables of one owner, made unique."""
    names: list[str] = []
    for variable in variables:
        plain = name = variable.name.replace("/", "_")
        while name in names:
            name = (
                f"{plain}_{names.count(plain) + sum(one.startswith(f'{plain}_') for one in names)}"
            )
        names.append(name)
    return names


def _own_form(owner: Any) -> dict[str, np.ndarray]:
    store: dict[str, Any] = {}
    owner.save_own_variables(store)
    return {key: np.asarray(value) for key, value in store.items()}


def _has_own_form(owner: Any) -> bool:
    """Tell whether a layer of the user's says itself what is written of it."""
    return (
        isinstance(owner, Layer)
        and hasattr(owner, "save_own_variables")
        and hasattr(owner, "load_own_variables")
    )


# --- reading


Read = Callable[[list[str]], dict[str, np.ndarray]]


def hdf5_state(file: Any) -> tuple[dict[str, Stored], Read]:
    """List the weights of an HDF5 file in Keras 3's layout, and return what reads them by their
    names.
    """
    stored = stored_tree(file)
    return dict(stored), lambda names: read_all(file, file, stored, names)


def read_state(
    stored: Mapping[str, Stored],
    read: Read,
    model: Any,
    skip_mismatch: bool = False,
    with_optimizer: bool = True,
) -> Loaded:
    """Read what fits a model, by its places in Keras 3's layout, or raise `Unfit`; nothing is
    assigned yet.
    """
    nodes = state_nodes(model)
    layers = [node for node in nodes if isinstance(node.owner, Layer)]
    pairs, own_forms, report = _matched(layers, stored, _Taken(nodes))
    if report.problems and not skip_mismatch:
        raise Unfit(
            f"does not fit model {model.name!r}, and nothing was loaded: "
            f"{summarize(report.problems)}. Build the model as it was "
            "when it was saved, or pass `skip_mismatch=True` to load what fits."
        )
    optimizers, complaints = [], []
    for node in nodes if with_optimizer else []:
        if isinstance(node.owner, Optimizer):
            fitting, complaint = _optimizer_pairs(node, stored)
            optimizers += fitting
            complaints += complaint
    wanted = [weight.name for _, weight in pairs + optimizers] + [
        name for _, names in own_forms for name in names.values()
    ]
    values = read(wanted)
    if report.problems:
        complaints = [f"These were left as they were: {summarize(report.problems)}.", *complaints]
    return Loaded(
        checked(
            [(variable, values[weight.name]) for variable, weight in pairs + optimizers], model
        ),
        [(owner, {key: values[name] for key, name in names.items()}) for owner, names in own_forms],
        complaints,
        report,
    )


class _Taken:
    """Which stored weights have an owner, so that the others can be reported."""

    def __init__(self, nodes: list[StateNode]):
        paths = [spelling for node in nodes for spelling in (node.path, _private(node.path))]
        self.prefixes = {f"{path}/vars/" if path else "vars/" for path in paths}
        self.others = tuple(f"{node.path}/" for node in nodes if isinstance(node.owner, Optimizer))

    def has_owner(self, name: str) -> bool:
        parts = name.split("/")
        ignored = (
            any(part in _IGNORED for part in parts)
            or parts[0] in ("optimizer", "metrics")
            or name.startswith(self.others)
        )
        return ignored or f"{'/'.join(parts[:-1])}/" in self.prefixes


def _matched(
    layers: list[StateNode], stored: Mapping[str, Stored], taken: _Taken
) -> tuple[list, list, LoadReport]:
    """Return what fits together, layers that read for themselves, and what does not fit."""
    pairs: list[tuple[Variable, Stored]] = []
    own_forms: list[tuple[Any, dict[str, str]]] = []
    report = LoadReport([], [], [], [])
    by_group: dict[str, dict[str, Stored]] = {}
    for name, weight in stored.items():
        group, _, key = name.rpartition("/")
        by_group.setdefault(group, {})[key] = weight
    for path, owner, (_, variables, _, _) in layers:
        there = by_group.get(f"{path}/vars" if path else "vars") or by_group.get(
            f"{_private(path)}/vars", {}
        )
        if _has_own_form(owner):
            own_forms.append((owner, {key: weight.name for key, weight in there.items()}))
            report.loaded.extend(weight.name for weight in there.values())
            continue
        where = f"layer {owner.name!r} ({path or 'the model itself'})"
        keys = _keys_in_order(there, variables)
        if keys is None:
            what = report.missing if len(there) <= len(variables) else report.unexpected
            what.append(f"{where} {_other_weights(there, variables)}")
            continue
        for key, variable in zip(keys, variables, strict=True):
            problem = misfit(variable, there[key])
            if problem is None:
                pairs.append((variable, there[key]))
            else:
                report.mismatched.append(f"{where}: {problem}")
    unexpected = [
        f"{weight.name!r} {weight.shape}"
        for name, weight in stored.items()
        if not taken.has_owner(name)
    ]
    if unexpected:
        report.unexpected.append(
            "the file has weights that the model does not have (unexpected): "
            f"{summarize(unexpected)}"
        )
    report.loaded.extend(variable.path for variable, _ in pairs)
    return pairs, own_forms, report


def _keys_in_order(there: Mapping[str, Stored], variables: list[Variable]) -> list[str] | None:
    """Return the keys of one owner's weights in the order of its Variables: by name, or by number;
    None if they differ.
    """
    if all(key.isdecimal() for key in there):
        return (
            sorted(there, key=lambda key: (len(key), key)) if len(there) == len(variables) else None
        )
    names = _names(variables)
    return names if set(names) == set(there) else None


def _other_weights(there: Mapping[str, Stored], variables: list[Variable]) -> str:
    here = summarize([f"{variable.path} {variable.shape}" for variable in variables])
    found = summarize([f"{weight.name!r} {weight.shape}" for weight in there.values()])
    counts = (
        f"has {len(variables)} weights ({here}), and {len(there)} were found in the file ({found})"
    )
    difference = len(there) - len(variables)
    what = (
        f"{abs(difference)} {'missing' if difference < 0 else 'unexpected'}"
        if difference
        else "missing under these names"
    )
    return f"{counts}: {what}"


def _optimizer_pairs(node: StateNode, stored: Mapping[str, Stored]) -> tuple[list, list[str]]:
    """Return what of an optimizer's state the file has; a complaint if it does not fit."""
    there = [
        stored[name]
        for name in (f"{node.path}/vars/{place}" for place in range(len(stored)))
        if name in stored
    ]
    mine = node.variables
    if there and len(there) < len(mine) and all(weight.shape == () for weight in there):
        mine = mine[
            : len(there)
        ]  # saved before the first step: the count and the rate, no slots yet
    elif len(there) == len(mine) - 1 and "learning_rate" in mine[1].path:
        mine = [mine[0], *mine[2:]]  # Keras 2 keeps the rate in the config alone
    fits = len(there) == len(mine) and all(
        w.shape == v.shape for w, v in zip(there, mine, strict=True)
    )
    if fits:
        return list(zip(mine, there, strict=True)), []
    if not there:
        return [], []
    return [], [
        f"The state of optimizer {node.owner.name!r} was not restored: it has {len(mine)} "
        f"Variables, and {len(there)} of other "
        "number or shape were found in the file. Training goes on with a fresh optimizer."
    ]
