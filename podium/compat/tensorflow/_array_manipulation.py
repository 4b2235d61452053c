"""Array manipulation: `tf.reshape`, `tf.transpose`, `tf.concat`, `tf.split`, `tf.pad`, ..."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import jax
import jax.numpy as jnp
import numpy as np

from podium import ops
from podium._typing import Axis, ShapeLike, TensorLike
from podium.compat.tensorflow._decorators import fold_constants, is_static, lift_with_promotion
from podium.compat.tensorflow._shapes import ShapeVector, static_shape
from podium.core import Tensor

newaxis = None


@fold_constants
def reshape(tensor: TensorLike, shape: ShapeLike, name: str | None = None) -> Tensor:
    """Change the shape; one size may be -1.

    The same as `podium.ops.reshape`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.reshape([1, 2, 3, 4], (2, -1)).numpy()
        array([[1, 2],
               [3, 4]], dtype=int32)
    """
    return ops.reshape(tensor, static_shape(shape))


@fold_constants
def broadcast_to(input: TensorLike, shape: ShapeLike, name: str | None = None) -> Tensor:
    """Broadcast to a shape.

    The same as `podium.ops.broadcast_to`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.broadcast_to([1, 2], (2, 2)).numpy()
        array([[1, 2],
               [1, 2]], dtype=int32)
    """
    return ops.broadcast_to(input, static_shape(shape))


@fold_constants
def tile(input: TensorLike, multiples: ShapeLike, name: str | None = None) -> Tensor:
    """Repeat a tensor along each axis.

    The same as `podium.ops.tile`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.tile([1, 2], 2).numpy()
        array([1, 2, 1, 2], dtype=int32)
    """
    return ops.tile(input, static_shape(multiples))


def _as_axis(axis: int | Sequence[int] | TensorLike) -> int | tuple[int, ...]:
    """Convert an axis argument of TensorFlow, which may be a Tensor, to what `podium.ops` takes."""
    if isinstance(axis, int):
        return axis
    return tuple(axis) if isinstance(axis, (list, tuple)) else int(axis)  # type: ignore[arg-type]


@fold_constants
def expand_dims(input: TensorLike, axis: int | Sequence[int], name: str | None = None) -> Tensor:
    """Insert an axis of size 1.

    The same as `podium.ops.expand_dims`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.expand_dims([1, 2], axis=-1).numpy()
        array([[1],
               [2]], dtype=int32)
    """
    return ops.expand_dims(input, _as_axis(axis))


@fold_constants
def squeeze(input: TensorLike, axis: Axis = None, name: str | None = None) -> Tensor:
    """Remove axes of size 1, all of them unless `axis` is given.

    The same as `podium.ops.squeeze`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.squeeze([[[1, 2]]], axis=0).numpy()
        array([[1, 2]], dtype=int32)
    """
    return ops.squeeze(input, None if axis is None or axis == [] else _as_axis(axis))


@fold_constants
def transpose(
    a: TensorLike, perm: ShapeLike | None = None, conjugate: bool = False, name: str = "transpose"
) -> Tensor:
    """Permute the axes; reverses them unless `perm` is given.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.transpose(tf.zeros((2, 3, 4)), perm=[0, 2, 1]).shape
        (2, 4, 3)
    """
    x = ops.transpose(a, None if perm is None else static_shape(perm))
    return ops.conj(x) if conjugate else x


@fold_constants
def reverse(tensor: TensorLike, axis: int | Sequence[int], name: str | None = None) -> Tensor:
    """Reverse the order of elements along axes.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.reverse([1, 2, 3], axis=[0]).numpy()
        array([3, 2, 1], dtype=int32)
    """
    return ops.flip(tensor, _as_axis(axis))


@lift_with_promotion
def _roll(x: TensorLike, shift: int | Sequence[int], axis: int | Sequence[int]) -> jax.Array:
    return jnp.roll(jnp.asarray(x), _as_axis(shift), _as_axis(axis))


@fold_constants
def roll(
    input: TensorLike,
    shift: int | Sequence[int],
    axis: int | Sequence[int],
    name: str | None = None,
) -> Tensor:
    """Shift elements along axes; elements shifted past the end are inserted at the start.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.roll([1, 2, 3], shift=1, axis=0).numpy()
        array([3, 1, 2], dtype=int32)
    """
    return _roll(input, shift, axis)


@fold_constants
def repeat(
    input: TensorLike, repeats: TensorLike, axis: int | None = None, name: str | None = None
) -> Tensor:
    """Repeat each element.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.repeat([1, 2], 2).numpy()
        array([1, 1, 2, 2], dtype=int32)
    """
    return ops.repeat(
        input, repeats if isinstance(repeats, int) else np.asarray(repeats), axis=axis
    )


def _shapes_as_lists(values: Sequence[TensorLike]) -> list[TensorLike]:
    return [list(value) if isinstance(value, ShapeVector) else value for value in values]


@fold_constants
def concat(values: Sequence[TensorLike], axis: int, name: str = "concat") -> Tensor:
    """Concatenate tensors along an existing axis.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.concat([[1, 2], [3]], axis=0).numpy()
        array([1, 2, 3], dtype=int32)
    """
    result = ops.concatenate(_shapes_as_lists(values), axis=int(axis))
    if is_static(values) and any(isinstance(value, ShapeVector) for value in values):
        return cast("Tensor", ShapeVector(result.numpy().tolist()))
    return result


@fold_constants
def stack(values: Sequence[TensorLike], axis: int = 0, name: str = "stack") -> Tensor:
    """Stack tensors along a new axis.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.stack([[1, 2], [3, 4]], axis=1).numpy()
        array([[1, 3],
               [2, 4]], dtype=int32)
    """
    return ops.stack(_shapes_as_lists(values), axis=int(axis))


@fold_constants
def unstack(
    value: TensorLike, num: int | None = None, axis: int = 0, name: str = "unstack"
) -> list[Tensor]:
    """Split a tensor into a list along an axis, which is removed.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> [float(part) for part in tf.unstack([1.0, 2.0])]
        [1.0, 2.0]
    """
    return list(ops.unstack(value, num, axis))


def split(
    value: TensorLike,
    num_or_size_splits: int | ShapeLike | TensorLike,
    axis: int = 0,
    num: int | None = None,
    name: str = "split",
) -> list[Tensor]:
    """Split a tensor into a list: a number of equal parts, or parts of given sizes.

    One of the sizes may be -1 for the remaining elements.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> [part.shape for part in tf.split(tf.zeros((5, 2)), [1, -1])]
        [(1, 2), (4, 2)]
    """
    split_axis = int(axis)
    if not np.ndim(num_or_size_splits):  # type: ignore[arg-type]
        num_parts = int(num_or_size_splits)  # type: ignore[arg-type]
        return list(fold_constants(ops.split)(value, num_parts, axis=split_axis))
    sizes = list(static_shape(num_or_size_splits))
    if -1 in sizes:
        known = sum(size for size in sizes if size >= 0)
        total = static_shape((ops.shape(value)[split_axis],))[0]
        sizes[sizes.index(-1)] = total - known
    boundaries = [int(boundary) for boundary in np.cumsum(sizes)[:-1]]
    return list(fold_constants(ops.split)(value, boundaries, axis=split_axis))


def pad(
    tensor: TensorLike,
    paddings: TensorLike,
    mode: str = "CONSTANT",
    constant_values: TensorLike = 0,
    name: str | None = None,
) -> Tensor:
    """Pad a tensor: `paddings` holds the widths before and after, for each axis.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.pad([1, 2], [[1, 2]]).numpy()
        array([0, 1, 2, 0, 0], dtype=int32)
    """
    pairs = paddings if isinstance(paddings, (list, tuple)) else np.asarray(paddings)
    padding_mode = mode.lower()
    return ops.pad(
        tensor,
        [static_shape(pair) for pair in pairs],
        mode=padding_mode,
        constant_values=constant_values if padding_mode == "constant" else None,
    )
