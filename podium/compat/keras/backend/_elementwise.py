"""Functions of `keras.backend` on single elements, with Keras 2's parameters."""

from __future__ import annotations

from collections.abc import Sequence

from podium import ops
from podium._typing import TensorLike
from podium.core import Tensor
from podium.ops.internal import resolve_data_format


def clip(x: TensorLike, min_value: TensorLike | None, max_value: TensorLike | None) -> Tensor:
    """Clip values to an interval.

    Args:
        x: A value.
        min_value: The lower bound; None means no bound.
        max_value: The upper bound; None means no bound. One below `min_value` is replaced by it.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.clip([-1.0, 0.5, 3.0], min_value=0.0, max_value=1.0).numpy()
        array([0. , 0.5, 1. ], dtype=float32)
    """
    if (
        isinstance(min_value, (int, float))
        and isinstance(max_value, (int, float))
        and max_value < min_value
    ):
        max_value = min_value
    dtype = ops.dtype(x)
    bounds = [
        None if bound is None else ops.cast(bound, dtype) if _is_finite(bound) else None
        for bound in (min_value, max_value)
    ]
    return ops.clip(x, *bounds)


def _is_finite(bound: TensorLike) -> bool:
    """Return False for the infinite numbers of Python, which no int dtype has."""
    return not isinstance(bound, float) or abs(bound) != float("inf")


def sqrt(x: TensorLike) -> Tensor:
    """Return square roots; 0 for negative numbers.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.sqrt([4.0, -1.0]).numpy()
        array([2., 0.], dtype=float32)
    """
    return ops.sqrt(ops.maximum(x, 0))


def pow(x: TensorLike, a: TensorLike) -> Tensor:
    """Return `x` to the power of `a`.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.pow([2.0, 3.0], a=2).numpy()
        array([4., 9.], dtype=float32)
    """
    return ops.power(x, a)


def maximum(x: TensorLike, y: TensorLike) -> Tensor:
    """Return the larger element of each pair.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.maximum(x=[1.0, 4.0], y=[3.0, 2.0]).numpy()
        array([3., 4.], dtype=float32)
    """
    return ops.maximum(x, y)


def minimum(x: TensorLike, y: TensorLike) -> Tensor:
    """Return the smaller element of each pair.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.minimum(x=[1.0, 4.0], y=[3.0, 2.0]).numpy()
        array([1., 2.], dtype=float32)
    """
    return ops.minimum(x, y)


def equal(x: TensorLike, y: TensorLike) -> Tensor:
    """Return which elements are equal.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.equal(x=[1, 2], y=[1, 3]).numpy()
        array([ True, False])
    """
    return ops.equal(x, y)


def not_equal(x: TensorLike, y: TensorLike) -> Tensor:
    """Return which elements differ.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.not_equal(x=[1, 2], y=[1, 3]).numpy()
        array([False,  True])
    """
    return ops.not_equal(x, y)


def greater(x: TensorLike, y: TensorLike) -> Tensor:
    """Return where x is greater than y.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.greater(x=[1, 2], y=[1, 1]).numpy()
        array([False,  True])
    """
    return ops.greater(x, y)


def greater_equal(x: TensorLike, y: TensorLike) -> Tensor:
    """Return where x is at least y.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.greater_equal(x=[1, 2], y=[1, 3]).numpy()
        array([ True, False])
    """
    return ops.greater_equal(x, y)


def less(x: TensorLike, y: TensorLike) -> Tensor:
    """Return where x is less than y.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.less(x=[1, 2], y=[1, 3]).numpy()
        array([False,  True])
    """
    return ops.less(x, y)


def less_equal(x: TensorLike, y: TensorLike) -> Tensor:
    """Return where x is at most y.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.less_equal(x=[1, 2], y=[1, 1]).numpy()
        array([ True, False])
    """
    return ops.less_equal(x, y)


def relu(
    x: TensorLike, alpha: float = 0.0, max_value: float | None = None, threshold: float = 0.0
) -> Tensor:
    """Apply the rectified linear unit.

    Args:
        x: A value.
        alpha: The slope below the threshold.
        max_value: The largest result; None means no limit.
        threshold: Elements up to here have the slope `alpha`.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.relu([-2.0, 1.0, 9.0], alpha=0.5, max_value=6.0).numpy()
        array([-1.,  1.,  6.], dtype=float32)
    """
    positive = ops.multiply(x, ops.cast(ops.greater(x, threshold), ops.dtype(x)))
    if max_value is not None:
        positive = clip(positive, 0, max_value)
    if alpha == 0.0:
        return positive
    return ops.subtract(positive, ops.multiply(alpha, ops.relu(ops.subtract(threshold, x))))


def elu(x: TensorLike, alpha: float = 1.0) -> Tensor:
    """Apply the exponential linear unit.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.elu([-1.0, 2.0]).numpy().round(3)
        array([-0.632,  2.   ], dtype=float32)
    """
    return ops.elu(x, alpha)


def hard_sigmoid(x: TensorLike) -> Tensor:
    """Return `0.2 * x + 0.5`, clipped to 0 and 1: Keras 2's line, which is steeper than Keras 3's.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.hard_sigmoid([-3.0, 1.0, 3.0]).numpy()
        array([0. , 0.7, 1. ], dtype=float32)
    """
    return ops.clip(ops.add(ops.multiply(x, 0.2), 0.5), 0.0, 1.0)


def softmax(x: TensorLike, axis: int | Sequence[int] = -1) -> Tensor:
    """Return probabilities along an axis.

    Raises:
        ValueError: x has fewer than two dimensions.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.softmax([[0.0, 0.0]]).numpy()
        array([[0.5, 0.5]], dtype=float32)
    """
    if len(ops.shape(x)) < 2:
        raise ValueError(
            f"softmax was given a value of shape {ops.shape(x)}; a batch with at least two "
            "dimensions was expected. Add one with `K.expand_dims(x, 0)`, or call `ops.softmax`."
        )
    return ops.softmax(x, axis)


def bias_add(x: TensorLike, bias: TensorLike, data_format: str | None = None) -> Tensor:
    """Add a bias to every sample.

    Args:
        x: A batch.
        bias: One number per channel; or an array with one dimension less than x, whose last
            dimension are the channels.
        data_format: "channels_last", "channels_first", or None for the default.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.bias_add([[1.0, 2.0]], [10.0, 20.0]).numpy()
        array([[11., 22.]], dtype=float32)
    """
    rank, bias_shape = len(ops.shape(x)), tuple(ops.shape(bias))
    if len(bias_shape) not in (1, rank - 1):
        raise ValueError(
            f"bias_add was given a bias of shape {bias_shape} for a value with {rank} dimensions; "
            f"a bias with 1 or {rank - 1} dimensions was expected."
        )
    if resolve_data_format(data_format) == "channels_last" or rank == 2:
        return ops.add(x, bias)
    if len(bias_shape) == 1:
        return ops.add(x, ops.reshape(bias, (1, bias_shape[0]) + (1,) * (rank - 2)))
    return ops.add(x, ops.reshape(bias, (1, bias_shape[-1], *bias_shape[:-1])))
