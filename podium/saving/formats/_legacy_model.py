"""Whole models in Keras 2's HDF5 format: configs in attributes, weights in one group per layer.

Layers are matched in order, which is Keras's on both sides: by distance from the outputs. Weights
are read and written by `_layer_groups.py`.
"""

from __future__ import annotations

import hashlib
from typing import Any, BinaryIO

import numpy as np

from podium._typing import Config
from podium.core.internal import current_file_budget
from podium.layers.internal import share_layers
from podium.optimizers import Optimizer
from podium.saving._savable_model import SavableModel
from podium.saving.formats._hdf5 import (
    list_group_weights,
    list_layers,
    max_elements,
    open_hdf5,
    read_all,
    require_digests,
    write_names,
)
from podium.saving.formats._hdf5_storage import read_text
from podium.saving.formats._hdf5_writer import Hdf5Image
from podium.saving.formats._keras_layout import optimizer_variables_in_file
from podium.saving.formats._layer_groups import plan_groups_load, weights_by_layer, write_groups
from podium.saving.io._array_io import host_value
from podium.saving.io._errors import InvalidFileError, add_path_to_errors
from podium.saving.io._load_plan import LoadPlan, LoadReport, convert_values, fits
from podium.saving.serialization._deserialization import (
    build_from_config,
    charge_objects,
    limit_objects,
)
from podium.saving.serialization._sanitize_config import sanitize_config
from podium.saving.serialization._serialization import serialize_keras_object
from podium.saving.serialization._shared_numbers import add_lost_numbers
from podium.saving.serialization._strict_json import InvalidJsonError, dump_json, parse_json

OPTIMIZER = "optimizer_weights"
_DIGEST = "podium_config_sha256"  # of the configs in the attributes


def legacy_to_hdf5(model: SavableModel, with_optimizer: bool) -> Hdf5Image:
    """Return a whole model as an HDF5 file to be written."""
    config = serialize_keras_object(model)
    compile_config = config.pop("compile_config", None) if with_optimizer else None
    layers = weights_by_layer(model, "save", unique_names=True)
    image = Hdf5Image()
    file = image.file
    file.attrs["backend"], file.attrs["keras_version"] = b"jax", b"2.15.0"
    texts = {
        "model_config": dump_json(
            {key: value for key, value in config.items() if key != "compile_config"}
        )
    }
    if compile_config:
        texts["training_config"] = dump_json(_training_config(compile_config))
    for name, text in texts.items():
        file.attrs[name] = text.encode()
    file.attrs[_DIGEST] = np.bytes_(_digest(*texts.values()).encode())
    if compile_config:
        _add_optimizer(image, file.create_group(OPTIMIZER), model.optimizer)
    write_groups(image, file.create_group("model_weights"), layers)
    return image


def _digest(*texts: str) -> str:
    return hashlib.sha256("\n".join(texts).encode("utf-8", "surrogateescape")).hexdigest()


def _training_config(compile_config: Config) -> Config:
    """Return a compile config under Keras 2's names."""
    names = {"optimizer": "optimizer_config"}
    keys = ("loss", "metrics", "weighted_metrics", "loss_weights", "optimizer")
    return {names.get(key, key): compile_config.get(key) for key in keys}


def _add_optimizer(image: Hdf5Image, group: Any, optimizer: Optimizer) -> None:
    names = [f"{index}/{variable.path}" for index, variable in enumerate(optimizer.variables)]
    write_names(group, "weight_names", names)
    require_digests(group)
    for name, variable in zip(names, optimizer.variables, strict=True):
        image.add_dataset(group, name, name, host_value(variable))


def load_legacy(path: str, raw: BinaryIO, compile: bool) -> SavableModel:
    """Load a model from an HDF5 file in Keras 2's format."""
    with open_hdf5(path, raw) as file:
        texts = {name: read_text(file, name) for name in ("model_config", "training_config")}
        config, training = texts["model_config"], texts["training_config"] if compile else None
        digest = read_text(file, _DIGEST)
        if config is None:
            raise InvalidFileError(
                "holds weights alone, and no `model_config`: make the model, and use "
                "`model.load_weights` for it."
            )
        weights = [weight for layer in list_layers(file) for weight in layer.weights]
        limit = max_elements(weights)
    model_config = _parse_json_text(config, "model_config")
    if (
        not isinstance(model_config, dict)
        or "class_name" not in model_config
        or "config" not in model_config
    ):
        raise InvalidFileError(
            "was rejected: its `model_config` is not an object with `class_name` and `config`."
        )
    limit_objects(current_file_budget(), limit, len(weights))
    with add_path_to_errors(path):
        charge_objects(model_config)
        add_lost_numbers(model_config)
        with share_layers(is_new_config=True):
            model: SavableModel = build_from_config(
                sanitize_config(
                    {key: value for key, value in model_config.items() if key != "compile_config"}
                )
            )
        if training is not None:
            compile_config = compile_config_of(_parse_json_text(training, "training_config"))
            charge_objects(compile_config)
            model.compile_from_config(sanitize_config(compile_config))
    layers = weights_by_layer(model, "load_model")
    raw.seek(0)
    with open_hdf5(path, raw) as file:
        plan = plan_groups_load(file, model, layers)
        optimizer_plan = (
            _plan_optimizer_load(file, model)
            if training is not None and model.optimizer is not None
            else None
        )
    if digest is not None and digest != _digest(
        *(text for text in texts.values() if text is not None)
    ):
        raise InvalidFileError(
            "is corrupt: its `model_config` or `training_config` does not fit the checksum that "
            "was written with it."
        )
    plan.assign()
    if optimizer_plan is not None:
        optimizer_plan.assign()
    return model


def _parse_json_text(text: str, name: str) -> Any:
    try:
        return parse_json(text)
    except InvalidJsonError as error:
        raise InvalidFileError(f"was rejected: its config `{name}` {error}.") from None


def compile_config_of(training_config: object) -> Config:
    """Return the compile config that Keras 2's `training_config` describes."""
    if not isinstance(training_config, dict):
        raise InvalidFileError("was rejected: its `training_config` is not an object.")
    arguments = {
        key: training_config.get(key)
        for key in ("loss", "metrics", "weighted_metrics", "loss_weights")
    }
    return {"optimizer": training_config.get("optimizer_config"), **arguments}


def _plan_optimizer_load(file: Any, model: SavableModel) -> LoadPlan:
    """Read the optimizer's state if it fits, and add a warning if it does not."""
    stored = {weight.name: weight for weight in list_group_weights(file, OPTIMIZER)}
    variables = list(model.optimizer.variables)
    if not stored:
        return LoadPlan([], [], [], LoadReport([], [], [], []))
    weights = list(stored.values())
    restored = optimizer_variables_in_file(variables, weights)
    if not fits(restored, weights):
        warning = (
            f"The state of optimizer {model.optimizer.name!r} was not restored: it has "
            f"{len(variables)} Variables, and the file "
            f"has {len(stored)} of other number, order or shape. Training continues with a fresh "
            "optimizer."
        )
        return LoadPlan([], [], [warning], LoadReport([], [], [], [warning]))
    values = read_all(file, file[OPTIMIZER], stored, list(stored))
    pairs = [
        (variable, values[weight.name]) for variable, weight in zip(restored, weights, strict=True)
    ]
    report = LoadReport([variable.path for variable in restored], [], [], [])
    return LoadPlan(convert_values(pairs, model.name), [], [], report)
