"""Matrix decompositions. All take batches of matrices in the last two axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, overload

import jax
import jax.numpy as jnp
import jax.scipy as jsp
from jax import Array

from podium._typing import TensorLike
from podium.core import Tensor, check_choice
from podium.ops._arguments import as_matrix
from podium.ops._operation import array_function, dispatch, operation


@array_function()
def _cholesky(x: Array, upper: bool = False) -> Array:
    x = as_matrix(x, square=True)
    factor: Array = jnp.linalg.cholesky(x, upper=upper)
    # Outside a trace the values are known, so a failure raises an error instead of returning NaN.
    if not isinstance(factor, jax.core.Tracer) and bool(jnp.any(jnp.isnan(factor))):
        raise ValueError(
            "the decomposition failed. `x` must be symmetric and positive definite; "
            "adding a small multiple of `ops.eye` often helps."
        )
    return factor


@operation(_cholesky)
def cholesky(x: TensorLike, upper: bool = False) -> Tensor:
    """Cholesky decomposition: the triangular `L` with `L @ L.T == x`.

    Args:
        x: Input tensor.
        upper: Whether the factor is upper triangular.

    Example:
        >>> ops.cholesky([[4.0, 0.0], [0.0, 9.0]]).numpy()
        array([[2., 0.],
               [0., 3.]], dtype=float32)
    """
    return dispatch(_cholesky, x, upper)


@array_function()
def _lu_factor(x: Array) -> tuple[Array, Array]:
    x = as_matrix(x)
    factor: Callable[[Array], tuple[Array, Array]] = jsp.linalg.lu_factor
    for _ in range(x.ndim - 2):
        factor = jax.vmap(factor)
    return factor(x)


@operation(_lu_factor)
def lu_factor(x: TensorLike) -> tuple[Tensor, Tensor]:
    """LU decomposition, packed into one matrix, and its pivots.

    Args:
        x: Input tensor.

    Returns:
        The packed matrix and the pivots.

    Example:
        >>> [v.numpy().tolist() for v in ops.lu_factor([[4.0, 0.0], [0.0, 9.0]])]
        [[[4.0, 0.0], [0.0, 9.0]], [0, 1]]
    """
    return dispatch(_lu_factor, x)


@array_function()
def _qr(x: Array, mode: str = "reduced") -> tuple[Array, Array]:
    q, r = jnp.linalg.qr(as_matrix(x), mode=check_choice("mode", mode, ("reduced", "complete")))
    return q, r


@operation(_qr)
def qr(x: TensorLike, mode: str = "reduced") -> tuple[Tensor, Tensor]:
    """QR decomposition: an orthogonal `Q` and an upper triangular `R` with `Q @ R == x`.

    Args:
        x: Input tensor.
        mode: `reduced` or `complete`; with `complete`, `Q` is square.

    Returns:
        `Q` and `R`.

    Example:
        >>> abs(ops.qr([[4.0, 0.0], [0.0, 9.0]])[1].numpy()).tolist()
        [[4.0, 0.0], [0.0, 9.0]]
    """
    return dispatch(_qr, x, mode)


@array_function()
def _svd(
    x: Array, full_matrices: bool = True, compute_uv: bool = True
) -> Array | tuple[Array, Array, Array]:
    if not compute_uv:
        return jnp.linalg.svd(as_matrix(x), full_matrices=full_matrices, compute_uv=False)
    u, s, vh = jnp.linalg.svd(as_matrix(x), full_matrices=full_matrices, compute_uv=True)
    return u, s, vh


@overload
def svd(
    x: TensorLike, full_matrices: bool = ..., compute_uv: Literal[True] = ...
) -> tuple[Tensor, Tensor, Tensor]: ...


@overload
def svd(x: TensorLike, full_matrices: bool, compute_uv: Literal[False]) -> Tensor: ...


@overload
def svd(x: TensorLike, full_matrices: bool = ..., *, compute_uv: Literal[False]) -> Tensor: ...


@operation(_svd)
def svd(
    x: TensorLike, full_matrices: bool = True, compute_uv: bool = True
) -> Tensor | tuple[Tensor, ...]:
    """Singular value decomposition.

    Args:
        x: Input tensor.
        full_matrices: Whether `U` and `V.T` are square.
        compute_uv: Whether to return `U` and `V.T` too.

    Returns:
        `U`, `S` and `V.T`, or `S` alone if `compute_uv` is `False`.

    Example:
        >>> ops.svd([[4.0, 0.0], [0.0, 9.0]], compute_uv=False).numpy()
        array([9., 4.], dtype=float32)
    """
    return dispatch(_svd, x, full_matrices, compute_uv)


@array_function()
def _eig(x: Array) -> tuple[Array, Array]:
    values, vectors = jnp.linalg.eig(as_matrix(x, square=True))
    return values, vectors


@operation(_eig)
def eig(x: TensorLike) -> tuple[Tensor, Tensor]:
    """Eigenvalues and right eigenvectors, complex. On CPU only.

    Args:
        x: Input tensor.

    Returns:
        The eigenvalues and the eigenvectors.

    Example:
        >>> [float(v) for v in ops.eig([[4.0, 0.0], [0.0, 9.0]])[0].numpy().real]
        [4.0, 9.0]
    """
    return dispatch(_eig, x)


@array_function()
def _eigh(x: Array) -> tuple[Array, Array]:
    values, vectors = jnp.linalg.eigh(as_matrix(x, square=True))
    return values, vectors


@operation(_eigh)
def eigh(x: TensorLike) -> tuple[Tensor, Tensor]:
    """Eigenvalues and eigenvectors of a symmetric matrix.

    Args:
        x: Input tensor.

    Returns:
        The eigenvalues and the eigenvectors.

    Example:
        >>> [v.numpy().tolist() for v in ops.eigh([[4.0, 0.0], [0.0, 9.0]])]
        [[4.0, 9.0], [[1.0, 0.0], [0.0, 1.0]]]
    """
    return dispatch(_eigh, x)
