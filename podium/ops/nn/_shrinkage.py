"""Activation functions that set small values to zero or shrink them."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from podium._typing import TensorLike
from podium.core import Tensor
from podium.ops._operation import array_function, dispatch, operation


@array_function()
def _hard_shrink(x: Array, threshold: float = 0.5) -> Array:
    return jnp.where(jnp.abs(x) > threshold, x, 0.0)


@operation(_hard_shrink)
def hard_shrink(x: TensorLike, threshold: float = 0.5) -> Tensor:
    """Set values within the threshold to zero.

    Args:
        x: Input tensor.
        threshold: The threshold.

    Example:
        >>> ops.hard_shrink([-2.0, 0.3, 2.0]).numpy()
        array([-2.,  0.,  2.], dtype=float32)
    """
    return dispatch(_hard_shrink, x, threshold)


@array_function()
def _soft_shrink(x: Array, threshold: float = 0.5) -> Array:
    return jnp.where(x > threshold, x - threshold, jnp.where(x < -threshold, x + threshold, 0.0))


@operation(_soft_shrink)
def soft_shrink(x: TensorLike, threshold: float = 0.5) -> Tensor:
    """Shrink values towards zero by the threshold.

    Args:
        x: Input tensor.
        threshold: The threshold.

    Example:
        >>> ops.soft_shrink([-2.0, 0.3, 2.0]).numpy()
        array([-1.5,  0. ,  1.5], dtype=float32)
    """
    return dispatch(_soft_shrink, x, threshold)


@array_function()
def _tanh_shrink(x: Array) -> Array:
    return x - jnp.tanh(x)


@operation(_tanh_shrink)
def tanh_shrink(x: TensorLike) -> Tensor:
    """Tanh shrinkage: `x - tanh(x)`.

    Args:
        x: Input tensor.

    Example:
        >>> ops.tanh_shrink([-2.0, 0.0, 2.0]).numpy()
        array([-1.0359724,  0.       ,  1.0359724], dtype=float32)
    """
    return dispatch(_tanh_shrink, x)


@array_function()
def _threshold(x: Array, threshold: Array, default_value: Array) -> Array:
    return jnp.where(x > threshold, x, default_value)


@operation(_threshold)
def threshold(x: TensorLike, threshold: TensorLike, default_value: TensorLike) -> Tensor:
    """Keep values above the threshold, and replace the others by `default_value`.

    Args:
        x: Input tensor.
        threshold: The threshold.
        default_value: Replacement for values at or below the threshold.

    Example:
        >>> ops.threshold([-2.0, 0.0, 2.0], 1.0, 0.0).numpy()
        array([0., 0., 2.], dtype=float32)
    """
    return dispatch(_threshold, x, threshold, default_value)
