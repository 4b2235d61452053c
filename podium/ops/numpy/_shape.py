"""Operations that change the shape or the order of axes.

Operations that move elements along axes are in `_rearrange.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jax import Array

from podium._typing import Axis, ShapeLike, TensorLike
from podium.core import Tensor
from podium.core.internal import context
from podium.ops._arguments import hashable_axis
from podium.ops._operation import array_function, dispatch, operation


@array_function("x")
def _reshape(x: Array, newshape: ShapeLike) -> Array:
    shape = tuple(newshape) if isinstance(newshape, (Sequence, np.ndarray)) else (newshape,)
    shape = tuple(-1 if d is None else d for d in shape)
    if shape.count(-1) > 1:
        raise ValueError(
            f"at most one entry of `newshape` may be -1, and {shape} has {shape.count(-1)}. Name "
            "the other sizes."
        )
    try:
        return jnp.reshape(x, shape)
    except (TypeError, ValueError) as error:
        if -1 not in shape and _has_unknown_size(x):
            return jnp.broadcast_to(jnp.ravel(x)[0], shape)  # it is compared with data later
        raise ValueError(
            f"a tensor of shape {x.shape} cannot take the shape {shape}: both must hold the same "
            "number of elements. Use -1 for one size to have it computed."
        ) from error


def _has_unknown_size(x: Array) -> bool:
    """Return whether shapes are being inferred, and sizes of `x` may be those of placeholders."""
    placeholder = context.placeholder_size
    return placeholder is not None and x.size % placeholder == 0


@operation(_reshape)
def reshape(x: TensorLike, newshape: ShapeLike) -> Tensor:
    """Change the shape of a tensor, keeping its elements.

    Args:
        x: Input tensor.
        newshape: The new shape. One entry may be -1 (or `None`): it is computed.

    Example:
        >>> ops.reshape([1, 2, 3, 4], (2, -1)).numpy()
        array([[1, 2],
               [3, 4]], dtype=int32)
    """
    return dispatch(_reshape, x, newshape)


@array_function("x")
def _squeeze(x: Array, axis: Axis = None) -> Array:
    return jnp.squeeze(x, hashable_axis(axis))


@operation(_squeeze)
def squeeze(x: TensorLike, axis: Axis = None) -> Tensor:
    """Remove axes of size 1.

    Args:
        x: Input tensor.
        axis: The axis or axes to drop. `None` means every axis of size 1.

    Example:
        >>> ops.squeeze([[[1, 2]]], axis=0).numpy()
        array([[1, 2]], dtype=int32)
    """
    return dispatch(_squeeze, x, axis)


@array_function("x")
def _expand_dims(x: Array, axis: int | Sequence[int]) -> Array:
    return jnp.expand_dims(x, hashable_axis(axis))


@operation(_expand_dims)
def expand_dims(x: TensorLike, axis: int | Sequence[int]) -> Tensor:
    """Insert axes of size 1.

    Args:
        x: Input tensor.
        axis: Position of the new axis or axes.

    Example:
        >>> ops.expand_dims([1, 2], axis=-1).numpy()
        array([[1],
               [2]], dtype=int32)
    """
    return dispatch(_expand_dims, x, axis)


@array_function("x")
def _broadcast_to(x: Array, shape: Sequence[int]) -> Array:
    return jnp.broadcast_to(x, shape)


@operation(_broadcast_to)
def broadcast_to(x: TensorLike, shape: Sequence[int]) -> Tensor:
    """Broadcast a tensor to a shape.

    Args:
        x: Input tensor.
        shape: Shape of the result.

    Example:
        >>> ops.broadcast_to([1, 2], (2, 2)).numpy()
        array([[1, 2],
               [1, 2]], dtype=int32)
    """
    return dispatch(_broadcast_to, x, shape)


@array_function()
def _ravel(x: Array) -> Array:
    return jnp.ravel(x)


@operation(_ravel)
def ravel(x: TensorLike) -> Tensor:
    """Flatten to one axis.

    Args:
        x: Input tensor.

    Example:
        >>> ops.ravel([[1, 2], [3, 4]]).numpy()
        array([1, 2, 3, 4], dtype=int32)
    """
    return dispatch(_ravel, x)


@array_function()
def _transpose(x: Array, axes: Sequence[int] | None = None) -> Array:
    return jnp.transpose(x, axes)


@operation(_transpose)
def transpose(x: TensorLike, axes: Sequence[int] | None = None) -> Tensor:
    """Permute the axes; by default, reverse them.

    Args:
        x: Input tensor.
        axes: The new order of the axes. `None` reverses it.

    Example:
        >>> ops.transpose([[1, 2], [3, 4]]).numpy()
        array([[1, 3],
               [2, 4]], dtype=int32)
    """
    return dispatch(_transpose, x, axes)


@array_function("x")
def _moveaxis(x: Array, source: int | Sequence[int], destination: int | Sequence[int]) -> Array:
    return jnp.moveaxis(x, source, destination)


@operation(_moveaxis)
def moveaxis(
    x: TensorLike, source: int | Sequence[int], destination: int | Sequence[int]
) -> Tensor:
    """Move axes to other positions.

    Args:
        x: Input tensor.
        source: Axes to move.
        destination: New positions of those axes.

    Example:
        >>> tuple(ops.moveaxis(ops.zeros((2, 3, 4)), 0, -1).shape)
        (3, 4, 2)
    """
    return dispatch(_moveaxis, x, source, destination)


@array_function("x")
def _swapaxes(x: Array, axis1: int, axis2: int) -> Array:
    return jnp.swapaxes(x, axis1, axis2)


@operation(_swapaxes)
def swapaxes(x: TensorLike, axis1: int, axis2: int) -> Tensor:
    """Swap two axes.

    Args:
        x: Input tensor.
        axis1: First axis.
        axis2: Second axis.

    Example:
        >>> tuple(ops.swapaxes(ops.zeros((2, 3, 4)), 0, 2).shape)
        (4, 3, 2)
    """
    return dispatch(_swapaxes, x, axis1, axis2)
