"""Linear systems, inverses and determinants. All take batches of matrices in the last two axes."""

from __future__ import annotations

import jax.numpy as jnp
import jax.scipy as jsp
from jax import Array

from podium._typing import TensorLike
from podium.core import Tensor
from podium.ops._arguments import as_matrix
from podium.ops._operation import array_function, dispatch, operation
from podium.ops._promotion import to_float


def _check_system(a: Array, b: Array) -> None:
    if b.ndim < 1:
        raise ValueError("`b` must have at least one axis.")
    rows = b.shape[-1] if b.ndim == a.ndim - 1 else b.shape[-2] if b.ndim > 1 else b.shape[0]
    if rows != a.shape[-1]:
        raise ValueError(
            f"`b` of shape {b.shape} must have as many rows as `a` of shape {a.shape}."
        )


@array_function()
def _solve(a: Array, b: Array) -> Array:
    a, b = as_matrix(a, square=True, name="a"), to_float(b)
    _check_system(a, b)
    solution: Array = jnp.linalg.solve(a, b)
    return solution


@operation(_solve)
def solve(a: TensorLike, b: TensorLike) -> Tensor:
    """Solve `a @ x == b` for `x`.

    Args:
        a: Square matrix.
        b: Right-hand side, a vector or a matrix.

    Example:
        >>> ops.solve([[4.0, 0.0], [0.0, 9.0]], [8.0, 9.0]).numpy()
        array([2., 1.], dtype=float32)
    """
    return dispatch(_solve, a, b)


@array_function()
def _solve_triangular(a: Array, b: Array, lower: bool = False) -> Array:
    a, b = as_matrix(a, square=True, name="a"), to_float(b)
    _check_system(a, b)
    return jsp.linalg.solve_triangular(a, b, lower=lower)


@operation(_solve_triangular)
def solve_triangular(a: TensorLike, b: TensorLike, lower: bool = False) -> Tensor:
    """Solve `a @ x == b` for `x`, with a triangular `a`.

    Args:
        a: Triangular matrix.
        b: Right-hand side, a vector or a matrix.
        lower: Whether `a` is lower triangular.

    Example:
        >>> ops.solve_triangular([[2.0, 1.0], [0.0, 4.0]], [4.0, 8.0]).numpy()
        array([1., 2.], dtype=float32)
    """
    return dispatch(_solve_triangular, a, b, lower)


@array_function()
def _lstsq(a: Array, b: Array, rcond: float | None = None) -> Array:
    return jnp.linalg.lstsq(as_matrix(a, name="a"), to_float(b), rcond=rcond)[0]


@operation(_lstsq)
def lstsq(a: TensorLike, b: TensorLike, rcond: float | None = None) -> Tensor:
    """Least-squares solution of `a @ x == b`.

    Args:
        a: Input tensor.
        b: Right-hand side, a vector or a matrix.
        rcond: Singular values below `rcond` times the largest one are treated as zero.

    Example:
        >>> ops.lstsq([[4.0, 0.0], [0.0, 9.0]], [8.0, 9.0]).numpy()
        array([2., 1.], dtype=float32)
    """
    return dispatch(_lstsq, a, b, rcond)


@array_function()
def _inv(x: Array) -> Array:
    inverse: Array = jnp.linalg.inv(as_matrix(x, square=True))
    return inverse


@operation(_inv)
def inv(x: TensorLike) -> Tensor:
    """Matrix inverse.

    Args:
        x: Input tensor.

    Example:
        >>> ops.inv([[4.0, 0.0], [0.0, 9.0]]).numpy()
        array([[0.25      , 0.        ],
               [0.        , 0.11111111]], dtype=float32)
    """
    return dispatch(_inv, x)


@array_function()
def _pinv(x: Array, rcond: float | None = None) -> Array:
    return jnp.linalg.pinv(as_matrix(x), rtol=rcond)


@operation(_pinv)
def pinv(x: TensorLike, rcond: float | None = None) -> Tensor:
    """Moore-Penrose pseudo-inverse.

    Args:
        x: Input tensor.
        rcond: Singular values below `rcond` times the largest one are treated as zero.

    Example:
        >>> ops.pinv([[4.0, 0.0], [0.0, 9.0]]).numpy()
        array([[0.25      , 0.        ],
               [0.        , 0.11111111]], dtype=float32)
    """
    return dispatch(_pinv, x, rcond)


@array_function()
def _cholesky_inverse(x: Array, upper: bool = False) -> Array:
    x = as_matrix(x, square=True)
    inverse = jsp.linalg.solve_triangular(
        x, jnp.broadcast_to(jnp.eye(x.shape[-1], dtype=x.dtype), x.shape), lower=not upper
    )
    transposed = jnp.swapaxes(inverse, -1, -2)
    return jnp.matmul(inverse, transposed) if upper else jnp.matmul(transposed, inverse)


@operation(_cholesky_inverse)
def cholesky_inverse(x: TensorLike, upper: bool = False) -> Tensor:
    """Inverse of a matrix from its Cholesky factor.

    Args:
        x: Input tensor.
        upper: Whether the factor is upper triangular.

    Example:
        >>> ops.cholesky_inverse([[2.0, 0.0], [0.0, 4.0]]).numpy()
        array([[0.25  , 0.    ],
               [0.    , 0.0625]], dtype=float32)
    """
    return dispatch(_cholesky_inverse, x, upper)


@array_function()
def _det(x: Array) -> Array:
    determinant: Array = jnp.linalg.det(as_matrix(x, square=True))
    return determinant


@operation(_det)
def det(x: TensorLike) -> Tensor:
    """Determinant.

    Args:
        x: Input tensor.

    Example:
        >>> ops.det([[4.0, 0.0], [0.0, 9.0]]).numpy()
        array(36., dtype=float32)
    """
    return dispatch(_det, x)


@array_function()
def _slogdet(x: Array) -> tuple[Array, Array]:
    sign, log = jnp.linalg.slogdet(as_matrix(x, square=True))
    return sign, log


@operation(_slogdet)
def slogdet(x: TensorLike) -> tuple[Tensor, Tensor]:
    """Sign of the determinant, and logarithm of its absolute value.

    Args:
        x: Input tensor.

    Returns:
        The sign and the logarithm.

    Example:
        >>> [float(v) for v in ops.slogdet([[4.0, 0.0], [0.0, 9.0]])]
        [1.0, 3.5835189819335938]
    """
    return dispatch(_slogdet, x)


@array_function()
def _logdet(x: Array) -> Array:
    log: Array = jnp.linalg.slogdet(as_matrix(x, square=True))[1]
    return log


@operation(_logdet)
def logdet(x: TensorLike) -> Tensor:
    """Logarithm of the absolute value of the determinant, numerically stable.

    Args:
        x: Input tensor.

    Example:
        >>> ops.logdet([[4.0, 0.0], [0.0, 9.0]]).numpy()
        array(3.583519, dtype=float32)
    """
    return dispatch(_logdet, x)
