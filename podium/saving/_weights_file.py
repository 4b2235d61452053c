"""Weights in an HDF5 file, in Keras 2's layout: a group for each layer, a dataset for each weight.

Writing replaces a file whole, or leaves it as it was. Reading trusts nothing: what the file lists is compared with the
model before numbers are read, and nothing is assigned unless all of it fits. `_hdf5.py` owns what is read and refused.
"""

from __future__ import annotations

import contextlib
import io
import os
import secrets
import shutil
import warnings
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

from podium.core import Variable
from podium.saving._hdf5 import TOP, StoredPart, StoredWeight, Unfit, opened, stored_parts, write_names, write_weight

_MOST_PROBLEMS = 5  # in one message


def write_weights(model: Any, filepath: Any, overwrite: bool = True, save_format: Any = None, options: Any = None) -> None:
    """Write the weights of a model to a file at exactly this path.

    Args:
        model: A model whose weights exist.
        filepath: Where to; the directory must exist. A link is followed.
        overwrite: Whether a file that is there may be replaced.
        save_format: Accepted for Keras 2's signature: None, "h5", "hdf5" or "keras".
        options: Accepted for Keras 2's signature: None.

    Raises:
        ValueError: The weights do not exist yet, or another format was asked for.
        FileNotFoundError: The directory does not exist.
        FileExistsError: The file exists, and `overwrite` is False.
    """
    if options is not None or save_format not in (None, "h5", "hdf5", "keras"):
        raise ValueError(
            f"save_weights was given save_format={save_format!r}, options={options!r}. TensorFlow's checkpoints cannot be "
            "written; weights are written as HDF5. Leave both arguments out."
        )
    import h5py  # here, because it would add a tenth to the time that `import podium` takes

    path = _place_for(os.fsdecode(filepath), overwrite)
    image = io.BytesIO()  # put together in memory, so that a full disk is a plain error and not HDF5's business
    parts = _parts(model, "save_weights")
    with h5py.File(image, "w") as file:
        write_names(file, "layer_names", [name for name, _ in parts if name != TOP])
        file.attrs["backend"], file.attrs["keras_version"] = b"jax", b"2.15.0"  # whose layout this is
        for name, weights in parts:
            group = file.create_group(name)
            names = _names_in_file(weights)
            write_names(group, "weight_names", names)
            for weight_name, variable in zip(names, weights, strict=True):
                write_weight(group, weight_name, variable.numpy())
    _replace_file(path, image.getbuffer())


def read_weights(model: Any, filepath: Any, by_name: bool = False, skip_mismatch: bool = False, options: Any = None) -> None:
    """Read the weights of a model from an HDF5 file in Keras 2's layout: ours, or one that Keras 2 wrote.

    Args:
        model: A model whose weights exist.
        filepath: The file.
        by_name: Take the layers whose names are in the file, and leave the others; otherwise layers are taken in order.
        skip_mismatch: Leave weights that do not fit as they are. A warning lists them.
        options: Accepted for Keras 2's signature: None.

    Raises:
        ValueError: The file does not fit the model. Nothing has changed.
        OSError: The file is missing or damaged.
    """
    if options is not None:
        raise ValueError(f"load_weights was given options={options!r}; they are for TensorFlow's checkpoints. Leave it out.")
    path = os.fsdecode(filepath)
    parts = _parts(model, "load_weights")
    with opened(path) as file:
        stored = stored_parts(file)
        pairs, problems, missing = _matched(parts, stored, by_name)
        if problems and not skip_mismatch:
            raise Unfit(
                f"does not fit model {model.name!r}, and nothing was loaded: {_listed(problems)}. Build the model as it was "
                "when it was saved, or pass `skip_mismatch=True` to load what fits."
            )
        values = []
        for variable, weight in pairs:
            value = weight.read()
            try:
                variable._check_assignable(value)
            except (TypeError, ValueError) as error:
                raise Unfit(f"does not fit model {model.name!r}, and nothing was loaded: {error}") from error
            values.append(value)
    arrays = [jnp.asarray(value, variable.dtype) for (variable, _), value in zip(pairs, values, strict=True)]
    for (variable, _), array in zip(pairs, arrays, strict=True):
        variable.assign(array)
    if problems or missing:
        warnings.warn(
            f"load_weights took {len(pairs)} weights from {path!r}. These were left as they were: {_listed(missing + problems)}.",
            stacklevel=3,
        )


def _parts(model: Any, asked: str) -> list[tuple[str, list[Variable]]]:
    """List the layers directly inside with their weights, and last the weights that the model holds itself."""
    inside = model._flatten_layers(include_self=False)
    if not model.built and (not model.weights or not all(layer.built for layer in inside)):
        raise ValueError(
            f"{asked} was called on model {model.name!r} ({type(model).__name__}), which is not built: its weights do not exist "
            "yet. Call it on a batch first, or `model.build(input_shape)`."
        )
    layers = list(model.layers)
    layers += [one for one in model._own_layers() if one.weights and not any(one is layer for layer in layers)]
    parts = [(layer.name, _ordered(layer.weights)) for layer in layers] + [(TOP, _ordered(model._own_weights()))]
    names = [name for name, _ in parts]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(
                f"{asked} was called on model {model.name!r}, which has {names.count(name)} layers named {name!r}. In a file of "
                "weights names must be unique: give one of them another `name=`."
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
    parts: list[tuple[str, list[Variable]]], stored: list[StoredPart], by_name: bool
) -> tuple[list[tuple[Variable, StoredWeight]], list[str], list[str]]:
    """Return what fits together, what does not, and with `by_name` what the file does not have."""
    found = {part.name: part for part in stored}
    missing: list[str] = []
    if by_name:
        missing = [f"layer {name!r} (not in the file)" for name, weights in parts if weights and name not in found]
        couples = [(name, weights, found[name]) for name, weights in parts if name in found]
    else:
        own = [part for part in parts if part[1] and part[0] != TOP]
        theirs = [part for part in stored if part.weights and part.name != TOP]
        if len(own) != len(theirs):
            raise Unfit(
                f"does not fit the model, and nothing was loaded: the file has {len(theirs)} layers with weights "
                f"({_listed([repr(part.name) for part in theirs])}) and the model has {len(own)} "
                f"({_listed([repr(name) for name, _ in own])}). Build the model as it was when it was saved, and call it once so "
                "that all layers have weights; or pass `by_name=True`."
            )
        couples = [(name, weights, part) for (name, weights), part in zip(own, theirs, strict=True)]
        couples.append((TOP, parts[-1][1], found.get(TOP, StoredPart(TOP, []))))
    pairs, problems = [], []
    for name, weights, part in couples:
        where = "the model itself" if name == TOP else f"layer {name!r}"
        if len(weights) != len(part.weights):
            listed = _listed([repr(weight.name) for weight in part.weights])
            problems.append(f"{where} has {len(weights)} weights, and {len(part.weights)} in the file ({listed})")
            continue
        for variable, weight in zip(weights, _in_order_of(weights, part.weights), strict=True):
            if variable.shape == weight.shape:
                pairs.append((variable, weight))
            else:
                problems.append(
                    f"{where}: {variable.path!r} has shape {variable.shape}, and {weight.name!r} in the file has {weight.shape}"
                )
    return pairs, problems, missing


def _in_order_of(weights: Sequence[Variable], stored: list[StoredWeight]) -> list[StoredWeight]:
    """Sort stored weights like ours if their names say that the order differs: Keras 2 puts frozen ones elsewhere."""
    if [weight.plain_name.rpartition("/")[2] for weight in stored] == [variable.name for variable in weights]:
        return stored
    by_name = {weight.plain_name: weight for weight in stored}
    same = len(by_name) == len(stored) and set(by_name) == {variable.path for variable in weights}
    return [by_name[variable.path] for variable in weights] if same else stored


def _listed(texts: list[str]) -> str:
    shown = texts[:_MOST_PROBLEMS] + ([f"and {len(texts) - _MOST_PROBLEMS} more"] if len(texts) > _MOST_PROBLEMS else [])
    return "; ".join(shown) or "none"


# --- the place on the disk


def _place_for(given: str, overwrite: bool) -> str:
    """Return the path to write to, after links; refuse what is not the place of a regular file."""
    path = os.path.realpath(given)
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        raise FileNotFoundError(
            f"save_weights was given {given!r}; the directory {folder!r} does not exist. Create it first: "
            f"`os.makedirs({os.path.dirname(given)!r})`."
        )
    if os.path.isdir(path) or not os.path.basename(given):
        raise IsADirectoryError(f"save_weights was given {given!r}, a directory; the name of a file was expected.")
    if os.path.exists(path) and not os.path.isfile(path):
        raise ValueError(f"save_weights was given {given!r}, which is a device or a pipe; an ordinary file was expected.")
    if os.path.exists(path) and not overwrite:
        raise FileExistsError(f"save_weights was given {given!r}, which exists, and overwrite=False. Choose another name.")
    return path


def _replace_file(path: str, content: Any) -> None:
    """Write beside, flush, and put in place: at any instant the path holds the old file or the new one, whole."""
    folder = os.path.dirname(path)
    beside = os.path.join(folder, f".{secrets.token_hex(8)}.tmp")
    try:
        with open(beside, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(path):
            shutil.copymode(path, beside)
        os.replace(beside, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(beside)
        raise
    if os.name == "posix":  # elsewhere a directory cannot be opened
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
