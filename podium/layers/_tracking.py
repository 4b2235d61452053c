"""Finding what a layer is made of: Variables, sublayers, metrics and seed generators in its
attributes.

Nothing is intercepted when attributes are set. The attributes are walked when somebody asks,
through lists, tuples, dictionaries and sets, so that appending to a list after the fact is seen
too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from podium.core import SeedGenerator, Variable

_CONTAINERS = (list, tuple, dict, set, frozenset)
_KNOWN = frozenset(
    {"builtins", "functools", "jax", "jaxlib", "numpy", "podium"}
)  # whose classes live as long as the process
_others: dict[
    Any, set
] = {}  # kind -> known types of attributes that are neither of that kind nor containers


def _leaves(container: Any, seen: set[int]) -> Iterator[Any]:
    if id(container) in seen:
        return
    seen.add(id(container))
    for item in container.values() if isinstance(container, dict) else container:
        if isinstance(item, _CONTAINERS):
            yield from _leaves(item, seen)
        else:
            yield item


def owned(attributes: dict[str, Any], kind: Any, skip: frozenset[str]) -> list[Any]:
    """List the objects of type `kind` in a layer's attributes, in the order they were set, each
    once.
    """
    found: dict[int, Any] = {}
    seen: set[int] = set()
    others = _others.setdefault(kind, set())
    for name, value in attributes.items():
        if type(value) in others or name in skip:
            continue
        if isinstance(value, kind):
            found.setdefault(id(value), value)
        elif isinstance(value, _CONTAINERS):
            if not value:
                continue
            for leaf in _leaves(value, seen):
                if isinstance(leaf, kind):
                    found.setdefault(id(leaf), leaf)
        elif type(value).__module__.partition(".")[0] in _KNOWN:
            others.add(type(value))
    return list(found.values())


def unique(variables: Any) -> list[Variable]:
    """Drop repeated Variables, keeping the first."""
    return list({id(variable): variable for variable in variables}.values())


def seed_states(attributes: dict[str, Any], skip: frozenset[str]) -> list[Variable]:
    """List the state Variables of the seed generators among a layer's attributes."""
    return [generator.state for generator in owned(attributes, SeedGenerator, skip)]
