"""Nested structures of arrays: dictionaries, tuples and lists, walked in the order in which they
were written.

JAX's own tree functions sort the keys of dictionaries; these keep them. None stands for "nothing
there".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def map_leaves(fn: Callable, structure: Any, *others: Any) -> Any:
    """Apply `fn` to every leaf, and to the leaves at the same places of `others`. None stays
    None.
    """
    if isinstance(structure, dict):
        return {
            key: map_leaves(fn, value, *(other[key] for other in others))
            for key, value in structure.items()
        }
    if isinstance(structure, (tuple, list)):
        parts = [map_leaves(fn, *row) for row in zip(structure, *others, strict=True)]
        return rebuild_sequence(structure, parts)
    return None if structure is None else fn(structure, *others)


def rebuild_sequence(structure: Any, parts: list) -> Any:
    """Make a tuple, named tuple or list like `structure` of new parts."""
    if isinstance(structure, list):
        return parts
    return type(structure)(*parts) if hasattr(structure, "_fields") else tuple(parts)


def leaves(structure: Any) -> list:
    """List the leaves; None is none."""
    return [leaf for _, leaf in named_leaves(structure, "")]


def named_leaves(structure: Any, name: str) -> list[tuple[str, Any]]:
    """List `(path, leaf)`, the path written as one would type it: `x['a'][0]`."""
    if isinstance(structure, dict):
        return [
            row
            for key, value in structure.items()
            for row in named_leaves(value, f"{name}[{key!r}]")
        ]
    if isinstance(structure, (tuple, list)):
        return [
            row
            for place, value in enumerate(structure)
            for row in named_leaves(value, f"{name}[{place}]")
        ]
    return [] if structure is None else [(name, structure)]


def structure_key(structure: Any) -> Any:
    """Return what two structures of the same form share, to be compared with `==`."""
    if isinstance(structure, dict):
        return (
            "dict",
            tuple(
                (key, structure_key(value))
                for key, value in sorted(structure.items(), key=lambda row: str(row[0]))
            ),
        )
    if isinstance(structure, (tuple, list)):
        return ("list", tuple(structure_key(value) for value in structure))
    return None if structure is None else "leaf"


def describe_structure(structure: Any, leaf: str = "array") -> str:
    """Write a structure's form: `(array, {'a': array})`."""
    if isinstance(structure, dict):
        return (
            "{"
            + ", ".join(
                f"{key!r}: {describe_structure(value, leaf)}" for key, value in structure.items()
            )
            + "}"
        )
    if isinstance(structure, tuple):
        parts = [describe_structure(value, leaf) for value in structure]
        return f"({parts[0]},)" if len(parts) == 1 else "(" + ", ".join(parts) + ")"
    if isinstance(structure, list):
        return "[" + ", ".join(describe_structure(value, leaf) for value in structure) + "]"
    return "None" if structure is None else leaf


def describe_batch(batch: Any) -> str:
    """Write a batch's form in the words of `fit`: `(x, y, sample_weight)`."""
    if not isinstance(batch, tuple) or not 1 <= len(batch) <= 3:
        return describe_structure(batch, "x" if not isinstance(batch, tuple) else "array")
    parts = [
        describe_structure(part, word)
        for part, word in zip(batch, ("x", "y", "sample_weight"), strict=False)
    ]
    return f"({parts[0]},)" if len(parts) == 1 else "(" + ", ".join(parts) + ")"
