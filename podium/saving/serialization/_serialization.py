"""Objects as configs in Keras 3's form: `{"module", "class_name", "config", "registered_name"}`.

This file writes configs; `_deserialization.py` reads them. What a class stores about itself is its
own `get_config`.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from podium._typing import Array, Config
from podium.core import DTypePolicy, Tensor, Variable, get_registered_name, standardize_dtype
from podium.layers import Layer
from podium.layers.internal import add_number, number_shared_layers
from podium.saving.serialization._packages import BASE_CLASSES, PACKAGES

_MAX_CONSTANT_SIZE = 100_000  # elements of a constant inside a config

# Keras's public name for a class that has another name in the code.
_PUBLIC_NAMES = {"GroupedQueryAttention": "GroupQueryAttention"}

# The modules of layers that Keras finds there alone: those of `applications` and `utils`.
_MODULES = {
    "LayerScale": "keras.src.applications.convnext",
    "StochasticDepth": "keras.src.applications.convnext",
    "CustomScaleLayer": "keras.src.applications.inception_resnet_v2",
    "FeatureSpace": "keras.utils",
}
_MODULES_OF_PACKAGES = ("podium.applications.", "podium.utils.")
_PLAIN_TYPES = (bool, int, float, str, type(None))


def serialize_keras_object(obj: object) -> Any:
    """Return plain data from which `deserialize_keras_object` builds the object again, without its
    state.

    Args:
        obj: A layer, model, loss, metric, optimizer, initializer, ..., a function with a name, or a
            structure of them.

    Raises:
        TypeError: Something cannot be written as plain data.

    Example:
        >>> podium.saving.serialize_keras_object(podium.losses.Huber(delta=2.0))["config"]["delta"]
        2.0
        >>> loss = podium.losses.mean_squared_error
        >>> podium.saving.serialize_keras_object(["mse", loss])[1]["config"]
        'mean_squared_error'
    """
    return number_shared_layers(lambda: _serialize(obj))


def _serialize(obj: object) -> Any:
    if isinstance(obj, _PLAIN_TYPES):
        return obj
    if isinstance(obj, (list, tuple)):
        items = [_serialize(item) for item in obj]
        return tuple(items) if isinstance(obj, tuple) else items
    if isinstance(obj, Mapping):
        return {_check_key(key): _serialize(value) for key, value in obj.items()}
    if callable(obj) and not hasattr(obj, "get_config") and not isinstance(obj, type):
        return _function_config(obj)
    if isinstance(obj, slice):
        return _special_config("__slice__", start=obj.start, stop=obj.stop, step=obj.step)
    if obj is Ellipsis:
        return _special_config("__ellipsis__")
    if isinstance(obj, bytes):
        return _special_config("__bytes__", value=obj.decode())
    if isinstance(obj, (Tensor, np.ndarray)) and not isinstance(obj, Variable):
        return _constant_config(obj)
    if isinstance(obj, (np.generic, np.dtype)):
        return standardize_dtype(obj) if isinstance(obj, np.dtype) else obj.item()
    if hasattr(obj, "get_config") and not isinstance(obj, type):
        return _object_config(obj)
    raise TypeError(
        f"{obj!r} cannot be serialized: it is a {type(obj).__name__}. Numbers, strings, lists, "
        "dictionaries, registered functions and objects with `get_config` can."
    )


def _check_key(key: object) -> str:
    if not isinstance(key, (str, int)):
        raise TypeError(
            f"The key {key!r} of a dictionary cannot be serialized; strings were expected."
        )
    return str(key)


def _special_config(name: str, **values: object) -> Config:
    return {
        "class_name": name,
        "config": {key: _serialize(value) for key, value in values.items()},
    }


def _constant_config(value: Tensor | Array) -> Config:
    array = value.numpy() if isinstance(value, Tensor) else value
    if array.size > _MAX_CONSTANT_SIZE:
        raise TypeError(
            f"A constant of shape {array.shape} cannot be serialized: it has more than "
            f"{_MAX_CONSTANT_SIZE} numbers. Make it a weight of a layer."
        )
    name = "__tensor__" if isinstance(value, Tensor) else "__numpy__"
    exact = array.astype("float32") if array.dtype.name in ("bfloat16", "float16") else array
    return {"class_name": name, "config": {"value": exact.tolist(), "dtype": array.dtype.name}}


def _function_config(function: Any) -> Config:
    name = get_registered_name(function) if hasattr(function, "__name__") else None
    if name is None or name == "<lambda>":
        raise TypeError(
            f"{function!r} cannot be serialized: it has no name to find it again by. Write it with "
            "`def`, and decorate it with `@podium.saving.register_keras_serializable()`."
        )
    module = function.__module__
    package = module.split(".")[1] if module.startswith("podium.") else None
    if package in PACKAGES:
        return {
            "module": f"keras.{package}",
            "class_name": "function",
            "config": name,
            "registered_name": name,
        }
    return {
        "module": "builtins",
        "class_name": "function",
        "config": name,
        "registered_name": "function",
    }


def _object_config(obj: Any) -> Config:
    module, name, registered_name = _names_of_class(obj)
    try:
        config = {key: _serialize(value) for key, value in obj.get_config().items()}
        for key, value in config.items():
            if value == "<lambda>":  # what `activations.serialize` and its relatives return for one
                raise TypeError(
                    f"`{key}` is a lambda, which has no name to find it again by. Write it with "
                    "`def` and decorate it with `@podium.saving.register_keras_serializable()`."
                )
    except (TypeError, NotImplementedError) as error:
        label = f"{name} {obj.name!r}" if isinstance(getattr(obj, "name", None), str) else name
        if f"`{name}" in str(error) or "This object cannot be serialized" in str(error):
            raise
        raise type(error)(
            f"This object cannot be serialized: {label}. {error} Return plain data from its "
            "`get_config`, and convert it back in `from_config`."
        ) from error
    result: Config = {
        "module": module,
        "class_name": name,
        "config": config,
        "registered_name": registered_name,
    }
    build_config = None
    if hasattr(obj, "get_build_config") and not _builds_from_several_shapes(obj):
        build_config = obj.get_build_config()
    compile_config = obj.get_compile_config() if hasattr(obj, "get_compile_config") else None
    for key, extra in (("build_config", build_config), ("compile_config", compile_config)):
        if extra:
            result[key] = {name: _serialize(value) for name, value in extra.items()}
    return add_number(obj, result)


def _names_of_class(obj: Any) -> tuple[str, str, str | None]:
    """Return the module, the class name and the registered name that Keras writes for an object."""
    cls = type(obj)
    name = _PUBLIC_NAMES.get(cls.__name__, cls.__name__)
    if isinstance(obj, DTypePolicy):
        return ("keras" if cls is DTypePolicy else "keras.dtype_policies"), name, None
    if not cls.__module__.startswith("podium."):
        return cls.__module__, name, get_registered_name(cls)
    if name in _MODULES and cls.__module__.startswith(_MODULES_OF_PACKAGES):
        return _MODULES[name], name, name
    if hasattr(obj, "get_layer"):  # a model
        if hasattr(obj, "_stack"):
            return "keras", "Sequential", None
        return "keras.src.models.functional", "Functional", "Functional"
    package = next((package for base, package in BASE_CLASSES if isinstance(obj, base)), None)
    if package == "schedules":
        package = "optimizers.schedules"
    return (f"keras.{package}" if package else "keras"), name, None


def _builds_from_several_shapes(layer: Layer) -> bool:
    """Return whether `build` takes several shapes: Keras has another form for those, and a graph
    builds layers by calling them.
    """
    return len(inspect.signature(type(layer).build).parameters) > 2
