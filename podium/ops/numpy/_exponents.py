"""Exponentials, logarithms, powers and roots, element-wise.

Integers are converted to the default float dtype where the result is not an integer, as in Keras.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from podium._typing import TensorLike
from podium.core import Tensor
from podium.ops._operation import array_function, dispatch, operation
from podium.ops._promotion import is_integer, to_common_float, to_float


@array_function()
def _exp(x: Array) -> Array:
    return jnp.exp(to_float(x))


@operation(_exp)
def exp(x: TensorLike) -> Tensor:
    """Exponential, element-wise.

    Args:
        x: Input tensor.

    Example:
        >>> ops.exp([0.0, 1.0]).numpy()
        array([1.       , 2.7182817], dtype=float32)
    """
    return dispatch(_exp, x)


@array_function()
def _exp2(x: Array) -> Array:
    return jnp.exp2(to_float(x))


@operation(_exp2)
def exp2(x: TensorLike) -> Tensor:
    """Two to the power of `x`.

    Args:
        x: Input tensor.

    Example:
        >>> ops.exp2([0.0, 3.0]).numpy()
        array([1., 8.], dtype=float32)
    """
    return dispatch(_exp2, x)


@array_function()
def _expm1(x: Array) -> Array:
    return jnp.expm1(to_float(x))


@operation(_expm1)
def expm1(x: TensorLike) -> Tensor:
    """Exponential minus one, accurate near zero.

    Args:
        x: Input tensor.

    Example:
        >>> ops.round(ops.expm1([0.0, 1.0]), 3).numpy()
        array([0.   , 1.718], dtype=float32)
    """
    return dispatch(_expm1, x)


@array_function()
def _log(x: Array) -> Array:
    return jnp.log(to_float(x))


@operation(_log)
def log(x: TensorLike) -> Tensor:
    """Natural logarithm.

    Args:
        x: Input tensor.

    Example:
        >>> ops.log([1.0, 10.0]).numpy()
        array([0.       , 2.3025851], dtype=float32)
    """
    return dispatch(_log, x)


@array_function()
def _log10(x: Array) -> Array:
    return jnp.log10(to_float(x))


@operation(_log10)
def log10(x: TensorLike) -> Tensor:
    """Logarithm to base 10.

    Args:
        x: Input tensor.

    Example:
        >>> ops.log10([1.0, 100.0]).numpy()
        array([0., 2.], dtype=float32)
    """
    return dispatch(_log10, x)


@array_function()
def _log1p(x: Array) -> Array:
    return jnp.log1p(to_float(x))


@operation(_log1p)
def log1p(x: TensorLike) -> Tensor:
    """Logarithm of one plus `x`, accurate near zero.

    Args:
        x: Input tensor.

    Example:
        >>> ops.log1p([0.0, 1.0]).numpy()
        array([0.       , 0.6931472], dtype=float32)
    """
    return dispatch(_log1p, x)


@array_function()
def _log2(x: Array) -> Array:
    return jnp.log2(to_float(x))


@operation(_log2)
def log2(x: TensorLike) -> Tensor:
    """Logarithm to base 2.

    Args:
        x: Input tensor.

    Example:
        >>> ops.log2([1.0, 8.0]).numpy()
        array([0., 3.], dtype=float32)
    """
    return dispatch(_log2, x)


@array_function()
def _logaddexp(x1: Array, x2: Array) -> Array:
    x1, x2 = to_common_float(x1, x2)
    return jnp.logaddexp(x1, x2)


@operation(_logaddexp)
def logaddexp(x1: TensorLike, x2: TensorLike) -> Tensor:
    """`log(exp(x1) + exp(x2))`, without overflow.

    Args:
        x1: First tensor.
        x2: Second tensor, broadcast against the first.

    Example:
        >>> ops.logaddexp([0.0], [0.0]).numpy()
        array([0.6931472], dtype=float32)
    """
    return dispatch(_logaddexp, x1, x2)


@array_function()
def _logaddexp2(x1: Array, x2: Array) -> Array:
    x1, x2 = to_common_float(x1, x2)
    return jnp.logaddexp2(x1, x2)


@operation(_logaddexp2)
def logaddexp2(x1: TensorLike, x2: TensorLike) -> Tensor:
    """`log2(2**x1 + 2**x2)`, without overflow.

    Args:
        x1: First tensor.
        x2: Second tensor, broadcast against the first.

    Example:
        >>> ops.logaddexp2([1.0], [1.0]).numpy()
        array([2.], dtype=float32)
    """
    return dispatch(_logaddexp2, x1, x2)


@array_function()
def _sqrt(x: Array) -> Array:
    return jnp.sqrt(to_float(x))


@operation(_sqrt)
def sqrt(x: TensorLike) -> Tensor:
    """Square root, element-wise.

    Args:
        x: Input tensor.

    Example:
        >>> ops.sqrt([4, 9]).numpy()
        array([2., 3.], dtype=float32)
    """
    return dispatch(_sqrt, x)


@array_function()
def _cbrt(x: Array) -> Array:
    return jnp.cbrt(to_float(x))


@operation(_cbrt)
def cbrt(x: TensorLike) -> Tensor:
    """Cube root, also of negative numbers.

    Args:
        x: Input tensor.

    Example:
        >>> ops.cbrt([-8.0, 27.0]).numpy()
        array([-2.,  3.], dtype=float32)
    """
    return dispatch(_cbrt, x)


@array_function()
def _square(x: Array) -> Array:
    return jnp.square(x)


@operation(_square)
def square(x: TensorLike) -> Tensor:
    """Square, element-wise.

    Args:
        x: Input tensor.

    Example:
        >>> ops.square([2, -3]).numpy()
        array([4, 9], dtype=int32)
    """
    return dispatch(_square, x)


@array_function()
def _power(x1: Array, x2: Array) -> Array:
    return jnp.power(x1, x2)


@operation(_power)
def power(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Raise `x1` to the power `x2`, element-wise.

    Args:
        x1: First tensor.
        x2: Second tensor, broadcast against the first.

    Example:
        >>> ops.power([2, 3], 2).numpy()
        array([4, 9], dtype=int32)
    """
    return dispatch(_power, x1, x2)


@array_function()
def _reciprocal(x: Array) -> Array:
    return jnp.reciprocal(to_float(x))


@operation(_reciprocal)
def reciprocal(x: TensorLike) -> Tensor:
    """Reciprocal: one divided by `x`.

    Args:
        x: Input tensor.

    Example:
        >>> ops.reciprocal([2.0, 4.0]).numpy()
        array([0.5 , 0.25], dtype=float32)
    """
    return dispatch(_reciprocal, x)


@array_function()
def _ldexp(x1: Array, x2: Array) -> Array:
    if not jnp.issubdtype(x2.dtype, jnp.integer):
        raise TypeError(
            f"`x2` holds exponents and must be of an integer dtype, not {x2.dtype}. Cast it: "
            "`ops.cast(x2, 'int32')`."
        )
    return jnp.ldexp(to_float(x1) if is_integer(x1) else x1, x2)


@operation(_ldexp)
def ldexp(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Multiply `x1` by two to the power `x2`.

    Args:
        x1: Input tensor.
        x2: Integer tensor of exponents.

    Example:
        >>> ops.ldexp([1.0, 3.0], [2, 1]).numpy()
        array([4., 6.], dtype=float32)
    """
    return dispatch(_ldexp, x1, x2)


@array_function()
def _i0(x: Array) -> Array:
    return jnp.i0(to_float(x))


@operation(_i0)
def i0(x: TensorLike) -> Tensor:
    """Modified Bessel function of order 0.

    Args:
        x: Input tensor.

    Example:
        >>> ops.i0([0.0, 1.0]).numpy()
        array([1.0000001, 1.266066 ], dtype=float32)
    """
    return dispatch(_i0, x)
