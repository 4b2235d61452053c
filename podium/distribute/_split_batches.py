"""Splits batches among replicas: those that iterators return, when they are passed to `run`.

An iterator marks the Tensors that it returns as batches. Outside of `run` they are ordinary Tensors
of the global batch; `run` gives each replica its share. The test that guards it:
`tests/distribute/test_iterators_under_strategies.py`.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from podium._typing import Shape, Tree
from podium.core import Tensor, Variable
from podium.core.internal import is_batch, preserve_key_order, wrap
from podium.distribute._layout import Layout
from podium.distribute._per_replica import PerReplica, is_per_replica


def num_shares(sizes: set[int], parts: int) -> int:
    """Return into how many shares a batch is split: all, or one if its samples do not divide
    evenly, or its arrays have different numbers of rows, of which some may not be samples.

    Args:
        sizes: The numbers of rows of its arrays.
        parts: The number of replicas.
    """
    if len(sizes) > 1:
        return 1
    return parts if all(size and size % parts == 0 for size in sizes) else 1


def split_arguments(arguments: Tree, layout: Layout) -> Tree:
    """Return the arguments of a step with PerReplica instead of batches that iterators returned.

    Raises:
        ValueError: Another Tensor has as many rows as a batch, and would not be split.
    """
    leaves, treedef = jax.tree.flatten(preserve_key_order(arguments), is_leaf=is_replica_leaf)
    batches = [leaf for leaf in leaves if is_batch(leaf)]
    if not batches:
        return arguments
    sizes = {leaf.shape[0] for leaf in batches if leaf.ndim}
    shares = num_shares(sizes, layout.parts)
    if shares > 1:
        _check_other_tensors(leaves, sizes)
    split = [_split(leaf, shares, layout) if is_batch(leaf) else leaf for leaf in leaves]
    return jax.tree.unflatten(treedef, split)


def is_replica_leaf(value: object) -> bool:
    """Return whether a value is a leaf of the arguments of a step."""
    return is_per_replica(value) or isinstance(value, (Tensor, Variable))


def find_batch_shape(leaves: list[Any]) -> Shape | None:
    """Return the shape of the first array with several rows, or None."""
    shapes = (
        tuple(leaf.shape) for leaf in leaves if isinstance(leaf, (Tensor, jax.Array, np.ndarray))
    )
    return next((shape for shape in shapes if shape and shape[0] > 1), None)


def _split(batch: Tensor, shares: int, layout: Layout) -> PerReplica:
    array = batch._value
    if array.ndim:
        stacked = array.reshape(shares, array.shape[0] // shares, *array.shape[1:])
    else:
        stacked = jnp.broadcast_to(array, (shares,))
    if isinstance(stacked, jax.core.Tracer):
        return PerReplica(wrap(stacked))
    return PerReplica(layout.place_batch([stacked], quietly=True)[0])


def _check_other_tensors(leaves: list[Any], sizes: set[int]) -> None:
    for leaf in leaves:
        is_other = isinstance(leaf, (Tensor, jax.Array, np.ndarray)) and not is_batch(leaf)
        if is_other and leaf.ndim and leaf.shape[0] in sizes and leaf.shape[0] > 1:
            raise ValueError(
                f"`strategy.run` was given a batch of {leaf.shape[0]} samples, of which each "
                f"replica receives its share, and another value of shape {tuple(leaf.shape)}, "
                "which each replica would receive as a whole. If it belongs to the batch, compute "
                "it inside the step, or in the pipeline: `dataset.map(...)`. If it does not, let "
                "the step use it without passing it as an argument."
            )
