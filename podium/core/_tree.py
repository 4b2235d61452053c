"""Dictionaries keep their order: JAX sorts keys when it takes a structure apart, Python and
TensorFlow do not.
"""

from __future__ import annotations

from typing import Any

import jax


class _InOrder(dict):
    """A dictionary that JAX takes apart in the order of its keys, and puts together as a plain
    one.
    """


jax.tree_util.register_pytree_node(
    _InOrder,
    lambda items: (tuple(items.values()), tuple(items)),
    lambda keys, values: dict(zip(keys, values, strict=True)),  # type: ignore[arg-type, return-value]
)


def in_order(structure: Any) -> Any:
    """Mark dictionaries, at any depth, so that flattening and unflattening them keeps the order of
    their keys.
    """
    kind = type(structure)
    if kind is dict:
        return _InOrder((key, in_order(value)) for key, value in structure.items())
    if kind is list or kind is tuple:
        return kind(map(in_order, structure))
    if isinstance(structure, tuple) and hasattr(structure, "_fields"):
        return kind(*map(in_order, structure))
    return structure


def ordered_like(result: Any, structure: Any) -> Any:
    """Give the dictionaries in `result` the order of keys that they have in `structure`."""
    kind = type(structure)
    if kind is not type(result):
        return result
    if kind is dict:
        return {key: ordered_like(result[key], value) for key, value in structure.items()}
    if kind is list or kind is tuple:
        return kind(ordered_like(r, s) for r, s in zip(result, structure, strict=True))
    return result
