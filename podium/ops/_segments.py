"""Reductions over segments: groups of rows given by an integer id."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from podium._typing import TensorLike
from podium.core import Tensor
from podium.ops._operation import array_function, dispatch, operation


def _count_segments(data: Array, segment_ids: Array, num_segments: int | None) -> int:
    """Validate the arguments of a segment reduction, and return the number of segments."""
    if segment_ids.ndim != 1 or data.ndim < 1 or segment_ids.shape[0] != data.shape[0]:
        raise ValueError(
            "`segment_ids` must be 1D with one entry for each row of `data`, and shapes are "
            f"{segment_ids.shape} and {data.shape}."
        )
    if num_segments is not None:
        return num_segments
    if isinstance(segment_ids, jax.core.Tracer):
        raise ValueError(
            "`num_segments` must be given inside a compiled function: it fixes the "
            "shape of the result."
        )
    return int(jnp.max(segment_ids)) + 1 if segment_ids.size else 0


@array_function()
def _segment_sum(
    data: Array, segment_ids: Array, num_segments: int | None = None, sorted: bool = False
) -> Array:
    num_segments = _count_segments(data, segment_ids, num_segments)
    return jax.ops.segment_sum(data, segment_ids, num_segments, indices_are_sorted=sorted)


@operation(_segment_sum)
def segment_sum(
    data: TensorLike, segment_ids: TensorLike, num_segments: int | None = None, sorted: bool = False
) -> Tensor:
    """Sum of each segment.

    Args:
        data: Input tensor.
        segment_ids: 1D integer tensor: the segment of each row of `data`.
        num_segments: Number of segments. `None` means the largest id plus one, which only works
            outside compiled functions.
        sorted: Whether `segment_ids` is sorted, which is faster.

    Example:
        >>> ops.segment_sum([1, 5, 2], [0, 0, 1]).numpy()
        array([6, 2], dtype=int32)
    """
    return dispatch(_segment_sum, data, segment_ids, num_segments, sorted)


@array_function()
def _segment_prod(
    data: Array, segment_ids: Array, num_segments: int | None = None, sorted: bool = False
) -> Array:
    num_segments = _count_segments(data, segment_ids, num_segments)
    return jax.ops.segment_prod(data, segment_ids, num_segments, indices_are_sorted=sorted)


@operation(_segment_prod)
def segment_prod(
    data: TensorLike, segment_ids: TensorLike, num_segments: int | None = None, sorted: bool = False
) -> Tensor:
    """Product of each segment.

    Args:
        data: Input tensor.
        segment_ids: 1D integer tensor: the segment of each row of `data`.
        num_segments: Number of segments. `None` means the largest id plus one, which only works
            outside compiled functions.
        sorted: Whether `segment_ids` is sorted, which is faster.

    Example:
        >>> ops.segment_prod([1, 5, 2], [0, 0, 1]).numpy()
        array([5, 2], dtype=int32)
    """
    return dispatch(_segment_prod, data, segment_ids, num_segments, sorted)


@array_function()
def _segment_max(
    data: Array, segment_ids: Array, num_segments: int | None = None, sorted: bool = False
) -> Array:
    num_segments = _count_segments(data, segment_ids, num_segments)
    return jax.ops.segment_max(data, segment_ids, num_segments, indices_are_sorted=sorted)


@operation(_segment_max)
def segment_max(
    data: TensorLike, segment_ids: TensorLike, num_segments: int | None = None, sorted: bool = False
) -> Tensor:
    """Maximum of each segment.

    Args:
        data: Input tensor.
        segment_ids: 1D integer tensor: the segment of each row of `data`.
        num_segments: Number of segments. `None` means the largest id plus one, which only works
            outside compiled functions.
        sorted: Whether `segment_ids` is sorted, which is faster.

    Example:
        >>> ops.segment_max([1, 5, 2], [0, 0, 1]).numpy()
        array([5, 2], dtype=int32)
    """
    return dispatch(_segment_max, data, segment_ids, num_segments, sorted)


@array_function()
def _segment_min(
    data: Array, segment_ids: Array, num_segments: int | None = None, sorted: bool = False
) -> Array:
    num_segments = _count_segments(data, segment_ids, num_segments)
    return jax.ops.segment_min(data, segment_ids, num_segments, indices_are_sorted=sorted)


@operation(_segment_min)
def segment_min(
    data: TensorLike, segment_ids: TensorLike, num_segments: int | None = None, sorted: bool = False
) -> Tensor:
    """Minimum of each segment.

    Args:
        data: Input tensor.
        segment_ids: 1D integer tensor: the segment of each row of `data`.
        num_segments: Number of segments. `None` means the largest id plus one, which only works
            outside compiled functions.
        sorted: Whether `segment_ids` is sorted, which is faster.

    Example:
        >>> ops.segment_min([1, 5, 2], [0, 0, 1]).numpy()
        array([1, 2], dtype=int32)
    """
    return dispatch(_segment_min, data, segment_ids, num_segments, sorted)
