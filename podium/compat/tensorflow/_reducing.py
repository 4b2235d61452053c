"""Functions that summarise along axes: `tf.reduce_*`, positions of extremes, running totals,
segments, counts.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from podium import ops
from podium.compat.tensorflow._dtypes import number_type
from podium.compat.tensorflow._sizes import Shape
from podium.compat.tensorflow._table import alias, keeping_known
from podium.core import lift, promote_dtypes

_REDUCE = "(input_tensor, axis=None, keepdims=False, name=None)"


def _axes(axis: Any) -> Any:
    """An axis as `podium.ops` takes it: several as a tuple of numbers."""
    if axis is None or isinstance(axis, int):
        return axis
    if isinstance(axis, (list, tuple)):
        return tuple(int(each) for each in axis)
    return int(axis)


def _over(op: Any) -> Any:
    def run(x: Any, axis: Any, keepdims: bool) -> Any:
        if isinstance(x, Shape) and not keepdims:
            return (
                op(list(x)).numpy().item()
            )  # sizes give a size: a plain number, also while a program is traced
        return op(x, axis=_axes(axis), keepdims=keepdims)

    run.__doc__, run.__name__ = op.__doc__, op.__name__
    return run


reduce_all = alias(f"reduce_all{_REDUCE}", _over(ops.all))
reduce_any = alias(f"reduce_any{_REDUCE}", _over(ops.any))
reduce_logsumexp = alias(f"reduce_logsumexp{_REDUCE}", _over(ops.logsumexp))
reduce_max = alias(f"reduce_max{_REDUCE}", _over(ops.max))
reduce_mean = alias(f"reduce_mean{_REDUCE}", _over(ops.mean))
reduce_min = alias(f"reduce_min{_REDUCE}", _over(ops.min))
reduce_prod = alias(f"reduce_prod{_REDUCE}", _over(ops.prod))
reduce_std = alias(f"reduce_std{_REDUCE}", _over(ops.std))
reduce_sum = alias(f"reduce_sum{_REDUCE}", _over(ops.sum))
reduce_variance = alias(f"reduce_variance{_REDUCE}", _over(ops.var))
reduce_euclidean_norm = alias(
    f"reduce_euclidean_norm{_REDUCE}",
    lift(
        lambda x, axis, keepdims: jnp.sqrt(
            jnp.sum(jnp.square(jnp.asarray(x)), axis=_axes(axis), keepdims=keepdims)
        )
    ),
    "tf.math.reduce_euclidean_norm([3.0, 4.0]).numpy()",
    "array(5., dtype=float32)",
    "The square root of the sum of squares.",
)


def _position(op: Any) -> Any:
    def run(x: Any, axis: Any, output_type: Any) -> Any:
        return ops.cast(op(x, axis=0 if axis is None else _axes(axis)), number_type(output_type))

    return run


argmax = alias(
    "argmax(input, axis=None, output_type='int32', name=None)",
    _position(ops.argmax),
    "tf.argmax([[1, 9], [5, 2]], axis=1).numpy()",
    "array([1, 0], dtype=int32)",
    "Where the largest element is, along the first axis unless `axis` is given.",
)
argmin = alias(
    "argmin(input, axis=None, output_type='int32', name=None)",
    _position(ops.argmin),
    "tf.argmin([[1, 9], [5, 2]]).numpy()",
    "array([0, 1], dtype=int32)",
    "Where the smallest element is, along the first axis unless `axis` is given.",
)
count_nonzero = alias(
    "count_nonzero(input, axis=None, keepdims=None, dtype='int32', name=None)",
    lift(
        lambda x, axis, keepdims, dtype: jnp.sum(
            jnp.asarray(x) != 0, axis=_axes(axis), keepdims=bool(keepdims), dtype="int32"
        )
    ),
    "tf.math.count_nonzero([0, 3, 4]).numpy()",
    "array(2, dtype=int32)",
    "How many elements are not zero.",
)


def _running(fn: Any, start: int) -> Any:
    def run(x: Any, axis: int, exclusive: bool, reverse: bool) -> Any:
        x = jnp.asarray(x)
        x = jnp.flip(x, axis) if reverse else x
        if exclusive:
            first = jnp.full_like(jax.lax.slice_in_dim(x, 0, 1, axis=axis), start)
            x = jnp.concatenate(
                [first, jax.lax.slice_in_dim(x, 0, x.shape[axis] - 1, axis=axis)], axis
            )
        x = fn(x, axis=axis)
        return jnp.flip(x, axis) if reverse else x

    return lift(run)


cumsum = alias(
    "cumsum(x, axis=0, exclusive=False, reverse=False, name=None)",
    _running(jnp.cumsum, 0),
    "tf.cumsum([1, 2, 3], exclusive=True).numpy()",
    "array([0, 1, 3], dtype=int32)",
    "Running sums; `exclusive` leaves out the element itself, `reverse` starts at the end.",
)
cumprod = alias(
    "cumprod(x, axis=0, exclusive=False, reverse=False, name=None)",
    _running(jnp.cumprod, 1),
    "tf.math.cumprod([1, 2, 3], reverse=True).numpy()",
    "array([6, 6, 3], dtype=int32)",
    "Running products; `exclusive` leaves out the element itself, `reverse` starts at the end.",
)
cumulative_logsumexp = alias(
    "cumulative_logsumexp(x, axis=0, name=None)",
    lift(lambda x, axis: jax.lax.cumlogsumexp(jnp.asarray(x), axis=axis % jnp.asarray(x).ndim)),
    "tf.math.cumulative_logsumexp([0.0, 0.0]).numpy().round(4)",
    "array([0.    , 0.6931], dtype=float32)",
    "The logarithm of the running sums of exponentials.",
)

_UNSORTED = "(data, segment_ids, num_segments, name=None)"
_SEGMENT_IDS = "[0, 0, 1]"
unsorted_segment_sum = alias(f"unsorted_segment_sum{_UNSORTED}", ops.segment_sum)
unsorted_segment_max = alias(f"unsorted_segment_max{_UNSORTED}", ops.segment_max)
unsorted_segment_min = alias(f"unsorted_segment_min{_UNSORTED}", ops.segment_min)
unsorted_segment_prod = alias(f"unsorted_segment_prod{_UNSORTED}", ops.segment_prod)


@promote_dtypes
def _segment_mean(data: Any, ids: Any, num_segments: int) -> Any:
    data, ids = jnp.asarray(data), jnp.asarray(ids)
    total = jax.ops.segment_sum(data, ids, num_segments)
    count = jax.ops.segment_sum(jnp.ones(ids.shape, data.dtype), ids, num_segments)
    return total / jnp.maximum(count, 1).reshape(count.shape + (1,) * (total.ndim - 1))


unsorted_segment_mean = alias(
    f"unsorted_segment_mean{_UNSORTED}",
    lift(_segment_mean),
    f"tf.math.unsorted_segment_mean([1.0, 3.0, 5.0], {_SEGMENT_IDS}, 2).numpy()",
    "array([2., 5.], dtype=float32)",
    "The mean of the rows of each segment; 0 for an empty one.",
)
segment_sum = alias("segment_sum(data, segment_ids, name=None)", ops.segment_sum)
segment_max = alias("segment_max(data, segment_ids, name=None)", ops.segment_max)


class TopK(NamedTuple):
    """What `top_k` returns: the values and their places."""

    values: Any
    indices: Any


def top_k(
    input: Any, k: Any = 1, sorted: bool = True, index_type: Any = "int32", name: str | None = None
) -> TopK:
    """The `k` largest elements along the last axis, and where they are.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> values, indices = tf.math.top_k([3.0, 9.0, 5.0], k=2)
        >>> values.numpy(), indices.numpy()
        (array([9., 5.], dtype=float32), array([1, 2], dtype=int32))
    """
    return TopK(*ops.top_k(input, int(k), sorted))


in_top_k = alias("in_top_k(targets, predictions, k, name=None)", ops.in_top_k)


def bincount(
    arr: Any,
    weights: Any = None,
    minlength: Any = None,
    maxlength: Any = None,
    dtype: Any = "int32",
    name: str | None = None,
) -> Any:
    """How often each whole number occurs, or the sum of its weights.

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
    return ops.cast(counts, number_type(dtype)) if weights is None else counts


def confusion_matrix(
    labels: Any,
    predictions: Any,
    num_classes: int | None = None,
    weights: Any = None,
    dtype: Any = "int32",
    name: str | None = None,
) -> Any:
    """Count pairs: rows are labels, columns are predictions.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.math.confusion_matrix([0, 1, 1], [0, 0, 1], num_classes=2).numpy()
        array([[1, 0],
               [1, 1]], dtype=int32)
    """
    if num_classes is None:
        num_classes = 1 + max(int(ops.max(labels)), int(ops.max(predictions)))
    size, dtype = int(num_classes), number_type(dtype)

    def count(labels: Any, predictions: Any, weights: Any) -> Any:
        given = jnp.ones(labels.shape, dtype) if weights is None else jnp.asarray(weights, dtype)
        return jnp.zeros((size, size), dtype).at[labels, predictions].add(given)

    return lift(count)(ops.cast(labels, "int32"), ops.cast(predictions, "int32"), weights)


def add_n(inputs: Any, name: str | None = None) -> Any:
    """The sum of a list of tensors of one shape.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.add_n([[1.0, 2.0], [3.0, 4.0]]).numpy()
        array([4., 6.], dtype=float32)
    """
    return keeping_known(ops.sum)(ops.stack(list(inputs)), axis=0)


zero_fraction = alias(
    "zero_fraction(value, name=None)",
    lift(lambda x: jnp.mean(jnp.asarray(x) == 0, dtype="float32")),
    "tf.math.zero_fraction([0.0, 1.0, 0.0, 2.0]).numpy()",
    "array(0.5, dtype=float32)",
    "The part of the elements that are zero.",
)
