"""Names for things: which string means which object, and under which name a class is written to a
file.

Loading looks names up here and nowhere else, so a file can never reach code that nobody registered.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from podium.core._errors import unknown_choice
from podium.core._names import snake_case

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


class Family:
    """One family of things that have string names: activations, initializers, regularizers, ...

    Args:
        kind: The word for one member, used in messages.
        base: The class that instances belong to, if the family has one.
        module: The module that Keras's files name for its members.

    Example:
        >>> colours = podium.core.Family("colour")
        >>> colours.add("red", 1)
        >>> colours.get("red")
        1
        >>> colours.get("rad")
        Traceback (most recent call last):
        ValueError: Unknown colour 'rad'. Did you mean 'red'? Choices: 'red'.
    """

    def __init__(self, kind: str, base: type | None = None, module: str = "keras"):
        self.kind = kind
        self.base = base
        self.module = module
        self.members: dict[str, Any] = {}

    def add(self, name: str, member: Any) -> None:
        """Give a member one more name."""
        self.members[name] = member

    def add_class(self, cls: type, *aliases: str) -> type:
        """Add a class under its own name, its snake-case name and further aliases."""
        for name in (cls.__name__, snake_case(cls.__name__), *aliases):
            self.members[name] = cls
        return cls

    def get(self, identifier: Any) -> Any:
        """Resolve what an argument may be: None, a name, a config, a class, an instance or a
        function.
        """
        if identifier is None:
            return None
        if isinstance(identifier, Mapping):
            return self.deserialize(identifier)
        if isinstance(identifier, str):
            member = self._lookup(identifier)
            return member() if isinstance(member, type) else member
        if isinstance(identifier, type) and self.base is not None:
            return identifier()
        if callable(identifier) or (self.base is not None and isinstance(identifier, self.base)):
            return identifier
        raise TypeError(
            f"{identifier!r} was given as {self.kind}; a name, a callable, an instance or None "
            "was expected."
        )

    def serialize(self, member: Any) -> Any:
        """Return a config (a name for functions) that `deserialize` turns back into the member."""
        if member is None:
            return None
        if hasattr(member, "get_config"):
            return {
                "module": self.module,
                "class_name": type(member).__name__,
                "config": member.get_config(),
                "registered_name": _names.get(type(member)),
            }
        for name, known in self.members.items():
            if known is member:
                return getattr(member, "__name__", name)
        return get_registered_name(member)

    def deserialize(self, config: Any, custom_objects: Mapping[str, Any] | None = None) -> Any:
        """Make a member from `serialize`'s result."""
        if isinstance(config, str) or config is None:
            return self.get(config)
        if "class_name" not in config:
            raise ValueError(f"The config {dict(config)!r} of a {self.kind} has no 'class_name'.")
        name = config.get("registered_name") or config["class_name"]
        cls = get_registered_object(name, custom_objects) or self._lookup(config["class_name"])
        inner = config.get("config", {})
        return cls.from_config(inner) if hasattr(cls, "from_config") else cls(**inner)

    def _lookup(self, name: str) -> Any:
        found = get_registered_object(name)
        if found is None:
            found = self.members.get(name)
        if found is None:
            raise unknown_choice(
                self.kind, name, [n for n in self.members if n == n.lower()] or self.members
            )
        return found
