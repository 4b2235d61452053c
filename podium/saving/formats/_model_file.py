"""Whole models in files: `.keras` archives as Keras 3 writes them, and `.h5` files as Keras 2 does.

Configs are complete before a file is touched. The format of a file to load is detected from its
first bytes. Weights alone are in `_weights_file.py`.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Mapping
from typing import Any, BinaryIO, cast

from podium._typing import PathLike
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
from podium.saving.formats._detect_format import HDF5_MAGIC
from podium.saving.formats._hdf5 import list_weights, max_elements, open_hdf5
from podium.saving.formats._keras_layout import list_hdf5_state, plan_state_load, state_to_hdf5
from podium.saving.formats._legacy_model import legacy_to_hdf5, load_legacy
from podium.saving.formats._safetensors import SUFFIX
from podium.saving.formats._weights_file import read_weights, write_weights
from podium.saving.io._atomic_write import atomic_write, open_regular_file, resolve_target
from podium.saving.io._errors import InvalidFileError, add_path_to_errors, name_path
from podium.saving.io._load_plan import LoadReport
from podium.saving.serialization._deserialization import (
    build_from_config,
    charge_objects,
    limit_objects,
)
from podium.saving.serialization._sanitize_config import sanitize_config
from podium.saving.serialization._serialization import serialize_keras_object
from podium.saving.serialization._strict_json import InvalidJsonError, dump_json, parse_json

KERAS_VERSION = "3.15.1"  # whose layout archives have

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
    filepath: PathLike,
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
        filepath: The path; its directory must exist.
        overwrite: Whether an existing file may be replaced.
        save_format: "keras" or "h5", to override the name, or for one without an extension. "tf" is
            accepted with a warning: an archive is written.
        **kwargs: `include_optimizer=False` leaves the compile arguments out. Keras's `zipped`,
            `signatures`, `options` and `save_traces` are accepted and change nothing.

    Raises:
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
    target = os.fsdecode(filepath)
    if not isinstance(model, Layer) or not hasattr(model, "get_layer"):
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
    if save_format == "tf":
        warn_user(
            "save_format='tf' was given; a SavedModel cannot be written. A `.keras` archive is "
            "written at that path instead."
        )
    else:
        check_suffix("save", target)
    if save_format is None and not os.path.splitext(target)[1] and not _runs_keras_2_script():
        raise ValueError(
            f"save was given {target!r}, a name without an extension; `.keras` was expected, or "
            f"`.h5` for Keras 2's format. Use {target + '.keras'!r}, or pass save_format='keras' "
            "to keep the name."
        )
    with_optimizer = kwargs.get("include_optimizer", True)
    path = resolve_target("save", target, overwrite)
    is_legacy = save_format in ("h5", "hdf5") or (
        save_format is None and target.lower().endswith(_HDF5)
    )
    _warn_about_losses(model)
    if is_legacy:
        image = legacy_to_hdf5(model, with_optimizer)
        with atomic_write("save", path) as file:
            image.write(file)
        return
    _save_archive(model, path, with_optimizer)


def _runs_keras_2_script() -> bool:
    """Return whether `import tensorflow` means Podium: such scripts save to "model" and load
    "model".
    """
    module = sys.modules.get("tensorflow")
    return module is not None and module.__name__.startswith("podium.")


def _save_archive(model: SavableModel, path: str, with_optimizer: bool) -> None:
    config = serialize_keras_object(model)
    if not with_optimizer:
        config.pop("compile_config", None)
    try:
        text = dump_json(config).encode()
    except ValueError as error:
        raise ValueError(
            f"Model {model.name!r} cannot be saved: its config holds a number that JSON does not "
            f"have ({error})."
        ) from error
    digest = hashlib.sha256(text).hexdigest()
    metadata = dump_json(
        {"keras_version": KERAS_VERSION, "written_by": "podium", "config_sha256": digest}
    )
    image = state_to_hdf5(model, with_optimizer and "compile_config" in config)
    with atomic_write("save", path) as file:
        write_archive(file, {METADATA: metadata.encode(), CONFIG: text}, image)


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
    filepath: PathLike,
    custom_objects: Mapping[str, Any] | None = None,
    compile: bool = True,
    safe_mode: bool = True,
) -> Any:
    """Load a whole model: a `.keras` archive of Podium or Keras 3, or an `.h5` file of Podium or
    Keras 2.

    No code from the file is run. Classes and functions are Podium's own, registered ones, or those
    of `custom_objects`.

    Args:
        filepath: The file. Its format is detected from its contents, not from its name.
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
    path = os.fsdecode(filepath)
    with open_regular_file("load_model", path) as raw:
        start = raw.read(len(HDF5_MAGIC))
        raw.seek(0)
        size = os.fstat(raw.fileno()).st_size
        with custom_object_scope(custom_objects or {}), file_budget(size):
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
    config = _parse_member(texts, CONFIG)
    weights = open_weights(raw)
    with open_hdf5(path, weights) as file:
        stored = list_weights(file).values()
        limit_objects(current_file_budget(), max_elements(stored), len(stored))
    with add_path_to_errors(path):
        model = _build_model(config, compile)
    with open_hdf5(path, weights) as file:
        plan = plan_state_load(*list_hdf5_state(file), model, with_optimizer=compile)
    _check_digest(texts)  # last, so that errors about the config come first
    plan.assign()
    return model


def _check_digest(texts: Mapping[str, bytes]) -> None:
    metadata = _parse_member(texts, METADATA) if METADATA in texts else {}
    digest = metadata.get("config_sha256") if isinstance(metadata, dict) else None
    if digest is not None and digest != hashlib.sha256(texts[CONFIG]).hexdigest():
        raise InvalidFileError(
            f"is corrupt: its {CONFIG!r} does not fit the checksum that was written with it. If "
            f"you changed it on purpose, take 'config_sha256' out of its {METADATA!r}."
        )


def _parse_member(texts: Mapping[str, bytes], name: str) -> Any:
    try:
        return parse_json(texts[name])
    except InvalidJsonError as error:
        raise InvalidFileError(f"was rejected: its {name!r} {error}.") from None


def _build_model(config: object, compile: bool) -> SavableModel:
    if not isinstance(config, dict) or "class_name" not in config or "config" not in config:
        raise InvalidFileError(
            f"was rejected: its config is {str(config)[:80]!r}; an object with `class_name` and "
            "`config` was expected."
        )
    if not compile:
        config = {key: value for key, value in config.items() if key != "compile_config"}
    charge_objects(config)
    model = build_from_config(sanitize_config(config))
    if not isinstance(model, Layer) or not hasattr(model, "get_layer"):
        raise InvalidFileError(
            f"was rejected: its config describes a {config['class_name']!r}; a model was expected."
        )
    return cast(SavableModel, model)


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
        with custom_object_scope(custom_objects or {}):
            return _build_model(parse_json(json_string), compile=False)
    except (InvalidFileError, InvalidJsonError) as error:
        raise ValueError(f"The JSON of a model {error}") from None


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
