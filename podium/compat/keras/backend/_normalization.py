"""Batch normalization and moving averages of `keras.backend`, and assignments to Variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from podium import ops
from podium._typing import TensorLike
from podium.core import Tensor, Variable


def batch_normalization(
    x: TensorLike,
    mean: TensorLike,
    var: TensorLike,
    beta: TensorLike | None,
    gamma: TensorLike | None,
    axis: int = -1,
    epsilon: float = 1e-3,
) -> Tensor:
    """Return `(x - mean) / sqrt(var + epsilon) * gamma + beta`.

    Args:
        x: A batch.
        mean: The mean.
        var: The variance.
        beta: What is added; None for nothing.
        gamma: The scale; None for 1.
        axis: The axis of the channels in images, which have four dimensions. For others, the
            arguments are broadcast to x.
        epsilon: Added to the variance.

    Example:
        >>> from podium.compat import keras
        >>> K = keras.backend
        >>> K.batch_normalization([[3.0]], [1.0], [3.999], [10.0], [2.0]).numpy()
        array([[12.]], dtype=float32)
    """

    def align(value: TensorLike | None) -> Any:
        if value is None or len(ops.shape(x)) != 4:
            return value
        shape = [1, 1, 1, 1]
        shape[axis] = -1
        return ops.reshape(value, shape)

    return _normalize_values(x, align(mean), align(var), align(beta), align(gamma), epsilon)


def _normalize_values(
    x: TensorLike,
    mean: TensorLike,
    variance: TensorLike,
    beta: TensorLike | None,
    gamma: TensorLike | None,
    epsilon: float,
) -> Tensor:
    scale = ops.rsqrt(ops.add(variance, epsilon))
    result = ops.multiply(
        ops.subtract(x, mean), scale if gamma is None else ops.multiply(scale, gamma)
    )
    return result if beta is None else ops.add(result, beta)


def normalize_batch_in_training(
    x: TensorLike,
    gamma: TensorLike | None,
    beta: TensorLike | None,
    reduction_axes: Sequence[int],
    epsilon: float = 1e-3,
) -> tuple[Tensor, Tensor, Tensor]:
    """Normalize a batch by its own mean and variance.

    Args:
        x: A batch.
        gamma: The scale; None for 1.
        beta: What is added; None for nothing.
        reduction_axes: The axes over which means are computed.
        epsilon: Added to the variance.

    Returns:
        The normalized batch, the mean and the variance. For images with channels last, the variance
        is the unbiased estimate, of `n - 1` values, as in Keras 2.

    Example:
        >>> from podium.compat import keras
        >>> _, mean, variance = keras.backend.normalize_batch_in_training(
        ...     np.array([[1.0], [3.0]], "float32"), None, None, reduction_axes=[0]
        ... )
        >>> mean.numpy(), variance.numpy()
        (array([2.], dtype=float32), array([1.], dtype=float32))
    """
    axes, shape = tuple(reduction_axes), ops.shape(x)
    mean, variance = ops.moments(x, axes, keepdims=True)
    kept = [1 if axis in axes else -1 for axis in range(len(shape))]
    scales = [
        value if value is None or kept.count(-1) != 1 else ops.reshape(value, kept)
        for value in (gamma, beta)
    ]
    normalized = _normalize_values(x, mean, variance, scales[1], scales[0], epsilon)
    if len(shape) == 4 and list(reduction_axes) == [0, 1, 2]:
        count = ops.divide(ops.size(x), shape[3])
        variance = ops.multiply(variance, ops.divide(count, ops.maximum(ops.subtract(count, 1), 1)))
    return normalized, ops.squeeze(mean, axes), ops.squeeze(variance, axes)


def update(x: Variable, new_x: TensorLike) -> Variable:
    """Assign a value to a Variable.

    Example:
        >>> from podium.compat import keras
        >>> float(keras.backend.update(podium.Variable(1.0), 3.0))
        3.0
    """
    x.assign(ops.cast(new_x, x.dtype))
    return x


def update_add(x: Variable, increment: TensorLike) -> Variable:
    """Add a value to a Variable.

    Example:
        >>> from podium.compat import keras
        >>> float(keras.backend.update_add(podium.Variable(1.0), 3.0))
        4.0
    """
    x.assign_add(ops.cast(increment, x.dtype))
    return x


def update_sub(x: Variable, decrement: TensorLike) -> Variable:
    """Subtract a value from a Variable.

    Example:
        >>> from podium.compat import keras
        >>> float(keras.backend.update_sub(podium.Variable(1.0), 3.0))
        -2.0
    """
    x.assign_sub(ops.cast(decrement, x.dtype))
    return x


def moving_average_update(x: Variable, value: TensorLike, momentum: TensorLike) -> Variable:
    """Move a Variable towards a value: `x * momentum + value * (1 - momentum)`.

    Example:
        >>> from podium.compat import keras
        >>> average = podium.Variable(0.0)
        >>> round(float(keras.backend.moving_average_update(average, 2.0, momentum=0.9)), 3)
        0.2
    """
    change = ops.subtract(x, ops.cast(value, x.dtype))
    remaining = ops.subtract(1, ops.cast(momentum, x.dtype))
    x.assign_sub(ops.multiply(change, remaining))
    return x
