"""NameRegistry: the members of one package by name, such as the initializers or the losses.

It resolves an argument to a member, and serializes members to configs and back. Objects are built
in `_object_config.py`; objects of users are registered in `_registry.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podium._typing import Config, T
from podium.core._errors import unknown_choice
from podium.core._names import snake_case
from podium.core._object_config import build_object
from podium.core._public_repr import PublicRepr
from podium.core._registry import explicit_name, get_registered_name, get_registered_object


class NameRegistry(PublicRepr):
    """Members of one kind that have string names: activations, initializers, regularizers, ...

    Args:
        kind: The term for one member, used in messages.
        base: The base class of the members, if they have one.
        module: The module that configs name for the members, as in Keras.

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

    def add(self, name: str, member: object) -> None:
        """Add a member under a name."""
        self.members[name] = member

    def add_class(self, cls: type[T], *aliases: str) -> type[T]:
        """Add a class under its own name, its snake-case name and further aliases."""
        for name in (cls.__name__, snake_case(cls.__name__), *aliases):
            self.members[name] = cls
        return cls

    def get(self, identifier: object) -> Any:
        """Return the member that an argument means.

        Args:
            identifier: None, a name, a config, a class, an instance or a function.
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

    def serialize(self, member: object) -> Config | str | None:
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
        for name, candidate in self.members.items():
            if candidate is member:
                return str(getattr(member, "__name__", name))
        return get_registered_name(member)

    def deserialize(
        self,
        config: Mapping[str, Any] | str | None,
        custom_objects: Mapping[str, Any] | None = None,
    ) -> Any:
        """Create a member from the result of `serialize`."""
        if isinstance(config, str) or config is None:
            return self.get(config)
        if "class_name" not in config:
            raise ValueError(f"The config {dict(config)!r} of a {self.kind} has no 'class_name'.")
        return build_object(config, self._find_class, custom_objects)

    def _find_class(self, config: Mapping[str, Any]) -> Any:
        try:
            return self._find(config["class_name"])
        except ValueError as error:
            raise ValueError(
                f"{error} If it is your own, decorate it with "
                "`@podium.saving.register_keras_serializable()`, or pass it in `custom_objects`."
            ) from None

    def _find(self, name: str) -> Any:
        member = get_registered_object(name)
        if member is None:
            member = self.members.get(name)
        if member is None:
            raise unknown_choice(
                self.kind, name, [n for n in self.members if n == n.lower()] or self.members
            )
        return member
