"""Bitwise operations and shifts of integers, element-wise."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from podium._typing import TensorLike
from podium.core import Tensor
from podium.ops._operation import array_function, dispatch, operation


@array_function()
def _bitwise_and(x: Array, y: Array) -> Array:
    return jnp.bitwise_and(x, y)


@operation(_bitwise_and)
def bitwise_and(x: TensorLike, y: TensorLike) -> Tensor:
    """Bitwise AND of two integer tensors.

    Args:
        x: Input tensor.
        y: Second tensor.

    Example:
        >>> ops.bitwise_and([6, 5], 3).numpy()
        array([2, 1], dtype=int32)
    """
    return dispatch(_bitwise_and, x, y)


@array_function()
def _bitwise_or(x: Array, y: Array) -> Array:
    return jnp.bitwise_or(x, y)


@operation(_bitwise_or)
def bitwise_or(x: TensorLike, y: TensorLike) -> Tensor:
    """Bitwise OR of two integer tensors.

    Args:
        x: Input tensor.
        y: Second tensor.

    Example:
        >>> ops.bitwise_or([6, 5], 3).numpy()
        array([7, 7], dtype=int32)
    """
    return dispatch(_bitwise_or, x, y)


@array_function()
def _bitwise_xor(x: Array, y: Array) -> Array:
    return jnp.bitwise_xor(x, y)


@operation(_bitwise_xor)
def bitwise_xor(x: TensorLike, y: TensorLike) -> Tensor:
    """Bitwise XOR of two integer tensors.

    Args:
        x: Input tensor.
        y: Second tensor.

    Example:
        >>> ops.bitwise_xor([6, 5], 3).numpy()
        array([5, 6], dtype=int32)
    """
    return dispatch(_bitwise_xor, x, y)


@array_function()
def _bitwise_invert(x: Array) -> Array:
    return jnp.invert(x)


@operation(_bitwise_invert)
def bitwise_invert(x: TensorLike) -> Tensor:
    """Flip every bit.

    Args:
        x: Input tensor.

    Example:
        >>> ops.bitwise_invert([0, 5]).numpy()
        array([-1, -6], dtype=int32)
    """
    return dispatch(_bitwise_invert, x)


@array_function()
def _bitwise_not(x: Array) -> Array:
    return jnp.invert(x)


@operation(_bitwise_not)
def bitwise_not(x: TensorLike) -> Tensor:
    """Flip every bit; an alias of `bitwise_invert`.

    Args:
        x: Input tensor.

    Example:
        >>> ops.bitwise_not([0, 5]).numpy()
        array([-1, -6], dtype=int32)
    """
    return dispatch(_bitwise_not, x)


@array_function()
def _bitwise_left_shift(x: Array, y: Array) -> Array:
    return jnp.left_shift(x, y)


@operation(_bitwise_left_shift)
def bitwise_left_shift(x: TensorLike, y: TensorLike) -> Tensor:
    """Shift the bits of `x` to the left by `y`.

    Args:
        x: Input tensor.
        y: Second tensor.

    Example:
        >>> ops.bitwise_left_shift([1, 3], 2).numpy()
        array([ 4, 12], dtype=int32)
    """
    return dispatch(_bitwise_left_shift, x, y)


@array_function()
def _bitwise_right_shift(x: Array, y: Array) -> Array:
    return jnp.right_shift(x, y)


@operation(_bitwise_right_shift)
def bitwise_right_shift(x: TensorLike, y: TensorLike) -> Tensor:
    """Shift the bits of `x` to the right by `y`.

    Args:
        x: Input tensor.
        y: Second tensor.

    Example:
        >>> ops.bitwise_right_shift([8, 5], 2).numpy()
        array([2, 1], dtype=int32)
    """
    return dispatch(_bitwise_right_shift, x, y)


@array_function()
def _left_shift(x: Array, y: Array) -> Array:
    return jnp.left_shift(x, y)


@operation(_left_shift)
def left_shift(x: TensorLike, y: TensorLike) -> Tensor:
    """Shift the bits of `x` to the left by `y`; an alias of `bitwise_left_shift`.

    Args:
        x: Input tensor.
        y: Second tensor.

    Example:
        >>> ops.left_shift([1, 3], 2).numpy()
        array([ 4, 12], dtype=int32)
    """
    return dispatch(_left_shift, x, y)


@array_function()
def _right_shift(x: Array, y: Array) -> Array:
    return jnp.right_shift(x, y)


@operation(_right_shift)
def right_shift(x: TensorLike, y: TensorLike) -> Tensor:
    """Shift the bits of `x` to the right by `y`; an alias of `bitwise_right_shift`.

    Args:
        x: Input tensor.
        y: Second tensor.

    Example:
        >>> ops.right_shift([8, 5], 2).numpy()
        array([2, 1], dtype=int32)
    """
    return dispatch(_right_shift, x, y)
