"""Choosing elements by place or condition: `tf.gather`, `tf.where`, `tf.scatter_nd`, sorting,
unique values.

A result whose length depends on values (`tf.boolean_mask`, `tf.unique`, `tf.where` with one
argument) needs known values: it works eagerly and is refused inside compiled functions.
"""

import builtins
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from podium import ops
from podium.compat.tensorflow._sizes import sizes
from podium.compat.tensorflow._table import alias
from podium.core import dispatch, lift, promote_dtypes


def gather(
    params: Any,
    indices: Any,
    validate_indices: Any = None,
    axis: Any = None,
    batch_dims: int = 0,
    name: str | None = None,
) -> Any:
    """Take slices of `params` along an axis, the first unless given; `batch_dims` leading axes are
    gathered one by one.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.gather([10.0, 20.0, 30.0], [2, 0]).numpy()
        array([30., 10.], dtype=float32)
        >>> tf.gather([[1, 2], [3, 4]], [[1], [0]], batch_dims=1).numpy()
        array([[2],
               [3]], dtype=int32)
    """
    axis = batch_dims if axis is None else int(axis)
    if not batch_dims:
        return ops.take(params, indices, axis=axis)
    rank = len(ops.shape(params))
    batch_dims, axis = batch_dims % (len(ops.shape(indices)) + 1), axis % rank

    def take(params: Any, indices: Any) -> Any:
        def each(p: Any, i: Any) -> Any:
            return jnp.take(p, i, axis=axis - batch_dims)

        for _ in builtins.range(batch_dims):
            each = jax.vmap(each)
        return each(jnp.asarray(params), jnp.asarray(indices))

    return dispatch(take, params, indices)


def gather_nd(params: Any, indices: Any, batch_dims: int = 0, name: str | None = None) -> Any:
    """Take elements or slices; the last axis of `indices` holds a place along each leading axis of
    `params`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.gather_nd([[1, 2], [3, 4]], [[0, 1], [1, 0]]).numpy()
        array([2, 3], dtype=int32)
    """

    def take(params: Any, indices: Any) -> Any:
        def each(p: Any, i: Any) -> Any:
            return p[tuple(jnp.moveaxis(i, -1, 0))]

        for _ in builtins.range(batch_dims):
            each = jax.vmap(each)
        return each(jnp.asarray(params), jnp.asarray(indices))

    return dispatch(take, params, indices)


def _scatter(method: str) -> Any:
    @promote_dtypes
    def run(target: Any, indices: Any, updates: Any) -> Any:
        target = jnp.asarray(target)
        key = tuple(jnp.moveaxis(jnp.asarray(indices), -1, 0))
        return getattr(target.at[key], method)(jnp.asarray(updates).astype(target.dtype))

    return lift(run)


_ND = "(tensor, indices, updates, name=None)"
tensor_scatter_nd_update = alias(
    f"tensor_scatter_nd_update{_ND}",
    _scatter("set"),
    "tf.tensor_scatter_nd_update([1, 2, 3], [[1]], [9]).numpy()",
    "array([1, 9, 3], dtype=int32)",
    "A copy with the elements at `indices` replaced.",
)
tensor_scatter_nd_add = alias(
    f"tensor_scatter_nd_add{_ND}",
    _scatter("add"),
    "tf.tensor_scatter_nd_add([1, 2, 3], [[1], [1]], [9, 9]).numpy()",
    "array([ 1, 20,  3], dtype=int32)",
    "A copy with `updates` added at `indices`; repeated ones add up.",
)
tensor_scatter_nd_sub = alias(
    f"tensor_scatter_nd_sub{_ND}",
    _scatter("subtract"),
    "tf.tensor_scatter_nd_sub([1, 2, 3], [[1]], [2]).numpy()",
    "array([1, 0, 3], dtype=int32)",
    "A copy with `updates` subtracted at `indices`.",
)
tensor_scatter_nd_max = alias(
    f"tensor_scatter_nd_max{_ND}",
    _scatter("max"),
    "tf.tensor_scatter_nd_max([1, 2, 3], [[1]], [9]).numpy()",
    "array([1, 9, 3], dtype=int32)",
    "A copy where elements at `indices` are raised to `updates`.",
)
tensor_scatter_nd_min = alias(
    f"tensor_scatter_nd_min{_ND}",
    _scatter("min"),
    "tf.tensor_scatter_nd_min([1, 2, 3], [[1]], [0]).numpy()",
    "array([1, 0, 3], dtype=int32)",
    "A copy where elements at `indices` are lowered to `updates`.",
)
scatter_nd = alias(
    "scatter_nd(indices, updates, shape, name=None)",
    lambda indices, updates, shape: ops.scatter(indices, updates, sizes(shape)),
    "tf.scatter_nd([[1]], [9], [3]).numpy()",
    "array([0, 9, 0], dtype=int32)",
    "Zeros, with `updates` added at `indices`.",
)


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    """`x` where the condition holds, `y` elsewhere; with the condition alone, the places where it
    holds.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.where([True, False], 1.0, 2.0).numpy(), tf.where([False, True]).numpy()
        (array([1., 2.], dtype=float32), array([[1]], dtype=int32))
    """
    if x is None and y is None:
        return ops.convert_to_tensor(np.argwhere(np.asarray(condition)).astype("int32"))
    return ops.where(condition, x, y)


def boolean_mask(
    tensor: Any, mask: Any, axis: int | None = None, name: str = "boolean_mask"
) -> Any:
    """The elements where `mask` is true. Its length depends on values, so it is for eager code.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.boolean_mask([1, 2, 3], [True, False, True]).numpy()
        array([1, 3], dtype=int32)
    """
    keep, axis = np.asarray(mask), axis or 0

    def take(tensor: Any) -> Any:
        moved = (
            jnp.moveaxis(jnp.asarray(tensor), axis, 0) if keep.ndim == 1 else jnp.asarray(tensor)
        )
        kept = moved[np.nonzero(keep)]
        return jnp.moveaxis(kept, 0, axis) if keep.ndim == 1 else kept

    return dispatch(take, tensor)


def slice(input_: Any, begin: Any, size: Any, name: str | None = None) -> Any:
    """A block of `size` from `begin`; a size of -1 reaches to the end.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.slice([[1, 2, 3], [4, 5, 6]], [0, 1], [1, -1]).numpy()
        array([[2, 3]], dtype=int32)
    """
    start = begin if isinstance(begin, (list, tuple)) else builtins.list(begin)
    lengths = sizes(size)
    if -1 in lengths:
        lengths = tuple(
            n - int(s) if want < 0 else want
            for n, s, want in zip(ops.shape(input_), start, lengths, strict=True)
        )
    return ops.slice(input_, start, lengths)


def unique(x: Any, out_idx: Any = "int32", name: str | None = None) -> tuple[Any, Any]:
    """The different values in order of appearance, and for each element which one it is. For eager
    code.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> values, places = tf.unique([7, 3, 7])
        >>> values.numpy(), places.numpy()
        (array([7, 3], dtype=int32), array([0, 1, 0], dtype=int32))
    """
    values, first, inverse = np.unique(np.asarray(x), return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return ops.convert_to_tensor(values[order]), ops.convert_to_tensor(
        place[inverse].astype("int32")
    )


def dynamic_partition(
    data: Any, partitions: Any, num_partitions: int, name: str | None = None
) -> list:
    """Sort the rows of `data` into lists by number. For eager code.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> [part.numpy().tolist() for part in tf.dynamic_partition([1, 2, 3], [1, 0, 1], 2)]
        [[2], [1, 3]]
    """
    numbers = np.asarray(partitions)
    return [boolean_mask(data, numbers == i) for i in builtins.range(num_partitions)]


def _ordered(x: Any, axis: int, direction: str, op: Any) -> Any:
    if direction.upper() not in ("ASCENDING", "DESCENDING"):
        raise ValueError(
            f"direction={direction!r} was given; 'ASCENDING' or 'DESCENDING' was expected."
        )
    found = op(x, axis=axis)
    return found if direction.upper() == "ASCENDING" else ops.flip(found, axis)


sort = alias(
    "sort(values, axis=-1, direction='ASCENDING', name=None)",
    lambda x, axis, direction: _ordered(x, axis, direction, ops.sort),
    "tf.sort([2, 9, 5], direction='DESCENDING').numpy()",
    "array([9, 5, 2], dtype=int32)",
    "Put elements in order along an axis.",
)
argsort = alias(
    "argsort(values, axis=-1, direction='ASCENDING', stable=False, name=None)",
    lambda x, axis, direction, stable: _ordered(x, axis, direction, ops.argsort),
    "tf.argsort([2, 9, 5], direction='DESCENDING').numpy()",
    "array([1, 2, 0], dtype=int32)",
    "The places of the elements in order.",
)
searchsorted = alias(
    "searchsorted(sorted_sequence, values, side='left', name=None)",
    ops.searchsorted,
)
