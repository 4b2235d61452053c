"""Sigmoid, and activation functions of a similar shape, over `jax.nn`."""

from __future__ import annotations

from jax import Array, nn

from podium._typing import TensorLike
from podium.core import Tensor
from podium.ops._operation import array_function, dispatch, operation
from podium.ops._promotion import to_float
from podium.ops.nn._probability_logits import store_logits


@array_function()
def _sigmoid(x: Array) -> Array:
    return nn.sigmoid(to_float(x))


def _store_sigmoid_logits(outputs: Tensor, x: TensorLike) -> Tensor:
    return store_logits(outputs, x, "sigmoid")


vars(_sigmoid)["finish"] = _store_sigmoid_logits


@operation(_sigmoid)
def sigmoid(x: TensorLike) -> Tensor:
    """Sigmoid: `1 / (1 + exp(-x))`.

    Args:
        x: Input tensor.

    Example:
        >>> ops.sigmoid([-2.0, 0.0, 2.0]).numpy()
        array([0.11920292, 0.5       , 0.880797  ], dtype=float32)
    """
    return _store_sigmoid_logits(dispatch(_sigmoid, x), x)


@array_function()
def _hard_sigmoid(x: Array) -> Array:
    return nn.hard_sigmoid(x)


@operation(_hard_sigmoid)
def hard_sigmoid(x: TensorLike) -> Tensor:
    """Piecewise linear approximation of the sigmoid: `relu6(x + 3) / 6`.

    Args:
        x: Input tensor.

    Example:
        >>> ops.hard_sigmoid([-2.0, 0.0, 2.0]).numpy()
        array([0.16666667, 0.5       , 0.8333334 ], dtype=float32)
    """
    return dispatch(_hard_sigmoid, x)


@array_function()
def _sparse_sigmoid(x: Array) -> Array:
    return nn.sparse_sigmoid(x)


@operation(_sparse_sigmoid)
def sparse_sigmoid(x: TensorLike) -> Tensor:
    """Sigmoid that is linear between -1 and 1, and 0 or 1 outside.

    Args:
        x: Input tensor.

    Example:
        >>> ops.sparse_sigmoid([-2.0, 0.0, 2.0]).numpy()
        array([0. , 0.5, 1. ], dtype=float32)
    """
    return dispatch(_sparse_sigmoid, x)


@array_function()
def _log_sigmoid(x: Array) -> Array:
    return nn.log_sigmoid(x)


@operation(_log_sigmoid)
def log_sigmoid(x: TensorLike) -> Tensor:
    """Logarithm of the sigmoid, numerically stable.

    Args:
        x: Input tensor.

    Example:
        >>> ops.log_sigmoid([-2.0, 0.0, 2.0]).numpy()
        array([-2.126928 , -0.6931472, -0.126928 ], dtype=float32)
    """
    return dispatch(_log_sigmoid, x)


@array_function()
def _hard_tanh(x: Array) -> Array:
    return nn.hard_tanh(x)


@operation(_hard_tanh)
def hard_tanh(x: TensorLike) -> Tensor:
    """Clip to the interval from -1 to 1.

    Args:
        x: Input tensor.

    Example:
        >>> ops.hard_tanh([-2.0, 0.0, 2.0]).numpy()
        array([-1.,  0.,  1.], dtype=float32)
    """
    return dispatch(_hard_tanh, x)


@array_function()
def _softsign(x: Array) -> Array:
    return nn.soft_sign(x)


@operation(_softsign)
def softsign(x: TensorLike) -> Tensor:
    """Softsign: `x / (1 + abs(x))`.

    Args:
        x: Input tensor.

    Example:
        >>> ops.softsign([-2.0, 0.0, 2.0]).numpy()
        array([-0.6666667,  0.       ,  0.6666667], dtype=float32)
    """
    return dispatch(_softsign, x)
