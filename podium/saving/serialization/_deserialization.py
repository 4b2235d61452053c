"""Objects from configs that Podium, Keras 3 or Keras 2 wrote.

Names are looked up in tables: registered objects and `custom_objects` first, then the public names
of Podium's packages. `core` builds the objects, after `_sanitize_config.py` has rejected code in
configs.
"""

from __future__ import annotations

import os
import types
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from podium.core import (
    closest_match,
    convert_to_tensor,
    custom_object_scope,
    get_registered_object,
    standardize_dtype,
)
from podium.core.internal import (
    FileBudget,
    build_object,
    charge_file_budget,
    find_policy_class,
    load_class,
    resolve_class,
)
from podium.layers.internal import build_layer_once, share_layers
from podium.saving.serialization._packages import PACKAGES, is_builtin_module, package_of_module
from podium.saving.serialization._sanitize_config import sanitize_config

_CLASS_PACKAGES = ("layers", "optimizers", "losses", "metrics", "initializers")
_FUNCTION_PACKAGES = ("activations", "losses", "metrics")
_MIN_OBJECTS = 1_000  # that a config may have, whatever the weights are
_OBJECTS_PER_WEIGHT = 20
_BYTES_PER_OBJECT = 100  # of JSON, at least
_BYTES_PER_ELEMENT = 4  # of a weight


def deserialize_keras_object(
    config: object, custom_objects: Mapping[str, Any] | None = None, safe_mode: bool = True
) -> Any:
    """Build an object from the result of `serialize_keras_object`, or from what Keras 3 or Keras 2
    wrote.

    Args:
        config: The plain data.
        custom_objects: Your own classes and functions by name; registered ones are found without
            it.
        safe_mode: Accepted for Keras's signature. Code from a config is never run, whatever its
            value.

    Raises:
        ValueError: A class or function is not known, or the data is not of the expected form.

    Example:
        >>> config = podium.saving.serialize_keras_object(podium.layers.Dense(2))
        >>> podium.saving.deserialize_keras_object(config).units
        2
        >>> config = {"module": "os", "class_name": "system", "config": {}}
        >>> podium.saving.deserialize_keras_object(config)
        Traceback (most recent call last):
        ValueError: The config names the class 'system' of module 'os', which is not registered. ...
    """
    with custom_object_scope(custom_objects or {}), share_layers():
        return build_from_config(sanitize_config(config))


def build_from_config(config: Any) -> Any:
    """Build the objects in sanitized plain data, inside the current `custom_object_scope`."""
    if isinstance(config, (list, tuple)):
        items = [build_from_config(item) for item in config]
        return tuple(items) if isinstance(config, tuple) else items
    if not isinstance(config, Mapping):
        return config
    if "class_name" not in config or "config" not in config:
        return {key: build_from_config(value) for key, value in config.items()}
    name, arguments = config["class_name"], config["config"]
    if isinstance(name, str) and name in _SPECIAL_VALUES:
        return _SPECIAL_VALUES[name](arguments)
    if name == "function":
        return _find_function(arguments, config)
    return build_layer_once(config, _build_instance)


def limit_objects(budget: FileBudget | None, num_elements: int, num_weights: int) -> None:
    """Limit what a config may build: the elements of all weights, and the number of objects, by
    the number of arrays that the file has.
    """
    if budget is not None:
        budget.allow("weights", num_elements)
        budget.allow("objects", _MIN_OBJECTS + _OBJECTS_PER_WEIGHT * num_weights)


def limit_new_model(budget: FileBudget | None, num_bytes: int) -> None:
    """Limit what a config without weights may build: objects by its size, and weights by the
    memory of the machine.
    """
    if budget is not None:
        budget.allow("objects", _MIN_OBJECTS + num_bytes // _BYTES_PER_OBJECT)
        budget.allow("new weights", _memory_bytes() // _BYTES_PER_ELEMENT)


def _memory_bytes() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not POSIX
        return 1 << 40


def charge_objects(config: Any) -> None:
    """Charge the budget of a file for the objects that a config describes.

    A layer of a nested model is charged for each time that the model is called, because models
    around it call it again: nested models would otherwise take exponential time.
    """
    pending: list[tuple[Any, bool, int]] = [(config, False, 0)]
    while pending:
        item, is_layer, num_runs = pending.pop()  # runs of the model that the item belongs to
        if isinstance(item, (list, tuple)):
            pending.extend((inner, is_layer, num_runs) for inner in item)
        if not isinstance(item, Mapping):
            continue
        nodes = item.get("inbound_nodes")
        num_calls = max(1, len(nodes)) if isinstance(nodes, list) else 1
        if "class_name" in item:
            charge_file_budget(
                "objects",
                num_calls * max(1, num_runs) if is_layer else 1,
                "The config describes more layers and other objects than the weights of the "
                "file allow (limit exceeded).",
            )
            if isinstance(item.get("config"), Mapping) and "layers" in item["config"]:
                num_runs = 1 + num_calls * num_runs
        pending.extend((value, key == "layers", num_runs) for key, value in item.items())


def find_class(config: Mapping[str, Any]) -> Any:
    """Return the class that a config names: a registered one, or one of Podium's."""
    return resolve_class(config, _find_builtin_class)


def _array_from_config(arguments: Any) -> np.ndarray[Any, Any]:
    return np.asarray(arguments["value"], dtype=np.dtype(standardize_dtype(arguments["dtype"])))


_SPECIAL_VALUES: dict[str, Callable[[Any], Any]] = {
    "__numpy__": _array_from_config,
    "__tensor__": lambda inner: convert_to_tensor(inner["value"], inner["dtype"]),
    "__bytes__": lambda inner: inner["value"].encode(),
    "__ellipsis__": lambda inner: Ellipsis,
    "__slice__": lambda inner: slice(inner["start"], inner["stop"], inner["step"]),
}


def _find_function(name: object, config: Mapping[str, Any]) -> Callable[..., Any]:
    for candidate in (config.get("registered_name"), name):
        if isinstance(candidate, str):
            registered: Callable[..., Any] | None = get_registered_object(candidate)
            if registered is not None:
                return registered
    package, module = package_of_module(config.get("module")), config.get("module")
    packages = [] if package is None else [package]
    if module in (None, "builtins"):
        packages = [PACKAGES[key] for key in _FUNCTION_PACKAGES]
    for package in packages:
        if isinstance(name, str) and not name.startswith("_"):
            function = getattr(package, name, None)
            if isinstance(function, types.FunctionType):
                return function
    raise _unknown_name("function", name, config)


def _find_builtin_class(config: Mapping[str, Any]) -> type:
    module, name = config.get("module"), config["class_name"]
    prefix, _, bare_name = name.rpartition(">")
    if prefix in ("Custom", "keras", "Keras"):
        name = bare_name  # Keras 2 writes "Custom>Adam" for its own
    if module is None or is_builtin_module(module):
        package = package_of_module(module)
        packages = [PACKAGES[key] for key in _CLASS_PACKAGES] if package is None else [package]
        for package in packages:
            cls = getattr(package, name, None) if not name.startswith("_") else None
            if isinstance(cls, type):
                return cls
        cls = find_policy_class(name) or load_class(name)
        if cls is not None:
            return cls
    raise _unknown_name("class", name, config)


def _build_instance(config: Mapping[str, Any]) -> Any:
    instance = build_object(config, _find_builtin_class)
    build_config, compile_config = config.get("build_config"), config.get("compile_config")
    is_model = hasattr(instance, "get_layer") or getattr(instance, "_is_savable_alone", False)
    if build_config and is_model and not instance.built:
        _build_model(instance, build_config)
    if compile_config and hasattr(instance, "compile_from_config"):
        instance.compile_from_config(compile_config)
    return instance


def _build_model(model: Any, build_config: Mapping[str, Any]) -> None:
    try:
        model.build_from_config(
            {key: _lists_to_shapes(value) for key, value in build_config.items()}
        )
    except Exception as error:
        raise ValueError(
            f"Model {model.name!r} ({type(model).__name__}) could not be built for the shapes in "
            f"the file, {build_config}: {error} Define `build(self, input_shape)`, or "
            "`build_from_config`, in the class."
        ) from error


def _lists_to_shapes(value: Any) -> Any:
    """Convert the lists of JSON that are shapes back to tuples."""
    if isinstance(value, Mapping):
        return {key: _lists_to_shapes(item) for key, item in value.items()}
    if isinstance(value, list):
        is_shape = all(item is None or isinstance(item, int) for item in value)
        return tuple(value) if is_shape else [_lists_to_shapes(item) for item in value]
    return value


def _unknown_name(kind: str, name: object, config: Mapping[str, Any]) -> ValueError:
    """Return the error for a name that is in no table."""
    module = config.get("module")
    where = f" of module {module!r}" if module not in (None, "builtins") else ""
    package = package_of_module(module)
    choice = (
        closest_match(name, dir(package)) if isinstance(name, str) and package is not None else None
    )
    hint = f" Did you mean {choice!r}?" if choice else ""
    return ValueError(
        f"The config names the {kind} {name!r}{where}, which is not registered.{hint} Files cannot "
        "import code: if it is your own, decorate it with "
        f"`@podium.saving.register_keras_serializable()`, or pass `custom_objects={{{str(name)!r}: "
        f"...}}`."
    )
