"""Comparisons, minimum, maximum and logical operations of `tf.math`."""

from __future__ import annotations

from podium import ops
from podium._typing import TensorLike
from podium.compat.tensorflow._decorators import fold_constants
from podium.core import Tensor


@fold_constants
def is_finite(x: TensorLike, name: str | None = None) -> Tensor:
    """Return whether each element is neither infinite nor NaN.

    The same as `podium.ops.isfinite`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.math.is_finite([1.0, np.inf]).numpy()
        array([ True, False])
    """
    return ops.isfinite(x)


@fold_constants
def is_inf(x: TensorLike, name: str | None = None) -> Tensor:
    """Return whether each element is infinite.

    The same as `podium.ops.isinf`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.math.is_inf([1.0, -np.inf]).numpy()
        array([False,  True])
    """
    return ops.isinf(x)


@fold_constants
def is_nan(x: TensorLike, name: str | None = None) -> Tensor:
    """Return whether each element is NaN.

    The same as `podium.ops.isnan`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.math.is_nan([1.0, np.nan]).numpy()
        array([False,  True])
    """
    return ops.isnan(x)


@fold_constants
def logical_not(x: TensorLike, name: str | None = None) -> Tensor:
    """Negate booleans.

    The same as `podium.ops.logical_not`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.logical_not([True, False]).numpy()
        array([False,  True])
    """
    return ops.logical_not(x)


@fold_constants
def equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return whether elements are equal.

    The same as `podium.ops.equal`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.equal([1, 2], 2).numpy()
        array([False,  True])
    """
    return ops.equal(x, y)


@fold_constants
def greater(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return whether `x > y`, for each element.

    The same as `podium.ops.greater`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.greater([1, 3], 2).numpy()
        array([False,  True])
    """
    return ops.greater(x, y)


@fold_constants
def greater_equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return whether `x >= y`, for each element.

    The same as `podium.ops.greater_equal`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.greater_equal([1, 2], 2).numpy()
        array([False,  True])
    """
    return ops.greater_equal(x, y)


@fold_constants
def less(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return whether `x < y`, for each element.

    The same as `podium.ops.less`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.less([1, 3], 2).numpy()
        array([ True, False])
    """
    return ops.less(x, y)


@fold_constants
def less_equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return whether `x <= y`, for each element.

    The same as `podium.ops.less_equal`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.less_equal([2, 3], 2).numpy()
        array([ True, False])
    """
    return ops.less_equal(x, y)


@fold_constants
def logical_and(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return whether both elements are true.

    The same as `podium.ops.logical_and`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.logical_and([True, False], True).numpy()
        array([ True, False])
    """
    return ops.logical_and(x, y)


@fold_constants
def logical_or(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return whether at least one of two elements is true.

    The same as `podium.ops.logical_or`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.logical_or([True, False], False).numpy()
        array([ True, False])
    """
    return ops.logical_or(x, y)


@fold_constants
def logical_xor(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return whether exactly one of two elements is true.

    The same as `podium.ops.logical_xor`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.math.logical_xor([True, False], True).numpy()
        array([False,  True])
    """
    return ops.logical_xor(x, y)


@fold_constants
def maximum(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return the larger of two elements.

    The same as `podium.ops.maximum`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.maximum([1, 5], 3).numpy()
        array([3, 5], dtype=int32)
    """
    return ops.maximum(x, y)


@fold_constants
def minimum(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return the smaller of two elements.

    The same as `podium.ops.minimum`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.minimum([1, 5], 3).numpy()
        array([1, 3], dtype=int32)
    """
    return ops.minimum(x, y)


@fold_constants
def not_equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return whether elements differ.

    The same as `podium.ops.not_equal`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.not_equal([1, 2], 2).numpy()
        array([ True, False])
    """
    return ops.not_equal(x, y)
