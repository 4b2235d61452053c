"""Gathering, scattering and slicing: `tf.gather`, `tf.scatter_nd`, `tf.where`, `tf.slice`, ...

Results whose size depends on values (`tf.boolean_mask`, `tf.where` with one argument) need known
values: they work eagerly and raise an error inside compiled functions.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from podium import ops
from podium._typing import ShapeLike, TensorLike
from podium.compat.tensorflow._decorators import fold_constants, lift_with_promotion
from podium.compat.tensorflow._shapes import static_shape
from podium.core import Tensor, convert_to_tensor


def gather(
    params: TensorLike,
    indices: TensorLike,
    validate_indices: bool | None = None,
    axis: int | None = None,
    batch_dims: int = 0,
    name: str | None = None,
) -> Tensor:
    """Take slices of `params` along an axis, by default the first one after `batch_dims`.

    The leading `batch_dims` axes of `params` and `indices` are batch axes: each batch element is
    indexed separately.

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

    def take(params: jax.Array, indices: jax.Array) -> jax.Array:
        return jnp.take(params, indices, axis=axis - batch_dims)

    return lift_with_promotion(_vmap_arrays(take, batch_dims))(params, indices)


def gather_nd(
    params: TensorLike, indices: TensorLike, batch_dims: int = 0, name: str | None = None
) -> Tensor:
    """Take elements or slices of `params`.

    The last axis of `indices` holds an index for each leading axis of `params`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.gather_nd([[1, 2], [3, 4]], [[0, 1], [1, 0]]).numpy()
        array([2, 3], dtype=int32)
    """

    def take(params: jax.Array, indices: jax.Array) -> jax.Array:
        return params[tuple(jnp.moveaxis(indices, -1, 0))]

    return lift_with_promotion(_vmap_arrays(take, batch_dims))(params, indices)


def _vmap_arrays(
    fn: Callable[[jax.Array, jax.Array], jax.Array], batch_dims: int
) -> Callable[[TensorLike, TensorLike], jax.Array]:
    """Vectorize `fn` over leading axes, and convert its arguments to arrays."""
    for _ in range(batch_dims):
        fn = jax.vmap(fn)

    @functools.wraps(fn)
    def run(params: TensorLike, indices: TensorLike) -> jax.Array:
        return fn(jnp.asarray(params), jnp.asarray(indices))

    return run


def _scatter(method: str, tensor: TensorLike, indices: TensorLike, updates: TensorLike) -> Tensor:
    """Return a copy of `tensor` changed at `indices` by a method of `Array.at`, such as "add"."""

    @lift_with_promotion
    def scatter(tensor: TensorLike, indices: TensorLike, updates: TensorLike) -> jax.Array:
        tensor = jnp.asarray(tensor)
        position = tuple(jnp.moveaxis(jnp.asarray(indices), -1, 0))
        updates = jnp.asarray(updates).astype(tensor.dtype)
        result: jax.Array = getattr(tensor.at[position], method)(updates)
        return result

    return scatter(tensor, indices, updates)


@fold_constants
def tensor_scatter_nd_update(
    tensor: TensorLike, indices: TensorLike, updates: TensorLike, name: str | None = None
) -> Tensor:
    """Return a copy with the elements at `indices` replaced by `updates`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.tensor_scatter_nd_update([1, 2, 3], [[1]], [9]).numpy()
        array([1, 9, 3], dtype=int32)
    """
    return _scatter("set", tensor, indices, updates)


@fold_constants
def tensor_scatter_nd_add(
    tensor: TensorLike, indices: TensorLike, updates: TensorLike, name: str | None = None
) -> Tensor:
    """Return a copy with `updates` added at `indices`; updates of one element add up.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.tensor_scatter_nd_add([1, 2, 3], [[1], [1]], [9, 9]).numpy()
        array([ 1, 20,  3], dtype=int32)
    """
    return _scatter("add", tensor, indices, updates)


@fold_constants
def tensor_scatter_nd_sub(
    tensor: TensorLike, indices: TensorLike, updates: TensorLike, name: str | None = None
) -> Tensor:
    """Return a copy with `updates` subtracted at `indices`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.tensor_scatter_nd_sub([1, 2, 3], [[1]], [2]).numpy()
        array([1, 0, 3], dtype=int32)
    """
    return _scatter("subtract", tensor, indices, updates)


@fold_constants
def tensor_scatter_nd_max(
    tensor: TensorLike, indices: TensorLike, updates: TensorLike, name: str | None = None
) -> Tensor:
    """Return a copy with the elementwise maximum of the elements at `indices` and `updates`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.tensor_scatter_nd_max([1, 2, 3], [[1]], [9]).numpy()
        array([1, 9, 3], dtype=int32)
    """
    return _scatter("max", tensor, indices, updates)


@fold_constants
def tensor_scatter_nd_min(
    tensor: TensorLike, indices: TensorLike, updates: TensorLike, name: str | None = None
) -> Tensor:
    """Return a copy with the elementwise minimum of the elements at `indices` and `updates`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.tensor_scatter_nd_min([1, 2, 3], [[1]], [0]).numpy()
        array([1, 0, 3], dtype=int32)
    """
    return _scatter("min", tensor, indices, updates)


@fold_constants
def scatter_nd(
    indices: TensorLike, updates: TensorLike, shape: ShapeLike, name: str | None = None
) -> Tensor:
    """Create zeros of a shape, with `updates` added at `indices`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.scatter_nd([[1]], [9], [3]).numpy()
        array([0, 9, 0], dtype=int32)
    """
    return ops.scatter(indices, updates, static_shape(shape))


def where(
    condition: TensorLike,
    x: TensorLike | None = None,
    y: TensorLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Return `x` where the condition is true and `y` elsewhere.

    With the condition alone, return the indices of its true elements.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.where([True, False], 1.0, 2.0).numpy(), tf.where([False, True]).numpy()
        (array([1., 2.], dtype=float32), array([[1]], dtype=int32))
    """
    if x is None and y is None:
        indices: Tensor = convert_to_tensor(np.argwhere(np.asarray(condition)).astype("int32"))
        return indices
    if x is None or y is None:
        raise ValueError("tf.where() was given only one of x and y; both or neither were expected.")
    return ops.where(condition, x, y)


def boolean_mask(
    tensor: TensorLike, mask: TensorLike, axis: int | None = None, name: str = "boolean_mask"
) -> Tensor:
    """Return the elements where `mask` is true. Works eagerly only: the size depends on values.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.boolean_mask([1, 2, 3], [True, False, True]).numpy()
        array([1, 3], dtype=int32)
    """
    selected, mask_axis = np.asarray(mask), axis or 0

    @lift_with_promotion
    def take(tensor: TensorLike) -> jax.Array:
        if selected.ndim != 1:
            return jnp.asarray(tensor)[np.nonzero(selected)]
        rows = jnp.moveaxis(jnp.asarray(tensor), mask_axis, 0)
        return jnp.moveaxis(rows[np.nonzero(selected)], 0, mask_axis)

    return take(tensor)


def slice(
    input_: TensorLike, begin: TensorLike, size: ShapeLike, name: str | None = None
) -> Tensor:
    """Return a block of `size` that starts at `begin`; a size of -1 extends to the end.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.slice([[1, 2, 3], [4, 5, 6]], [0, 1], [1, -1]).numpy()
        array([[2, 3]], dtype=int32)
    """
    start = begin if isinstance(begin, (list, tuple)) else list(begin)  # type: ignore[arg-type]
    lengths = static_shape(size)
    if -1 in lengths:
        shape = static_shape(ops.shape(input_))
        lengths = tuple(
            total - int(first) if length < 0 else length
            for total, first, length in zip(shape, start, lengths, strict=True)
        )
    return ops.slice(input_, start, lengths)


def dynamic_partition(
    data: TensorLike, partitions: TensorLike, num_partitions: int, name: str | None = None
) -> list[Tensor]:
    """Split the rows of `data` into a list by partition number. Works eagerly only.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> [part.numpy().tolist() for part in tf.dynamic_partition([1, 2, 3], [1, 0, 1], 2)]
        [[2], [1, 3]]
    """
    numbers = np.asarray(partitions)
    return [boolean_mask(data, numbers == i) for i in range(num_partitions)]
