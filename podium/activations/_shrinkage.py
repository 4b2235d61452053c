"""Activations that set small inputs to zero or shrink them."""

from __future__ import annotations

from podium import ops
from podium._typing import TensorLike
from podium.core import Tensor


def hard_shrink(x: TensorLike, threshold: float = 0.5) -> Tensor:
    """Return `x`, with zeros where it is within `threshold` of zero.

    Args:
        x: Input tensor.
        threshold: Absolute value up to which inputs are set to zero.

    Example:
        >>> podium.activations.hard_shrink(podium.convert_to_tensor([-2.0, 0.3, 2.0])).numpy()
        array([-2.,  0.,  2.], dtype=float32)
    """
    return ops.hard_shrink(x, threshold=threshold)


def soft_shrink(x: TensorLike, threshold: float = 0.5) -> Tensor:
    """Return `x` shrunk towards zero by `threshold`, and zero where it is smaller.

    Args:
        x: Input tensor.
        threshold: Amount to shrink by.

    Example:
        >>> podium.activations.soft_shrink(podium.convert_to_tensor([-2.0, 0.3, 2.0])).numpy()
        array([-1.5,  0. ,  1.5], dtype=float32)
    """
    return ops.soft_shrink(x, threshold=threshold)


def tanh_shrink(x: TensorLike) -> Tensor:
    """Return `x - tanh(x)`.

    Args:
        x: Input tensor.

    Example:
        >>> podium.activations.tanh_shrink(podium.convert_to_tensor([0.0, 2.0])).numpy().round(4)
        array([0.   , 1.036], dtype=float32)
    """
    return ops.tanh_shrink(x)


def threshold(x: TensorLike, threshold: float, default_value: float) -> Tensor:
    """Return `x` where it is greater than `threshold`, and `default_value` elsewhere.

    Args:
        x: Input tensor.
        threshold: The value that inputs must exceed.
        default_value: Replacement for the other inputs.

    Example:
        >>> x = podium.convert_to_tensor([-2.0, 1.0, 2.0])
        >>> podium.activations.threshold(x, 1.0, -1.0).numpy()
        array([-1., -1.,  2.], dtype=float32)
    """
    return ops.threshold(x, threshold, default_value)
