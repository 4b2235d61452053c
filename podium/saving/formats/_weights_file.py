"""Weights in files: `.weights.h5` in Keras 3's layout, `.safetensors`, and other names in Keras 2's
layout of HDF5.

Writing replaces a file whole, or leaves it as it was. Reading looks at the contents, not at the
name, and trusts nothing.
"""

from __future__ import annotations

import os
from typing import Any

from podium.core import check_choice
from podium.saving.checkpoints._weights_directory import (
    holds_checkpoints,
    is_folder,
    read_folder,
    write_folder,
)
from podium.saving.formats._archive import open_weights, read_texts
from podium.saving.formats._detect_format import detect_contents, detect_tensorflow
from podium.saving.formats._hdf5 import is_keras_2, reading
from podium.saving.formats._hdf5_writer import Hdf5Image
from podium.saving.formats._keras_layout import (
    hdf5_state,
    named_values,
    read_state,
    state_image,
    tree_name,
)
from podium.saving.formats._layer_groups import Parts, parts_of, read_groups, write_groups
from podium.saving.formats._safetensors import SUFFIX, read_tensors, stored_tensors, write_tensors
from podium.saving.formats._tensorflow_checkpoint import read_checkpoint
from podium.saving.io._atomic_write import open_regular, place_for, replacing
from podium.saving.io._errors import Unfit
from podium.saving.io._load_plan import Loaded, LoadReport

_FORMATS = ("h5", "hdf5", "keras", "safetensors")


def write_weights(
    model: Any, filepath: Any, overwrite: bool = True, save_format: Any = None, options: Any = None
) -> None:
    """Write the weights of a model to a file at exactly this path.

    Args:
        model: A model whose weights exist.
        filepath: Where to; the directory must exist. A link is followed. Names that end in
            `.weights.h5` get Keras 3's layout, `.safetensors` that format, all others Keras 2's
            layout. A slash at the end, or a directory that holds such weights already, asks for a
            checkpoint directory.
        overwrite: Whether a file that is there may be replaced.
        save_format: "safetensors", to overrule the name; "h5", "hdf5" and "keras" mean HDF5, in the
            layout of the name.
        options: Accepted for Keras 2's signature: None.

    Raises:
        ValueError: The weights do not exist yet, or another format was asked for.
        FileNotFoundError: The directory does not exist.
        FileExistsError: The file exists, and `overwrite` is False.
    """
    if options is not None or save_format == "tf":
        raise ValueError(
            f"save_weights was given save_format={save_format!r}, options={options!r}. "
            "TensorFlow's checkpoints cannot be written; weights are written as HDF5 or "
            "safetensors. Leave both arguments out."
        )
    if save_format is not None:
        check_choice("save_format", save_format, _FORMATS)
    given = os.fsdecode(filepath)
    if is_folder(given):
        if save_format is not None:
            raise ValueError(
                f"save_weights was given {given!r}, a directory, and "
                f"save_format={save_format!r}. Leave one out."
            )
        parts_of(model, "save_weights")  # refuses a model that is not built
        write_folder(model, given, overwrite)
        return
    path = place_for("save_weights", given, overwrite)
    parts = parts_of(model, "save_weights")
    if save_format == "safetensors" or (save_format is None and given.lower().endswith(SUFFIX)):
        values = named_values(model)
        with replacing("save_weights", path) as file:
            write_tensors(file, values)
        return
    if given.endswith(".weights.h5"):
        image = state_image(model, with_optimizer=False)
    else:
        image = Hdf5Image()
        write_groups(image, image.file, parts)
    with replacing("save_weights", path) as file:
        image.write(file)


def read_weights(
    model: Any,
    filepath: Any,
    by_name: bool = False,
    skip_mismatch: bool = False,
    options: Any = None,
) -> LoadReport:
    """Read the weights of a model from a file of weights or of a whole model: ours, Keras 2's or
    Keras 3's.

    Args:
        model: A model whose weights exist.
        filepath: The file; or a directory of checkpoints (`save_weights`, `CheckpointManager`,
            `BackupAndRestore`), whose newest is taken, and all of it; or a TensorFlow checkpoint or
            SavedModel, if tensorflow is installed.
        by_name: Take the layers whose names are in the file, and leave the others; otherwise layers
            are taken in order.
        skip_mismatch: Leave weights that do not fit as they are. A warning lists them.
        options: Accepted for Keras 2's signature: None.

    Returns:
        What was loaded, and what was left.

    Raises:
        ValueError: The file does not fit the model. Nothing has changed.
        OSError: The file is missing or damaged.
    """
    if options is not None:
        raise ValueError(
            f"load_weights was given options={options!r}; they are for TensorFlow's checkpoints. "
            "Leave it out."
        )
    path = os.fsdecode(filepath)
    checkpoint = detect_tensorflow(path)
    parts = parts_of(model, "load_weights")
    if holds_checkpoints(path):
        if by_name or skip_mismatch:
            raise ValueError(
                f"load_weights was given {path!r}, a directory of checkpoints, which are loaded "
                "whole or not at all. Leave out `by_name` and `skip_mismatch`, or save the weights "
                "to a file."
            )
        return read_folder(model, path)
    try:
        if checkpoint is not None:
            loaded = read_checkpoint(checkpoint, model, by_name, skip_mismatch)
        else:
            with open_regular("load_weights", path) as raw:
                loaded = _read(path, raw, model, parts, by_name, skip_mismatch)
    except Unfit as error:
        raise ValueError(f"{path!r} {error}") from None
    loaded.assign()
    return loaded.report


def _read(
    path: str, raw: Any, model: Any, parts: Parts, by_name: bool, skip_mismatch: bool
) -> Loaded:
    kind = detect_contents(path, raw)
    if kind == "safetensors":
        stored = stored_tensors(raw)
        _check_not_by_name(by_name)
        tree = {tree_name(name): tensor for name, tensor in stored.items()}
        return read_state(
            tree,
            lambda names: read_tensors(stored, names),
            model,
            skip_mismatch,
            with_optimizer=False,
        )
    if kind == "keras":  # a whole model
        read_texts(raw, ())
        raw = open_weights(raw)
    with reading(path, raw) as file:
        if is_keras_2(file):
            return read_groups(file, model, parts, by_name, skip_mismatch)
        _check_not_by_name(by_name)
        return read_state(*hdf5_state(file), model, skip_mismatch, with_optimizer=False)


def _check_not_by_name(by_name: bool) -> None:
    if by_name:
        raise Unfit(
            "names weights by their places in the model, and not by layers' names. Leave "
            "`by_name` out."
        )
