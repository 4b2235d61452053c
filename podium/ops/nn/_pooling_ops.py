"""Pooling as operations: validates arguments as Keras names them, and converts layouts.

The computation on channels-last arrays is in `_pooling.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import jax.numpy as jnp
import numpy as np
from jax import Array

from podium._typing import Shape, TensorLike
from podium.core import Tensor, check_choice
from podium.ops._arguments import (
    PADDINGS,
    from_channels_last,
    resolve_data_format,
    sizes_per_axis,
    spatial_rank,
    to_channels_last,
)
from podium.ops._operation import array_function, dispatch, operation
from podium.ops.nn import _pooling


def _pool_windows(
    pool: Callable[[Array, Shape, Shape, str], Array],
    inputs: Array,
    pool_size: int | Sequence[int],
    strides: int | Sequence[int] | None,
    padding: str,
    data_format: str | None,
) -> Array:
    data_format = resolve_data_format(data_format)
    rank = spatial_rank(inputs)
    padding = check_choice("padding", padding.lower(), PADDINGS)
    window = sizes_per_axis("pool_size", pool_size, rank)
    steps = window if strides is None else sizes_per_axis("strides", strides, rank)
    x = to_channels_last(inputs, data_format)
    spatial = x.shape[1:-1]
    if padding == "valid" and any(
        size < reach for size, reach in zip(spatial, window, strict=True)
    ):
        raise ValueError(
            f"a window of {window} does not fit into spatial shape {spatial}: the result would be "
            "empty. Use padding='same', a smaller `pool_size` or a larger input."
        )
    return from_channels_last(pool(x, window, steps, padding), data_format)


def _adaptive_pool(
    reduce: Callable[..., Array],
    inputs: Array,
    output_size: int | Sequence[int],
    data_format: str | None,
) -> Array:
    """Pool one spatial axis after the other into `output_size` windows of nearly equal length."""
    data_format = resolve_data_format(data_format)
    rank = spatial_rank(inputs)
    x = to_channels_last(inputs, data_format)
    for axis, count in enumerate(sizes_per_axis("output_size", output_size, rank), start=1):
        length = x.shape[axis]
        starts = [i * length // count for i in range(count)]
        ends = [-(-(i + 1) * length // count) for i in range(count)]
        pieces = [
            reduce(jnp.take(x, np.arange(start, end), axis=axis), axis=axis, keepdims=True)
            for start, end in zip(starts, ends, strict=True)
        ]
        x = jnp.concatenate(pieces, axis=axis)
    return from_channels_last(x, data_format)


@array_function("inputs")
def _max_pool(
    inputs: Array,
    pool_size: int | Sequence[int],
    strides: int | Sequence[int] | None = None,
    padding: str = "valid",
    data_format: str | None = None,
) -> Array:
    return _pool_windows(_pooling.max_pool, inputs, pool_size, strides, padding, data_format)


@operation(_max_pool)
def max_pool(
    inputs: TensorLike,
    pool_size: int | Sequence[int],
    strides: int | Sequence[int] | None = None,
    padding: str = "valid",
    data_format: str | None = None,
) -> Tensor:
    """Max pooling.

    Args:
        inputs: Tensor `(batch, *spatial, channels)`, or `(batch, channels, *spatial)` for
            `channels_first`.
        pool_size: Size of the window, an int or one per axis.
        strides: Step of the window. `None` means `pool_size`.
        padding: `valid` or `same`.
        data_format: `channels_last` or `channels_first`. `None` means the default.

    Example:
        >>> ops.max_pool(np.arange(4, dtype="float32").reshape(1, 4, 1), 2).numpy().ravel()
        array([1., 3.], dtype=float32)
    """
    return dispatch(_max_pool, inputs, pool_size, strides, padding, data_format)


@array_function("inputs")
def _average_pool(
    inputs: Array,
    pool_size: int | Sequence[int],
    strides: int | Sequence[int] | None = None,
    padding: str = "valid",
    data_format: str | None = None,
) -> Array:
    return _pool_windows(_pooling.average_pool, inputs, pool_size, strides, padding, data_format)


@operation(_average_pool)
def average_pool(
    inputs: TensorLike,
    pool_size: int | Sequence[int],
    strides: int | Sequence[int] | None = None,
    padding: str = "valid",
    data_format: str | None = None,
) -> Tensor:
    """Average pooling. Padding is excluded from the averages.

    Args:
        inputs: Tensor `(batch, *spatial, channels)`, or `(batch, channels, *spatial)` for
            `channels_first`.
        pool_size: Size of the window, an int or one per axis.
        strides: Step of the window. `None` means `pool_size`.
        padding: `valid` or `same`.
        data_format: `channels_last` or `channels_first`. `None` means the default.

    Example:
        >>> ops.average_pool(np.arange(4, dtype="float32").reshape(1, 4, 1), 2).numpy().ravel()
        array([0.5, 2.5], dtype=float32)
    """
    return dispatch(_average_pool, inputs, pool_size, strides, padding, data_format)


@array_function("inputs")
def _adaptive_average_pool(
    inputs: Array, output_size: int | Sequence[int], data_format: str | None = None
) -> Array:
    return _adaptive_pool(jnp.mean, inputs, output_size, data_format)


@operation(_adaptive_average_pool)
def adaptive_average_pool(
    inputs: TensorLike, output_size: int | Sequence[int], data_format: str | None = None
) -> Tensor:
    """Average pooling to a given output size.

    Args:
        inputs: Tensor `(batch, *spatial, channels)`, or `(batch, channels, *spatial)` for
            `channels_first`.
        output_size: Spatial size of the result, an int or one per axis.
        data_format: `channels_last` or `channels_first`. `None` means the default.

    Example:
        >>> x = np.arange(5, dtype="float32").reshape(1, 5, 1)
        >>> ops.adaptive_average_pool(x, 2).numpy().ravel()
        array([1., 3.], dtype=float32)
    """
    return dispatch(_adaptive_average_pool, inputs, output_size, data_format)


@array_function("inputs")
def _adaptive_max_pool(
    inputs: Array, output_size: int | Sequence[int], data_format: str | None = None
) -> Array:
    return _adaptive_pool(jnp.max, inputs, output_size, data_format)


@operation(_adaptive_max_pool)
def adaptive_max_pool(
    inputs: TensorLike, output_size: int | Sequence[int], data_format: str | None = None
) -> Tensor:
    """Max pooling to a given output size.

    Args:
        inputs: Tensor `(batch, *spatial, channels)`, or `(batch, channels, *spatial)` for
            `channels_first`.
        output_size: Spatial size of the result, an int or one per axis.
        data_format: `channels_last` or `channels_first`. `None` means the default.

    Example:
        >>> ops.adaptive_max_pool(np.arange(5, dtype="float32").reshape(1, 5, 1), 2).numpy().ravel()
        array([2., 4.], dtype=float32)
    """
    return dispatch(_adaptive_max_pool, inputs, output_size, data_format)
