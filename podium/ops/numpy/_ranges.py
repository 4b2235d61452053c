"""Operations that create sequences of values and grids."""

from __future__ import annotations

from typing import Any, Literal, overload

import jax.numpy as jnp
import numpy as np
from jax import Array, export
from jax.typing import ArrayLike

from podium._typing import DTypeLike, TensorLike
from podium.core import Tensor, floatx, standardize_dtype
from podium.ops._arguments import dtype_or_none
from podium.ops._operation import array_function, dispatch, operation
from podium.ops._promotion import as_array, result_type


def _argument_dtype(value: Any) -> np.dtype[Any]:
    if export.is_symbolic_dim(value) or isinstance(value, int):
        return np.dtype("int32")
    return jnp.dtype(floatx()) if isinstance(value, float) else as_array(value).dtype


@array_function("")
def _arange(
    start: ArrayLike,
    stop: ArrayLike | None = None,
    step: ArrayLike | None = None,
    dtype: DTypeLike | None = None,
) -> Array:
    if dtype is None:
        dtype = result_type(*(_argument_dtype(v) for v in (start, stop, step) if v is not None))
    return jnp.arange(start, stop, step=step, dtype=standardize_dtype(dtype))


@operation(_arange)
def arange(
    start: TensorLike,
    stop: TensorLike | None = None,
    step: TensorLike | None = None,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """Create evenly spaced values from `start` up to, but not including, `stop`.

    Args:
        start: First value; with one argument, the end (and the first value is 0).
        stop: End of the interval.
        step: Distance between values. Defaults to 1.
        dtype: Dtype of the result. `None` means that of the arguments.

    Example:
        >>> ops.arange(3).numpy(), ops.arange(0, 1, 0.5).numpy()
        (array([0, 1, 2], dtype=int32), array([0. , 0.5], dtype=float32))
    """
    return dispatch(_arange, start, stop, step, dtype)


@array_function()
def _linspace(
    start: Array,
    stop: Array,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Array | tuple[Array, Array]:
    return jnp.linspace(
        start,
        stop,
        num=num,
        endpoint=endpoint,
        retstep=retstep,
        dtype=dtype_or_none(dtype),
        axis=axis,
    )


@overload
def linspace(
    start: TensorLike,
    stop: TensorLike,
    num: int = ...,
    endpoint: bool = ...,
    retstep: Literal[False] = ...,
    dtype: DTypeLike | None = ...,
    axis: int = ...,
) -> Tensor: ...


@overload
def linspace(
    start: TensorLike,
    stop: TensorLike,
    num: int = ...,
    endpoint: bool = ...,
    *,
    retstep: Literal[True],
    dtype: DTypeLike | None = ...,
    axis: int = ...,
) -> tuple[Tensor, Tensor]: ...


@operation(_linspace)
def linspace(
    start: TensorLike,
    stop: TensorLike,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Tensor | tuple[Tensor, ...]:
    """Create evenly spaced values from `start` to `stop`.

    Args:
        start: First value.
        stop: End of the interval.
        num: Number of values.
        endpoint: Whether `stop` is included.
        retstep: Whether to return the step too.
        dtype: Dtype of the result. `None` infers it from the ends.
        axis: Position of the new axis when the ends are tensors.

    Returns:
        The values, with the step if `retstep` is `True`.

    Example:
        >>> ops.linspace(0.0, 1.0, num=3).numpy()
        array([0. , 0.5, 1. ], dtype=float32)
    """
    return dispatch(_linspace, start, stop, num, endpoint, retstep, dtype, axis)


@array_function()
def _logspace(
    start: Array,
    stop: Array,
    num: int = 50,
    endpoint: bool = True,
    base: float = 10,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Array:
    return jnp.logspace(
        start, stop, num=num, endpoint=endpoint, base=base, dtype=dtype_or_none(dtype), axis=axis
    )


@operation(_logspace)
def logspace(
    start: TensorLike,
    stop: TensorLike,
    num: int = 50,
    endpoint: bool = True,
    base: float = 10,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Tensor:
    """Create `base` to the power of evenly spaced values from `start` to `stop`.

    Args:
        start: First value.
        stop: End of the interval.
        num: Number of values.
        endpoint: Whether `stop` is included.
        base: Base of the powers.
        dtype: Dtype of the result. `None` infers it from the ends.
        axis: Position of the new axis when the ends are tensors.

    Example:
        >>> ops.logspace(0.0, 2.0, num=3).numpy()
        array([  1.,  10., 100.], dtype=float32)
    """
    return dispatch(_logspace, start, stop, num, endpoint, base, dtype, axis)


@array_function()
def _geomspace(
    start: Array,
    stop: Array,
    num: int = 50,
    endpoint: bool = True,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Array:
    return jnp.geomspace(
        start, stop, num=num, endpoint=endpoint, dtype=dtype_or_none(dtype), axis=axis
    )


@operation(_geomspace)
def geomspace(
    start: TensorLike,
    stop: TensorLike,
    num: int = 50,
    endpoint: bool = True,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Tensor:
    """Create evenly spaced values on a log scale from `start` to `stop`.

    Args:
        start: First value.
        stop: End of the interval.
        num: Number of values.
        endpoint: Whether `stop` is included.
        dtype: Dtype of the result. `None` infers it from the ends.
        axis: Position of the new axis when the ends are tensors.

    Example:
        >>> ops.geomspace(1.0, 8.0, num=4).numpy()
        array([1.       , 2.       , 4.0000005, 8.       ], dtype=float32)
    """
    return dispatch(_geomspace, start, stop, num, endpoint, dtype, axis)


@array_function("")
def _meshgrid(*x: ArrayLike, indexing: str = "xy") -> list[Array]:
    return jnp.meshgrid(*map(as_array, x), indexing=indexing)


@operation(_meshgrid)
def meshgrid(*x: TensorLike, indexing: str = "xy") -> list[Tensor]:
    """Create coordinate grids from coordinate vectors.

    Args:
        *x: 1D tensors, one for each axis.
        indexing: `xy` (the first vector runs along columns) or `ij` (along rows).

    Returns:
        A list with one grid for each vector.

    Example:
        >>> rows, columns = ops.meshgrid([0, 1], [5, 6, 7], indexing="ij")
        >>> columns.numpy()
        array([[5, 6, 7],
               [5, 6, 7]], dtype=int32)
    """
    return dispatch(_meshgrid, *x, indexing=indexing)


@array_function("x")
def _vander(x: Array, N: int | None = None, increasing: bool = False) -> Array:
    if x.ndim != 1:
        raise ValueError(f"expected a 1D tensor and got shape {x.shape}.")
    if N is not None and not isinstance(N, int):
        raise TypeError(f"`N` must be an int, not {type(N).__name__}.")
    if N is not None and N < 0:
        raise ValueError("`N` must not be negative.")
    return jnp.vander(x, N=N, increasing=increasing)


@operation(_vander)
def vander(x: TensorLike, N: int | None = None, increasing: bool = False) -> Tensor:
    """Create a Vandermonde matrix: powers of a vector as columns.

    Args:
        x: 1D tensor.
        N: Number of columns. Defaults to the length of `x`.
        increasing: Whether powers grow from left to right.

    Example:
        >>> ops.vander([1, 2, 3], 2).numpy()
        array([[1, 1],
               [2, 1],
               [3, 1]], dtype=int32)
    """
    return dispatch(_vander, x, N, increasing)
