"""Sorting, partitioning and searching."""

from __future__ import annotations

from typing import Literal, overload

import jax
import jax.numpy as jnp
from jax import Array

from podium._typing import TensorLike
from podium.core import Tensor
from podium.ops._operation import array_function, dispatch, operation


@array_function()
def _sort(x: Array, axis: int | None = -1) -> Array:
    return jnp.sort(x, axis=axis)


@operation(_sort)
def sort(x: TensorLike, axis: int | None = -1) -> Tensor:
    """Sort in increasing order.

    Args:
        x: Input tensor.
        axis: Axis to sort along.

    Example:
        >>> ops.sort([3, 1, 2]).numpy()
        array([1, 2, 3], dtype=int32)
    """
    return dispatch(_sort, x, axis)


@array_function()
def _argsort(x: Array, axis: int | None = -1) -> Array:
    return jnp.argsort(x, axis=None if x.ndim == 0 else axis)


@operation(_argsort)
def argsort(x: TensorLike, axis: int | None = -1) -> Tensor:
    """Indices that sort a tensor.

    Args:
        x: Input tensor.
        axis: Axis to sort along.

    Example:
        >>> ops.argsort([3, 1, 2]).numpy()
        array([1, 2, 0], dtype=int32)
    """
    return dispatch(_argsort, x, axis)


@array_function("x")
def _argpartition(x: Array, kth: int, axis: int | None = -1) -> Array:
    return (
        jnp.argpartition(jnp.ravel(x), kth, axis=0)
        if axis is None
        else jnp.argpartition(x, kth, axis=axis)
    )


@operation(_argpartition)
def argpartition(x: TensorLike, kth: int, axis: int | None = -1) -> Tensor:
    """Indices that partition a tensor around its `kth` smallest element, smaller ones before it.

    Args:
        x: Input tensor.
        kth: Index of the element to put at its sorted position.
        axis: Axis to operate along.

    Example:
        >>> int(ops.argpartition([7, 1, 5], 0)[0])
        1
    """
    return dispatch(_argpartition, x, kth, axis)


@array_function("sorted_sequence values")
def _searchsorted(sorted_sequence: Array, values: Array, side: str = "left") -> Array:
    if sorted_sequence.ndim != 1:
        raise ValueError(
            f"expected a 1D `sorted_sequence` and got shape {sorted_sequence.shape}. For a "
            "batch, use `ops.vectorized_map`."
        )
    return jnp.searchsorted(sorted_sequence, values, side=side)


@operation(_searchsorted)
def searchsorted(sorted_sequence: TensorLike, values: TensorLike, side: str = "left") -> Tensor:
    """Indices at which values can be inserted so that a sequence stays sorted.

    Args:
        sorted_sequence: 1D sorted tensor.
        values: Tensor of values.
        side: `left` or `right`: whether to insert before or after equal elements.

    Example:
        >>> ops.searchsorted([1, 3, 5], [3, 4]).numpy()
        array([1, 2], dtype=int32)
    """
    return dispatch(_searchsorted, sorted_sequence, values, side)


@array_function("x fill_value")
def _unique(
    x: Array,
    sorted: bool = True,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    size: int | None = None,
    fill_value: Array | None = None,
) -> Array | tuple[Array, ...]:
    results: Array | tuple[Array, ...] = jnp.unique(
        x,
        return_index=return_index,
        return_inverse=return_inverse,
        return_counts=return_counts,
        axis=axis,
        equal_nan=False,
        size=size,
        sorted=sorted,
        fill_value=fill_value,
    )
    return results


@overload
def unique(
    x: TensorLike,
    sorted: bool = ...,
    return_index: Literal[False] = ...,
    return_inverse: Literal[False] = ...,
    return_counts: Literal[False] = ...,
    axis: int | None = ...,
    size: int | None = ...,
    fill_value: TensorLike | None = ...,
) -> Tensor: ...


@overload
def unique(
    x: TensorLike,
    sorted: bool = ...,
    return_index: bool = ...,
    return_inverse: bool = ...,
    return_counts: bool = ...,
    axis: int | None = ...,
    size: int | None = ...,
    fill_value: TensorLike | None = ...,
) -> Tensor | tuple[Tensor, ...]: ...


@operation(_unique)
def unique(
    x: TensorLike,
    sorted: bool = True,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    size: int | None = None,
    fill_value: TensorLike | None = None,
) -> Tensor | tuple[Tensor, ...]:
    """Unique elements, or unique slices along `axis`.

    Args:
        x: Input tensor.
        sorted: Whether the result is sorted.
        return_index: Whether to return the first index of each element.
        return_inverse: Whether to return, for each element of `x`, its index in the result.
        return_counts: Whether to return the number of occurrences of each element.
        axis: Axis whose slices are compared. `None` compares elements.
        size: Fixed number of results, required inside a compiled function. Longer results are
            truncated, shorter ones padded with `fill_value`.
        fill_value: Value of the padding. `None` means the smallest element.

    Returns:
        The unique values; a tuple that starts with them if more results are requested.

    Example:
        >>> ops.unique([3, 1, 3]).numpy()
        array([1, 3], dtype=int32)
    """
    return dispatch(
        _unique, x, sorted, return_index, return_inverse, return_counts, axis, size, fill_value
    )


@array_function("x")
def _top_k(x: Array, k: int, sorted: bool = True) -> tuple[Array, Array]:
    values, indices = jax.lax.top_k(x, k)
    return values, indices


@operation(_top_k)
def top_k(x: TensorLike, k: int, sorted: bool = True) -> tuple[Tensor, Tensor]:
    """The `k` largest values along the last axis, and their indices.

    Args:
        x: Input tensor.
        k: Number of values to return.
        sorted: Ignored: the result is always sorted.

    Returns:
        The values and their indices.

    Example:
        >>> [v.numpy().tolist() for v in ops.top_k([1, 9, 5], 2)]
        [[9, 5], [1, 2]]
    """
    return dispatch(_top_k, x, k, sorted)


@array_function("targets predictions")
def _in_top_k(targets: Array, predictions: Array, k: int) -> Array:
    if predictions.ndim < 1 or targets.shape != predictions.shape[:-1]:
        raise ValueError(
            "the shape of `targets` must be that of `predictions` without the last axis, and got "
            f"{targets.shape} and {predictions.shape}."
        )
    chosen = jnp.take_along_axis(predictions, targets[..., None].astype("int32"), axis=-1)
    chosen = jnp.where(jnp.isnan(chosen), -jnp.inf, chosen)
    return jnp.sum(predictions > chosen, axis=-1) < k


@operation(_in_top_k)
def in_top_k(targets: TensorLike, predictions: TensorLike, k: int) -> Tensor:
    """Return whether each target is among the `k` highest predictions. NaN predictions never are.

    Args:
        targets: Integer tensor `(batch,)` of class numbers.
        predictions: Tensor `(batch, classes)` of scores.
        k: How many predictions count.

    Example:
        >>> ops.in_top_k([2, 0], [[0.1, 0.6, 0.3], [0.1, 0.6, 0.3]], k=2).numpy()
        array([ True, False])
    """
    return dispatch(_in_top_k, targets, predictions, k)
