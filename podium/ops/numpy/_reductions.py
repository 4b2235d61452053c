"""Reductions along axes: sums, means, extremes and their indices.

`axis` is an int, a tuple or list of ints, or `None` for all elements. Variants that ignore NaN are
in `_nan_reductions.py`.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from podium._typing import Axis, DTypeLike, TensorLike
from podium.core import Tensor
from podium.ops._arguments import dtype_or_none, hashable_axis
from podium.ops._operation import array_function, dispatch, operation
from podium.ops._promotion import is_integer, result_type, to_float


def order_signed_zeros(x: Array) -> Array:
    """Return `x` with -0.0 replaced by a tiny negative number, where XLA does not order the zeros.

    On CPU, XLA takes -0.0 and 0.0 for equal in argmax and argmin; Keras orders -0.0 first.
    """
    if not jnp.issubdtype(x.dtype, jnp.floating) or not x.ndim or jax.default_backend() != "cpu":
        return x
    x = x.astype(result_type(x.dtype, jnp.float32))
    return jnp.where((x == 0) & jnp.signbit(x), -jnp.finfo(x.dtype).tiny, x)


@array_function()
def _sum(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    return jnp.sum(x, axis=hashable_axis(axis), keepdims=keepdims)


@operation(_sum)
def sum(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Sum along an axis.

    Args:
        x: Input tensor.
        axis: Axis or axes to reduce. `None` reduces all.
        keepdims: Whether reduced axes are kept, with size 1.

    Example:
        >>> ops.sum([[1, 2], [3, 4]], axis=0).numpy()
        array([4, 6], dtype=int32)
    """
    return dispatch(_sum, x, axis, keepdims)


@array_function()
def _prod(
    x: Array, axis: Axis = None, keepdims: bool = False, dtype: DTypeLike | None = None
) -> Array:
    return jnp.prod(x, axis=hashable_axis(axis), keepdims=keepdims, dtype=dtype_or_none(dtype))


@operation(_prod)
def prod(
    x: TensorLike, axis: Axis = None, keepdims: bool = False, dtype: DTypeLike | None = None
) -> Tensor:
    """Product along an axis.

    Args:
        x: Input tensor.
        axis: Axis or axes to reduce. `None` reduces all.
        keepdims: Whether reduced axes are kept, with size 1.
        dtype: Dtype of the result. `None` means that of `x`.

    Example:
        >>> ops.prod([[1, 2], [3, 4]], axis=0).numpy()
        array([3, 8], dtype=int32)
    """
    return dispatch(_prod, x, axis, keepdims, dtype)


@array_function()
def _mean(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    # Half precision overflows in the sum: add up in float32 at least.
    mean = jnp.mean(
        x, axis=hashable_axis(axis), keepdims=keepdims, dtype=result_type(x.dtype, jnp.float32)
    )
    return mean if is_integer(x) else mean.astype(x.dtype)


@operation(_mean)
def mean(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Mean along an axis. The mean of integers is a float.

    Args:
        x: Input tensor.
        axis: Axis or axes to reduce. `None` reduces all.
        keepdims: Whether reduced axes are kept, with size 1.

    Example:
        >>> ops.mean([[1, 2], [3, 4]], axis=0).numpy()
        array([2., 3.], dtype=float32)
    """
    return dispatch(_mean, x, axis, keepdims)


@array_function()
def _std(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    return jnp.std(x, axis=hashable_axis(axis), keepdims=keepdims)


@operation(_std)
def std(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Standard deviation along an axis.

    Args:
        x: Input tensor.
        axis: Axis or axes to reduce. `None` reduces all.
        keepdims: Whether reduced axes are kept, with size 1.

    Example:
        >>> ops.std([1.0, 3.0]).numpy()
        array(1., dtype=float32)
    """
    return dispatch(_std, x, axis, keepdims)


@array_function()
def _var(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    wide = jnp.var(
        x, axis=hashable_axis(axis), keepdims=keepdims, dtype=result_type(x.dtype, jnp.float32)
    )
    return wide.astype(result_type(jnp.real(x).dtype, float))


@operation(_var)
def var(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Variance along an axis.

    Args:
        x: Input tensor.
        axis: Axis or axes to reduce. `None` reduces all.
        keepdims: Whether reduced axes are kept, with size 1.

    Example:
        >>> ops.var([1.0, 3.0]).numpy()
        array(1., dtype=float32)
    """
    return dispatch(_var, x, axis, keepdims)


@array_function()
def _max(
    x: Array, axis: Axis = None, keepdims: bool = False, initial: ArrayLike | None = None
) -> Array:
    return jnp.max(x, axis=hashable_axis(axis), keepdims=keepdims, initial=initial)


@operation(_max)
def max(
    x: TensorLike, axis: Axis = None, keepdims: bool = False, initial: TensorLike | None = None
) -> Tensor:
    """Maximum along an axis.

    Args:
        x: Input tensor.
        axis: Axis or axes to reduce. `None` reduces all.
        keepdims: Whether reduced axes are kept, with size 1.
        initial: Lower (or upper) bound of the result; required for empty inputs.

    Example:
        >>> ops.max([[1, 2], [3, 4]], axis=1).numpy()
        array([2, 4], dtype=int32)
    """
    return dispatch(_max, x, axis, keepdims, initial)


@array_function()
def _min(
    x: Array, axis: Axis = None, keepdims: bool = False, initial: ArrayLike | None = None
) -> Array:
    return jnp.min(x, axis=hashable_axis(axis), keepdims=keepdims, initial=initial)


@operation(_min)
def min(
    x: TensorLike, axis: Axis = None, keepdims: bool = False, initial: TensorLike | None = None
) -> Tensor:
    """Minimum along an axis.

    Args:
        x: Input tensor.
        axis: Axis or axes to reduce. `None` reduces all.
        keepdims: Whether reduced axes are kept, with size 1.
        initial: Lower (or upper) bound of the result; required for empty inputs.

    Example:
        >>> ops.min([[1, 2], [3, 4]], axis=1).numpy()
        array([1, 3], dtype=int32)
    """
    return dispatch(_min, x, axis, keepdims, initial)


@array_function()
def _amax(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    return jnp.max(x, axis=hashable_axis(axis), keepdims=keepdims)


@operation(_amax)
def amax(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Maximum along an axis.

    Args:
        x: Input tensor.
        axis: Axis or axes to reduce. `None` reduces all.
        keepdims: Whether reduced axes are kept, with size 1.

    Example:
        >>> ops.amax([[1, 2], [3, 4]], axis=0).numpy()
        array([3, 4], dtype=int32)
    """
    return dispatch(_amax, x, axis, keepdims)


@array_function()
def _amin(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    return jnp.min(x, axis=hashable_axis(axis), keepdims=keepdims)


@operation(_amin)
def amin(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Minimum along an axis.

    Args:
        x: Input tensor.
        axis: Axis or axes to reduce. `None` reduces all.
        keepdims: Whether reduced axes are kept, with size 1.

    Example:
        >>> ops.amin([[1, 2], [3, 4]], axis=0).numpy()
        array([1, 2], dtype=int32)
    """
    return dispatch(_amin, x, axis, keepdims)


@array_function()
def _ptp(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    return jnp.ptp(x, axis=hashable_axis(axis), keepdims=keepdims)


@operation(_ptp)
def ptp(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Range (maximum minus minimum) along an axis.

    Args:
        x: Input tensor.
        axis: Axis or axes to reduce. `None` reduces all.
        keepdims: Whether reduced axes are kept, with size 1.

    Example:
        >>> ops.ptp([3, 9, 4]).numpy()
        array(6, dtype=int32)
    """
    return dispatch(_ptp, x, axis, keepdims)


@array_function()
def _all(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    return jnp.all(x, axis=hashable_axis(axis), keepdims=keepdims)


@operation(_all)
def all(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Return whether all elements along an axis are true.

    Args:
        x: Input tensor.
        axis: Axis or axes to reduce. `None` reduces all.
        keepdims: Whether reduced axes are kept, with size 1.

    Example:
        >>> ops.all([[True, False], [True, True]], axis=1).numpy()
        array([False,  True])
    """
    return dispatch(_all, x, axis, keepdims)


@array_function()
def _any(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    return jnp.any(x, axis=hashable_axis(axis), keepdims=keepdims)


@operation(_any)
def any(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Return whether any element along an axis is true.

    Args:
        x: Input tensor.
        axis: Axis or axes to reduce. `None` reduces all.
        keepdims: Whether reduced axes are kept, with size 1.

    Example:
        >>> ops.any([[True, False], [False, False]], axis=1).numpy()
        array([ True, False])
    """
    return dispatch(_any, x, axis, keepdims)


@array_function()
def _argmax(x: Array, axis: int | None = None, keepdims: bool = False) -> Array:
    return jnp.argmax(order_signed_zeros(x), axis=axis, keepdims=keepdims).astype("int32")


@operation(_argmax)
def argmax(x: TensorLike, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Indices of the maximum along an axis, as int32.

    Args:
        x: Input tensor.
        axis: Axis to search along. `None` searches the flattened tensor.
        keepdims: Whether reduced axes are kept, with size 1.

    Example:
        >>> ops.argmax([[1, 9, 3], [7, 5, 6]], axis=1).numpy()
        array([1, 0], dtype=int32)
    """
    return dispatch(_argmax, x, axis, keepdims)


@array_function()
def _argmin(x: Array, axis: int | None = None, keepdims: bool = False) -> Array:
    return jnp.argmin(order_signed_zeros(x), axis=axis, keepdims=keepdims).astype("int32")


@operation(_argmin)
def argmin(x: TensorLike, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Indices of the minimum along an axis, as int32.

    Args:
        x: Input tensor.
        axis: Axis to search along. `None` searches the flattened tensor.
        keepdims: Whether reduced axes are kept, with size 1.

    Example:
        >>> ops.argmin([[1, 9, 3], [7, 5, 6]], axis=1).numpy()
        array([0, 1], dtype=int32)
    """
    return dispatch(_argmin, x, axis, keepdims)


@array_function()
def _count_nonzero(x: Array, axis: Axis = None) -> Array:
    return jnp.count_nonzero(x, axis=hashable_axis(axis)).astype("int32")


@operation(_count_nonzero)
def count_nonzero(x: TensorLike, axis: Axis = None) -> Tensor:
    """Number of nonzero elements along an axis.

    Args:
        x: Input tensor.
        axis: Axis or axes to reduce. `None` reduces all.

    Example:
        >>> ops.count_nonzero([[0, 1], [2, 3]], axis=1).numpy()
        array([1, 2], dtype=int32)
    """
    return dispatch(_count_nonzero, x, axis)


@array_function("x weights")
def _average(x: Array, axis: Axis = None, weights: Array | None = None) -> Array:
    dtype = result_type(x, float) if weights is None else result_type(x, weights, float)
    weights = None if weights is None else weights.astype(dtype)
    return jnp.average(x.astype(dtype), axis=hashable_axis(axis), weights=weights)


@operation(_average)
def average(x: TensorLike, axis: Axis = None, weights: TensorLike | None = None) -> Tensor:
    """Weighted average along an axis.

    Args:
        x: Input tensor.
        axis: Axis or axes to average over. `None` means all.
        weights: Weights, shaped like `x` or like its `axis`. `None` means equal weights.

    Example:
        >>> ops.average([1.0, 3.0], weights=[3.0, 1.0]).numpy()
        array(1.5, dtype=float32)
    """
    return dispatch(_average, x, axis, weights)


@array_function()
def _logsumexp(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    return jax.scipy.special.logsumexp(to_float(x), axis=hashable_axis(axis), keepdims=keepdims)


@operation(_logsumexp)
def logsumexp(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Logarithm of the sum of exponentials, numerically stable.

    Args:
        x: Input tensor.
        axis: Axis or axes to reduce. `None` reduces all.
        keepdims: Whether reduced axes are kept, with size 1.

    Example:
        >>> ops.logsumexp([0.0, 0.0]).numpy()
        array(0.6931472, dtype=float32)
    """
    return dispatch(_logsumexp, x, axis, keepdims)


@array_function("x")
def _ndim(x: Array) -> int:
    return x.ndim


@operation(_ndim)
def ndim(x: TensorLike) -> int:
    """Number of axes of a tensor, as an int.

    Args:
        x: Input tensor.

    Example:
        >>> ops.ndim([[1, 2], [3, 4]])
        2
    """
    return dispatch(_ndim, x)


@array_function("x")
def _size(x: Array) -> int:
    return math.prod(x.shape)


@operation(_size)
def size(x: TensorLike) -> int:
    """Number of elements of a tensor, as an int.

    Args:
        x: Input tensor.

    Example:
        >>> ops.size([[1, 2], [3, 4]])
        4
    """
    return dispatch(_size, x)
