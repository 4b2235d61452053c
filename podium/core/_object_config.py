"""Builds objects from configs: the one place where a name in a config becomes a class that is
called.

This is the security boundary of loading. A name is looked up among the objects that the caller
handed in or registered (`_registry.py`), then among Podium's own public names; a config never
causes an import, and no code inside it is run. What a config may look like is decided by callers.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from typing import Any

from podium._typing import Config
from podium.core._registry import get_registered_object

# Looks a config's class up among Podium's own, and raises an error that lists the choices.
FindBuiltin = Callable[[Mapping[str, Any]], Any]

_class_loaders: dict[str, Callable[[], type]] = {}
_layer_finders: list[Callable[[str], type | None]] = []
_initializer_finders: list[Callable[[str], Callable[..., Any]]] = []


def register_class_loader(name: str, load: Callable[[], type]) -> None:
    """Let configs name a class of a package that is imported only when it is needed.

    Args:
        name: The name in configs.
        load: Returns the class. Packages load lazily, so this may import one.
    """
    _class_loaders[name] = load


def load_class(name: str) -> type | None:
    """Return the class that `register_class_loader` was called for, or None."""
    return _class_loaders[name]() if name in _class_loaders else None


def register_layer_finder(find: Callable[[str], type | None]) -> None:
    """Let packages below the layers find the class of a layer, which an activation may be.

    Args:
        find: Returns the public layer of a name, or None. It may import the package of layers.
    """
    _layer_finders.append(find)


def register_initializer_finder(find: Callable[[str], Callable[..., Any]]) -> None:
    """Let Variables find the initializer of a name.

    Args:
        find: Returns the initializer, or raises a ValueError. It may import their package.
    """
    _initializer_finders.append(find)


def find_initializer(name: str) -> Callable[..., Any]:
    """Return the initializer of a name; raise a ValueError if there is none."""
    return _initializer_finders[0](name)


def find_layer_class(name: str) -> type | None:
    """Return the public layer of a name, or the model class of that name, or None."""
    for find in _layer_finders:
        layer_class = find(name)
        if layer_class is not None:
            return layer_class
    return load_class(name)


def resolve_class(
    config: Mapping[str, Any],
    find_builtin: FindBuiltin,
    custom_objects: Mapping[str, Any] | None = None,
) -> Any:
    """Return the class (or the registered function) that a config names.

    Args:
        config: A config with "class_name" and perhaps "registered_name".
        find_builtin: Returns the class of Podium that the config names, or raises an error.
        custom_objects: Classes and functions of the caller by name.

    Raises:
        ValueError: The config has no name.
    """
    class_name = config.get("class_name")
    if not isinstance(class_name, str):
        raise ValueError(
            f"A config has class_name={class_name!r}; the name of a class was expected."
        )
    for name in (config.get("registered_name"), class_name):
        registered = get_registered_object(name, custom_objects) if isinstance(name, str) else None
        if registered is not None:
            return registered
    return find_builtin(config)


def build_object(
    config: Mapping[str, Any],
    find_builtin: FindBuiltin,
    custom_objects: Mapping[str, Any] | None = None,
) -> Any:
    """Build the object that a config describes; a function is returned as it is.

    Args:
        config: A config with "class_name" and "config", the arguments of `from_config`.
        find_builtin: Returns the class of Podium that the config names, or raises an error.
        custom_objects: Classes and functions of the caller by name.

    Raises:
        ValueError: The class is unknown, or the arguments do not have the form it expects.
    """
    target = resolve_class(config, find_builtin, custom_objects)
    name, arguments = config["class_name"], config.get("config")
    arguments = {} if arguments is None else arguments
    if not isinstance(arguments, Mapping):
        raise ValueError(
            f"The config of {name!r} is {arguments!r}; a dictionary (an object) was expected."
        )
    if isinstance(target, types.FunctionType):
        return target
    return _call_from_config(target, name, dict(arguments))


def _call_from_config(target: Any, name: str, arguments: Config) -> Any:
    if not hasattr(target, "from_config"):
        return target(**arguments)
    try:
        return target.from_config(arguments)
    except (KeyError, AttributeError, IndexError) as error:
        raise ValueError(
            f"The config of {name!r} does not have the expected form ({type(error).__name__}: "
            f"{error})."
        ) from error
