"""Names for things: which string means which object, and under which name a class is written to a
file.

Loading looks names up here and nowhere else, so a file can never reach code that nobody registered.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

_by_name: dict[str, Any] = {}  # "package>Class" -> class or function
_names: dict[Any, str] = {}
_custom_objects: dict[str, Any] = {}


def register_keras_serializable(package: str = "Custom", name: str | None = None) -> Callable:
    """Register a class or function, so that configs can name it: a decorator.

    Args:
        package: A word for the project it belongs to.
        name: The name within the package; by default the object's own.

    Example:
        >>> @podium.saving.register_keras_serializable("my_project")
        ... class Scale(podium.layers.Layer):
        ...     pass
        >>> podium.saving.get_registered_name(Scale)
        'my_project>Scale'
    """

    def decorate(target: Any) -> Any:
        if isinstance(target, type) and not hasattr(target, "get_config"):
            raise ValueError(
                f"{target.__name__} cannot be registered: it has no `get_config`. Add one that "
                "returns the arguments of `__init__`."
            )
        registered = f"{package}>{name or target.__name__}"
        _by_name[registered] = target
        _names[target] = registered
        return target

    return decorate


def get_registered_name(target: Any) -> str:
    """Return the name that a class or function was registered under, or its own name.

    Example:
        >>> podium.saving.get_registered_name(podium.layers.Dense)
        'Dense'
    """
    return _names.get(target, target.__name__)


def explicit_name(target: Any) -> str | None:
    """Return the name that a class or function was registered under, or None."""
    return _names.get(target)


def get_registered_object(name: str, custom_objects: Mapping[str, Any] | None = None) -> Any:
    """Return what was registered under `name`, or None.

    Example:
        >>> podium.saving.get_registered_object("nobody>Knows") is None
        True
    """
    for table in (custom_objects or {}, _custom_objects, _by_name):
        if name in table:
            return table[name]
    return None


def get_custom_objects() -> dict[str, Any]:
    """Return the table of names that `custom_object_scope` changes.

    Example:
        >>> podium.saving.get_custom_objects()
        {}
    """
    return _custom_objects


@contextlib.contextmanager
def custom_object_scope(objects: Mapping[str, Any]) -> Iterator[None]:
    """Let strings and configs name your own objects inside a `with` block.

    Example:
        >>> with podium.saving.custom_object_scope({"twice": lambda x: 2 * x}):
        ...     float(podium.activations.get("twice")(podium.ops.ones(())))
        2.0
    """
    before = dict(_custom_objects)
    _custom_objects.update(objects)
    try:
        yield
    finally:
        _custom_objects.clear()
        _custom_objects.update(before)
