"""Nested structures of arrays: dictionaries, tuples and lists in the order in which they were
written.

JAX's tree functions sort the keys of dictionaries; these keep their order. None means that there is
no value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from podium._typing import Tree

PART_NAMES = ("x", "y", "sample_weight")  # the parts of a batch, in order


def map_leaves(fn: Callable[..., Any], structure: Tree, *others: Tree) -> Tree:
    """Apply `fn` to every leaf, and to the corresponding leaves of `others`. None stays None."""
    if isinstance(structure, dict):
        return {
            key: map_leaves(fn, value, *(other[key] for other in others))
            for key, value in structure.items()
        }
    if isinstance(structure, (tuple, list)):
        parts = [map_leaves(fn, *row) for row in zip(structure, *others, strict=True)]
        return rebuild_sequence(structure, parts)
    return None if structure is None else fn(structure, *others)


def rebuild_sequence(structure: Sequence[Any], parts: list[Any]) -> Tree:
    """Return a tuple, named tuple or list of the type of `structure` with new parts."""
    if isinstance(structure, list):
        return parts
    return type(structure)(*parts) if hasattr(structure, "_fields") else tuple(parts)


def leaves(structure: Tree) -> list[Any]:
    """Return the leaves as a list, without None."""
    return [leaf for _, leaf in named_leaves(structure, "")]


def named_leaves(structure: Tree, name: str) -> list[tuple[str, Any]]:
    """Return a list of `(path, leaf)`, with the path as one would type it: `x['a'][0]`."""
    if isinstance(structure, dict):
        return [
            row
            for key, value in structure.items()
            for row in named_leaves(value, f"{name}[{key!r}]")
        ]
    if isinstance(structure, (tuple, list)):
        return [
            row
            for index, value in enumerate(structure)
            for row in named_leaves(value, f"{name}[{index}]")
        ]
    return [] if structure is None else [(name, structure)]


def structure_key(structure: Tree) -> object:
    """Return a value that is equal (`==`) for two structures of the same form."""
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


def describe_structure(structure: Tree, leaf: str = "array") -> str:
    """Return the form of a structure as text: `(array, {'a': array})`."""
    if isinstance(structure, dict):
        items = (f"{key!r}: {describe_structure(value, leaf)}" for key, value in structure.items())
        return "{" + ", ".join(items) + "}"
    if isinstance(structure, tuple):
        return _describe_tuple([describe_structure(value, leaf) for value in structure])
    if isinstance(structure, list):
        return "[" + ", ".join(describe_structure(value, leaf) for value in structure) + "]"
    return "None" if structure is None else leaf


def describe_batch(batch: Tree) -> str:
    """Return the form of a batch as text, with the names that `fit` uses: `(x, y,
    sample_weight)`.
    """
    if not isinstance(batch, tuple):
        return describe_structure(batch, "x")
    if not 1 <= len(batch) <= 3:
        return describe_structure(batch)
    parts = zip(batch, PART_NAMES, strict=False)
    return _describe_tuple([describe_structure(part, name) for part, name in parts])


def _describe_tuple(parts: list[str]) -> str:
    return f"({parts[0]},)" if len(parts) == 1 else "(" + ", ".join(parts) + ")"
