"""Bounded activations (sigmoid, tanh and similar ones), the log-sigmoid and the exponential."""

from __future__ import annotations

from podium import ops
from podium._typing import TensorLike
from podium.core import Tensor


def sigmoid(x: TensorLike) -> Tensor:
    """Return `1 / (1 + exp(-x))`, between 0 and 1: the probability of the positive class.

    Args:
        x: Input tensor.

    Example:
        >>> podium.activations.sigmoid(podium.convert_to_tensor([-1.0, 0.0, 2.0])).numpy().round(4)
        array([0.2689, 0.5   , 0.8808], dtype=float32)
    """
    return ops.sigmoid(x)


def hard_sigmoid(x: TensorLike) -> Tensor:
    """Return 0 up to -3, 1 from 3 on, and `x / 6 + 0.5` between: a piecewise linear sigmoid.

    Args:
        x: Input tensor.

    Example:
        >>> podium.activations.hard_sigmoid(podium.convert_to_tensor([-4.0, 0.0, 1.5])).numpy()
        array([0.  , 0.5 , 0.75], dtype=float32)
    """
    return ops.hard_sigmoid(x)


def sparse_sigmoid(x: TensorLike) -> Tensor:
    """Return 0 up to -1, 1 from 1 on, and `(x + 1) / 2` between.

    Args:
        x: Input tensor.

    Example:
        >>> podium.activations.sparse_sigmoid(podium.convert_to_tensor([-2.0, 0.5, 2.0])).numpy()
        array([0.  , 0.75, 1.  ], dtype=float32)
    """
    return ops.sparse_sigmoid(x)


def log_sigmoid(x: TensorLike) -> Tensor:
    """Return the logarithm of the sigmoid, accurate also where the sigmoid is nearly 0.

    Args:
        x: Input tensor.

    Example:
        >>> podium.activations.log_sigmoid(podium.convert_to_tensor([-200.0, 0.0])).numpy().round(4)
        array([-200.    ,   -0.6931], dtype=float32)
    """
    return ops.log_sigmoid(x)


def tanh(x: TensorLike) -> Tensor:
    """Return the hyperbolic tangent, between -1 and 1.

    Args:
        x: Input tensor.

    Example:
        >>> podium.activations.tanh(podium.convert_to_tensor([-1.0, 0.0, 2.0])).numpy().round(4)
        array([-0.7616,  0.    ,  0.964 ], dtype=float32)
    """
    return ops.tanh(x)


def hard_tanh(x: TensorLike) -> Tensor:
    """Return `x` limited to the interval from -1 to 1.

    Args:
        x: Input tensor.

    Example:
        >>> podium.activations.hard_tanh(podium.convert_to_tensor([-2.0, 0.5, 2.0])).numpy()
        array([-1. ,  0.5,  1. ], dtype=float32)
    """
    return ops.hard_tanh(x)


def softsign(x: TensorLike) -> Tensor:
    """Return `x / (1 + abs(x))`, between -1 and 1.

    Args:
        x: Input tensor.

    Example:
        >>> podium.activations.softsign(podium.convert_to_tensor([-1.0, 0.0, 3.0])).numpy()
        array([-0.5 ,  0.  ,  0.75], dtype=float32)
    """
    return ops.softsign(x)


def exponential(x: TensorLike) -> Tensor:
    """Return `exp(x)`: for outputs that must be positive.

    Args:
        x: Input tensor.

    Example:
        >>> podium.activations.exponential(podium.convert_to_tensor([0.0, 1.0])).numpy().round(4)
        array([1.    , 2.7183], dtype=float32)
    """
    return ops.exp(x)
