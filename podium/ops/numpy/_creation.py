"""Operations that create tensors from shapes and values; sequences of values are in `_ranges.py`.

`dtype=None` means the default float dtype.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from podium._typing import DTypeLike, ShapeLike, TensorLike
from podium.core import Tensor
from podium.ops._arguments import dtype_or_default, dtype_or_none
from podium.ops._operation import array_function, dispatch, operation


@array_function("")
def _array(x: TensorLike, dtype: DTypeLike | None = None) -> Array:
    return jnp.array(x, dtype=dtype_or_none(dtype))


@operation(_array)
def array(x: TensorLike, dtype: DTypeLike | None = None) -> Tensor:
    """Create a tensor from a list, number or tensor.

    Args:
        x: Input tensor.
        dtype: Dtype of the result. `None` infers it from `x`.

    Example:
        >>> ops.array([1, 2], dtype='float32').numpy()
        array([1., 2.], dtype=float32)
    """
    return dispatch(_array, x, dtype)


@array_function("")
def _zeros(shape: ShapeLike, dtype: DTypeLike | None = None) -> Array:
    return jnp.zeros(shape, dtype_or_default(dtype))


@operation(_zeros)
def zeros(shape: ShapeLike, dtype: DTypeLike | None = None) -> Tensor:
    """Create a tensor of zeros.

    Args:
        shape: Shape of the result.
        dtype: Dtype of the result. `None` means the default float dtype.

    Example:
        >>> ops.zeros((2, 2)).numpy()
        array([[0., 0.],
               [0., 0.]], dtype=float32)
    """
    return dispatch(_zeros, shape, dtype)


@array_function("")
def _ones(shape: ShapeLike, dtype: DTypeLike | None = None) -> Array:
    return jnp.ones(shape, dtype_or_default(dtype))


@operation(_ones)
def ones(shape: ShapeLike, dtype: DTypeLike | None = None) -> Tensor:
    """Create a tensor of ones.

    Args:
        shape: Shape of the result.
        dtype: Dtype of the result. `None` means the default float dtype.

    Example:
        >>> ops.ones((2, 2)).numpy()
        array([[1., 1.],
               [1., 1.]], dtype=float32)
    """
    return dispatch(_ones, shape, dtype)


@array_function("")
def _empty(shape: ShapeLike, dtype: DTypeLike | None = None) -> Array:
    return jnp.empty(shape, dtype_or_default(dtype))


@operation(_empty)
def empty(shape: ShapeLike, dtype: DTypeLike | None = None) -> Tensor:
    """Create a tensor whose values are not specified.

    Args:
        shape: Shape of the result.
        dtype: Dtype of the result. `None` means the default float dtype.

    Example:
        >>> tuple(ops.empty((2, 3)).shape)
        (2, 3)
    """
    return dispatch(_empty, shape, dtype)


@array_function("fill_value")
def _full(shape: ShapeLike, fill_value: Array, dtype: DTypeLike | None = None) -> Array:
    return jnp.full(shape, fill_value, dtype_or_default(dtype))


@operation(_full)
def full(shape: ShapeLike, fill_value: TensorLike, dtype: DTypeLike | None = None) -> Tensor:
    """Create a tensor filled with a value.

    Args:
        shape: Shape of the result.
        fill_value: Value of the elements.
        dtype: Dtype of the result. `None` means the default float dtype.

    Example:
        >>> ops.full((2,), 7).numpy()
        array([7., 7.], dtype=float32)
    """
    return dispatch(_full, shape, fill_value, dtype)


@array_function()
def _zeros_like(x: Array, dtype: DTypeLike | None = None) -> Array:
    return jnp.zeros_like(x, dtype=dtype_or_none(dtype))


@operation(_zeros_like)
def zeros_like(x: TensorLike, dtype: DTypeLike | None = None) -> Tensor:
    """Create a tensor of zeros, shaped like `x`.

    Args:
        x: Input tensor.
        dtype: Dtype of the result. `None` means that of `x`.

    Example:
        >>> ops.zeros_like([3, 4]).numpy()
        array([0, 0], dtype=int32)
    """
    return dispatch(_zeros_like, x, dtype)


@array_function()
def _ones_like(x: Array, dtype: DTypeLike | None = None) -> Array:
    return jnp.ones_like(x, dtype=dtype_or_none(dtype))


@operation(_ones_like)
def ones_like(x: TensorLike, dtype: DTypeLike | None = None) -> Tensor:
    """Create a tensor of ones, shaped like `x`.

    Args:
        x: Input tensor.
        dtype: Dtype of the result. `None` means that of `x`.

    Example:
        >>> ops.ones_like([3, 4]).numpy()
        array([1, 1], dtype=int32)
    """
    return dispatch(_ones_like, x, dtype)


@array_function()
def _empty_like(x: Array, dtype: DTypeLike | None = None) -> Array:
    return jnp.empty_like(x, dtype=dtype_or_none(dtype))


@operation(_empty_like)
def empty_like(x: TensorLike, dtype: DTypeLike | None = None) -> Tensor:
    """Create a tensor shaped like `x` whose values are not specified.

    Args:
        x: Input tensor.
        dtype: Dtype of the result. `None` means that of `x`.

    Example:
        >>> tuple(ops.empty_like([1, 2]).shape)
        (2,)
    """
    return dispatch(_empty_like, x, dtype)


@array_function()
def _full_like(x: Array, fill_value: Array, dtype: DTypeLike | None = None) -> Array:
    return jnp.full_like(x, fill_value, dtype=dtype_or_none(dtype))


@operation(_full_like)
def full_like(x: TensorLike, fill_value: TensorLike, dtype: DTypeLike | None = None) -> Tensor:
    """Create a tensor shaped like `x`, filled with a value.

    Args:
        x: Input tensor.
        fill_value: Value of the elements.
        dtype: Dtype of the result. `None` means that of `x`.

    Example:
        >>> ops.full_like([1, 2], 7).numpy()
        array([7, 7], dtype=int32)
    """
    return dispatch(_full_like, x, fill_value, dtype)


@array_function("")
def _eye(N: int, M: int | None = None, k: int = 0, dtype: DTypeLike | None = None) -> Array:
    for name, value in (("N", N), ("M", M)):
        if isinstance(value, float) or (
            isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jnp.floating)
        ):
            raise TypeError(f"`{name}` must be an int.")
    return jnp.eye(N, M=M, k=k, dtype=dtype_or_default(dtype))


@operation(_eye)
def eye(N: int, M: int | None = None, k: int = 0, dtype: DTypeLike | None = None) -> Tensor:
    """Create a matrix with ones on a diagonal and zeros elsewhere.

    Args:
        N: Number of rows.
        M: Number of columns. Defaults to `N`.
        k: Index of the diagonal: 0 is the main one, positive values are above it.
        dtype: Dtype of the result. `None` means the default float dtype.

    Example:
        >>> ops.eye(2, 3).numpy()
        array([[1., 0., 0.],
               [0., 1., 0.]], dtype=float32)
    """
    return dispatch(_eye, N, M, k, dtype)


@array_function("")
def _identity(n: int, dtype: DTypeLike | None = None) -> Array:
    return jnp.identity(n, dtype_or_default(dtype))


@operation(_identity)
def identity(n: int, dtype: DTypeLike | None = None) -> Tensor:
    """Create an identity matrix.

    Args:
        n: Number of rows and columns.
        dtype: Dtype of the result. `None` means the default float dtype.

    Example:
        >>> ops.identity(2).numpy()
        array([[1., 0.],
               [0., 1.]], dtype=float32)
    """
    return dispatch(_identity, n, dtype)


@array_function("")
def _tri(N: int, M: int | None = None, k: int = 0, dtype: DTypeLike | None = None) -> Array:
    return jnp.tri(N, M, k, dtype_or_default(dtype))


@operation(_tri)
def tri(N: int, M: int | None = None, k: int = 0, dtype: DTypeLike | None = None) -> Tensor:
    """Create a lower triangular matrix of ones.

    Args:
        N: Number of rows.
        M: Number of columns. Defaults to `N`.
        k: Index of the last diagonal with ones: 0 is the main one, positive values are above
            it.
        dtype: Dtype of the result. `None` means the default float dtype.

    Example:
        >>> ops.tri(2).numpy()
        array([[1., 0.],
               [1., 1.]], dtype=float32)
    """
    return dispatch(_tri, N, M, k, dtype)
