"""Whole models in Keras 2's HDF5 format: the description in attributes, the weights in groups of
layers.

Layers are matched in order, which is Keras's on both sides: by distance from the outputs.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from podium.layers.internal import limited_weights
from podium.saving.formats._hdf5 import (
    StoredWeight,
    numbers_in,
    read_all,
    reading,
    seal,
    stored_names,
    stored_parts,
    write_names,
)
from podium.saving.formats._hdf5_writer import Hdf5Image
from podium.saving.formats._layer_groups import parts_of, read_groups, write_groups
from podium.saving.io._array_io import value_of
from podium.saving.io._errors import Unfit, explained
from podium.saving.io._load_plan import Loaded, LoadReport, checked
from podium.saving.serialization._deserialization import build_from_config
from podium.saving.serialization._sanitize_config import sanitize_config
from podium.saving.serialization._serialization import serialize_keras_object
from podium.saving.serialization._strict_json import BadJson, dump, parse

_OPTIMIZER = "optimizer_weights"
_DIGEST = "podium_config_sha256"  # of the descriptions in the attributes


def legacy_image(model: Any, with_optimizer: bool) -> Hdf5Image:
    """Return a whole model as an HDF5 file to be written."""
    described = serialize_keras_object(model)
    compiled = described.pop("compile_config", None) if with_optimizer else None
    parts = parts_of(model, "save")
    image = Hdf5Image()
    file = image.file
    file.attrs["backend"], file.attrs["keras_version"] = b"jax", b"2.15.0"
    texts = {
        "model_config": dump(
            {key: value for key, value in described.items() if key != "compile_config"}
        )
    }
    if compiled:
        texts["training_config"] = dump(_training_config(compiled))
    for name, text in texts.items():
        file.attrs[name] = text.encode()
    file.attrs[_DIGEST] = np.bytes_(_digest(*texts.values()).encode())
    if compiled:
        _put_optimizer(image, file.create_group(_OPTIMIZER), model.optimizer)
    write_groups(image, file.create_group("model_weights"), parts)
    return image


def _digest(*texts: str) -> str:
    return hashlib.sha256("\n".join(texts).encode("utf-8", "surrogateescape")).hexdigest()


def _training_config(compiled: dict[str, Any]) -> dict[str, Any]:
    renamed = {"optimizer": "optimizer_config"}
    kept = ("loss", "metrics", "weighted_metrics", "loss_weights", "optimizer")
    return {renamed.get(key, key): compiled.get(key) for key in kept}


def _put_optimizer(image: Hdf5Image, group: Any, optimizer: Any) -> None:
    names = [f"{place}/{variable.path}" for place, variable in enumerate(optimizer.variables)]
    write_names(group, "weight_names", names)
    seal(group)
    for name, variable in zip(names, optimizer.variables, strict=True):
        image.put(group, name, name, value_of(variable))


def load_legacy(path: str, raw: Any, compile: bool) -> Any:
    """Load a model from an HDF5 file in Keras 2's format."""
    with reading(path, raw) as file:
        texts = {name: _text(file, name) for name in ("model_config", "training_config")}
        config, training = texts["model_config"], texts["training_config"] if compile else None
        noted = _text(file, _DIGEST)
        if config is None:
            raise Unfit(
                "holds weights alone, and no `model_config`: make the model, and use "
                "`model.load_weights` for it."
            )
        numbers = numbers_in(weight for part in stored_parts(file) for weight in part.weights)
    described = _parsed(config, "model_config")
    if (
        not isinstance(described, dict)
        or "class_name" not in described
        or "config" not in described
    ):
        raise Unfit("was refused: its `model_config` is no object with `class_name` and `config`.")
    with limited_weights(numbers), explained(path):
        model = build_from_config(
            sanitize_config(
                {key: value for key, value in described.items() if key != "compile_config"}
            )
        )
        if training is not None:
            model.compile_from_config(
                sanitize_config(_compile_config(_parsed(training, "training_config")))
            )
    parts = parts_of(model, "load_model")
    raw.seek(0)
    with reading(path, raw) as file:
        loaded = read_groups(file, model, parts)
        state = (
            _optimizer_state(file, model)
            if training is not None and model.optimizer is not None
            else None
        )
    if noted is not None and noted != _digest(
        *(text for text in texts.values() if text is not None)
    ):
        raise Unfit(
            "is corrupt: its `model_config` or `training_config` does not fit the checksum that "
            "was written with it."
        )
    loaded.assign()
    if state is not None:
        state.assign()
    return model


def _text(file: Any, name: str) -> Any:
    value = file.attrs.get(name)
    return None if value is None else value.decode() if isinstance(value, bytes) else str(value)


def _parsed(text: str, name: str) -> Any:
    try:
        return parse(text)
    except BadJson as error:
        raise Unfit(f"was refused: its config `{name}` {error}.") from None


def _compile_config(training: Any) -> dict[str, Any]:
    if not isinstance(training, dict):
        raise Unfit("was refused: its `training_config` is no object.")
    kept = {
        key: training.get(key) for key in ("loss", "metrics", "weighted_metrics", "loss_weights")
    }
    return {"optimizer": training.get("optimizer_config"), **kept}


def _optimizer_state(file: Any, model: Any) -> Loaded:
    """Read the optimizer's state if it fits; say so if it does not."""
    stored = {weight.name: weight for weight in stored_names(file, _OPTIMIZER)}
    variables = list(model.optimizer.variables)
    if not stored:
        return Loaded([], [], [], LoadReport([], [], [], []))
    pairs = _paired(variables, list(stored.values()))
    if pairs is None:
        told = (
            f"The state of optimizer {model.optimizer.name!r} was not restored: it has "
            f"{len(variables)} Variables, and the file "
            f"has {len(stored)} of other number, order or shape. Training goes on with a fresh "
            "optimizer."
        )
        return Loaded([], [], [told], LoadReport([], [], [], [told]))
    values = read_all(file, file[_OPTIMIZER], stored, [weight.name for _, weight in pairs])
    report = LoadReport([variable.path for variable, _ in pairs], [], [], [])
    return Loaded(
        checked([(variable, values[weight.name]) for variable, weight in pairs], model),
        [],
        [],
        report,
    )


def _paired(
    variables: list[Any], stored: list[StoredWeight]
) -> list[tuple[Any, StoredWeight]] | None:
    if len(stored) < len(variables) and all(weight.shape == () for weight in stored):
        variables = variables[
            : len(stored)
        ]  # saved before the first step: the count and the rate, no slots yet
    elif len(stored) == len(variables) - 1 and "learning_rate" in variables[1].path:
        variables = [
            variables[0],
            *variables[2:],
        ]  # Keras 2 leaves the learning rate out of some files
    fits = len(stored) == len(variables) and all(
        w.shape == v.shape for w, v in zip(stored, variables, strict=True)
    )
    return list(zip(variables, stored, strict=True)) if fits else None
