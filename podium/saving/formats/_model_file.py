"""Whole models in files: `.keras` archives as Keras 3 writes them, and `.h5` files as Keras 2 does.

Configs are complete before a file is touched. The format of a file to load is detected from its
first bytes. Weights alone are in `_weights_file.py`.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Mapping
from typing import Any, BinaryIO

from podium._typing import PathLike, Tree
from podium.core import check_choice, custom_object_scope, warn_user
from podium.core.internal import FileBudgetError, current_file_budget, file_budget
from podium.layers import Lambda, Layer
from podium.saving._savable_model import SavableModel
from podium.saving.formats._archive import (
    CONFIG,
    MAGIC,
    METADATA,
    open_weights,
    read_texts,
    write_archive,
)
from podium.saving.formats._assets import asset_members, load_assets, reject_assets
from podium.saving.formats._detect_format import HDF5_MAGIC
from podium.saving.formats._hdf5 import list_weights, max_elements, open_hdf5
from podium.saving.formats._keras_layout import list_hdf5_state, plan_state_load, state_to_hdf5
from podium.saving.formats._legacy_model import legacy_to_hdf5, load_legacy
from podium.saving.formats._model_program import input_specs
from podium.saving.formats._model_texts import (
    build_model,
    check_config_digest,
    config_members,
    is_savable,
    parse_member,
)
from podium.saving.formats._safetensors import SUFFIX
from podium.saving.formats._saved_model import load_saved_model
from podium.saving.formats._saved_model_writer import (
    Signature,
    require_tensorflow,
    write_saved_model,
)
from podium.saving.formats._tensorflow_optimizer import can_write_state
from podium.saving.formats._weights_file import read_weights, write_weights
from podium.saving.io._atomic_write import atomic_write, open_regular_file, resolve_target
from podium.saving.io._errors import (
    InvalidFileError,
    add_path_to_errors,
    add_subject_to_errors,
    name_path,
    shorten,
)
from podium.saving.io._load_plan import LoadReport
from podium.saving.io._sidecar import check_sidecar
from podium.saving.serialization._deserialization import limit_new_model, limit_objects
from podium.saving.serialization._strict_json import InvalidJsonError, parse_json
from podium.saving.tensorflow_files._detect import contains_saved_model
from podium.telemetry.internal import measure_save

# Suffixes of formats that are not written. Others, such as the `.25` of "model-0.25", are parts of
# names.
UNSUPPORTED_SUFFIXES = (
    ".pickle", ".pkl", ".joblib", ".pt", ".pth", ".npz", ".npy", ".json", ".yaml", ".yml", ".zip",
    ".tar", ".gz", ".onnx", ".tflite", ".pb", ".txt", ".csv", ".py", ".mlmodel",
)  # fmt: skip
_HDF5 = (".h5", ".hdf5")


def check_suffix(caller: str, filepath: str) -> None:
    """Raise if the suffix belongs to another format than that of a whole model."""
    for suffix in (".weights.h5", SUFFIX):
        if filepath.lower().endswith(suffix):
            raise ValueError(
                f"{caller} was given {filepath!r}: the suffix `{suffix}` is for weights alone, and "
                "a whole model was to be saved. Use `.keras`, or save the weights: `save_weights`."
            )
    if filepath.lower().endswith(UNSUPPORTED_SUFFIXES):
        suffix = os.path.splitext(filepath)[1]
        raise ValueError(
            f"{caller} was given {filepath!r}; models are not written in the format that the "
            f"extension {suffix!r} promises. Use `.keras`, or `.h5` for Keras 2's format."
        )


def save_model(
    model: SavableModel,
    filepath: PathLike | BinaryIO,
    overwrite: bool = True,
    save_format: str | None = None,
    **kwargs: Any,
) -> None:
    """Save a whole model to one file: its config, weights and compile arguments, with the
    optimizer's state.

    Names that end in `.h5` or `.hdf5` get Keras 2's format. All others get a `.keras` archive at
    exactly that path. A failed save leaves an old file as it was.

    Args:
        model: The model.
        filepath: The path; its directory must exist. A binary file object gets a `.keras` archive.
        overwrite: Whether an existing file may be replaced.
        save_format: "keras" or "h5", to override the name, or for one without an extension. "tf"
            writes a SavedModel, a directory that TensorFlow can serve and `load_model` rebuilds; it
            needs tensorflow, which runs in a process of its own.
        **kwargs: `include_optimizer=False` leaves the compile arguments out. For "tf",
            `signatures=[podium.TensorSpec(...)]` are the inputs; by default the model's. Keras's
            `zipped`, `options` and `save_traces` are accepted and change nothing.

    Raises:
        ImportError: A SavedModel was asked for, and tensorflow is not installed.
        ValueError: An object has no config, or the suffix belongs to another format. Nothing has
            been written.

    Example:
        >>> import os, tempfile
        >>> model = podium.Sequential([podium.Input((3,)), podium.layers.Dense(2)])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     podium.saving.save_model(model, os.path.join(folder, "model.keras"))
        ...     same = podium.saving.load_model(os.path.join(folder, "model.keras"))
        >>> bool(np.all(same.get_weights()[0] == model.get_weights()[0]))
        True
    """
    if not isinstance(model, Layer) or not is_savable(model):
        raise TypeError(f"save was given {model!r}; a model was expected.")
    unknown = kwargs.keys() - {
        "include_optimizer",
        "zipped",
        "signatures",
        "options",
        "save_traces",
    }
    if unknown:
        raise TypeError(
            f"save does not have the argument {min(unknown)!r}; it has `overwrite` and "
            "`include_optimizer`."
        )
    if save_format is not None:
        check_choice("save_format", save_format, ["h5", "hdf5", "keras", "tf"])
    with_optimizer = kwargs.get("include_optimizer", True)
    if not isinstance(filepath, (str, bytes, os.PathLike)):
        _check_file_object("save", filepath, "write", save_format)
        _warn_about_losses(model)
        texts, image = _make_archive(model, with_optimizer)
        content = io.BytesIO()
        write_archive(content, texts, image)
        filepath.write(content.getbuffer())
        return
    target = os.fsdecode(filepath)
    if save_format == "tf":
        _save_for_tensorflow(model, target, overwrite, with_optimizer, kwargs.get("signatures"))
        return
    check_suffix("save", target)
    if save_format is None and not os.path.splitext(target)[1] and not _runs_keras_2_script():
        raise ValueError(
            f"save was given {target!r}, a name without an extension; `.keras` was expected, or "
            f"`.h5` for Keras 2's format. Use {target + '.keras'!r}, or pass save_format='keras' "
            "to keep the name."
        )
    path = resolve_target("save", target, overwrite)
    is_legacy = save_format in ("h5", "hdf5") or (
        save_format is None and target.lower().endswith(_HDF5)
    )
    if is_legacy:
        reject_assets(model, "HDF5")
    _warn_about_losses(model)
    with measure_save(path):
        if is_legacy:
            image = legacy_to_hdf5(model, with_optimizer)
            with atomic_write("save", path) as file:
                image.write(file)
            return
        texts, image = _make_archive(model, with_optimizer)
        with atomic_write("save", path) as file:
            write_archive(file, texts, image)


def _save_for_tensorflow(
    model: SavableModel, target: str, overwrite: bool, with_optimizer: bool, signatures: Tree
) -> None:
    if target.lower().endswith((*_HDF5, ".keras", SUFFIX)):
        raise ValueError(
            f"save was given {target!r} and save_format='tf'; the name is one of another format, "
            "and a SavedModel is a directory. Leave out the extension, or `save_format`."
        )
    require_tensorflow("save(save_format='tf')")
    specs = input_specs(model, signatures)
    reject_assets(model, "SavedModel")
    _warn_about_losses(model)
    members = config_members(model, with_optimizer)
    has_state = with_optimizer and members.has_compile_config
    if has_state and not can_write_state(model.optimizer):
        warn_user(
            f"The state of the optimizer, {type(model.optimizer).__name__}, is not written: "
            "TensorFlow's files have no names for it. After loading, training continues with a "
            "fresh optimizer; a `.keras` file has its state."
        )
    names = getattr(model, "output_names", None) if getattr(model, "_graph", None) else None
    signature = Signature(specs, names)
    write_saved_model("save", model, target, signature, members.texts, overwrite, has_state)


def _runs_keras_2_script() -> bool:
    """Return whether `import tensorflow` means Podium: such scripts save to "model" and load
    "model".
    """
    module = sys.modules.get("tensorflow")
    return module is not None and module.__name__.startswith("podium.")


def _check_file_object(caller: str, file: object, method: str, save_format: str | None) -> None:
    if not hasattr(file, method) or save_format not in (None, "keras"):
        raise TypeError(
            f"{caller} was given {file!r}"
            f"{'' if save_format is None else f' and save_format={save_format!r}'}; a path was "
            "expected, or, for a `.keras` archive, a binary file object such as io.BytesIO()."
        )


def _make_archive(model: SavableModel, with_optimizer: bool) -> tuple[Any, Any]:
    """Return the texts and the weights of a `.keras` archive."""
    members = config_members(model, with_optimizer)
    image = state_to_hdf5(model, with_optimizer and members.has_compile_config)
    return members.texts | asset_members(model), image


def _warn_about_losses(model: SavableModel) -> None:
    """Warn about what the file will not contain."""
    layers = model._flatten_layers()
    if not model.built and not all(layer.built for layer in layers[1:]):
        warn_user(
            f"Model {model.name!r} is being saved before it is built: the file has no weights for "
            "layers that were never called. Call the model on a batch first."
        )
    for layer in layers:
        if isinstance(layer, Lambda) and getattr(layer.function, "__name__", "") == "<lambda>":
            warn_user(
                f"The Lambda layer {layer.name!r} runs a `lambda`, which is not written to "
                "files. To load the model, pass it: "
                f"`load_model(path, custom_objects={{{layer.name!r}: function}})`."
            )


def load_model(
    filepath: PathLike | BinaryIO,
    custom_objects: Mapping[str, Any] | None = None,
    compile: bool = True,
    safe_mode: bool = True,
) -> Any:
    """Load a whole model: a `.keras` archive of Podium or Keras 3, an `.h5` file of Podium or
    Keras 2, or a SavedModel of Podium or Keras 2; tensorflow is not needed.

    No code from the file is run. Classes and functions are Podium's own, registered ones, or those
    of `custom_objects`.

    Args:
        filepath: The file, or the directory of a SavedModel; or a binary file object, which is
            read from its start. The format is detected from the contents, not from the name.
        custom_objects: Your own classes and functions by name. The function of a Lambda layer may
            be given under the layer's name.
        compile: Whether to compile the model as it was, and to restore the optimizer's state.
        safe_mode: Accepted for Keras's signature. Code from a file is never run, whatever its
            value.

    Returns:
        The model.

    Raises:
        ValueError: The file is rejected: something in it is unknown, unsafe or does not fit.
        OSError: The file is missing or damaged.

    Example:
        >>> podium.saving.load_model("nowhere.keras")
        Traceback (most recent call last):
        FileNotFoundError: load_model was given 'nowhere.keras'; there is no such file.
    """
    if not isinstance(filepath, (str, bytes, os.PathLike)):
        _check_file_object("load_model", filepath, "read", None)
        return _load_open_file("<file object>", filepath, custom_objects, compile, False)
    path = os.fsdecode(filepath)
    if contains_saved_model(path):
        with custom_object_scope(custom_objects or {}):
            return load_saved_model(path, compile)
    with open_regular_file("load_model", path) as raw:
        return _load_open_file(path, raw, custom_objects, compile, True)


def _load_open_file(
    path: str,
    raw: BinaryIO,
    custom_objects: Mapping[str, Any] | None,
    compile: bool,
    has_path: bool,
) -> Any:
    size = raw.seek(0, os.SEEK_END)
    raw.seek(0)
    start = raw.read(len(HDF5_MAGIC))
    raw.seek(0)
    with custom_object_scope(custom_objects or {}), file_budget(size):
        if has_path:
            check_sidecar(path, raw)
        try:
            if start.startswith(MAGIC):
                return _load_archive(path, raw, compile)
            if start == HDF5_MAGIC:
                return load_legacy(path, raw, compile)
        except (InvalidFileError, FileBudgetError) as error:
            raise ValueError(name_path(path, error)) from None
    what = (
        "is empty"
        if not start
        else "is not a model: neither a zip archive (`.keras`) nor an HDF5 file, or corrupt"
    )
    raise ValueError(f"{path!r} {what}.")


def _load_archive(path: str, raw: BinaryIO, compile: bool) -> SavableModel:
    texts = read_texts(raw, (CONFIG,), (METADATA,))
    config = parse_member(texts, CONFIG)
    weights = open_weights(raw)
    with open_hdf5(path, weights) as file:
        stored = list_weights(file).values()
        limit_objects(current_file_budget(), max_elements(stored), len(stored))
    with add_path_to_errors(path):
        model = build_model(config, compile)
    with open_hdf5(path, weights) as file:
        plan = plan_state_load(*list_hdf5_state(file), model, with_optimizer=compile)
    check_config_digest(texts)  # last, so that errors about the config come first
    plan.assign()
    load_assets(model, raw)
    return model


def model_from_json(json_string: str, custom_objects: Mapping[str, Any] | None = None) -> Any:
    """Build a model from the text of `Model.to_json`, with newly initialized weights.

    Args:
        json_string: The text.
        custom_objects: Your own classes and functions by name.

    Raises:
        ValueError: The text is not JSON, or does not describe a model.

    Example:
        >>> text = podium.Sequential([podium.Input((3,)), podium.layers.Dense(2)]).to_json()
        >>> podium.models.model_from_json(text).count_params()
        8
    """
    try:
        with custom_object_scope(custom_objects or {}), file_budget(len(json_string)):
            limit_new_model(current_file_budget(), len(json_string))
            config = parse_json(json_string)
            with add_subject_to_errors("The JSON of a model"):
                return build_model(config, compile=False)
    except (InvalidFileError, InvalidJsonError) as error:
        raise ValueError(shorten(f"The JSON of a model {error}")) from None


def save_weights(
    model: SavableModel, filepath: PathLike, overwrite: bool = True, **kwargs: Any
) -> None:
    """Save the weights of a model; the same as `model.save_weights`.

    Example:
        >>> import os, tempfile
        >>> model = podium.Sequential([podium.Input((3,)), podium.layers.Dense(2)])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     podium.saving.save_weights(model, os.path.join(folder, "w.weights.h5"))
        ...     podium.saving.load_weights(model, os.path.join(folder, "w.weights.h5")).loaded
        ['dense/kernel', 'dense/bias']
    """
    write_weights(model, filepath, overwrite, **kwargs)


def load_weights(
    model: SavableModel, filepath: PathLike, skip_mismatch: bool = False, **kwargs: Any
) -> LoadReport:
    """Load the weights of a model; the same as `model.load_weights`.

    Returns:
        What was loaded, and what was skipped.

    Example:
        >>> model = podium.Sequential([podium.Input((3,)), podium.layers.Dense(2)])
        >>> podium.saving.load_weights(model, "nowhere.weights.h5")
        Traceback (most recent call last):
        FileNotFoundError: load_weights was given 'nowhere.weights.h5'; there is no such file.
    """
    return read_weights(model, filepath, skip_mismatch=skip_mismatch, **kwargs)
