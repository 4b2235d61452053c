"""Dictionaries keep their order: JAX sorts keys when it takes a structure apart, Python and
TensorFlow do not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from podium.core.tensor._operators import Operators


class _InOrder(dict):
    """A dictionary that JAX takes apart in the order of its keys, and puts together as a plain
    one.
    """


jax.tree_util.register_pytree_node(
    _InOrder,
    lambda items: (tuple(items.values()), tuple(items)),
    lambda keys, values: dict(zip(keys, values, strict=True)),  # type: ignore[arg-type, return-value]
)


def preserve_key_order(structure: Any) -> Any:
    """Mark dictionaries, at any depth, so that flattening and unflattening them keeps the order of
    their keys.
    """
    kind = type(structure)
    if kind is dict:
        return _InOrder((key, preserve_key_order(value)) for key, value in structure.items())
    if kind is list or kind is tuple:
        return kind(map(preserve_key_order, structure))
    if isinstance(structure, tuple) and hasattr(structure, "_fields"):
        return kind(*map(preserve_key_order, structure))
    return structure


def restore_key_order(result: Any, structure: Any) -> Any:
    """Give the dictionaries in `result` the order of keys that they have in `structure`."""
    kind = type(structure)
    if kind is not type(result):
        return result
    if kind is dict:
        return {key: restore_key_order(result[key], value) for key, value in structure.items()}
    if kind is list or kind is tuple:
        return kind(restore_key_order(r, s) for r, s in zip(result, structure, strict=True))
    return result


def tree_leaves(structure: Any) -> list[Any]:
    """List the leaves of a structure, Podium's own values counted as leaves.

    Example:
        >>> podium.core.tree_leaves({"a": 1, "b": [podium.Tensor(2.0), 3]})
        [1, <podium.Tensor shape=(), dtype=float32, value=2.>, 3]
    """
    return jax.tree.leaves(structure, is_leaf=lambda value: isinstance(value, Operators))


def map_structure(fn: Callable, structure: Any, *others: Any) -> Any:
    """Apply `fn` to every leaf, Podium's own values counted as leaves.

    Example:
        >>> podium.core.map_structure(lambda x: x.shape, {"a": podium.ops.ones((2, 3))})
        {'a': (2, 3)}
    """
    mapped = jax.tree.map(
        fn, structure, *others, is_leaf=lambda value: isinstance(value, Operators)
    )
    return restore_key_order(mapped, structure)
