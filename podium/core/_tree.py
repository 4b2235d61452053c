"""Trees: nested lists, tuples and dictionaries with Podium's values, or others, as leaves.

`map_structure` and `tree_leaves` treat Tensors, Variables and KerasTensors as leaves. The other
functions keep the order of dictionary keys, which JAX sorts and Python and TensorFlow keep.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import jax

from podium._typing import Tree
from podium.core.tensor._operators import Operators


class _OrderedDict(dict[Any, Any]):
    """A dictionary that JAX flattens in the order of its keys, and unflattens to a plain one."""


def _unflatten_dict(keys: tuple[Any, ...], values: Iterable[Any]) -> Any:
    return dict(zip(keys, values, strict=True))


jax.tree_util.register_pytree_node(
    _OrderedDict,
    lambda items: (tuple(items.values()), tuple(items)),
    _unflatten_dict,
)


def preserve_key_order(structure: Tree) -> Tree:
    """Mark dictionaries, at any depth, so that JAX flattens them in the order of their keys."""
    kind = type(structure)
    if kind is dict:
        return _OrderedDict((key, preserve_key_order(value)) for key, value in structure.items())
    if kind is list or kind is tuple:
        return kind(map(preserve_key_order, structure))
    if isinstance(structure, tuple) and hasattr(structure, "_fields"):
        return kind(*map(preserve_key_order, structure))
    return structure


def restore_key_order(result: Tree, structure: Tree) -> Tree:
    """Order the keys of dictionaries in `result` as they are in `structure`."""
    kind = type(structure)
    if kind is not type(result):
        return result
    if kind is dict:
        return {key: restore_key_order(result[key], value) for key, value in structure.items()}
    if kind is list or kind is tuple:
        return kind(restore_key_order(r, s) for r, s in zip(result, structure, strict=True))
    return result


def tree_leaves(structure: Tree) -> list[Any]:
    """Return the leaves of a structure; Tensors, Variables and KerasTensors are leaves.

    Example:
        >>> podium.core.tree_leaves({"a": 1, "b": [podium.Tensor(2.0), 3]})
        [1, <podium.Tensor shape=(), dtype=float32, value=2.>, 3]
    """
    return jax.tree.leaves(structure, is_leaf=lambda value: isinstance(value, Operators))


def map_structure(fn: Callable[..., Any], structure: Tree, *others: Tree) -> Tree:
    """Apply `fn` to every leaf; Tensors, Variables and KerasTensors are leaves.

    Example:
        >>> podium.core.map_structure(lambda x: x.shape, {"a": podium.ops.ones((2, 3))})
        {'a': (2, 3)}
    """
    mapped = jax.tree.map(
        fn, structure, *others, is_leaf=lambda value: isinstance(value, Operators)
    )
    return restore_key_order(mapped, structure)
