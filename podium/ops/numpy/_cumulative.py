"""Cumulative sums and products, differences, and integrals along an axis."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from podium._typing import DTypeLike, TensorLike
from podium.core import Tensor
from podium.ops._arguments import dtype_or_none
from podium.ops._operation import array_function, dispatch, operation


@array_function()
def _cumsum(x: Array, axis: int | None = None, dtype: DTypeLike | None = None) -> Array:
    return jnp.cumsum(x, axis=axis, dtype=dtype_or_none(dtype))


@operation(_cumsum)
def cumsum(x: TensorLike, axis: int | None = None, dtype: DTypeLike | None = None) -> Tensor:
    """Cumulative sum.

    Args:
        x: Input tensor.
        axis: Axis to operate along. `None` operates on the flattened tensor.
        dtype: Dtype of the result. `None` means that of `x`.

    Example:
        >>> ops.cumsum([[1, 2], [3, 4]], axis=1).numpy()
        array([[1, 3],
               [3, 7]], dtype=int32)
    """
    return dispatch(_cumsum, x, axis, dtype)


@array_function()
def _cumprod(x: Array, axis: int | None = None, dtype: DTypeLike | None = None) -> Array:
    return jnp.cumprod(x, axis=axis, dtype=dtype_or_none(dtype))


@operation(_cumprod)
def cumprod(x: TensorLike, axis: int | None = None, dtype: DTypeLike | None = None) -> Tensor:
    """Cumulative product.

    Args:
        x: Input tensor.
        axis: Axis to operate along. `None` operates on the flattened tensor.
        dtype: Dtype of the result. `None` means that of `x`.

    Example:
        >>> ops.cumprod([1, 2, 3]).numpy()
        array([1, 2, 6], dtype=int32)
    """
    return dispatch(_cumprod, x, axis, dtype)


@array_function()
def _diff(a: Array, n: int = 1, axis: int = -1) -> Array:
    return jnp.diff(a, n=n, axis=axis)


@operation(_diff)
def diff(a: TensorLike, n: int = 1, axis: int = -1) -> Tensor:
    """Differences of neighboring elements.

    Args:
        a: Input tensor.
        n: Number of times to take differences.
        axis: Axis to operate along.

    Example:
        >>> ops.diff([1, 4, 9]).numpy()
        array([3, 5], dtype=int32)
    """
    return dispatch(_diff, a, n, axis)


@array_function("y x dx")
def _trapezoid(y: Array, x: Array | None = None, dx: Array | float = 1.0, axis: int = -1) -> Array:
    return jnp.trapezoid(y, x, dx=dx, axis=axis)


@operation(_trapezoid)
def trapezoid(
    y: TensorLike, x: TensorLike | None = None, dx: TensorLike = 1.0, axis: int = -1
) -> Tensor:
    """Integral by the trapezoidal rule.

    Args:
        y: Tensor of samples.
        x: Positions of the samples. `None` means a constant distance of `dx`.
        dx: Distance between samples when `x` is `None`.
        axis: Axis to operate along.

    Example:
        >>> ops.trapezoid([1.0, 2.0, 3.0]).numpy()
        array(4., dtype=float32)
    """
    return dispatch(_trapezoid, y, x, dx, axis)
