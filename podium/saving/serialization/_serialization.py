"""Objects as plain data and back, in Keras 3's form: `{"module", "class_name", "config",
"registered_name"}`.

Names are looked up in tables: our own classes by family, users' classes in the registry. A module
that a config names is never imported; it only says which table to look in.
"""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from podium import (
    activations,
    constraints,
    initializers,
    layers,
    losses,
    metrics,
    optimizers,
    regularizers,
)
from podium.core import (
    DTypePolicy,
    Tensor,
    Variable,
    convert_to_tensor,
    custom_object_scope,
    get_registered_name,
    get_registered_object,
    nearest,
    standardize_dtype,
)
from podium.optimizers import schedules
from podium.saving.serialization._sanitize_config import prepared

_MOST_NUMBERS = 100_000  # of a constant inside a description

_PUBLIC = {
    "GroupedQueryAttention": "GroupQueryAttention"
}  # Keras's public name for a class of another name
_PLAIN = (bool, int, float, str, type(None))
_ROOMS: dict[str, Any] = {
    "activations": activations,
    "constraints": constraints,
    "initializers": initializers,
    "layers": layers,
    "losses": losses,
    "metrics": metrics,
    "optimizers": optimizers,
    "regularizers": regularizers,
    "schedules": schedules,
}
_BASES: tuple[tuple[type, str], ...] = (
    (layers.Layer, "layers"),
    (initializers.Initializer, "initializers"),
    (regularizers.Regularizer, "regularizers"),
    (constraints.Constraint, "constraints"),
    (losses.Loss, "losses"),
    (metrics.Metric, "metrics"),
    (schedules.LearningRateSchedule, "schedules"),
    (optimizers.Optimizer, "optimizers"),
)


def serialize_keras_object(obj: Any) -> Any:
    """Return plain data that `deserialize_keras_object` turns back into the object, without its
    state.

    Args:
        obj: A layer, model, loss, metric, optimizer, initializer, ..., a function with a name, or a
            structure of them.

    Raises:
        TypeError: Something cannot be written as plain data.

    Example:
        >>> podium.saving.serialize_keras_object(podium.losses.Huber(delta=2.0))["config"]["delta"]
        2.0
        >>> podium.saving.serialize_keras_object(["mse", podium.losses.mean_squared_error])[1]["config"]
        'mean_squared_error'
    """
    if isinstance(obj, _PLAIN):
        return obj
    if isinstance(obj, (list, tuple)):
        return [serialize_keras_object(item) for item in obj]
    if isinstance(obj, Mapping):
        return {_key(key): serialize_keras_object(value) for key, value in obj.items()}
    if callable(obj) and not hasattr(obj, "get_config") and not isinstance(obj, type):
        return _function_config(obj)
    if isinstance(obj, slice):
        return _special("__slice__", start=obj.start, stop=obj.stop, step=obj.step)
    if obj is Ellipsis:
        return _special("__ellipsis__")
    if isinstance(obj, bytes):
        return _special("__bytes__", value=obj.decode())
    if isinstance(obj, (Tensor, np.ndarray)) and not isinstance(obj, Variable):
        return _constant(obj)
    if isinstance(obj, (np.generic, np.dtype)):
        return standardize_dtype(obj) if isinstance(obj, np.dtype) else obj.item()
    if hasattr(obj, "get_config") and not isinstance(obj, type):
        return _object_config(obj)
    raise TypeError(
        f"{obj!r} cannot be serialized: it is a {type(obj).__name__}. Numbers, strings, lists, "
        "dictionaries, registered functions and objects with `get_config` can."
    )


def _key(key: Any) -> str:
    if not isinstance(key, (str, int)):
        raise TypeError(
            f"The key {key!r} of a dictionary cannot be serialized; strings were expected."
        )
    return str(key)


def _special(name: str, **config: Any) -> dict[str, Any]:
    return {
        "class_name": name,
        "config": {key: serialize_keras_object(value) for key, value in config.items()},
    }


def _constant(value: Any) -> dict[str, Any]:
    array = value.numpy() if isinstance(value, Tensor) else value
    if array.size > _MOST_NUMBERS:
        raise TypeError(
            f"A constant of shape {array.shape} cannot be serialized: it has more than "
            f"{_MOST_NUMBERS} numbers. Make it a weight of a layer."
        )
    kind = "__tensor__" if isinstance(value, Tensor) else "__numpy__"
    numbers = array.astype("float32") if array.dtype.name in ("bfloat16", "float16") else array
    return {"class_name": kind, "config": {"value": numbers.tolist(), "dtype": array.dtype.name}}


def _function_config(function: Any) -> dict[str, Any]:
    name = get_registered_name(function) if hasattr(function, "__name__") else None
    if name is None or name == "<lambda>":
        raise TypeError(
            f"{function!r} cannot be serialized: it has no name to find it again by. Write it with "
            "`def`, and decorate it with `@podium.saving.register_keras_serializable()`."
        )
    room = function.__module__.split(".")[1] if function.__module__.startswith("podium.") else None
    if room in _ROOMS:
        return {
            "module": f"keras.{room}",
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


def _object_config(obj: Any) -> dict[str, Any]:
    cls = type(obj)
    room = next((room for base, room in _BASES if isinstance(obj, base)), None)
    ours = cls.__module__.startswith("podium.")
    module, name, registered = f"keras.{room}", _PUBLIC.get(cls.__name__, cls.__name__), None
    if isinstance(obj, DTypePolicy):
        module = "keras"
    elif room == "schedules" and ours:
        module = "keras.optimizers.schedules"
    elif hasattr(obj, "get_layer") and ours:  # a model
        is_stack = hasattr(obj, "_stack")
        module, name, registered = (
            ("keras", "Sequential", None)
            if is_stack
            else ("keras.src.models.functional", "Functional", "Functional")
        )
    elif not ours:
        module, registered = cls.__module__, get_registered_name(cls)
    try:
        config = {key: serialize_keras_object(value) for key, value in obj.get_config().items()}
    except (TypeError, NotImplementedError) as error:
        who = f"{name} {obj.name!r}" if isinstance(getattr(obj, "name", None), str) else name
        if f"`{name}" in str(error) or "This object cannot be serialized" in str(error):
            raise
        raise type(error)(
            f"This object cannot be serialized: {who}. {error} Return plain data from its "
            "`get_config`, and turn it back in `from_config`."
        ) from error
    described: dict[str, Any] = {
        "module": module,
        "class_name": name,
        "config": config,
        "registered_name": registered,
    }
    for key, get in (
        ("build_config", "get_build_config"),
        ("compile_config", "get_compile_config"),
    ):
        extra = (
            getattr(obj, get)()
            if hasattr(obj, get) and not (key == "build_config" and _builds_from_several(obj))
            else None
        )
        if extra:
            described[key] = {name: serialize_keras_object(value) for name, value in extra.items()}
    return described


def _builds_from_several(layer: Any) -> bool:
    """Tell whether `build` takes several shapes: Keras has another form for those, and a graph
    builds layers by calling them.
    """
    return len(inspect.signature(type(layer).build).parameters) > 2


# --- back


def deserialize_keras_object(
    config: Any, custom_objects: Mapping[str, Any] | None = None, safe_mode: bool = True
) -> Any:
    """Make an object from `serialize_keras_object`'s result, or from what Keras 3 or Keras 2 wrote.

    Args:
        config: The plain data.
        custom_objects: Your own classes and functions by name; registered ones are found without
            it.
        safe_mode: Accepted for Keras's signature. Code from a config is never run, whatever it
            says.

    Raises:
        ValueError: A class or function is not known, or the data is not of the expected form.

    Example:
        >>> config = podium.saving.serialize_keras_object(podium.layers.Dense(2))
        >>> podium.saving.deserialize_keras_object(config).units
        2
        >>> podium.saving.deserialize_keras_object({"module": "os", "class_name": "system", "config": {}})
        Traceback (most recent call last):
        ValueError: The config names the class 'system' of module 'os', which is not registered. ...
    """
    with custom_object_scope(custom_objects or {}):
        return revive(prepared(config))


def revive(config: Any) -> Any:
    """Make objects from prepared plain data, in the scope of custom objects that is open."""
    if isinstance(config, str):
        return config
    if isinstance(config, (list, tuple)):
        return [revive(item) for item in config]
    if not isinstance(config, Mapping):
        return config
    if "class_name" not in config or "config" not in config:
        return {key: revive(value) for key, value in config.items()}
    name, inner = config["class_name"], config["config"]
    if isinstance(name, str) and name in _SPECIALS:
        return _SPECIALS[name](inner)
    if name == "function":
        return _function(inner, config)
    return _instance(name, {} if inner is None else inner, config)


def _array_of(inner: Any) -> np.ndarray:
    return np.asarray(inner["value"], dtype=np.dtype(standardize_dtype(inner["dtype"])))


_SPECIALS: dict[str, Callable[[Any], Any]] = {
    "__numpy__": _array_of,
    "__tensor__": lambda inner: convert_to_tensor(inner["value"], inner["dtype"]),
    "__bytes__": lambda inner: inner["value"].encode(),
    "__ellipsis__": lambda inner: Ellipsis,
    "__slice__": lambda inner: slice(inner["start"], inner["stop"], inner["step"]),
}


def _room_of(module: Any) -> Any:
    """Return the room that a module of Keras's (or an absent one) stands for, or None."""
    if not isinstance(module, str) or module.split(".")[0] not in ("keras", "tf_keras", "podium"):
        return None
    parts = module.split(".")
    return next((_ROOMS[part] for part in reversed(parts) if part in _ROOMS), None)


def _function(name: Any, config: Mapping[str, Any]) -> Any:
    for candidate in (config.get("registered_name"), name):
        found = get_registered_object(candidate) if isinstance(candidate, str) else None
        if found is not None:
            return found
    room = _room_of(config.get("module"))
    rooms = (
        [room]
        if room is not None
        else [activations, losses, metrics]
        if config.get("module") in (None, "builtins")
        else []
    )
    for room in rooms:
        if (
            isinstance(name, str)
            and not name.startswith("_")
            and isinstance(getattr(room, name, None), types.FunctionType)
        ):
            return getattr(room, name)
    raise unknown("function", name, config)


def _instance(name: Any, inner: Any, config: Mapping[str, Any]) -> Any:
    cls = class_named(config)
    if not isinstance(inner, Mapping):
        raise ValueError(
            f"The config of {name!r} is {inner!r}; a dictionary (an object) was expected."
        )
    if not hasattr(cls, "from_config"):
        return cls if isinstance(cls, types.FunctionType) else cls(**inner)
    try:
        instance = cls.from_config(dict(inner))
    except (KeyError, AttributeError, IndexError) as error:
        raise ValueError(
            f"The config of {name!r} does not have the expected form ({type(error).__name__}: "
            f"{error})."
        ) from error
    build_config = config.get("build_config")
    if build_config and hasattr(instance, "get_layer") and not instance.built:
        _build(instance, build_config)
    if config.get("compile_config") and hasattr(instance, "compile_from_config"):
        instance.compile_from_config(config["compile_config"])
    return instance


def _build(model: Any, build_config: Mapping[str, Any]) -> None:
    try:
        model.build_from_config({key: _with_tuples(value) for key, value in build_config.items()})
    except Exception as error:
        raise ValueError(
            f"Model {model.name!r} ({type(model).__name__}) could not be built for the shapes in "
            f"the file, {build_config}: {error} Define `build(self, input_shape)`, or "
            "`build_from_config`, in the class."
        ) from error


def _with_tuples(value: Any) -> Any:
    """Turn the lists of JSON that are shapes back into tuples."""
    if isinstance(value, Mapping):
        return {key: _with_tuples(item) for key, item in value.items()}
    if isinstance(value, list):
        is_shape = all(item is None or isinstance(item, int) for item in value)
        return tuple(value) if is_shape else [_with_tuples(item) for item in value]
    return value


def class_named(config: Mapping[str, Any]) -> Any:
    """Return the class that a config names: a registered one, or one of ours."""
    name, registered, module = (
        config.get("class_name"),
        config.get("registered_name"),
        config.get("module"),
    )
    if not isinstance(name, str):
        raise ValueError(f"A config has class_name={name!r}; the name of a class was expected.")
    for candidate in (registered, name):
        found = get_registered_object(candidate) if isinstance(candidate, str) else None
        if found is not None:
            return found
    package, _, bare = name.rpartition(">")
    if package in ("Custom", "keras", "Keras"):
        name = bare  # Keras 2 writes "Custom>Adam" for its own
    if module is None or (
        isinstance(module, str) and module.split(".")[0] in ("keras", "tf_keras", "podium")
    ):
        room = _room_of(module)
        for one in (
            [room] if room is not None else [layers, optimizers, losses, metrics, initializers]
        ):
            found = getattr(one, name, None) if not name.startswith("_") else None
            if isinstance(found, type):
                return found
        if name == "DTypePolicy":
            return DTypePolicy
        found = _models().get(name)
        if found is not None:
            return found
    raise unknown("class", name, config)


def _models() -> dict[str, type]:
    """Return the classes of models by Keras's names. They stand above this room, and are asked for
    at the front door.
    """
    door = sys.modules["podium"]
    return {"Model": door.Model, "Functional": door.Model, "Sequential": door.Sequential}


def unknown(kind: str, name: Any, config: Mapping[str, Any]) -> ValueError:
    """Return the error for a name that is in no table."""
    module = config.get("module")
    where = f" of module {module!r}" if module not in (None, "builtins") else ""
    room = _room_of(module)
    close = nearest(name, dir(room)) if isinstance(name, str) and room is not None else None
    hint = f" Did you mean {close!r}?" if close else ""
    return ValueError(
        f"The config names the {kind} {name!r}{where}, which is not registered.{hint} Files cannot "
        "import code: if it is your own, decorate it with "
        f"`@podium.saving.register_keras_serializable()`, or pass `custom_objects={{{str(name)!r}: "
        f"...}}`."
    )
