"""StoredTree: a JAX tree whose arrays are Variables of a layer.

Leaves that are not numbers stay as they are. Random keys are stored as the numbers they consist of.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from podium._typing import DTypeLike, ShapeLike, Tree
from podium.core import Tensor, Variable
from podium.layers._layer import Layer


class StoredTree:
    """The arrays of a tree as weights of a layer, which tracks them.

    Args:
        layer: The layer.
        tree: A tree of arrays, numbers and other leaves.
        trainable: Whether the weights are trained.
    """

    def __init__(self, layer: Layer, tree: Tree, trainable: bool):
        paths_and_leaves, self._treedef = jax.tree_util.tree_flatten_with_path(tree)
        self._key_types: dict[int, Any] = {}  # of random keys, by position
        self.leaves: list[object] = []
        for position, (path, leaf) in enumerate(paths_and_leaves):
            if isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
                self._key_types[position] = jax.random.key_impl(leaf)
                leaf = jax.random.key_data(leaf)
            self.leaves.append(_store_leaf(layer, path, leaf, trainable))

    @property
    def tree(self) -> Tree:
        """The tree with Variables in the place of arrays."""
        return jax.tree.unflatten(self._treedef, self.leaves)

    @property
    def variables(self) -> list[Variable]:
        """The Variables, in the order of the leaves."""
        return [leaf for leaf in self.leaves if isinstance(leaf, Variable)]

    def restore(self, values: Sequence[jax.Array]) -> Tree:
        """Return the tree with these arrays in the place of the Variables."""
        remaining = iter(values)
        leaves: list[Any] = [
            next(remaining) if isinstance(leaf, Variable) else leaf for leaf in self.leaves
        ]
        for position, key_type in self._key_types.items():
            leaves[position] = jax.random.wrap_key_data(leaves[position], impl=key_type)
        return jax.tree.unflatten(self._treedef, leaves)

    def flatten(self, tree: Tree) -> list[Any]:
        """Return the arrays of a tree of the same structure, for the Variables."""
        leaves = jax.tree.leaves(tree)
        treedef: object = jax.tree.structure(tree)
        if treedef != self._treedef:
            raise ValueError(
                f"The function returned a state of the structure {treedef}; that of the initial "
                f"state was expected: {self._treedef}."
            )
        for position in self._key_types:
            leaves[position] = jax.random.key_data(leaves[position])
        pairs = zip(self.leaves, leaves, strict=True)
        return [jnp.asarray(leaf) for own, leaf in pairs if isinstance(own, Variable)]


def _store_leaf(layer: Layer, path: tuple[Any, ...], leaf: object, trainable: bool) -> object:
    if not isinstance(
        leaf, (jax.Array, np.ndarray, np.generic, Tensor, Variable, bool, int, float)
    ):
        return leaf
    array = np.asarray(leaf)
    is_float = jnp.issubdtype(array.dtype, jnp.floating)

    def initialize(shape: ShapeLike, dtype: DTypeLike | None = None) -> jax.Array:
        return jnp.asarray(array, dtype)

    name = re.sub(r"\W+", "_", jax.tree_util.keystr(path)).strip("_")
    return layer.add_weight(
        name=name or "variable",
        shape=array.shape,
        initializer=initialize,
        dtype=None if is_float else array.dtype.name,  # floats follow the policy of the layer
        trainable=trainable and is_float,
    )
