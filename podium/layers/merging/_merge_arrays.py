"""The arithmetic of the merging layers: pure functions of lists of arrays.

`masks` is None, or a list with a mask or None for every input. Mixed dtypes promote as in NumPy;
shapes were checked by the layers in `_merging.py`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from podium.core import promote_dtypes


def _aligned(values: Sequence[Any]) -> list[Any]:
    """Give all arrays the largest rank, with new dimensions behind the batch."""
    rank = max(x.ndim for x in values)
    return [
        jnp.expand_dims(x, tuple(range(1, 1 + rank - x.ndim))) if x.ndim < rank else x
        for x in values
    ]


def folded(operation: Callable) -> Callable:
    """Return a merge that applies a function of two arrays from left to right."""

    @promote_dtypes
    def fold(values: list[Any], masks: Any = None) -> Any:
        return functools.reduce(operation, _aligned(values))

    return fold


@promote_dtypes
def mean(values: list[Any], masks: Any = None) -> Any:
    """Take the mean, element by element."""
    return functools.reduce(jnp.add, _aligned(values)) / len(values)


def _spread(values: list[Any], masks: Any) -> list[Any]:
    """Make every mask as large as its array, so that it chooses among its numbers."""
    if masks is None:
        return [None] * len(values)

    def widened(x: Any, full: Any, mask: Any) -> Any:
        if mask is None:
            return None
        behind_batch, at_the_end = (1,) * (full.ndim - x.ndim), (1,) * (x.ndim - mask.ndim)
        shape = (mask.shape[0], *behind_batch, *mask.shape[1:], *at_the_end)
        return jnp.broadcast_to(mask.astype(bool).reshape(shape), full.shape)

    return list(map(widened, values, _aligned(values), masks))


def chosen(operation: Callable) -> Callable:
    """Return a merge in which a masked number gives way to the other input's."""

    @promote_dtypes
    def choose(values: list[Any], masks: Any = None) -> Any:
        spread = _spread(values, masks)
        result, kept = None, None
        for x, mask in zip(_aligned(values), spread, strict=True):
            if result is None:
                result, kept = x, mask
                continue
            x = x if mask is None else jnp.where(mask, x, result)
            result = result if kept is None else jnp.where(kept, result, x)
            kept = None if mask is None or kept is None else kept | mask
            result = operation(result, x)
        return result

    return choose


@promote_dtypes
def product(values: list[Any], masks: Any = None) -> Any:
    """Multiply; a masked number counts as 1, and where all are masked the result is 0."""
    spread = _spread(values, masks)
    factors = [
        x if m is None else jnp.where(m, x, jnp.ones((), x.dtype))
        for x, m in zip(_aligned(values), spread, strict=True)
    ]
    result = functools.reduce(jnp.multiply, factors)
    if any(m is None for m in spread):
        return result
    return jnp.where(functools.reduce(jnp.logical_or, spread), result, jnp.zeros((), result.dtype))


@promote_dtypes
def joined(values: list[Any], axis: int) -> Any:
    """Join along one axis."""
    return jnp.concatenate(values, axis)


def joined_mask(values: list[Any], masks: list[Any], axis: int) -> Any:
    """Join masks as their arrays are joined; an array without a mask counts as kept."""
    trailing = max(
        max(x.ndim - m.ndim for x, m in zip(values, masks, strict=True) if m is not None), 1
    )
    parts = [
        jnp.ones(x.shape, bool) if m is None else m
        for x, m in zip(values, _spread(values, masks), strict=True)
    ]
    return jnp.any(jnp.concatenate(parts, axis), axis=tuple(range(-trailing, 0)))


@promote_dtypes
def dotted(x: Any, y: Any, axes: tuple[int, int]) -> Any:
    """Contract one axis of each, sample by sample; the other axes follow in order."""
    dtype = jnp.result_type(x, y)
    contracted = ((axes[0],), (axes[1],))
    result = jax.lax.dot_general(x.astype(dtype), y.astype(dtype), (contracted, ((0,), (0,))))
    return result[:, None] if result.ndim == 1 else result
