"""Activations that drop or shorten small inputs."""

from __future__ import annotations

from typing import Any

from podium import ops


def hard_shrink(x: Any, threshold: float = 0.5) -> Any:
    """Return `x`, with zeros where it is within `threshold` of zero.

    Args:
        x: Input tensor.
        threshold: The size up to which inputs are dropped.

    Example:
        >>> podium.activations.hard_shrink(podium.convert_to_tensor([-2.0, 0.3, 2.0])).numpy()
        array([-2.,  0.,  2.], dtype=float32)
    """
    return ops.hard_shrink(x, threshold=threshold)


def soft_shrink(x: Any, threshold: float = 0.5) -> Any:
    """Return `x` moved towards zero by `threshold`, and zero where it is smaller than that.

    Args:
        x: Input tensor.
        threshold: How far to move.

    Example:
        >>> podium.activations.soft_shrink(podium.convert_to_tensor([-2.0, 0.3, 2.0])).numpy()
        array([-1.5,  0. ,  1.5], dtype=float32)
    """
    return ops.soft_shrink(x, threshold=threshold)


def tanh_shrink(x: Any) -> Any:
    """Return `x - tanh(x)`.

    Args:
        x: Input tensor.

    Example:
        >>> podium.activations.tanh_shrink(podium.convert_to_tensor([0.0, 2.0])).numpy().round(4)
        array([0.   , 1.036], dtype=float32)
    """
    return ops.tanh_shrink(x)


def threshold(x: Any, threshold: float, default_value: float) -> Any:
    """Return `x` where it is greater than `threshold`, and `default_value` elsewhere.

    Args:
        x: Input tensor.
        threshold: The value that inputs must exceed.
        default_value: What replaces the others.

    Example:
        >>> podium.activations.threshold(podium.convert_to_tensor([-2.0, 1.0, 2.0]), 1.0, -1.0).numpy()
        array([-1., -1.,  2.], dtype=float32)
    """
    return ops.threshold(x, threshold, default_value)
