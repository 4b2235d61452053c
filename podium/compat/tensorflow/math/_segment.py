"""Reductions by segment or class: `tf.math.segment_*`, `bincount`, `confusion_matrix`."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from podium import ops
from podium._typing import DTypeLike, TensorLike
from podium.compat.tensorflow._decorators import fold_constants, lift_with_promotion
from podium.compat.tensorflow._dtypes import canonical_dtype
from podium.core import Tensor


@fold_constants
def unsorted_segment_sum(
    data: TensorLike, segment_ids: TensorLike, num_segments: int, name: str | None = None
) -> Tensor:
    """Sum the rows of each segment.

    The same as `podium.ops.segment_sum`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.math.unsorted_segment_sum([1, 5, 2], [0, 0, 1], 2).numpy()
        array([6, 2], dtype=int32)
    """
    return ops.segment_sum(data, segment_ids, num_segments)


@fold_constants
def unsorted_segment_max(
    data: TensorLike, segment_ids: TensorLike, num_segments: int, name: str | None = None
) -> Tensor:
    """Compute the maximum of the rows of each segment.

    The same as `podium.ops.segment_max`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.math.unsorted_segment_max([1, 5, 2], [0, 0, 1], 2).numpy()
        array([5, 2], dtype=int32)
    """
    return ops.segment_max(data, segment_ids, num_segments)


@fold_constants
def unsorted_segment_min(
    data: TensorLike, segment_ids: TensorLike, num_segments: int, name: str | None = None
) -> Tensor:
    """Compute the minimum of the rows of each segment.

    The same as `podium.ops.segment_min`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.math.unsorted_segment_min([1, 5, 2], [0, 0, 1], 2).numpy()
        array([1, 2], dtype=int32)
    """
    return ops.segment_min(data, segment_ids, num_segments)


@fold_constants
def unsorted_segment_prod(
    data: TensorLike, segment_ids: TensorLike, num_segments: int, name: str | None = None
) -> Tensor:
    """Multiply the rows of each segment.

    The same as `podium.ops.segment_prod`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.math.unsorted_segment_prod([1, 5, 2], [0, 0, 1], 2).numpy()
        array([5, 2], dtype=int32)
    """
    return ops.segment_prod(data, segment_ids, num_segments)


@lift_with_promotion
def _segment_mean(data: TensorLike, ids: TensorLike, num_segments: int) -> jax.Array:
    data, ids = jnp.asarray(data), jnp.asarray(ids)
    total = jax.ops.segment_sum(data, ids, num_segments)
    count = jax.ops.segment_sum(jnp.ones(ids.shape, data.dtype), ids, num_segments)
    return total / jnp.maximum(count, 1).reshape(count.shape + (1,) * (total.ndim - 1))


@fold_constants
def unsorted_segment_mean(
    data: TensorLike, segment_ids: TensorLike, num_segments: int, name: str | None = None
) -> Tensor:
    """Average the rows of each segment; the mean of an empty segment is 0.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.math.unsorted_segment_mean([1.0, 3.0, 5.0], [0, 0, 1], 2).numpy()
        array([2., 5.], dtype=float32)
    """
    return _segment_mean(data, segment_ids, num_segments)


@fold_constants
def segment_sum(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """Sum the rows of each segment.

    The same as `podium.ops.segment_sum`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.math.segment_sum([1, 5, 2], [0, 0, 1]).numpy()
        array([6, 2], dtype=int32)
    """
    return ops.segment_sum(data, segment_ids)


@fold_constants
def segment_max(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """Compute the maximum of the rows of each segment.

    The same as `podium.ops.segment_max`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.math.segment_max([1, 5, 2], [0, 0, 1]).numpy()
        array([5, 2], dtype=int32)
    """
    return ops.segment_max(data, segment_ids)


def bincount(
    arr: TensorLike,
    weights: TensorLike | None = None,
    minlength: int | None = None,
    maxlength: int | None = None,
    dtype: DTypeLike = "int32",
    name: str | None = None,
) -> Tensor:
    """Count how often each integer occurs, or sum its weights.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.math.bincount([0, 2, 2], minlength=4).numpy()
        array([1, 0, 2, 0], dtype=int32)
    """
    counts = ops.bincount(
        ops.reshape(arr, (-1,)),
        None if weights is None else ops.reshape(weights, (-1,)),
        int(minlength or 0),
    )
    counts = counts if maxlength is None else counts[: int(maxlength)]
    return ops.cast(counts, canonical_dtype(dtype)) if weights is None else counts


def confusion_matrix(
    labels: TensorLike,
    predictions: TensorLike,
    num_classes: int | None = None,
    weights: TensorLike | None = None,
    dtype: DTypeLike = "int32",
    name: str | None = None,
) -> Tensor:
    """Count pairs of label and prediction: rows are labels, columns are predictions.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.math.confusion_matrix([0, 1, 1], [0, 0, 1], num_classes=2).numpy()
        array([[1, 0],
               [1, 1]], dtype=int32)
    """
    if num_classes is None:
        num_classes = 1 + max(int(ops.max(labels)), int(ops.max(predictions)))
    size, count_dtype = int(num_classes), canonical_dtype(dtype)

    @lift_with_promotion
    def count(labels: TensorLike, predictions: TensorLike, weights: TensorLike | None) -> jax.Array:
        labels, predictions = jnp.asarray(labels), jnp.asarray(predictions)
        amounts = jnp.ones(labels.shape) if weights is None else jnp.asarray(weights)
        matrix = jnp.zeros((size, size), count_dtype)
        return matrix.at[labels, predictions].add(amounts.astype(count_dtype))

    return count(ops.cast(labels, "int32"), ops.cast(predictions, "int32"), weights)
