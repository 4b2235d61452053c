"""Products of tensors: matmul, dot, einsum and related operations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from podium._typing import TensorLike
from podium.core import Tensor
from podium.ops._operation import array_function, dispatch, operation
from podium.ops._promotion import as_array


@array_function()
def _matmul(x1: Array, x2: Array) -> Array:
    if x1.ndim == 0 or x2.ndim == 0:
        raise ValueError(
            "expected at least one axis on both sides. To scale by a number, use `ops.multiply`."
        )
    rows = x2.shape[-2] if x2.ndim > 1 else x2.shape[0]
    if x1.shape[-1] != rows:
        raise ValueError(
            "the last axis of x1 must be as long as the "
            f"{'second to last' if x2.ndim > 1 else 'only'} axis of x2, "
            f"and shapes {x1.shape} and {x2.shape} have {x1.shape[-1]} and {rows}. Transpose one "
            "of them, or check its source."
        )
    both_int8 = x1.dtype == x2.dtype == jnp.int8
    return jnp.matmul(x1, x2, preferred_element_type=jnp.int32 if both_int8 else None)


@operation(_matmul)
def matmul(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Matrix product, with broadcasting over leading batch axes.

    Args:
        x1: Tensor `(..., rows, inner)`, or a vector.
        x2: Tensor `(..., inner, columns)`, or a vector.

    Returns:
        Tensor `(..., rows, columns)`. The product of two int8 tensors is int32.

    Example:
        >>> ops.matmul([[1, 2], [3, 4]], [[1, 0], [0, 2]]).numpy()
        array([[1, 4],
               [3, 8]], dtype=int32)
    """
    return dispatch(_matmul, x1, x2)


@array_function()
def _dot(x1: Array, x2: Array) -> Array:
    return jnp.dot(x1, x2)


@operation(_dot)
def dot(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Dot product; matrix product for matrices.

    Args:
        x1: First tensor.
        x2: Second tensor.

    Example:
        >>> ops.dot([1, 2], [3, 4]).numpy()
        array(11, dtype=int32)
    """
    return dispatch(_dot, x1, x2)


@array_function()
def _vdot(x1: Array, x2: Array) -> Array:
    return jnp.vdot(x1, x2)


@operation(_vdot)
def vdot(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Dot product of the flattened tensors, the first one conjugated.

    Args:
        x1: First tensor.
        x2: Second tensor.

    Example:
        >>> ops.vdot([1, 2], [3, 4]).numpy()
        array(11, dtype=int32)
    """
    return dispatch(_vdot, x1, x2)


@array_function()
def _inner(x1: Array, x2: Array) -> Array:
    return jnp.inner(x1, x2)


@operation(_inner)
def inner(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Inner product over the last axes.

    Args:
        x1: First tensor.
        x2: Second tensor.

    Example:
        >>> ops.inner([1, 2], [3, 4]).numpy()
        array(11, dtype=int32)
    """
    return dispatch(_inner, x1, x2)


@array_function()
def _outer(x1: Array, x2: Array) -> Array:
    return jnp.outer(x1, x2)


@operation(_outer)
def outer(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Outer product of the flattened tensors.

    Args:
        x1: First tensor.
        x2: Second tensor.

    Example:
        >>> ops.outer([1, 2], [3, 4]).numpy()
        array([[3, 4],
               [6, 8]], dtype=int32)
    """
    return dispatch(_outer, x1, x2)


@array_function()
def _kron(x1: Array, x2: Array) -> Array:
    return jnp.kron(x1, x2)


@operation(_kron)
def kron(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Kronecker product.

    Args:
        x1: First tensor.
        x2: Second tensor.

    Example:
        >>> ops.kron([1, 2], [1, 1]).numpy()
        array([1, 1, 2, 2], dtype=int32)
    """
    return dispatch(_kron, x1, x2)


@array_function()
def _cross(
    x1: Array, x2: Array, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Array:
    return jnp.cross(x1, x2, axisa, axisb, axisc, axis)


@operation(_cross)
def cross(
    x1: TensorLike,
    x2: TensorLike,
    axisa: int = -1,
    axisb: int = -1,
    axisc: int = -1,
    axis: int | None = None,
) -> Tensor:
    """Cross product of vectors of size 3.

    Args:
        x1: First tensor.
        x2: Second tensor, broadcast against the first.
        axisa: Axis of `x1` that holds the vectors.
        axisb: Axis of `x2` that holds the vectors.
        axisc: Axis of the result that holds the vectors.
        axis: One axis for both inputs and the result, instead of `axisa`, `axisb` and `axisc`.

    Example:
        >>> ops.cross([1, 0, 0], [0, 1, 0]).numpy()
        array([0, 0, 1], dtype=int32)
    """
    return dispatch(_cross, x1, x2, axisa, axisb, axisc, axis)


@array_function("x1 x2")
def _tensordot(
    x1: Array, x2: Array, axes: int | Sequence[int] | Sequence[Sequence[int]] = 2
) -> Array:
    return jnp.tensordot(x1, x2, axes=axes)


@operation(_tensordot)
def tensordot(
    x1: TensorLike, x2: TensorLike, axes: int | Sequence[int] | Sequence[Sequence[int]] = 2
) -> Tensor:
    """Sum of products over the given axes.

    Args:
        x1: First tensor.
        x2: Second tensor.
        axes: Number of last axes of `x1` and first axes of `x2` to contract, or a pair of lists.

    Example:
        >>> ops.tensordot([[1, 2], [3, 4]], [1, 1], axes=1).numpy()
        array([3, 7], dtype=int32)
    """
    return dispatch(_tensordot, x1, x2, axes)


@array_function("")
def _einsum(subscripts: str, *operands: ArrayLike, **kwargs: Any) -> Array:
    arrays = list(map(as_array, operands))
    groups = subscripts.split("->")[0].split(",")
    if len(groups) != len(arrays):
        raise ValueError(
            f"{subscripts!r} names {len(groups)} operands, and {len(arrays)} were given."
        )
    if {x.dtype.name for x in arrays} == {"int8"}:
        kwargs["preferred_element_type"] = jnp.int32
    try:
        return jnp.einsum(subscripts, *arrays, **kwargs)
    except (TypeError, ValueError) as error:
        shapes = ", ".join(f"{g.strip()}: {x.shape}" for g, x in zip(groups, arrays, strict=True))
        raise ValueError(
            f"the shapes do not fit {subscripts!r} ({shapes}): a letter for each axis, and one "
            f"size for each letter. The error of JAX: {error}"
        ) from error


@operation(_einsum)
def einsum(subscripts: str, *operands: TensorLike, **kwargs: object) -> Tensor:
    """Sum of products in Einstein notation.

    Args:
        subscripts: Letters for the axes of each operand, and of the result: `"ij,jk->ik"`.
        *operands: One tensor for each group of letters.
        **kwargs: Options of `jnp.einsum`, such as `optimize`.

    Example:
        >>> ops.einsum("ij,j->i", [[1, 2], [3, 4]], [1, 1]).numpy()
        array([3, 7], dtype=int32)
    """
    product: Tensor = dispatch(_einsum, subscripts, *operands, **kwargs)
    return product


@array_function()
def _correlate(x1: Array, x2: Array, mode: str = "valid") -> Array:
    return jnp.correlate(x1, x2, mode)


@operation(_correlate)
def correlate(x1: TensorLike, x2: TensorLike, mode: str = "valid") -> Tensor:
    """Cross-correlation of two 1D tensors.

    Args:
        x1: First tensor.
        x2: Second 1D tensor.
        mode: Which overlaps to return: `valid`, `same` or `full`.

    Example:
        >>> ops.correlate([1, 2, 3], [1, 1]).numpy()
        array([3., 5.], dtype=float32)
    """
    return dispatch(_correlate, x1, x2, mode)
