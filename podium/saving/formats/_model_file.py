"""Whole models in files: `.keras` archives as Keras 3 writes them, and `.h5` files as Keras 2 does.

Everything is described and put together in memory before a file is touched. What a file is, is told
by its first bytes.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Mapping
from typing import Any

from podium.core import check_choice, custom_object_scope, warn_user
from podium.layers import Lambda, Layer
from podium.layers.internal import limited_weights
from podium.saving.formats._archive import (
    CONFIG,
    MAGIC,
    METADATA,
    open_weights,
    read_texts,
    write_archive,
)
from podium.saving.formats._detect_format import HDF5_MAGIC
from podium.saving.formats._hdf5 import numbers_in, reading, stored_tree
from podium.saving.formats._keras_layout import hdf5_state, read_state, state_image
from podium.saving.formats._legacy_model import legacy_image, load_legacy
from podium.saving.formats._safetensors import SUFFIX
from podium.saving.formats._weights_file import read_weights, write_weights
from podium.saving.io._atomic_write import open_regular, place_for, replacing
from podium.saving.io._errors import Unfit, explained
from podium.saving.io._load_plan import LoadReport
from podium.saving.serialization._deserialization import build_from_config
from podium.saving.serialization._sanitize_config import sanitize_config
from podium.saving.serialization._serialization import serialize_keras_object
from podium.saving.serialization._strict_json import BadJson, dump, parse

KERAS_VERSION = "3.15.1"  # whose layout archives have

# Suffixes that promise a format which is not written. Others, such as the `.25` of "model-0.25",
# are parts of names.
FOREIGN = (
    ".pickle", ".pkl", ".joblib", ".pt", ".pth", ".npz", ".npy", ".json", ".yaml", ".yml", ".zip", ".tar", ".gz", ".onnx",
    ".tflite", ".pb", ".txt", ".csv", ".py", ".mlmodel",
)  # fmt: skip
_HDF5 = (".h5", ".hdf5")


def check_suffix(asked: str, filepath: str) -> None:
    """Refuse a name that promises another format than that of a whole model."""
    for suffix in (".weights.h5", SUFFIX):
        if filepath.lower().endswith(suffix):
            raise ValueError(
                f"{asked} was given {filepath!r}: the suffix `{suffix}` is for weights alone, and "
                "a whole model was to be saved. Use `.keras`, or save the weights: `save_weights`."
            )
    if filepath.lower().endswith(FOREIGN):
        suffix = os.path.splitext(filepath)[1]
        raise ValueError(
            f"{asked} was given {filepath!r}; models are not written in the format that the "
            f"extension {suffix!r} promises. Use `.keras`, or `.h5` for Keras 2's format."
        )


def save_model(
    model: Any, filepath: Any, overwrite: bool = True, save_format: str | None = None, **kwargs: Any
) -> None:
    """Save a whole model to one file: its description, weights, and how it was compiled, with the
    optimizer's state.

    Names that end in `.h5` or `.hdf5` get Keras 2's format. All others get a `.keras` archive at
    exactly that path. A failed save leaves an old file as it was.

    Args:
        model: The model.
        filepath: Where to; the directory must exist.
        overwrite: Whether a file that is there may be replaced.
        save_format: "keras" or "h5", to overrule the name, or for one without an extension. "tf" is
            accepted with a warning: an archive is written.
        **kwargs: `include_optimizer=False` leaves the compiled state out. Keras's `zipped`,
            `signatures`, `options` and `save_traces` are accepted and change nothing.

    Raises:
        ValueError: Something cannot be described, or the name promises another format. Nothing has
            been written then.

    Example:
        >>> import os, tempfile
        >>> model = podium.Sequential([podium.Input((3,)), podium.layers.Dense(2)])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     podium.saving.save_model(model, os.path.join(folder, "model.keras"))
        ...     same = podium.saving.load_model(os.path.join(folder, "model.keras"))
        >>> bool(np.all(same.get_weights()[0] == model.get_weights()[0]))
        True
    """
    given = os.fsdecode(filepath)
    if not isinstance(model, Layer) or not hasattr(model, "get_layer"):
        raise TypeError(f"save was asked to write {model!r}; a model was expected.")
    unknown = kwargs.keys() - {
        "include_optimizer",
        "zipped",
        "signatures",
        "options",
        "save_traces",
    }
    if unknown:
        raise TypeError(
            f"save does not know the argument {min(unknown)!r}; it knows `overwrite` and "
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
        check_suffix("save", given)
    if save_format is None and not os.path.splitext(given)[1] and not _is_script_of_keras_2():
        raise ValueError(
            f"save was given {given!r}, a name without an extension; `.keras` was expected, or "
            f"`.h5` for Keras 2's format. Use {given + '.keras'!r}, or pass save_format='keras' to "
            "keep the name."
        )
    with_optimizer = kwargs.get("include_optimizer", True)
    path = place_for("save", given, overwrite)
    is_legacy = save_format in ("h5", "hdf5") or (
        save_format is None and given.lower().endswith(_HDF5)
    )
    _tell_what_is_lost(model)
    if is_legacy:
        image = legacy_image(model, with_optimizer)
        with replacing("save", path) as file:
            image.write(file)
        return
    _save_archive(model, path, with_optimizer)


def _is_script_of_keras_2() -> bool:
    """Tell whether `import tensorflow` means Podium: such scripts save to "model" and load
    "model".
    """
    module = sys.modules.get("tensorflow")
    return module is not None and module.__name__.startswith("podium.")


def _save_archive(model: Any, path: str, with_optimizer: bool) -> None:
    described = serialize_keras_object(model)
    if not with_optimizer:
        described.pop("compile_config", None)
    try:
        config = dump(described).encode()
    except ValueError as error:
        raise ValueError(
            f"Model {model.name!r} cannot be saved: its config holds a number that JSON does not "
            f"have ({error})."
        ) from error
    digest = hashlib.sha256(config).hexdigest()
    metadata = dump(
        {"keras_version": KERAS_VERSION, "written_by": "podium", "config_sha256": digest}
    )
    image = state_image(model, with_optimizer and "compile_config" in described)
    with replacing("save", path) as file:
        write_archive(file, {METADATA: metadata.encode(), CONFIG: config}, image)


def _tell_what_is_lost(model: Any) -> None:
    inside = model._flatten_layers()
    if not model.built and not all(layer.built for layer in inside[1:]):
        warn_user(
            f"Model {model.name!r} is being saved before it is built: the file has no weights for "
            "layers that were never called. Call the model on a batch first."
        )
    for layer in inside:
        if isinstance(layer, Lambda) and getattr(layer.function, "__name__", "") == "<lambda>":
            warn_user(
                f"The Lambda layer {layer.name!r} runs a `lambda`, which is not written to "
                "files. To load the model, hand it in: "
                f"`load_model(path, custom_objects={{{layer.name!r}: function}})`."
            )


def load_model(
    filepath: Any,
    custom_objects: Mapping[str, Any] | None = None,
    compile: bool = True,
    safe_mode: bool = True,
) -> Any:
    """Load a whole model: a `.keras` archive of ours or Keras 3's, or an `.h5` file of ours or
    Keras 2's.

    No code from the file is run. Classes and functions are Podium's own, registered ones, or those
    of `custom_objects`.

    Args:
        filepath: The file. Its contents say what it is, not its name.
        custom_objects: Your own classes and functions by name. The function of a Lambda layer may
            stand under the layer's name.
        compile: Whether to compile the model as it was, and to restore the optimizer's state.
        safe_mode: Accepted for Keras's signature. Code from a file is never run, whatever it says.

    Returns:
        The model.

    Raises:
        ValueError: The file is refused: something in it is unknown, unsafe or does not fit; the
            message says what.
        OSError: The file is missing or damaged.

    Example:
        >>> podium.saving.load_model("nowhere.keras")
        Traceback (most recent call last):
        FileNotFoundError: load_model was given 'nowhere.keras'; there is no such file.
    """
    path = os.fsdecode(filepath)
    with open_regular("load_model", path) as raw:
        start = raw.read(len(HDF5_MAGIC))
        raw.seek(0)
        with custom_object_scope(custom_objects or {}):
            try:
                if start.startswith(MAGIC):
                    return _load_archive(path, raw, compile)
                if start == HDF5_MAGIC:
                    return load_legacy(path, raw, compile)
            except Unfit as error:
                raise ValueError(f"{path!r} {error}") from None
    what = (
        "is empty"
        if not start
        else "is not a model: neither a zip archive (`.keras`) nor an HDF5 file, or corrupt"
    )
    raise ValueError(f"{path!r} {what}.")


def _load_archive(path: str, raw: Any, compile: bool) -> Any:
    texts = read_texts(raw, (CONFIG,), (METADATA,))
    config = _parsed(texts, CONFIG)
    weights = open_weights(raw)
    with reading(path, weights) as file:
        numbers = numbers_in(stored_tree(file).values())
    with limited_weights(numbers), explained(path):
        model = _model_from(config, compile)
    with reading(path, weights) as file:
        loaded = read_state(*hdf5_state(file), model, with_optimizer=compile)
    _check_digest(texts)  # last, so that what is wrong with a config is said first
    loaded.assign()
    return model


def _check_digest(texts: Mapping[str, bytes]) -> None:
    metadata = _parsed(texts, METADATA) if METADATA in texts else {}
    noted = metadata.get("config_sha256") if isinstance(metadata, dict) else None
    if noted is not None and noted != hashlib.sha256(texts[CONFIG]).hexdigest():
        raise Unfit(
            f"is corrupt: its {CONFIG!r} does not fit the checksum that was written with it. If "
            f"you changed it on purpose, take 'config_sha256' out of its {METADATA!r}."
        )


def _parsed(texts: Mapping[str, bytes], name: str) -> Any:
    try:
        return parse(texts[name])
    except BadJson as error:
        raise Unfit(f"was refused: its {name!r} {error}.") from None


def _model_from(config: Any, compile: bool) -> Any:
    if not isinstance(config, dict) or "class_name" not in config or "config" not in config:
        raise Unfit(
            f"was refused: its config is {str(config)[:80]!r}; an object with `class_name` and "
            "`config` was expected."
        )
    if not compile:
        config = {key: value for key, value in config.items() if key != "compile_config"}
    model = build_from_config(sanitize_config(config))
    if not isinstance(model, Layer) or not hasattr(model, "get_layer"):
        raise Unfit(
            f"was refused: its config describes a {config['class_name']!r}; a model was expected."
        )
    return model


def model_from_json(json_string: str, custom_objects: Mapping[str, Any] | None = None) -> Any:
    """Make a model from the text of `Model.to_json`; its weights start anew.

    Args:
        json_string: The text.
        custom_objects: Your own classes and functions by name.

    Raises:
        ValueError: The text is no JSON, or describes no model.

    Example:
        >>> text = podium.Sequential([podium.Input((3,)), podium.layers.Dense(2)]).to_json()
        >>> podium.models.model_from_json(text).count_params()
        8
    """
    try:
        with custom_object_scope(custom_objects or {}):
            return _model_from(parse(json_string), compile=False)
    except (Unfit, BadJson) as error:
        raise ValueError(f"The JSON of a model {error}") from None


def save_weights(model: Any, filepath: Any, overwrite: bool = True, **kwargs: Any) -> None:
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
    model: Any, filepath: Any, skip_mismatch: bool = False, **kwargs: Any
) -> LoadReport:
    """Load the weights of a model; the same as `model.load_weights`.

    Returns:
        What was loaded, and what was left.

    Example:
        >>> podium.saving.load_weights(podium.Sequential([podium.Input((3,)), podium.layers.Dense(2)]), "nowhere.weights.h5")
        Traceback (most recent call last):
        FileNotFoundError: load_weights was given 'nowhere.weights.h5'; there is no such file.
    """
    return read_weights(model, filepath, skip_mismatch=skip_mismatch, **kwargs)
