"""Signs, absolute values, rounding and clipping, element-wise."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from podium._typing import TensorLike
from podium.core import Tensor
from podium.ops._operation import array_function, dispatch, operation
from podium.ops._promotion import is_integer, to_float


@array_function()
def _absolute(x: Array) -> Array:
    return jnp.absolute(x)


@operation(_absolute)
def absolute(x: TensorLike) -> Tensor:
    """Absolute value, element-wise.

    Args:
        x: Input tensor.

    Example:
        >>> ops.absolute([-1.5, 2.0]).numpy()
        array([1.5, 2. ], dtype=float32)
    """
    return dispatch(_absolute, x)


@array_function()
def _abs(x: Array) -> Array:
    return jnp.absolute(x)


@operation(_abs)
def abs(x: TensorLike) -> Tensor:
    """Absolute value, element-wise; an alias of `absolute`.

    Args:
        x: Input tensor.

    Example:
        >>> ops.abs([-3, 4]).numpy()
        array([3, 4], dtype=int32)
    """
    return dispatch(_abs, x)


@array_function()
def _fabs(x: Array) -> Array:
    if jnp.iscomplexobj(x):
        raise TypeError("expected real numbers. For complex numbers use `ops.absolute`.")
    return jnp.fabs(to_float(x))


@operation(_fabs)
def fabs(x: TensorLike) -> Tensor:
    """Absolute value of real numbers, as a float.

    Args:
        x: Real tensor. Integers become floats.

    Example:
        >>> ops.fabs([-1, 2]).numpy()
        array([1., 2.], dtype=float32)
    """
    return dispatch(_fabs, x)


@array_function()
def _negative(x: Array) -> Array:
    return jnp.negative(x)


@operation(_negative)
def negative(x: TensorLike) -> Tensor:
    """Negate, element-wise.

    Args:
        x: Input tensor.

    Example:
        >>> ops.negative([1, -2]).numpy()
        array([-1,  2], dtype=int32)
    """
    return dispatch(_negative, x)


@array_function()
def _sign(x: Array) -> Array:
    return jnp.sign(x)


@operation(_sign)
def sign(x: TensorLike) -> Tensor:
    """Sign of each element: -1, 0 or 1.

    Args:
        x: Input tensor.

    Example:
        >>> ops.sign([-3, 0, 5]).numpy()
        array([-1,  0,  1], dtype=int32)
    """
    return dispatch(_sign, x)


@array_function()
def _signbit(x: Array) -> Array:
    return jnp.signbit(x)


@operation(_signbit)
def signbit(x: TensorLike) -> Tensor:
    """Return whether the sign bit of each element is set.

    Args:
        x: Input tensor.

    Example:
        >>> ops.signbit([-1.0, 2.0]).numpy()
        array([ True, False])
    """
    return dispatch(_signbit, x)


@array_function()
def _ceil(x: Array) -> Array:
    return jnp.ceil(to_float(x))


@operation(_ceil)
def ceil(x: TensorLike) -> Tensor:
    """Round up to the nearest integer, as a float.

    Args:
        x: Input tensor.

    Example:
        >>> ops.ceil([-1.5, 1.2]).numpy()
        array([-1.,  2.], dtype=float32)
    """
    return dispatch(_ceil, x)


@array_function()
def _floor(x: Array) -> Array:
    return jnp.floor(to_float(x))


@operation(_floor)
def floor(x: TensorLike) -> Tensor:
    """Round down to the nearest integer, as a float.

    Args:
        x: Input tensor.

    Example:
        >>> ops.floor([-1.5, 1.2]).numpy()
        array([-2.,  1.], dtype=float32)
    """
    return dispatch(_floor, x)


@array_function()
def _trunc(x: Array) -> Array:
    return x if is_integer(x) else jnp.trunc(x)


@operation(_trunc)
def trunc(x: TensorLike) -> Tensor:
    """Round towards zero, dropping the fraction.

    Args:
        x: Input tensor.

    Example:
        >>> ops.trunc([-1.7, 1.7]).numpy()
        array([-1.,  1.], dtype=float32)
    """
    return dispatch(_trunc, x)


@array_function()
def _round(x: Array, decimals: int = 0) -> Array:
    if is_integer(x) and decimals < 0:  # not supported by jnp.round
        factor = 10.0**decimals
        return (jnp.round(to_float(x) * factor) / factor).astype(x.dtype)
    return jnp.round(x, decimals=decimals)


@operation(_round)
def round(x: TensorLike, decimals: int = 0) -> Tensor:
    """Round to a number of decimals, with ties to the nearest even value.

    Args:
        x: Input tensor. Integers stay integers.
        decimals: Number of decimals to keep. Negative rounds to tens, hundreds and so on.

    Example:
        >>> ops.round([1.25, 2.5, -0.7]).numpy()
        array([ 1.,  2., -1.], dtype=float32)
        >>> ops.round([123, 168], decimals=-1).numpy()
        array([120, 170], dtype=int32)
    """
    return dispatch(_round, x, decimals)


@array_function("x x_min x_max")
def _clip(x: Array, x_min: Array | None, x_max: Array | None) -> Array:
    x = x.astype("int32") if x.dtype == jnp.bool_ else x
    return jnp.clip(x, x_min, x_max)


@operation(_clip)
def clip(x: TensorLike, x_min: TensorLike | None, x_max: TensorLike | None) -> Tensor:
    """Clip values to an interval.

    Args:
        x: Input tensor. Booleans become integers.
        x_min: Lower bound, broadcast against `x`. `None` means no bound.
        x_max: Upper bound, broadcast against `x`. `None` means no bound.

    Example:
        >>> ops.clip([-1, 5, 9], 0, 6).numpy()
        array([0, 5, 6], dtype=int32)
    """
    return dispatch(_clip, x, x_min, x_max)


@array_function()
def _nan_to_num(
    x: Array, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Array:
    return jnp.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)


@operation(_nan_to_num)
def nan_to_num(
    x: TensorLike, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Tensor:
    """Replace NaN and infinities by finite numbers.

    Args:
        x: Input tensor.
        nan: Replacement for NaN.
        posinf: Replacement for infinity. `None` means the largest finite number.
        neginf: Replacement for minus infinity. `None` means the lowest finite number.

    Example:
        >>> ops.nan_to_num([1.0, np.nan, np.inf], posinf=9.0).numpy()
        array([1., 0., 9.], dtype=float32)
    """
    return dispatch(_nan_to_num, x, nan, posinf, neginf)


@array_function()
def _copy(x: Array) -> Array:
    return jnp.copy(x)


@operation(_copy)
def copy(x: TensorLike) -> Tensor:
    """Return a copy of a tensor.

    Args:
        x: Input tensor.

    Example:
        >>> ops.copy([1, 2]).numpy()
        array([1, 2], dtype=int32)
    """
    return dispatch(_copy, x)
