"""Registered names: which string means which class or function, in configs and in files.

Loading resolves names of user code here and nowhere else, so a file cannot reach code that was not
registered. Podium's own classes are found through `_name_registry.py`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from podium._typing import T

_by_name: dict[str, Any] = {}  # "package>Class" -> class or function
_names: dict[Any, str] = {}
_custom_objects: dict[str, Any] = {}


def register_keras_serializable(
    package: str = "Custom", name: str | None = None
) -> Callable[[T], T]:
    """Return a decorator that registers a class or function, so that configs can name it.

    Args:
        package: The name of the project that defines it.
        name: The name within the package; by default the object's `__name__`.

    Example:
        >>> @podium.saving.register_keras_serializable("my_project")
        ... class Scale(podium.layers.Layer):
        ...     pass
        >>> podium.saving.get_registered_name(Scale)
        'my_project>Scale'
    """

    def decorate(target: T) -> T:
        if isinstance(target, type) and not hasattr(target, "get_config"):
            raise ValueError(
                f"{target.__name__} cannot be registered: it has no `get_config`. Add one that "
                "returns the arguments of `__init__`."
            )
        registered = f"{package}>{name or getattr(target, '__name__', '')}"
        _by_name[registered] = target
        _names[target] = registered
        return target

    return decorate


def get_registered_name(obj: Any) -> str:
    """Return the name under which a class or function was registered, or its `__name__`.

    Example:
        >>> podium.saving.get_registered_name(podium.layers.Dense)
        'Dense'
    """
    return _names.get(obj) or str(obj.__name__)


def explicit_name(target: object) -> str | None:
    """Return the name under which a class or function was registered, or None."""
    return _names.get(target)


def get_registered_object(
    name: str,
    custom_objects: Mapping[str, Any] | None = None,
    module_objects: Mapping[str, Any] | None = None,
) -> Any:
    """Return the object that was registered under `name`, or None.

    Args:
        name: The name.
        custom_objects: Objects by name that take precedence.
        module_objects: Objects by name to look at last.

    Example:
        >>> podium.saving.get_registered_object("my_project>Unknown") is None
        True
    """
    for table in (custom_objects or {}, _custom_objects, _by_name, module_objects or {}):
        if name in table:
            return table[name]
    return None


def get_custom_objects() -> dict[str, Any]:
    """Return the dictionary of objects by name that `custom_object_scope` changes.

    Example:
        >>> podium.saving.get_custom_objects()
        {}
    """
    return _custom_objects


@contextlib.contextmanager
def custom_object_scope(custom_objects: Mapping[str, Any] | None) -> Iterator[None]:
    """Make objects available to strings and configs by name inside a `with` block.

    Args:
        custom_objects: Classes and functions by name; None for none.

    Example:
        >>> with podium.saving.custom_object_scope({"twice": lambda x: 2 * x}):
        ...     float(podium.activations.get("twice")(podium.ops.ones(())))
        2.0
    """
    previous = dict(_custom_objects)
    _custom_objects.update(custom_objects or {})
    try:
        yield
    finally:
        _custom_objects.clear()
        _custom_objects.update(previous)
