"""Configs of layers: the arguments that all layers share, and those recorded by the constructor.

It owns what `Layer.get_config` and `Layer.from_config` do. Looking up classes by name is done by
`_layer_serialization.py`.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from podium import regularizers
from podium._typing import Config
from podium.core import serialize_dtype_policy, unknown_choice

if TYPE_CHECKING:
    from podium.layers._layer import Layer

LayerType = TypeVar("LayerType", bound="Layer")

_COMMON = ("name", "trainable", "dtype")  # in every config


def base_config(layer: Layer) -> Config:
    """Return the arguments that all layers share."""
    policy = serialize_dtype_policy(layer._dtype_policy)
    config: Config = {"name": layer._name, "trainable": layer._trainable, "dtype": policy}
    if layer.activity_regularizer is not None:
        config["activity_regularizer"] = regularizers.serialize(layer.activity_regularizer)
    return config


def recorded_arguments(layer: Layer) -> Config:
    """Return the arguments that the constructor of `layer` received, by name.

    Raises:
        NotImplementedError: If an argument is not JSON-compatible.
    """
    args, kwargs = layer._init_arguments
    signature = inspect.signature(type(layer).__init__)
    bound = signature.bind(layer, *args, **kwargs).arguments
    arguments: Config = {}
    for name, value in list(bound.items())[1:]:
        if signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
            arguments.update(value)
        else:
            arguments[name] = value
    names = [name for name, value in arguments.items() if not _is_json_compatible(value)]
    if names:
        raise NotImplementedError(
            f"{type(layer).__name__} has the arguments {names}, which are not JSON-compatible. "
            "Define `get_config` so that it returns all arguments of `__init__` in a "
            "JSON-compatible form, and `from_config` if needed."
        )
    return arguments


def layer_from_config(cls: type[LayerType], config: Mapping[str, Any]) -> LayerType:
    """Create a layer of class `cls` from its config.

    Common arguments that the constructor does not accept are set on the layer afterwards.
    """
    parameters = inspect.signature(cls).parameters
    accepts_any = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())
    not_accepted = (
        {}
        if accepts_any
        else {key: config[key] for key in _COMMON if key in config and key not in parameters}
    )
    try:
        layer = cls(**{key: value for key, value in config.items() if key not in not_accepted})
        if "name" in not_accepted:
            layer._name = not_accepted["name"]
        if not_accepted.get("trainable") is False:
            layer.trainable = False
        return layer
    except TypeError as error:
        raise TypeError(
            f"{cls.__name__} cannot be created from the config {dict(config)!r}: {error}"
        ) from error


def input_shape_argument(kwargs: dict[str, Any]) -> tuple[int | None, ...] | None:
    """Remove Keras 2's arguments for the shape of a first layer's inputs, and return the shape."""
    shape = kwargs.pop("input_shape", None)
    batch_shape = kwargs.pop("batch_input_shape", None) or kwargs.pop("batch_shape", None)
    dim, length = kwargs.pop("input_dim", None), kwargs.pop("input_length", None)
    if batch_shape is not None:
        return tuple(batch_shape)
    if shape is not None:
        return (None, *((shape,) if isinstance(shape, int) else tuple(shape)))
    if dim is not None:
        return (None, length, dim) if length is not None else (None, dim)
    return (None, length) if length is not None else None


def check_constructor_arguments(layer: Layer, kwargs: dict[str, Any]) -> None:
    """Raise if the constructor of a layer received arguments that it does not have."""
    if "input_dtype" in kwargs:
        raise ValueError(
            "`input_dtype` is not an argument of layers; use `Input(dtype=...)` in the model."
        )
    if kwargs:
        parameters = inspect.signature(type(layer).__init__).parameters
        known = [name for name in parameters if name not in ("self", "kwargs", "args")]
        known += ["activity_regularizer", "trainable", "dtype", "name"]
        name = next(iter(kwargs))
        raise TypeError(
            f"{type(layer).__name__} does not know the argument {name!r}. "
            + str(unknown_choice("argument", name, known))
        )


def _is_json_compatible(value: object) -> bool:
    if isinstance(value, (list, tuple)):
        return all(map(_is_json_compatible, value))
    if isinstance(value, dict):
        return all(map(_is_json_compatible, value.values()))
    return value is None or isinstance(value, (bool, int, float, str))
