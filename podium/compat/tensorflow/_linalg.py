"""`tf.linalg`: products and matrices."""

from typing import Any

import jax.numpy as jnp

from podium import ops
from podium.compat.tensorflow._table import alias
from podium.core import dispatch, lift, promote_dtypes


def matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    output_type: Any = None,
    name: str | None = None,
) -> Any:
    """Multiply matrices, or batches of them.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.matmul([[1.0, 2.0]], [[3.0, 4.0]], transpose_b=True).numpy()
        array([[11.]], dtype=float32)
    """
    if transpose_a or adjoint_a:
        a = matrix_transpose(a, conjugate=adjoint_a)
    if transpose_b or adjoint_b:
        b = matrix_transpose(b, conjugate=adjoint_b)
    return ops.matmul(a, b)


def _matrix_transpose(x: Any, conjugate: bool) -> Any:
    x = jnp.swapaxes(jnp.asarray(x), -1, -2)
    return jnp.conj(x) if conjugate else x


matrix_transpose = alias(
    "matrix_transpose(a, name='matrix_transpose', conjugate=False)",
    lift(_matrix_transpose),
    "tf.linalg.matrix_transpose([[1, 2, 3]]).shape",
    "(3, 1)",
    "Swap the last two axes.",
)
matvec = alias(
    "matvec(a, b, transpose_a=False, name=None)",
    lambda a, b, transpose_a: ops.matmul(
        matrix_transpose(a) if transpose_a else a, ops.expand_dims(b, -1)
    )[..., 0],
    "tf.linalg.matvec([[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0]).numpy()",
    "array([3., 7.], dtype=float32)",
    "A matrix times a vector.",
)


def einsum(equation: str, *inputs: Any, **kwargs: Any) -> Any:
    """Multiply and sum along named axes.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.einsum("ij,j->i", [[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0]).numpy()
        array([3., 7.], dtype=float32)
    """
    return ops.einsum(equation, *inputs)


tensordot = alias("tensordot(a, b, axes, name=None)", ops.tensordot)
cross = alias("cross(a, b, name=None)", ops.cross)
cholesky = alias("cholesky(input, name=None)", ops.cholesky)
det = alias("det(input, name=None)", ops.det)
eigh = alias("eigh(tensor, name=None)", ops.eigh)
logdet = alias("logdet(matrix, name=None)", ops.logdet)
pinv = alias("pinv(a, rcond=None, name=None)", ops.pinv)
slogdet = alias("slogdet(input, name=None)", ops.slogdet)
inv = alias(
    "inv(input, adjoint=False, name=None)",
    lambda x, adjoint: ops.inv(matrix_transpose(x, conjugate=True) if adjoint else x),
    "tf.linalg.inv([[2.0, 0.0], [0.0, 4.0]]).numpy()",
    "array([[0.5 , 0.  ],\n       [0.  , 0.25]], dtype=float32)",
    "The inverse of matrices.",
)
solve = alias(
    "solve(matrix, rhs, adjoint=False, name=None)",
    lambda a, b, adjoint: ops.solve(matrix_transpose(a, conjugate=True) if adjoint else a, b),
    "tf.linalg.solve([[2.0, 0.0], [0.0, 4.0]], [[2.0], [4.0]]).numpy()",
    "array([[1.],\n       [1.]], dtype=float32)",
    "Solve systems of linear equations.",
)
triangular_solve = alias(
    "triangular_solve(matrix, rhs, lower=True, adjoint=False, name=None)",
    lambda a, b, lower, adjoint: (
        ops.solve_triangular(matrix_transpose(a, conjugate=True), b, lower=not lower)
        if adjoint
        else ops.solve_triangular(a, b, lower=lower)
    ),
    "tf.linalg.triangular_solve([[2.0, 0.0], [1.0, 1.0]], [[2.0], [2.0]]).numpy()",
    "array([[1.],\n       [1.]], dtype=float32)",
    "Solve systems of linear equations with a triangular matrix.",
)
trace = alias(
    "trace(x, name=None)",
    lift(lambda x: jnp.trace(jnp.asarray(x), axis1=-2, axis2=-1)),
    "tf.linalg.trace([[1.0, 2.0], [3.0, 4.0]]).numpy()",
    "array(5., dtype=float32)",
    "The sum of the diagonal.",
)


def svd(
    tensor: Any, full_matrices: bool = False, compute_uv: bool = True, name: str | None = None
) -> Any:
    """Singular values `s`, and with `compute_uv` also `u` and `v`, such that `tensor = u @ diag(s)
    @ transpose(v)`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> s, u, v = tf.linalg.svd([[2.0, 0.0], [0.0, 1.0]])
        >>> s.numpy()
        array([2., 1.], dtype=float32)
    """
    if not compute_uv:
        return ops.svd(tensor, full_matrices, False)
    u, s, v = ops.svd(tensor, full_matrices, True)
    return s, u, matrix_transpose(v, conjugate=True)


def qr(input: Any, full_matrices: bool = False, name: str | None = None) -> Any:
    """An orthogonal and an upper triangular matrix whose product is the input.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> q, r = tf.linalg.qr([[1.0], [0.0]])
        >>> q.shape, r.shape
        ((2, 1), (1, 1))
    """
    return ops.qr(input, "complete" if full_matrices else "reduced")


def normalize(
    tensor: Any, ord: Any = "euclidean", axis: Any = None, name: str | None = None
) -> tuple[Any, Any]:
    """Vectors scaled to length one, and their lengths before.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> unit, length = tf.linalg.normalize([3.0, 4.0])
        >>> unit.numpy(), length.numpy()
        (array([0.6, 0.8], dtype=float32), array([5.], dtype=float32))
    """
    if ord not in ("euclidean", "fro", 2):
        raise ValueError(
            f"ord={ord!r} was given; 'euclidean' was expected: Podium's tf.linalg.normalize "
            "knows no other."
        )
    length = ops.sqrt(
        ops.sum(
            ops.square(ops.abs(tensor)),
            axis=tuple(axis) if isinstance(axis, list) else axis,
            keepdims=True,
        )
    )
    return ops.divide(tensor, length), length


# --- diagonals and parts of matrices


def _diag(x: Any) -> Any:
    x = jnp.asarray(x)
    return x[..., None] * jnp.eye(x.shape[-1], dtype=x.dtype)


diag = alias(
    "diag(diagonal, name='diag')",
    lift(_diag),
    "tf.linalg.diag([1, 2]).numpy()",
    "array([[1, 0],\n       [0, 2]], dtype=int32)",
    "Matrices with a diagonal, zeros elsewhere.",
)
diag_part = alias(
    "diag_part(input, name='diag_part', k=0)",
    lift(lambda x, k: jnp.diagonal(jnp.asarray(x), k, -2, -1)),
    "tf.linalg.diag_part([[1, 2], [3, 4]]).numpy()",
    "array([1, 4], dtype=int32)",
    "The diagonal of matrices.",
)


def _set_diag(x: Any, diagonal: Any, k: int) -> Any:
    x = jnp.asarray(x)
    length = jnp.shape(jnp.diagonal(x, k, -2, -1))[-1]
    places = jnp.arange(length)
    return x.at[..., places + max(-k, 0), places + max(k, 0)].set(
        jnp.asarray(diagonal).astype(x.dtype)
    )


set_diag = alias(
    "set_diag(input, diagonal, name='set_diag', k=0)",
    lift(promote_dtypes(_set_diag)),
    "tf.linalg.set_diag([[1, 2], [3, 4]], [0, 0]).numpy()",
    "array([[0, 2],\n       [3, 0]], dtype=int32)",
    "A copy with another diagonal.",
)


def band_part(input: Any, num_lower: Any, num_upper: Any, name: str | None = None) -> Any:
    """Keep diagonals near the main one, zeros elsewhere; -1 keeps all on that side.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.linalg.band_part([[1, 2], [3, 4]], -1, 0).numpy()
        array([[1, 0],
               [3, 4]], dtype=int32)
    """
    below, above = int(num_lower), int(num_upper)

    def keep(x: Any) -> Any:
        x = jnp.asarray(x)
        offset = jnp.arange(x.shape[-1])[None, :] - jnp.arange(x.shape[-2])[:, None]
        inside = ((below < 0) | (-offset <= below)) & ((above < 0) | (offset <= above))
        return jnp.where(inside, x, jnp.zeros((), x.dtype))

    return dispatch(keep, input)
