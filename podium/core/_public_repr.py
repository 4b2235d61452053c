"""PublicRepr: the text of objects that have no better one, under the public name of their class."""

from __future__ import annotations

import importlib


class PublicRepr:
    """A base class whose `repr` has the public package of the class instead of its module.

    Example:
        >>> podium.GradientTape()
        <podium.core.GradientTape>
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{public_name(type(self))}>"


def public_name(cls: type) -> str:
    """Return the dotted name of a class in the first package that has it; its own if none has.

    Example:
        >>> public_name(podium.optimizers.schedules.CosineDecay)
        'podium.optimizers.schedules.CosineDecay'
    """
    package = ""
    for part in cls.__module__.split("."):
        package = f"{package}.{part}".lstrip(".")
        is_nested = package != "podium" and not part.startswith("_")
        if is_nested and getattr(importlib.import_module(package), cls.__name__, None) is cls:
            return f"{package}.{cls.__name__}"
    public, _, _ = cls.__module__.partition("._")
    return f"{public}.{cls.__qualname__}"
