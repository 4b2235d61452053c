"""Activation functions that return probabilities along an axis: softmax and sparsemax."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax import Array, nn

from podium._typing import TensorLike
from podium.core import Tensor
from podium.ops._arguments import hashable_axis
from podium.ops._operation import array_function, dispatch, operation
from podium.ops._promotion import to_float
from podium.ops.nn._probability_logits import store_logits


@array_function()
def _softmax(x: Array, axis: int | Sequence[int] = -1) -> Array:
    return jax.nn.softmax(to_float(x), axis=hashable_axis(axis))


def _store_softmax_logits(outputs: Tensor, x: TensorLike, axis: int | Sequence[int] = -1) -> Tensor:
    return store_logits(outputs, x, "softmax", axis)


vars(_softmax)["finish"] = _store_softmax_logits


@operation(_softmax)
def softmax(x: TensorLike, axis: int | Sequence[int] = -1) -> Tensor:
    """Softmax: exponentials, normalized to sum to 1 along an axis.

    Args:
        x: Input tensor.
        axis: Axis or axes along which the result sums to 1.

    Example:
        >>> ops.softmax([0.0, 0.0]).numpy()
        array([0.5, 0.5], dtype=float32)
    """
    shape = getattr(x, "shape", ())
    if isinstance(axis, int) and -len(shape) <= axis < len(shape) and shape[axis] == 1:
        warnings.warn(
            f"ops.softmax over axis {axis} of shape {tuple(shape)}: that axis has size 1, so the "
            "result is 1 everywhere. Did you mean `ops.sigmoid`?",
            stacklevel=2,
        )
    return _store_softmax_logits(dispatch(_softmax, x, axis), x, axis)


@array_function()
def _log_softmax(x: Array, axis: int | Sequence[int] = -1) -> Array:
    return nn.log_softmax(to_float(x), axis=hashable_axis(axis))


@operation(_log_softmax)
def log_softmax(x: TensorLike, axis: int | Sequence[int] = -1) -> Tensor:
    """Logarithm of the softmax, numerically stable.

    Args:
        x: Input tensor.
        axis: Axis or axes along which the exponentials of the result sum to 1.

    Example:
        >>> ops.log_softmax([1.0, 1.0]).numpy()
        array([-0.6931472, -0.6931472], dtype=float32)
    """
    return dispatch(_log_softmax, x, axis)


@array_function()
def _sparsemax(x: Array, axis: int = -1) -> Array:
    x = to_float(x)
    ordered = jnp.flip(jnp.sort(x, axis=axis), axis=axis)
    totals = jnp.cumsum(ordered, axis=axis)
    shape = [1] * x.ndim
    shape[axis] = -1
    rank = jnp.arange(1, x.shape[axis] + 1, dtype=x.dtype).reshape(shape)
    # The support is the longest prefix (of the sorted values) that stays above its own threshold.
    support = ordered - (totals - 1) / rank > 0
    count = jnp.sum(support, axis=axis, keepdims=True)
    threshold = (
        jnp.sum(jnp.where(support, ordered, 0), axis=axis, keepdims=True) - 1
    ) / count.astype(x.dtype)
    return jnp.maximum(x - threshold, 0)


@operation(_sparsemax)
def sparsemax(x: TensorLike, axis: int = -1) -> Tensor:
    """Project onto the probability simplex: like softmax, with exact zeros.

    Args:
        x: Input tensor.
        axis: Axis along which the result sums to 1.

    Example:
        >>> ops.sparsemax([1.0, 1.5, -1.0]).numpy()
        array([0.25, 0.75, 0.  ], dtype=float32)
    """
    return dispatch(_sparsemax, x, axis)
