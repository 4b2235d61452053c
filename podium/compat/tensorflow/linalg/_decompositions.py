"""Decompositions, inverses and linear systems of `tf.linalg`."""

from __future__ import annotations

from podium import ops
from podium._typing import TensorLike
from podium.compat.tensorflow._decorators import fold_constants
from podium.compat.tensorflow.linalg._products import matrix_transpose
from podium.core import Tensor


@fold_constants
def cholesky(input: TensorLike, name: str | None = None) -> Tensor:
    """Compute the Cholesky factor of matrices.

    The same as `podium.ops.cholesky`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.linalg.cholesky([[4.0, 0.0], [0.0, 9.0]]).numpy()
        array([[2., 0.],
               [0., 3.]], dtype=float32)
    """
    return ops.cholesky(input)


@fold_constants
def det(input: TensorLike, name: str | None = None) -> Tensor:
    """Compute the determinant of matrices.

    The same as `podium.ops.det`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.linalg.det([[4.0, 0.0], [0.0, 9.0]]).numpy()
        array(36., dtype=float32)
    """
    return ops.det(input)


@fold_constants
def eigh(tensor: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Compute the eigenvalues and eigenvectors of symmetric matrices.

    The same as `podium.ops.eigh`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> [v.numpy().tolist() for v in tf.linalg.eigh([[4.0, 0.0], [0.0, 9.0]])]
        [[4.0, 9.0], [[1.0, 0.0], [0.0, 1.0]]]
    """
    return ops.eigh(tensor)


@fold_constants
def logdet(matrix: TensorLike, name: str | None = None) -> Tensor:
    """Compute the logarithm of the determinant of positive definite matrices.

    The same as `podium.ops.logdet`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.linalg.logdet([[4.0, 0.0], [0.0, 9.0]]).numpy()
        array(3.583519, dtype=float32)
    """
    return ops.logdet(matrix)


@fold_constants
def pinv(a: TensorLike, rcond: float | None = None, name: str | None = None) -> Tensor:
    """Compute the pseudo-inverse of matrices.

    The same as `podium.ops.pinv`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.linalg.pinv([[4.0, 0.0], [0.0, 9.0]]).numpy()
        array([[0.25      , 0.        ],
               [0.        , 0.11111111]], dtype=float32)
    """
    return ops.pinv(a, rcond)


@fold_constants
def slogdet(input: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Compute the sign and the logarithm of the absolute value of the determinant.

    The same as `podium.ops.slogdet`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> [float(v) for v in tf.linalg.slogdet([[4.0, 0.0], [0.0, 9.0]])]
        [1.0, 3.5835189819335938]
    """
    return ops.slogdet(input)


@fold_constants
def inv(input: TensorLike, adjoint: bool = False, name: str | None = None) -> Tensor:
    """Compute the inverse of matrices.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.linalg.inv([[2.0, 0.0], [0.0, 4.0]]).numpy()
        array([[0.5 , 0.  ],
               [0.  , 0.25]], dtype=float32)
    """
    return ops.inv(matrix_transpose(input, conjugate=True) if adjoint else input)


@fold_constants
def solve(
    matrix: TensorLike, rhs: TensorLike, adjoint: bool = False, name: str | None = None
) -> Tensor:
    """Solve systems of linear equations.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.linalg.solve([[2.0, 0.0], [0.0, 4.0]], [[2.0], [4.0]]).numpy()
        array([[1.],
               [1.]], dtype=float32)
    """
    return ops.solve(matrix_transpose(matrix, conjugate=True) if adjoint else matrix, rhs)


@fold_constants
def triangular_solve(
    matrix: TensorLike,
    rhs: TensorLike,
    lower: bool = True,
    adjoint: bool = False,
    name: str | None = None,
) -> Tensor:
    """Solve systems of linear equations with a triangular matrix.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.linalg.triangular_solve([[2.0, 0.0], [1.0, 1.0]], [[2.0], [2.0]]).numpy()
        array([[1.],
               [1.]], dtype=float32)
    """
    return (
        ops.solve_triangular(matrix_transpose(matrix, conjugate=True), rhs, lower=not lower)
        if adjoint
        else ops.solve_triangular(matrix, rhs, lower=lower)
    )


def svd(
    tensor: TensorLike,
    full_matrices: bool = False,
    compute_uv: bool = True,
    name: str | None = None,
) -> Tensor | tuple[Tensor, Tensor, Tensor]:
    """Compute the singular values `s`, and with `compute_uv` also `u` and `v`.

    The input is `u @ diag(s) @ transpose(v)`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> s, u, v = tf.linalg.svd([[2.0, 0.0], [0.0, 1.0]])
        >>> s.numpy()
        array([2., 1.], dtype=float32)
    """
    if not compute_uv:
        return ops.svd(tensor, full_matrices, compute_uv=False)
    u, s, v = ops.svd(tensor, full_matrices, True)
    return s, u, matrix_transpose(v, conjugate=True)


def qr(
    input: TensorLike, full_matrices: bool = False, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Compute an orthogonal and an upper triangular matrix whose product is the input.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> q, r = tf.linalg.qr([[1.0], [0.0]])
        >>> q.shape, r.shape
        ((2, 1), (1, 1))
    """
    q, r = ops.qr(input, "complete" if full_matrices else "reduced")
    return q, r
