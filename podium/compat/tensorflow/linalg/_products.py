"""Products of matrices and tensors: `tf.matmul`, `tf.einsum`, `tf.tensordot`, ..."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from podium import ops
from podium._typing import DTypeLike, TensorLike
from podium.compat.tensorflow._decorators import fold_constants, lift_with_promotion
from podium.core import Tensor


def matmul(
    a: TensorLike,
    b: TensorLike,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    output_type: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
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


@lift_with_promotion
def _matrix_transpose(x: TensorLike, conjugate: bool) -> jax.Array:
    x = jnp.swapaxes(jnp.asarray(x), -1, -2)
    return jnp.conj(x) if conjugate else x


@fold_constants
def matrix_transpose(
    a: TensorLike, name: str = "matrix_transpose", conjugate: bool = False
) -> Tensor:
    """Swap the last two axes.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.linalg.matrix_transpose([[1, 2, 3]]).shape
        (3, 1)
    """
    return _matrix_transpose(a, conjugate)


@fold_constants
def matvec(
    a: TensorLike, b: TensorLike, transpose_a: bool = False, name: str | None = None
) -> Tensor:
    """Multiply matrices by vectors.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.linalg.matvec([[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0]).numpy()
        array([3., 7.], dtype=float32)
    """
    columns = ops.matmul(matrix_transpose(a) if transpose_a else a, ops.expand_dims(b, -1))
    vector: Tensor = columns[..., 0]
    return vector


def einsum(equation: str, *inputs: TensorLike, **kwargs: Any) -> Tensor:
    """Multiply and sum along named axes.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.einsum("ij,j->i", [[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0]).numpy()
        array([3., 7.], dtype=float32)
    """
    return ops.einsum(equation, *inputs)


@fold_constants
def tensordot(
    a: TensorLike,
    b: TensorLike,
    axes: int | Sequence[int] | Sequence[Sequence[int]],
    name: str | None = None,
) -> Tensor:
    """Contract two tensors along axes.

    The same as `podium.ops.tensordot`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.tensordot([[1, 2], [3, 4]], [1, 1], axes=1).numpy()
        array([3, 7], dtype=int32)
    """
    return ops.tensordot(a, b, axes)


@fold_constants
def cross(a: TensorLike, b: TensorLike, name: str | None = None) -> Tensor:
    """Compute the cross product of vectors.

    The same as `podium.ops.cross`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.linalg.cross([1, 0, 0], [0, 1, 0]).numpy()
        array([0, 0, 1], dtype=int32)
    """
    return ops.cross(a, b)


@lift_with_promotion
def _trace(x: TensorLike) -> jax.Array:
    return jnp.trace(jnp.asarray(x), axis1=-2, axis2=-1)


@fold_constants
def trace(x: TensorLike, name: str | None = None) -> Tensor:
    """Sum the diagonal of matrices.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.linalg.trace([[1.0, 2.0], [3.0, 4.0]]).numpy()
        array(5., dtype=float32)
    """
    return _trace(x)
