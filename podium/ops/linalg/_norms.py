"""Norms, distances and ranks."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from podium._typing import Axis, TensorLike
from podium.core import Tensor
from podium.ops._arguments import as_matrix, hashable_axis
from podium.ops._operation import array_function, dispatch, operation
from podium.ops._promotion import to_float


@array_function()
def _norm(
    x: Array, ord: int | float | str | None = None, axis: Axis = None, keepdims: bool = False
) -> Array:
    norms: Array = jnp.linalg.norm(
        to_float(x),
        ord=ord,
        axis=hashable_axis(axis),
        keepdims=keepdims,
    )
    return norms


@operation(_norm)
def norm(
    x: TensorLike, ord: int | float | str | None = None, axis: Axis = None, keepdims: bool = False
) -> Tensor:
    """Norm of vectors or matrices.

    Args:
        x: Input tensor.
        ord: Order of the norm: a number, `'fro'` or `'nuc'`. `None` means the 2-norm (Frobenius
            norm for matrices).
        axis: Axis of the vectors, or pair of axes of the matrices. `None` flattens the tensor.
        keepdims: Whether reduced axes are kept, with size 1.

    Example:
        >>> ops.norm([3.0, 4.0]).numpy()
        array(5., dtype=float32)
    """
    return dispatch(_norm, x, ord, axis, keepdims)


@array_function()
def _cdist(x: Array, y: Array) -> Array:
    if x.ndim < 2 or y.ndim < 2 or x.shape[-1] != y.shape[-1]:
        raise ValueError(
            "both must be matrices (or batches) with the same last axis, and shapes are "
            f"{x.shape} and {y.shape}."
        )
    difference = to_float(x)[..., :, None, :] - to_float(y)[..., None, :, :]
    return jnp.sqrt(jnp.sum(jnp.square(difference), axis=-1))


@operation(_cdist)
def cdist(x: TensorLike, y: TensorLike) -> Tensor:
    """Euclidean distances between the rows of two matrices.

    Args:
        x: Tensor `(..., points, size)`.
        y: Tensor `(..., other_points, size)`.

    Returns:
        Tensor `(..., points, other_points)`.

    Example:
        >>> ops.cdist([[0.0, 0.0]], [[3.0, 4.0], [0.0, 1.0]]).numpy()
        array([[5., 1.]], dtype=float32)
    """
    return dispatch(_cdist, x, y)


@array_function()
def _matrix_rank(x: Array, tol: float | None = None) -> Array:
    rank: Array = jnp.linalg.matrix_rank(as_matrix(x), rtol=tol).astype("int32")
    return rank


@operation(_matrix_rank)
def matrix_rank(x: TensorLike, tol: float | None = None) -> Tensor:
    """Rank of a matrix: the number of singular values above a tolerance.

    Args:
        x: Input tensor.
        tol: Singular values below `tol` times the largest one are treated as zero.

    Example:
        >>> ops.matrix_rank([[1.0, 2.0], [2.0, 4.0]]).numpy()
        array(1, dtype=int32)
    """
    return dispatch(_matrix_rank, x, tol)
