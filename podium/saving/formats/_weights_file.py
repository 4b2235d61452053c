"""Weights in files: `.weights.h5` in Keras 3's layout, `.safetensors`, `.h5` in Keras 2's layout of
HDF5, and other names as TensorFlow checkpoints.

A file is replaced completely or not at all. Reading detects the format from the contents, not from
the name, and does not trust them.
"""

from __future__ import annotations

import os
from typing import BinaryIO

from podium._typing import PathLike
from podium.core import check_choice
from podium.core.internal import FileBudgetError, file_budget
from podium.saving._savable_model import SavableModel
from podium.saving.checkpoints._weights_directory import (
    holds_checkpoints,
    is_directory_target,
    read_weights_directory,
    write_weights_directory,
)
from podium.saving.formats._archive import open_weights, read_texts
from podium.saving.formats._detect_format import detect_contents, detect_tensorflow
from podium.saving.formats._hdf5 import is_keras_2, open_hdf5
from podium.saving.formats._hdf5_writer import Hdf5Image
from podium.saving.formats._keras_layout import (
    layout_path,
    list_hdf5_state,
    plan_state_load,
    state_to_hdf5,
    weights_by_name,
)
from podium.saving.formats._layer_groups import (
    LayerWeights,
    plan_groups_load,
    weights_by_layer,
    write_groups,
)
from podium.saving.formats._safetensors import SUFFIX, list_tensors, read_tensors, write_tensors
from podium.saving.formats._tensorflow_checkpoint import plan_checkpoint_load, write_checkpoint
from podium.saving.io._atomic_write import (
    atomic_write,
    open_regular_file,
    remove_sidecar,
    resolve_target,
)
from podium.saving.io._errors import InvalidFileError, name_path
from podium.saving.io._load_plan import LoadPlan, LoadReport
from podium.saving.io._sidecar import check_sidecar
from podium.saving.tensorflow_files._checkpoint_state import has_checkpoint, write_state
from podium.saving.tensorflow_files._detect import is_hdf5_filepath
from podium.saving.tensorflow_files._tensor_bundle import num_bundle_bytes
from podium.telemetry.internal import measure_save

_FORMATS = ("h5", "hdf5", "keras", "safetensors", "tf", "tensorflow")
_TENSORFLOW = ("tf", "tensorflow")


def write_weights(
    model: SavableModel,
    filepath: PathLike,
    overwrite: bool = True,
    save_format: str | None = None,
    options: object = None,
) -> None:
    """Write the weights of a model to a file at exactly this path.

    Args:
        model: A model whose weights exist.
        filepath: The path; its directory must exist. A link is followed. Names that end in
            `.weights.h5` get Keras 3's layout, `.h5`, `.hdf5` and `.keras` Keras 2's layout,
            `.safetensors` that format. All others are the prefix of a TensorFlow checkpoint, whose
            directory is created. A path with a slash at the end, or of a directory that has such
            weights, gets a checkpoint directory.
        overwrite: Whether an existing file may be replaced.
        save_format: "safetensors" or "tf", to override the name; "h5", "hdf5" and "keras" mean
            HDF5, in the layout of the name.
        options: Accepted for Keras 2's signature: None.

    Raises:
        ValueError: The weights do not exist yet, or the format is not supported.
        FileNotFoundError: The directory does not exist.
        FileExistsError: The file exists, and `overwrite` is False.
    """
    if options is not None:
        raise ValueError(
            f"save_weights was given options={options!r}, which are for writing from TensorFlow's "
            "devices. Leave it out."
        )
    if save_format is not None:
        check_choice("save_format", save_format, _FORMATS)
    target = os.fsdecode(filepath)
    if save_format in _TENSORFLOW and is_hdf5_filepath(target.lower()):
        raise ValueError(
            f"save_weights was given {target!r} and save_format={save_format!r}; the name is one "
            "of an HDF5 file. Leave out the extension, or `save_format`."
        )
    weights_by_layer(model, "save_weights")  # raises for a model that is not built
    if is_directory_target(target):
        if save_format is not None:
            raise ValueError(
                f"save_weights was given {target!r}, a directory, and "
                f"save_format={save_format!r}. Leave one out."
            )
        write_weights_directory(model, target, overwrite)
        return
    is_safetensors = target.lower().endswith(SUFFIX)
    if save_format in _TENSORFLOW or (
        save_format is None and not is_safetensors and not is_hdf5_filepath(target.lower())
    ):
        _write_tensorflow(model, target, overwrite)
        return
    path = resolve_target("save_weights", target, overwrite)
    with measure_save(path):
        if save_format == "safetensors" or (save_format is None and is_safetensors):
            values = weights_by_name(model)
            with atomic_write("save_weights", path) as file:
                write_tensors(file, values)
            return
        if target.endswith(".weights.h5"):
            image = state_to_hdf5(model, with_optimizer=False)
        else:
            layers = weights_by_layer(model, "save_weights", unique_names=True)
            image = Hdf5Image()
            write_groups(image, image.file, layers)
        with atomic_write("save_weights", path) as file:
            image.write(file)


def _write_tensorflow(model: SavableModel, target: str, overwrite: bool) -> None:
    path = os.path.abspath(target)
    if os.path.isdir(path):
        raise IsADirectoryError(
            f"save_weights was given {target!r}, a directory; the beginning of the names of a "
            f"checkpoint's files was expected: {os.path.join(target, 'ckpt')!r}."
        )
    if has_checkpoint(path) and not overwrite:
        raise FileExistsError(
            f"save_weights was given {target!r}, the name of an existing checkpoint, and "
            "overwrite=False. Choose another name."
        )
    remove_sidecar(path)
    with measure_save(path):
        write_checkpoint("save_weights", path, model, model.weights)
        write_state("save_weights", path)


def read_weights(
    model: SavableModel,
    filepath: PathLike,
    by_name: bool = False,
    skip_mismatch: bool = False,
    options: object = None,
) -> LoadReport:
    """Read the weights of a model from a file of weights or of a whole model, written by Podium,
    Keras 2 or Keras 3.

    Args:
        model: A model whose weights exist.
        filepath: The file; or a directory of checkpoints (`save_weights`, `CheckpointManager`,
            `BackupAndRestore`), whose newest is loaded completely; or a TensorFlow checkpoint or
            SavedModel; tensorflow is not needed.
        by_name: Load the layers whose names are in the file, and skip the others; otherwise layers
            are matched in order.
        skip_mismatch: Skip weights that do not fit. A warning lists them.
        options: Accepted for Keras 2's signature: None.

    Returns:
        What was loaded, and what was skipped.

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
    layers = weights_by_layer(model, "load_weights", unique_names=by_name)
    if holds_checkpoints(path):
        if by_name or skip_mismatch:
            raise ValueError(
                f"load_weights was given {path!r}, a directory of checkpoints, which are loaded "
                "whole or not at all. Leave out `by_name` and `skip_mismatch`, or save the weights "
                "to a file."
            )
        return read_weights_directory(model, path)
    try:
        if checkpoint is not None:
            check_sidecar(path)
            with file_budget(num_bundle_bytes(checkpoint)):
                plan = plan_checkpoint_load(checkpoint, model, by_name, skip_mismatch)
        else:
            with (
                open_regular_file("load_weights", path) as raw,
                file_budget(os.fstat(raw.fileno()).st_size),
            ):
                check_sidecar(path, raw)
                plan = _plan_load(path, raw, model, layers, by_name, skip_mismatch)
    except (InvalidFileError, FileBudgetError) as error:
        raise ValueError(name_path(path, error)) from None
    plan.assign()
    return plan.report


def _plan_load(
    path: str,
    raw: BinaryIO,
    model: SavableModel,
    layers: LayerWeights,
    by_name: bool,
    skip_mismatch: bool,
) -> LoadPlan:
    format = detect_contents(path, raw)
    if format == "safetensors":
        stored = list_tensors(raw)
        _check_not_by_name(by_name)
        by_path = {layout_path(name): tensor for name, tensor in stored.items()}
        return plan_state_load(
            by_path,
            lambda names: read_tensors(stored, names),
            model,
            skip_mismatch,
            with_optimizer=False,
        )
    if format == "keras":  # a whole model
        read_texts(raw, ())
        raw = open_weights(raw)
    with open_hdf5(path, raw) as file:
        if is_keras_2(file):
            return plan_groups_load(file, model, layers, by_name, skip_mismatch)
        _check_not_by_name(by_name)
        return plan_state_load(*list_hdf5_state(file), model, skip_mismatch, with_optimizer=False)


def _check_not_by_name(by_name: bool) -> None:
    if by_name:
        raise InvalidFileError(
            "names weights by their paths in the model, and not by layers' names. Leave "
            "`by_name` out."
        )
