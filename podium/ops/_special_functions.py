"""Special functions, element-wise: the error function and the reciprocal square root."""

from __future__ import annotations

from jax import Array, lax

from podium._typing import TensorLike
from podium.core import Tensor
from podium.ops._operation import array_function, dispatch, operation
from podium.ops._promotion import to_float


@array_function()
def _erf(x: Array) -> Array:
    return lax.erf(to_float(x))


@operation(_erf)
def erf(x: TensorLike) -> Tensor:
    """The error function.

    Args:
        x: Input tensor.

    Example:
        >>> ops.erf([0.0, 1.0]).numpy()
        array([0.        , 0.84270084], dtype=float32)
    """
    return dispatch(_erf, x)


@array_function()
def _erfc(x: Array) -> Array:
    return lax.erfc(to_float(x))


@operation(_erfc)
def erfc(x: TensorLike) -> Tensor:
    """One minus the error function, accurate in the tail.

    Args:
        x: Input tensor.

    Example:
        >>> ops.erfc([0.0, 1.0]).numpy()
        array([1.        , 0.15729924], dtype=float32)
    """
    return dispatch(_erfc, x)


@array_function()
def _erfinv(x: Array) -> Array:
    return lax.erf_inv(to_float(x))


@operation(_erfinv)
def erfinv(x: TensorLike) -> Tensor:
    """Inverse of the error function.

    Args:
        x: Input tensor.

    Example:
        >>> ops.erfinv([0.0, 0.5]).numpy()
        array([0.        , 0.47693628], dtype=float32)
    """
    return dispatch(_erfinv, x)


@array_function()
def _rsqrt(x: Array) -> Array:
    return lax.rsqrt(to_float(x))


@operation(_rsqrt)
def rsqrt(x: TensorLike) -> Tensor:
    """Reciprocal of the square root.

    Args:
        x: Input tensor.

    Example:
        >>> ops.rsqrt([1.0, 4.0]).numpy()
        array([1. , 0.5], dtype=float32)
    """
    return dispatch(_rsqrt, x)
