"""Diagonals and triangles of matrices."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from podium._typing import TensorLike
from podium.core import Tensor
from podium.ops._operation import array_function, dispatch, operation


@array_function()
def _diag(x: Array, k: int = 0) -> Array:
    return jnp.diag(x, k)


@operation(_diag)
def diag(x: TensorLike, k: int = 0) -> Tensor:
    """Extract a diagonal, or build a diagonal matrix.

    Args:
        x: Input tensor.
        k: Index of the diagonal: 0 is the main one, positive values are above it.

    Example:
        >>> ops.diag([1, 2]).numpy()
        array([[1, 0],
               [0, 2]], dtype=int32)
    """
    return dispatch(_diag, x, k)


@array_function()
def _diagflat(x: Array, k: int = 0) -> Array:
    return jnp.diagflat(x, k)


@operation(_diagflat)
def diagflat(x: TensorLike, k: int = 0) -> Tensor:
    """Build a matrix with the flattened input on a diagonal.

    Args:
        x: Input tensor.
        k: Index of the diagonal: 0 is the main one, positive values are above it.

    Example:
        >>> ops.diagflat([[1], [2]]).numpy()
        array([[1, 0],
               [0, 2]], dtype=int32)
    """
    return dispatch(_diagflat, x, k)


@array_function()
def _diagonal(x: Array, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    diagonal_elements: Array = jnp.diagonal(x, offset, axis1, axis2)
    return diagonal_elements


@operation(_diagonal)
def diagonal(x: TensorLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """Extract a diagonal of a matrix.

    Args:
        x: Input tensor.
        offset: Index of the diagonal: 0 is the main one, positive values are above it.
        axis1: First axis.
        axis2: Second axis.

    Example:
        >>> ops.diagonal([[1, 2], [3, 4]]).numpy()
        array([1, 4], dtype=int32)
    """
    return dispatch(_diagonal, x, offset, axis1, axis2)


@array_function()
def _trace(x: Array, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    return jnp.trace(x, offset, axis1, axis2)


@operation(_trace)
def trace(x: TensorLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """Sum of the elements of a diagonal.

    Args:
        x: Input tensor.
        offset: Index of the diagonal: 0 is the main one, positive values are above it.
        axis1: First axis.
        axis2: Second axis.

    Example:
        >>> ops.trace([[1, 2], [3, 4]]).numpy()
        array(5, dtype=int32)
    """
    return dispatch(_trace, x, offset, axis1, axis2)


@array_function()
def _tril(x: Array, k: int = 0) -> Array:
    return jnp.tril(x, k)


@operation(_tril)
def tril(x: TensorLike, k: int = 0) -> Tensor:
    """Lower triangle: set elements above a diagonal to zero.

    Args:
        x: Input tensor.
        k: Index of the diagonal: 0 is the main one, positive values are above it.

    Example:
        >>> ops.tril([[1, 2], [3, 4]]).numpy()
        array([[1, 0],
               [3, 4]], dtype=int32)
    """
    return dispatch(_tril, x, k)


@array_function()
def _triu(x: Array, k: int = 0) -> Array:
    return jnp.triu(x, k)


@operation(_triu)
def triu(x: TensorLike, k: int = 0) -> Tensor:
    """Upper triangle: set elements below a diagonal to zero.

    Args:
        x: Input tensor.
        k: Index of the diagonal: 0 is the main one, positive values are above it.

    Example:
        >>> ops.triu([[1, 2], [3, 4]]).numpy()
        array([[1, 2],
               [0, 4]], dtype=int32)
    """
    return dispatch(_triu, x, k)
