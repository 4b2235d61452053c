"""Family: the members of one package by name, such as the initializers or the losses.

It resolves what an argument may be, and writes and reads configs of members. Objects are built by
`_object_config.py`; objects of users are found in `_registry.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podium.core._errors import unknown_choice
from podium.core._names import snake_case
from podium.core._object_config import build_object
from podium.core._registry import explicit_name, get_registered_name, get_registered_object


class NameRegistry:
    """One family of things that have string names: activations, initializers, regularizers, ...

    Args:
        kind: The word for one member, used in messages.
        base: The class that instances belong to, if the family has one.
        module: The module that Keras's files name for its members.

    Example:
        >>> colours = podium.core.NameRegistry("colour")
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
            member = self._find(identifier)
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
                "registered_name": explicit_name(type(member)),
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
        return build_object(config, lambda found: self._find(found["class_name"]), custom_objects)

    def _find(self, name: str) -> Any:
        found = get_registered_object(name)
        if found is None:
            found = self.members.get(name)
        if found is None:
            raise unknown_choice(
                self.kind, name, [n for n in self.members if n == n.lower()] or self.members
            )
        return found
