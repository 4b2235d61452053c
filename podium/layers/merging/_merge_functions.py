"""The computations of merging layers: pure functions of lists of arrays.

`masks` is None, or a list with a mask or None for every input. Mixed dtypes promote as in NumPy;
shapes are checked by the layers in `_merging.py`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp

from podium.core import promote_dtypes

Masks: TypeAlias = Sequence[jax.Array | None] | None
MergeFunction: TypeAlias = Callable[..., Any]


def _expand_ranks(values: Sequence[jax.Array]) -> list[jax.Array]:
    """Expand all arrays to the largest rank, with new dimensions after the batch."""
    rank = max(x.ndim for x in values)
    return [
        jnp.expand_dims(x, tuple(range(1, 1 + rank - x.ndim))) if x.ndim < rank else x
        for x in values
    ]


def fold_arrays(operation: Callable[[Any, Any], Any]) -> MergeFunction:
    """Return a merge that applies a function of two arrays from left to right."""

    @promote_dtypes
    def merge(values: Sequence[jax.Array], masks: Masks = None) -> jax.Array:
        return functools.reduce(operation, _expand_ranks(values))

    return merge


@promote_dtypes
def average_arrays(values: Sequence[jax.Array], masks: Masks = None) -> jax.Array:
    """Average the inputs element-wise."""
    return functools.reduce(jnp.add, _expand_ranks(values)) / len(values)


def _broadcast_masks(values: Sequence[jax.Array], masks: Masks) -> list[jax.Array | None]:
    """Broadcast every mask to the shape of its array."""
    if masks is None:
        return [None] * len(values)

    def broadcast(x: jax.Array, full: jax.Array, mask: jax.Array | None) -> jax.Array | None:
        if mask is None:
            return None
        after_batch, trailing = (1,) * (full.ndim - x.ndim), (1,) * (x.ndim - mask.ndim)
        shape = (mask.shape[0], *after_batch, *mask.shape[1:], *trailing)
        return jnp.broadcast_to(mask.astype(bool).reshape(shape), full.shape)

    return list(map(broadcast, values, _expand_ranks(values), masks))


def fold_unmasked(operation: Callable[[Any, Any], Any]) -> MergeFunction:
    """Return a merge like `fold_arrays` that ignores the masked elements of each input."""

    @promote_dtypes
    def merge(values: Sequence[jax.Array], masks: Masks = None) -> jax.Array:
        arrays, full_masks = _expand_ranks(values), _broadcast_masks(values, masks)
        result, result_mask = arrays[0], full_masks[0]
        for x, mask in zip(arrays[1:], full_masks[1:], strict=True):
            x = x if mask is None else jnp.where(mask, x, result)
            result = result if result_mask is None else jnp.where(result_mask, result, x)
            result_mask = None if mask is None or result_mask is None else result_mask | mask
            result = operation(result, x)
        return result

    return merge


@promote_dtypes
def product(values: Sequence[jax.Array], masks: Masks = None) -> jax.Array:
    """Multiply; a masked element counts as 1, and where all are masked the result is 0."""
    full_masks = _broadcast_masks(values, masks)
    factors = [
        x if m is None else jnp.where(m, x, jnp.ones((), x.dtype))
        for x, m in zip(_expand_ranks(values), full_masks, strict=True)
    ]
    result = functools.reduce(jnp.multiply, factors)
    unmasked = [m for m in full_masks if m is not None]
    if len(unmasked) < len(full_masks):
        return result
    return jnp.where(
        functools.reduce(jnp.logical_or, unmasked), result, jnp.zeros((), result.dtype)
    )


@promote_dtypes
def concatenate(values: Sequence[jax.Array], axis: int) -> jax.Array:
    """Concatenate along one axis."""
    return jnp.concatenate(values, axis)


def concatenate_masks(
    values: Sequence[jax.Array], masks: Sequence[jax.Array | None], axis: int
) -> jax.Array:
    """Concatenate masks like their arrays; an array without a mask counts as unmasked."""
    trailing = max(
        max(x.ndim - m.ndim for x, m in zip(values, masks, strict=True) if m is not None), 1
    )
    parts = [
        jnp.ones(x.shape, bool) if m is None else m
        for x, m in zip(values, _broadcast_masks(values, masks), strict=True)
    ]
    return jnp.any(jnp.concatenate(parts, axis), axis=tuple(range(-trailing, 0)))


@promote_dtypes
def batch_dot(x: jax.Array, y: jax.Array, axes: tuple[int, int]) -> jax.Array:
    """Contract one axis of each, per sample; the other axes follow in order."""
    dtype = jnp.result_type(x, y)
    contracted = ((axes[0],), (axes[1],))
    result = jax.lax.dot_general(x.astype(dtype), y.astype(dtype), (contracted, ((0,), (0,))))
    return result[:, None] if result.ndim == 1 else result
