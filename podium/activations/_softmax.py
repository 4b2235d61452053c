"""Activations that return probabilities along an axis: softmax, its logarithm, and sparsemax."""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp
from jax import Array

from podium import ops
from podium._typing import TensorLike
from podium.core import Tensor, convert_to_tensor, dispatch, floatx, promote_dtypes


def softmax(x: TensorLike, axis: int | Sequence[int] = -1) -> Tensor:
    """Return exponentials normalized to sum to 1: class probabilities.

    Args:
        x: Input tensor.
        axis: Axis or axes along which the result sums to 1.

    Example:
        >>> podium.activations.softmax(podium.convert_to_tensor([[0.0, 0.0, np.log(2.0)]])).numpy()
        array([[0.25, 0.25, 0.5 ]], dtype=float32)
    """
    return ops.softmax(x, axis=axis)


def log_softmax(x: TensorLike, axis: int | Sequence[int] = -1) -> Tensor:
    """Return the logarithm of the softmax, accurate also where the softmax is nearly 0.

    Args:
        x: Input tensor.
        axis: Axis or axes along which the exponentials of the result sum to 1.

    Example:
        >>> podium.activations.log_softmax(podium.convert_to_tensor([0.0, 200.0])).numpy()
        array([-200.,    0.], dtype=float32)
    """
    return ops.log_softmax(x, axis=axis)


def sparsemax(x: TensorLike, axis: int = -1) -> Tensor:
    """Return the projection of `x` onto the probability simplex: small inputs get exactly 0.

    Args:
        x: Input tensor.
        axis: The axis along which the result sums to 1.

    Example:
        >>> podium.activations.sparsemax(podium.convert_to_tensor([1.0, 1.5, -1.0])).numpy()
        array([0.25, 0.75, 0.  ], dtype=float32)
    """
    projected: Tensor = dispatch(_sparsemax, convert_to_tensor(x), axis)
    return projected


@promote_dtypes
def _sparsemax(x: Array, axis: int) -> Array:
    x = jnp.moveaxis(x if jnp.issubdtype(x.dtype, jnp.floating) else x.astype(floatx()), axis, -1)
    totals = jnp.cumsum(jnp.sort(x, axis=-1, descending=True), axis=-1)
    counts = jnp.arange(1, x.shape[-1] + 1, dtype=x.dtype)
    # The amount to subtract so that the n largest values sum to one. The right n is the one with
    # the largest amount: fewer would exclude a positive value, more would include a negative one.
    excess = jnp.max((totals - 1) / counts, axis=-1, keepdims=True)
    return jnp.moveaxis(jnp.maximum(x - excess, 0), -1, axis)
