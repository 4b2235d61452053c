"""Reductions and cumulative operations: `tf.reduce_*`, `tf.argmax`, `tf.cumsum`, ..."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp

from podium import ops
from podium._typing import Axis, DTypeLike, TensorLike
from podium.compat.tensorflow._decorators import fold_constants, lift_with_promotion
from podium.compat.tensorflow._dtypes import canonical_dtype
from podium.compat.tensorflow._shapes import ShapeVector
from podium.core import Tensor


def as_axis(axis: Axis | TensorLike) -> int | tuple[int, ...] | None:
    """Convert an axis argument of TensorFlow, which may be a Tensor, to what `podium.ops` takes."""
    if axis is None or isinstance(axis, int):
        return axis
    if isinstance(axis, (list, tuple)):
        return tuple(int(index) for index in axis)
    return int(axis)  # type: ignore[arg-type]


def _reduce(
    op: Callable[..., Tensor], input_tensor: TensorLike, axis: Axis, keepdims: bool
) -> Tensor:
    if isinstance(input_tensor, ShapeVector) and not keepdims:
        # The reduction of a shape can be a size, also while a program is traced.
        size: Tensor = op(list(input_tensor)).numpy().item()
        return size
    return op(input_tensor, axis=as_axis(axis), keepdims=keepdims)


@fold_constants
def reduce_all(
    input_tensor: TensorLike, axis: Axis = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Return whether all elements along axes are true.

    The same as `podium.ops.all`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.reduce_all([[True, False], [True, True]], axis=1).numpy()
        array([False,  True])
    """
    return _reduce(ops.all, input_tensor, axis, keepdims)


@fold_constants
def reduce_any(
    input_tensor: TensorLike, axis: Axis = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Return whether an element along axes is true.

    The same as `podium.ops.any`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.reduce_any([[True, False], [False, False]], axis=1).numpy()
        array([ True, False])
    """
    return _reduce(ops.any, input_tensor, axis, keepdims)


@fold_constants
def reduce_logsumexp(
    input_tensor: TensorLike, axis: Axis = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Compute `log(sum(exp(x)))` along axes, without overflow.

    The same as `podium.ops.logsumexp`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.reduce_logsumexp([0.0, 0.0]).numpy()
        array(0.6931472, dtype=float32)
    """
    return _reduce(ops.logsumexp, input_tensor, axis, keepdims)


@fold_constants
def reduce_max(
    input_tensor: TensorLike, axis: Axis = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Compute the maximum along axes.

    The same as `podium.ops.max`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.reduce_max([[1, 2], [3, 4]], axis=1).numpy()
        array([2, 4], dtype=int32)
    """
    return _reduce(ops.max, input_tensor, axis, keepdims)


@fold_constants
def reduce_mean(
    input_tensor: TensorLike, axis: Axis = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Compute the mean along axes.

    The same as `podium.ops.mean`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.reduce_mean([[1, 2], [3, 4]], axis=0).numpy()
        array([2., 3.], dtype=float32)
    """
    return _reduce(ops.mean, input_tensor, axis, keepdims)


@fold_constants
def reduce_min(
    input_tensor: TensorLike, axis: Axis = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Compute the minimum along axes.

    The same as `podium.ops.min`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.reduce_min([[1, 2], [3, 4]], axis=1).numpy()
        array([1, 3], dtype=int32)
    """
    return _reduce(ops.min, input_tensor, axis, keepdims)


@fold_constants
def reduce_prod(
    input_tensor: TensorLike, axis: Axis = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Compute the product along axes.

    The same as `podium.ops.prod`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.reduce_prod([[1, 2], [3, 4]], axis=0).numpy()
        array([3, 8], dtype=int32)
    """
    return _reduce(ops.prod, input_tensor, axis, keepdims)


@fold_constants
def reduce_std(
    input_tensor: TensorLike, axis: Axis = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Compute the standard deviation along axes.

    The same as `podium.ops.std`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.math.reduce_std([1.0, 3.0]).numpy()
        array(1., dtype=float32)
    """
    return _reduce(ops.std, input_tensor, axis, keepdims)


@fold_constants
def reduce_sum(
    input_tensor: TensorLike, axis: Axis = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Compute the sum along axes.

    The same as `podium.ops.sum`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.reduce_sum([[1, 2], [3, 4]], axis=0).numpy()
        array([4, 6], dtype=int32)
    """
    return _reduce(ops.sum, input_tensor, axis, keepdims)


@fold_constants
def reduce_variance(
    input_tensor: TensorLike, axis: Axis = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Compute the variance along axes.

    The same as `podium.ops.var`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.math.reduce_variance([1.0, 3.0]).numpy()
        array(1., dtype=float32)
    """
    return _reduce(ops.var, input_tensor, axis, keepdims)


@lift_with_promotion
def _reduce_euclidean_norm(x: TensorLike, axis: Axis, keepdims: bool) -> jax.Array:
    return jnp.sqrt(jnp.sum(jnp.square(jnp.asarray(x)), axis=as_axis(axis), keepdims=keepdims))


@fold_constants
def reduce_euclidean_norm(
    input_tensor: TensorLike, axis: Axis = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Compute the square root of the sum of squares along axes.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.math.reduce_euclidean_norm([3.0, 4.0]).numpy()
        array(5., dtype=float32)
    """
    return _reduce_euclidean_norm(input_tensor, axis, keepdims)


def _index_of(
    op: Callable[..., Tensor], input: TensorLike, axis: Axis, output_type: DTypeLike
) -> Tensor:
    index = op(input, axis=0 if axis is None else as_axis(axis))
    return ops.cast(index, canonical_dtype(output_type))


@fold_constants
def argmax(
    input: TensorLike, axis: Axis = None, output_type: DTypeLike = "int32", name: str | None = None
) -> Tensor:
    """Return the index of the largest element along `axis`, by default the first axis.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.argmax([[1, 9], [5, 2]], axis=1).numpy()
        array([1, 0], dtype=int32)
    """
    return _index_of(ops.argmax, input, axis, output_type)


@fold_constants
def argmin(
    input: TensorLike, axis: Axis = None, output_type: DTypeLike = "int32", name: str | None = None
) -> Tensor:
    """Return the index of the smallest element along `axis`, by default the first axis.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.argmin([[1, 9], [5, 2]]).numpy()
        array([0, 1], dtype=int32)
    """
    return _index_of(ops.argmin, input, axis, output_type)


@lift_with_promotion
def _count_nonzero(x: TensorLike, axis: Axis, keepdims: bool) -> jax.Array:
    return jnp.sum(jnp.asarray(x) != 0, axis=as_axis(axis), keepdims=keepdims, dtype="int32")


@fold_constants
def count_nonzero(
    input: TensorLike,
    axis: Axis = None,
    keepdims: bool | None = None,
    dtype: DTypeLike = "int32",
    name: str | None = None,
) -> Tensor:
    """Count the elements that are not zero.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.math.count_nonzero([0, 3, 4]).numpy()
        array(2, dtype=int32)
    """
    return _count_nonzero(input, axis, bool(keepdims))


def _cumulative(
    fn: Callable[..., jax.Array],
    initial: int,
    x: TensorLike,
    axis: int,
    exclusive: bool,
    reverse: bool,
) -> jax.Array:
    x = jnp.asarray(x)
    x = jnp.flip(x, axis) if reverse else x
    if exclusive:
        first = jnp.full_like(jax.lax.slice_in_dim(x, 0, 1, axis=axis), initial)
        preceding = jax.lax.slice_in_dim(x, 0, x.shape[axis] - 1, axis=axis)
        x = jnp.concatenate([first, preceding], axis)
    x = fn(x, axis=axis)
    return jnp.flip(x, axis) if reverse else x


@lift_with_promotion
def _cumsum(x: TensorLike, axis: int, exclusive: bool, reverse: bool) -> jax.Array:
    return _cumulative(jnp.cumsum, 0, x, axis, exclusive, reverse)


@lift_with_promotion
def _cumprod(x: TensorLike, axis: int, exclusive: bool, reverse: bool) -> jax.Array:
    return _cumulative(jnp.cumprod, 1, x, axis, exclusive, reverse)


@fold_constants
def cumsum(
    x: TensorLike,
    axis: int = 0,
    exclusive: bool = False,
    reverse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Compute cumulative sums along an axis.

    `exclusive` leaves out the element itself, `reverse` starts at the end.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.cumsum([1, 2, 3], exclusive=True).numpy()
        array([0, 1, 3], dtype=int32)
    """
    return _cumsum(x, axis, exclusive, reverse)


@fold_constants
def cumprod(
    x: TensorLike,
    axis: int = 0,
    exclusive: bool = False,
    reverse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Compute cumulative products along an axis.

    `exclusive` leaves out the element itself, `reverse` starts at the end.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.math.cumprod([1, 2, 3], reverse=True).numpy()
        array([6, 6, 3], dtype=int32)
    """
    return _cumprod(x, axis, exclusive, reverse)


@lift_with_promotion
def _cumulative_logsumexp(x: TensorLike, axis: int) -> jax.Array:
    return jax.lax.cumlogsumexp(jnp.asarray(x), axis=axis % jnp.asarray(x).ndim)


@fold_constants
def cumulative_logsumexp(x: TensorLike, axis: int = 0, name: str | None = None) -> Tensor:
    """Compute the logarithm of the cumulative sums of exponentials.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.math.cumulative_logsumexp([0.0, 0.0]).numpy().round(4)
        array([0.    , 0.6931], dtype=float32)
    """
    return _cumulative_logsumexp(x, axis)


def add_n(inputs: Sequence[TensorLike], name: str | None = None) -> Tensor:
    """Sum a list of tensors of the same shape.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.add_n([[1.0, 2.0], [3.0, 4.0]]).numpy()
        array([4., 6.], dtype=float32)
    """
    return fold_constants(ops.sum)(ops.stack(list(inputs)), axis=0)


@lift_with_promotion
def _zero_fraction(x: TensorLike) -> jax.Array:
    return jnp.mean(jnp.asarray(x) == 0, dtype="float32")


@fold_constants
def zero_fraction(value: TensorLike, name: str | None = None) -> Tensor:
    """Compute the fraction of elements that are zero.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.math.zero_fraction([0.0, 1.0, 0.0, 2.0]).numpy()
        array(0.5, dtype=float32)
    """
    return _zero_fraction(value)
