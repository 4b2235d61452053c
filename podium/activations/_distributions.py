"""Activations whose results along an axis are probabilities: softmax, its logarithm, and
sparsemax.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

from podium import ops
from podium.core import convert_to_tensor, dispatch, floatx, promote_dtypes


def softmax(x: Any, axis: int | Sequence[int] = -1) -> Any:
    """Return exponentials that sum to one: the probabilities of classes.

    Args:
        x: Input tensor.
        axis: The axis, or several taken as one, along which the result sums to 1.

    Example:
        >>> podium.activations.softmax(podium.convert_to_tensor([[0.0, 0.0, np.log(2.0)]])).numpy()
        array([[0.25, 0.25, 0.5 ]], dtype=float32)
    """
    return ops.softmax(x, axis=axis)


def log_softmax(x: Any, axis: int | Sequence[int] = -1) -> Any:
    """Return the logarithm of the softmax, exact also where the softmax is nearly 0.

    Args:
        x: Input tensor.
        axis: The axis, or several taken as one, along which the exponentials of the result sum to
            1.

    Example:
        >>> podium.activations.log_softmax(podium.convert_to_tensor([0.0, 200.0])).numpy()
        array([-200.,    0.], dtype=float32)
    """
    return ops.log_softmax(x, axis=axis)


def sparsemax(x: Any, axis: int = -1) -> Any:
    """Return the probabilities nearest to `x`: like softmax, but small inputs get exactly 0.

    Args:
        x: Input tensor.
        axis: The axis along which the result sums to 1.

    Example:
        >>> podium.activations.sparsemax(podium.convert_to_tensor([1.0, 1.5, -1.0])).numpy()
        array([0.25, 0.75, 0.  ], dtype=float32)
    """
    return dispatch(_sparsemax, convert_to_tensor(x), axis)


@promote_dtypes
def _sparsemax(x: Any, axis: int) -> Any:
    x = jnp.moveaxis(x if jnp.issubdtype(x.dtype, jnp.floating) else x.astype(floatx()), axis, -1)
    totals = jnp.cumsum(jnp.sort(x, axis=-1, descending=True), axis=-1)
    counts = jnp.arange(1, x.shape[-1] + 1, dtype=x.dtype)
    # What must be taken off so that the n greatest sum to one. The right n is the one that takes
    # off most: fewer would leave out a positive value, and more would let in a negative one.
    excess = jnp.max((totals - 1) / counts, axis=-1, keepdims=True)
    return jnp.moveaxis(jnp.maximum(x - excess, 0), -1, axis)
