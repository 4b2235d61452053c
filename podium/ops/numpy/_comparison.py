"""Comparisons, tests for special values, and logical operations, element-wise."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from podium._typing import TensorLike
from podium.core import Tensor
from podium.ops._operation import array_function, dispatch, operation


@array_function()
def _equal(x1: Array, x2: Array) -> Array:
    return jnp.equal(x1, x2)


@operation(_equal)
def equal(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Return whether `x1 == x2`, element-wise.

    Args:
        x1: First tensor.
        x2: Second tensor, broadcast against the first.

    Example:
        >>> ops.equal([1, 2], 2).numpy()
        array([False,  True])
    """
    return dispatch(_equal, x1, x2)


@array_function()
def _not_equal(x1: Array, x2: Array) -> Array:
    return jnp.not_equal(x1, x2)


@operation(_not_equal)
def not_equal(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Return whether `x1 != x2`, element-wise.

    Args:
        x1: First tensor.
        x2: Second tensor, broadcast against the first.

    Example:
        >>> ops.not_equal([1, 2], 2).numpy()
        array([ True, False])
    """
    return dispatch(_not_equal, x1, x2)


@array_function()
def _greater(x1: Array, x2: Array) -> Array:
    return jnp.greater(x1, x2)


@operation(_greater)
def greater(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Return whether `x1 > x2`, element-wise.

    Args:
        x1: First tensor.
        x2: Second tensor, broadcast against the first.

    Example:
        >>> ops.greater([1, 3], 2).numpy()
        array([False,  True])
    """
    return dispatch(_greater, x1, x2)


@array_function()
def _greater_equal(x1: Array, x2: Array) -> Array:
    return jnp.greater_equal(x1, x2)


@operation(_greater_equal)
def greater_equal(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Return whether `x1 >= x2`, element-wise.

    Args:
        x1: First tensor.
        x2: Second tensor, broadcast against the first.

    Example:
        >>> ops.greater_equal([1, 2], 2).numpy()
        array([False,  True])
    """
    return dispatch(_greater_equal, x1, x2)


@array_function()
def _less(x1: Array, x2: Array) -> Array:
    return jnp.less(x1, x2)


@operation(_less)
def less(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Return whether `x1 < x2`, element-wise.

    Args:
        x1: First tensor.
        x2: Second tensor, broadcast against the first.

    Example:
        >>> ops.less([1, 3], 2).numpy()
        array([ True, False])
    """
    return dispatch(_less, x1, x2)


@array_function()
def _less_equal(x1: Array, x2: Array) -> Array:
    return jnp.less_equal(x1, x2)


@operation(_less_equal)
def less_equal(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Return whether `x1 <= x2`, element-wise.

    Args:
        x1: First tensor.
        x2: Second tensor, broadcast against the first.

    Example:
        >>> ops.less_equal([2, 3], 2).numpy()
        array([ True, False])
    """
    return dispatch(_less_equal, x1, x2)


@array_function()
def _isclose(
    x1: Array, x2: Array, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Array:
    return jnp.isclose(x1, x2, rtol, atol, equal_nan)


@operation(_isclose)
def isclose(
    x1: TensorLike,
    x2: TensorLike,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
) -> Tensor:
    """Return whether elements are equal within a tolerance.

    Args:
        x1: First tensor.
        x2: Second tensor, broadcast against the first.
        rtol: Relative tolerance.
        atol: Absolute tolerance.
        equal_nan: Whether NaNs compare equal.

    Example:
        >>> ops.isclose([1.0, 2.0], [1.0, 2.1]).numpy()
        array([ True, False])
    """
    return dispatch(_isclose, x1, x2, rtol, atol, equal_nan)


@array_function()
def _allclose(
    x1: Array, x2: Array, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Array:
    return jnp.allclose(x1, x2, rtol, atol, equal_nan)


@operation(_allclose)
def allclose(
    x1: TensorLike,
    x2: TensorLike,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
) -> Tensor:
    """Return whether all elements of two tensors are equal within a tolerance.

    Args:
        x1: First tensor.
        x2: Second tensor, broadcast against the first.
        rtol: Relative tolerance.
        atol: Absolute tolerance.
        equal_nan: Whether NaNs compare equal.

    Example:
        >>> bool(ops.allclose([1.0, 2.0], [1.0, 2.0 + 1e-7]))
        True
    """
    return dispatch(_allclose, x1, x2, rtol, atol, equal_nan)


@array_function()
def _isin(x1: Array, x2: Array, assume_unique: bool = False, invert: bool = False) -> Array:
    return jnp.isin(x1, x2, assume_unique=assume_unique, invert=invert)


@operation(_isin)
def isin(
    x1: TensorLike, x2: TensorLike, assume_unique: bool = False, invert: bool = False
) -> Tensor:
    """Return whether each element of `x1` is contained in `x2`.

    Args:
        x1: First tensor.
        x2: Tensor of values to search for.
        assume_unique: Whether both inputs are free of duplicates, which is faster.
        invert: Whether to invert the result.

    Example:
        >>> ops.isin([1, 2, 3], [2, 4]).numpy()
        array([False,  True, False])
    """
    return dispatch(_isin, x1, x2, assume_unique, invert)


@array_function()
def _isfinite(x: Array) -> Array:
    return jnp.isfinite(x)


@operation(_isfinite)
def isfinite(x: TensorLike) -> Tensor:
    """Return whether each element is neither infinite nor NaN.

    Args:
        x: Input tensor.

    Example:
        >>> ops.isfinite([1.0, np.inf]).numpy()
        array([ True, False])
    """
    return dispatch(_isfinite, x)


@array_function()
def _isinf(x: Array) -> Array:
    return jnp.isinf(x)


@operation(_isinf)
def isinf(x: TensorLike) -> Tensor:
    """Return whether each element is infinite.

    Args:
        x: Input tensor.

    Example:
        >>> ops.isinf([1.0, -np.inf]).numpy()
        array([False,  True])
    """
    return dispatch(_isinf, x)


@array_function()
def _isnan(x: Array) -> Array:
    return jnp.isnan(x)


@operation(_isnan)
def isnan(x: TensorLike) -> Tensor:
    """Return whether each element is NaN.

    Args:
        x: Input tensor.

    Example:
        >>> ops.isnan([1.0, np.nan]).numpy()
        array([False,  True])
    """
    return dispatch(_isnan, x)


@array_function()
def _isneginf(x: Array) -> Array:
    return jnp.isneginf(x)


@operation(_isneginf)
def isneginf(x: TensorLike) -> Tensor:
    """Return whether each element is minus infinity.

    Args:
        x: Input tensor.

    Example:
        >>> ops.isneginf([np.inf, -np.inf]).numpy()
        array([False,  True])
    """
    return dispatch(_isneginf, x)


@array_function()
def _isposinf(x: Array) -> Array:
    return jnp.isposinf(x)


@operation(_isposinf)
def isposinf(x: TensorLike) -> Tensor:
    """Return whether each element is plus infinity.

    Args:
        x: Input tensor.

    Example:
        >>> ops.isposinf([np.inf, -np.inf]).numpy()
        array([ True, False])
    """
    return dispatch(_isposinf, x)


@array_function()
def _logical_and(x1: Array, x2: Array) -> Array:
    return jnp.logical_and(x1, x2)


@operation(_logical_and)
def logical_and(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Logical AND, element-wise.

    Args:
        x1: First tensor.
        x2: Second tensor, broadcast against the first.

    Example:
        >>> ops.logical_and([True, False], True).numpy()
        array([ True, False])
    """
    return dispatch(_logical_and, x1, x2)


@array_function()
def _logical_or(x1: Array, x2: Array) -> Array:
    return jnp.logical_or(x1, x2)


@operation(_logical_or)
def logical_or(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Logical OR, element-wise.

    Args:
        x1: First tensor.
        x2: Second tensor, broadcast against the first.

    Example:
        >>> ops.logical_or([True, False], False).numpy()
        array([ True, False])
    """
    return dispatch(_logical_or, x1, x2)


@array_function()
def _logical_xor(x1: Array, x2: Array) -> Array:
    return jnp.logical_xor(x1, x2)


@operation(_logical_xor)
def logical_xor(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Logical XOR, element-wise.

    Args:
        x1: First tensor.
        x2: Second tensor, broadcast against the first.

    Example:
        >>> ops.logical_xor([True, False], True).numpy()
        array([False,  True])
    """
    return dispatch(_logical_xor, x1, x2)


@array_function()
def _logical_not(x: Array) -> Array:
    return jnp.logical_not(x)


@operation(_logical_not)
def logical_not(x: TensorLike) -> Tensor:
    """Logical negation, element-wise.

    Args:
        x: Input tensor.

    Example:
        >>> ops.logical_not([True, False]).numpy()
        array([False,  True])
    """
    return dispatch(_logical_not, x)
