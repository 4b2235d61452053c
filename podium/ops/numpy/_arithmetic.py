"""Arithmetic on two tensors, element-wise with broadcasting: sums, products, quotients, extremes.

Powers are in `_exponents.py`, comparisons in `_comparison.py`.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from podium._typing import TensorLike
from podium.core import Tensor
from podium.ops._operation import array_function, dispatch, operation


@array_function()
def _add(x1: Array, x2: Array) -> Array:
    return jnp.add(x1, x2)


@operation(_add)
def add(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Add two tensors, element-wise.

    Args:
        x1: First tensor.
        x2: Second tensor, broadcast against the first.

    Example:
        >>> ops.add([1, 2], 3).numpy()
        array([4, 5], dtype=int32)
    """
    return dispatch(_add, x1, x2)


@array_function()
def _subtract(x1: Array, x2: Array) -> Array:
    return jnp.subtract(x1, x2)


@operation(_subtract)
def subtract(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Subtract two tensors, element-wise.

    Args:
        x1: First tensor.
        x2: Second tensor, broadcast against the first.

    Example:
        >>> ops.subtract([1, 2], 3).numpy()
        array([-2, -1], dtype=int32)
    """
    return dispatch(_subtract, x1, x2)


@array_function()
def _multiply(x1: Array, x2: Array) -> Array:
    return jnp.multiply(x1, x2)


@operation(_multiply)
def multiply(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Multiply two tensors, element-wise.

    Args:
        x1: First tensor.
        x2: Second tensor, broadcast against the first.

    Example:
        >>> ops.multiply([1, 2], 3).numpy()
        array([3, 6], dtype=int32)
    """
    return dispatch(_multiply, x1, x2)


@array_function()
def _divide(x1: Array, x2: Array) -> Array:
    return jnp.divide(x1, x2)


@operation(_divide)
def divide(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Divide two tensors, element-wise; the quotient of integers is a float.

    Args:
        x1: First tensor.
        x2: Second tensor, broadcast against the first.

    Example:
        >>> ops.divide([1, 2], 4).numpy()
        array([0.25, 0.5 ], dtype=float32)
    """
    return dispatch(_divide, x1, x2)


@array_function()
def _true_divide(x1: Array, x2: Array) -> Array:
    return jnp.divide(x1, x2)


@operation(_true_divide)
def true_divide(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Divide two tensors, element-wise; an alias of `divide`.

    Args:
        x1: First tensor.
        x2: Second tensor, broadcast against the first.

    Example:
        >>> ops.true_divide([1, 2], 4).numpy()
        array([0.25, 0.5 ], dtype=float32)
    """
    return dispatch(_true_divide, x1, x2)


@array_function()
def _divide_no_nan(x1: Array, x2: Array) -> Array:
    is_zero = x2 == 0
    # Divide by 1 where the divisor is 0: a `where` alone would still let NaN into the gradient.
    return jnp.where(is_zero, 0, jnp.divide(x1, jnp.where(is_zero, 1, x2)))


@operation(_divide_no_nan)
def divide_no_nan(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Divide two tensors, with 0 where the divisor is 0. The gradient there is 0 too.

    Args:
        x1: Tensor to be divided.
        x2: Divisor, broadcast against `x1`.

    Example:
        >>> ops.divide_no_nan([1.0, 2.0], [0.0, 4.0]).numpy()
        array([0. , 0.5], dtype=float32)
    """
    return dispatch(_divide_no_nan, x1, x2)


@array_function()
def _floor_divide(x1: Array, x2: Array) -> Array:
    return jnp.floor_divide(x1, x2)


@operation(_floor_divide)
def floor_divide(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Divide and round down, element-wise.

    Args:
        x1: First tensor.
        x2: Second tensor, broadcast against the first.

    Example:
        >>> ops.floor_divide([7, -7], 2).numpy()
        array([ 3, -4], dtype=int32)
    """
    return dispatch(_floor_divide, x1, x2)


@array_function()
def _mod(x1: Array, x2: Array) -> Array:
    return jnp.mod(x1, x2)


@operation(_mod)
def mod(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Element-wise remainder with the sign of `x2`.

    Args:
        x1: First tensor.
        x2: Second tensor, broadcast against the first.

    Example:
        >>> ops.mod([7, -7], 3).numpy()
        array([1, 2], dtype=int32)
    """
    return dispatch(_mod, x1, x2)


@array_function()
def _fmod(x1: Array, x2: Array) -> Array:
    return jnp.fmod(x1, x2)


@operation(_fmod)
def fmod(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Element-wise remainder with the sign of `x1`.

    Args:
        x1: First tensor.
        x2: Second tensor, broadcast against the first.

    Example:
        >>> ops.fmod([7, -7], 3).numpy()
        array([ 1, -1], dtype=int32)
    """
    return dispatch(_fmod, x1, x2)


@array_function()
def _maximum(x1: Array, x2: Array) -> Array:
    return jnp.maximum(x1, x2)


@operation(_maximum)
def maximum(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Element-wise maximum; NaN propagates.

    Args:
        x1: First tensor.
        x2: Second tensor, broadcast against the first.

    Example:
        >>> ops.maximum([1, 5], 3).numpy()
        array([3, 5], dtype=int32)
    """
    return dispatch(_maximum, x1, x2)


@array_function()
def _minimum(x1: Array, x2: Array) -> Array:
    return jnp.minimum(x1, x2)


@operation(_minimum)
def minimum(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Element-wise minimum; NaN propagates.

    Args:
        x1: First tensor.
        x2: Second tensor, broadcast against the first.

    Example:
        >>> ops.minimum([1, 5], 3).numpy()
        array([1, 3], dtype=int32)
    """
    return dispatch(_minimum, x1, x2)


@array_function()
def _fmax(x1: Array, x2: Array) -> Array:
    return jnp.fmax(x1, x2)


@operation(_fmax)
def fmax(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Element-wise maximum that ignores NaN where the other value is a number.

    Args:
        x1: First tensor.
        x2: Second tensor, broadcast against the first.

    Example:
        >>> ops.fmax([1.0, np.nan], 0.5).numpy()
        array([1. , 0.5], dtype=float32)
    """
    return dispatch(_fmax, x1, x2)


@array_function()
def _fmin(x1: Array, x2: Array) -> Array:
    return jnp.fmin(x1, x2)


@operation(_fmin)
def fmin(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Element-wise minimum that ignores NaN where the other value is a number.

    Args:
        x1: First tensor.
        x2: Second tensor, broadcast against the first.

    Example:
        >>> ops.fmin([1.0, np.nan], 0.5).numpy()
        array([0.5, 0.5], dtype=float32)
    """
    return dispatch(_fmin, x1, x2)


@array_function()
def _gcd(x1: Array, x2: Array) -> Array:
    return jnp.gcd(x1, x2)


@operation(_gcd)
def gcd(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Greatest common divisor of integers.

    Args:
        x1: First tensor.
        x2: Second tensor, broadcast against the first.

    Example:
        >>> ops.gcd([12, 9], 6).numpy()
        array([6, 3], dtype=int32)
    """
    return dispatch(_gcd, x1, x2)


@array_function()
def _lcm(x1: Array, x2: Array) -> Array:
    return jnp.lcm(x1, x2)


@operation(_lcm)
def lcm(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Least common multiple of integers.

    Args:
        x1: First tensor.
        x2: Second tensor, broadcast against the first.

    Example:
        >>> ops.lcm([4, 6], 10).numpy()
        array([20, 30], dtype=int32)
    """
    return dispatch(_lcm, x1, x2)


@array_function()
def _heaviside(x1: Array, x2: Array) -> Array:
    return jnp.heaviside(x1, x2)


@operation(_heaviside)
def heaviside(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Heaviside step function: 0 below zero, 1 above, `x2` at zero.

    Args:
        x1: First tensor.
        x2: Second tensor, broadcast against the first.

    Example:
        >>> ops.heaviside([-1.0, 0.0, 2.0], 0.5).numpy()
        array([0. , 0.5, 1. ], dtype=float32)
    """
    return dispatch(_heaviside, x1, x2)


@array_function()
def _nextafter(x1: Array, x2: Array) -> Array:
    return jnp.nextafter(x1, x2)


@operation(_nextafter)
def nextafter(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Next representable float after `x1` in the direction of `x2`.

    Args:
        x1: First tensor.
        x2: Second tensor, broadcast against the first.

    Example:
        >>> ops.nextafter([1.0], [2.0]).numpy()
        array([1.0000001], dtype=float32)
    """
    return dispatch(_nextafter, x1, x2)
