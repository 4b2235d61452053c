"""Whole models in SavedModels: rebuilt from the texts that Podium writes, or from Keras 2's
description, with the weights and the state of the optimizer from the checkpoint inside.

TensorFlow is not needed, and the program of a SavedModel is never run. Writing is the task of
`_saved_model_writer.py`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp

from podium._typing import Config, Tree
from podium.core import standardize_dtype
from podium.core.internal import (
    FileBudgetError,
    charge_file_budget,
    current_file_budget,
    file_budget,
)
from podium.saving._savable_model import SavableModel
from podium.saving.formats._archive import CONFIG, METADATA
from podium.saving.formats._legacy_model import compile_config_of
from podium.saving.formats._model_texts import build_model, check_config_digest, parse_member
from podium.saving.formats._tensorflow_checkpoint import plan_objects_load
from podium.saving.io._atomic_write import open_regular_file
from podium.saving.io._errors import InvalidFileError, add_path_to_errors, name_path
from podium.saving.io._sidecar import check_sidecar
from podium.saving.serialization._deserialization import charge_objects, limit_objects
from podium.saving.serialization._sanitize_config import sanitize_config
from podium.saving.serialization._strict_json import MAX_TEXT_BYTES
from podium.saving.tensorflow_files._detect import saved_variables
from podium.saving.tensorflow_files._keras_metadata import num_metadata_bytes, read_root_metadata
from podium.saving.tensorflow_files._object_graph import ObjectGraph, read_object_graph
from podium.saving.tensorflow_files._tensor_bundle import TensorBundle, num_bundle_bytes

TEXTS_DIRECTORY = os.path.join("assets.extra", "podium")  # what SavedModels have for others' files
_SPARE_ELEMENTS = 1 << 20  # for variables that a checkpoint does not have
_TUPLES = ("__tuple__", "TensorShape")


def load_saved_model(path: str, compile: bool) -> SavableModel:
    """Load the model of a SavedModel, inside the current `custom_object_scope`.

    Args:
        path: The directory.
        compile: Whether to compile the model as it was, and to restore the optimizer's state.

    Raises:
        ValueError: It is damaged, does not describe a model, or has classes that are not known.
    """
    prefix = saved_variables(path)
    check_sidecar(path)
    has_texts = os.path.isfile(os.path.join(path, TEXTS_DIRECTORY, CONFIG))
    num_bytes = num_bundle_bytes(prefix)
    num_bytes += _num_text_bytes(path) if has_texts else num_metadata_bytes(path)
    with file_budget(num_bytes):
        try:
            return (_load_texts if has_texts else _load_keras_2)(path, prefix, compile)
        except (InvalidFileError, FileBudgetError) as error:
            raise ValueError(name_path(path, error)) from None


def _load_texts(path: str, prefix: str, compile: bool) -> SavableModel:
    texts = {name: _read_member(path, name) for name in (CONFIG, METADATA)}
    config = parse_member(texts, CONFIG)
    bundle, nodes = _open_checkpoint(prefix)
    with add_path_to_errors(path):
        model = build_model(config, compile)
    return _load_variables(model, bundle, nodes, texts)


def _num_text_bytes(path: str) -> int:
    paths = [os.path.join(path, TEXTS_DIRECTORY, name) for name in (CONFIG, METADATA)]
    return sum(os.path.getsize(file) for file in paths if os.path.isfile(file))


def _read_member(path: str, name: str) -> bytes:
    with open_regular_file("load_model", os.path.join(path, TEXTS_DIRECTORY, name)) as file:
        if os.fstat(file.fileno()).st_size > MAX_TEXT_BYTES:
            raise InvalidFileError(f"was rejected: its {name!r} has over {MAX_TEXT_BYTES} bytes.")
        return file.read()


def _open_checkpoint(prefix: str) -> tuple[TensorBundle, ObjectGraph]:
    """Open the variables, and limit what a config may build by their sizes."""
    bundle = TensorBundle(prefix, "load_model")
    nodes = read_object_graph(bundle)
    if nodes is None:
        raise InvalidFileError(
            "has names of variables and no graph of objects, as TensorFlow 1 writes it. Build the "
            "model in Python and use `load_weights`."
        )
    num_elements = sum(math.prod(tensor.shape) for tensor in bundle.tensors.values())
    limit_objects(current_file_budget(), num_elements + _SPARE_ELEMENTS, len(bundle.tensors))
    return bundle, nodes


def _load_variables(
    model: SavableModel, bundle: TensorBundle, nodes: ObjectGraph, texts: Mapping[str, bytes]
) -> SavableModel:
    plan = plan_objects_load(bundle, nodes, 0, model, model.name, model.weights, False)
    if texts:
        check_config_digest(texts)  # last, so that errors about the config come first
    plan.assign()
    return model


# --- Keras 2


def _load_keras_2(path: str, prefix: str, compile: bool) -> SavableModel:
    text = read_root_metadata("load_model", path)
    metadata = _plain(parse_member({"keras_metadata.pb": text}, "keras_metadata.pb"))
    if not isinstance(metadata, dict):
        raise InvalidFileError("was rejected: its description of the model is not an object.")
    bundle, nodes = _open_checkpoint(prefix)
    with add_path_to_errors(path):
        model = build_model(_identify_layers(_model_config(metadata), 0, nodes), compile=False)
        if not model.built:
            _call_on_zeros(model, metadata)
        training = metadata.get("training_config")
        if compile and training is not None:
            arguments = compile_config_of(training)
            charge_objects(arguments)
            model.compile_from_config(sanitize_config(arguments))
    return _load_variables(model, bundle, nodes, {})


def _plain(value: Tree) -> Tree:
    """Replace the tuples and shapes of TensorFlow's JSON by lists."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    kind, items = value.get("class_name"), value.get("items")
    if kind in _TUPLES and isinstance(items, list):
        return _plain(items)
    if kind == "__ellipsis__":
        return {"class_name": kind, "config": {}}
    return {key: _plain(item) for key, item in value.items()}


def _model_config(metadata: Config) -> Config:
    config = metadata.get("model_config")  # it has the ids of shared objects too
    if isinstance(config, dict):
        return config
    if not isinstance(metadata.get("config"), dict):
        raise InvalidFileError(
            f"does not say how its model, of class {str(metadata.get('class_name'))[:200]!r}, is "
            "made: the class has no `get_config`. Create the model in Python and use "
            "`load_weights`."
        )
    return {"class_name": metadata.get("class_name"), "config": metadata["config"]}


def _identify_layers(config: Config, node: int, nodes: ObjectGraph) -> Config:
    """Number the layers in a model's config by their nodes, so that a layer that several models
    share stays one layer: Keras's own numbers are missing in models inside models.
    """
    inner = config.get("config")
    if not isinstance(inner, dict) or not isinstance(inner.get("layers"), list):
        return config
    layers, first = list(inner["layers"]), 0
    if "input_layers" not in inner:  # Sequential does not count its InputLayer
        first = int(bool(layers) and _class_name(layers[0]) == "InputLayer")
    for index in range(first, len(layers)):
        child = nodes[node].children.get(f"layer-{index - first}")
        if child is not None and isinstance(layers[index], dict):
            identified = _identify_layers(layers[index], child, nodes)
            layers[index] = identified | {"shared_object_id": child}
    return config | {"config": inner | {"layers": layers}}


def _class_name(config: object) -> object:
    return config.get("class_name") if isinstance(config, dict) else None


def _call_on_zeros(model: SavableModel, metadata: Config) -> None:
    """Call a subclassed model on zeros of the shapes and dtypes that it was called on, so that its
    layers create their weights.
    """
    args, kwargs = _call_specs(metadata)
    if not args:
        return
    call: Any = model
    try:
        call(*(_zeros(spec) for spec in args), **{name: _zeros(kwargs[name]) for name in kwargs})
    except FileBudgetError:
        raise
    except Exception as error:
        raise ValueError(
            f"model {model.name!r} ({type(model).__name__}) could not be called on zeros of the "
            f"shapes in the file: {error} Create the model in Python and use `load_weights`."
        ) from error


def _call_specs(metadata: Config) -> tuple[list[Any], dict[str, Any]]:
    full = metadata.get("full_save_spec")
    if isinstance(full, list) and len(full) == 2:
        args, kwargs = full
        if isinstance(args, list) and isinstance(kwargs, dict):
            return args, kwargs
    spec = metadata.get("save_spec")
    return ([spec], {}) if spec is not None else ([], {})


def _zeros(spec: Tree) -> Tree:
    """Return zeros for TensorSpecs in any structure; an unknown size is 1."""
    if isinstance(spec, list):
        return [_zeros(item) for item in spec]
    if not isinstance(spec, dict):
        return spec
    if "type_spec" not in spec:
        return {key: _zeros(item) for key, item in spec.items()}
    serialized = spec.get("serialized")
    if spec["type_spec"] != "tf.TensorSpec" or not isinstance(serialized, list):
        raise ValueError(f"inputs of kind {spec['type_spec']!r} are not supported.")
    shape, dtype = serialized[0], standardize_dtype(serialized[1])
    if not isinstance(shape, list) or not all(
        size is None or (isinstance(size, int) and size >= 0) for size in shape
    ):
        raise ValueError(f"its inputs have the shape {shape!r}, which is not known.")
    sizes = [1 if size is None else size for size in shape]
    num_bytes = math.prod(sizes) * jnp.dtype(dtype).itemsize
    charge_file_budget("bytes", num_bytes, f"was rejected: its inputs have the shape {sizes}.")
    return jnp.zeros(sizes, dtype)
