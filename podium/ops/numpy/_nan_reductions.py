"""Reductions, quantiles and cumulative operations that ignore NaN."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from podium._typing import Axis, DTypeLike, TensorLike
from podium.core import Tensor
from podium.ops._arguments import dtype_or_none, hashable_axis
from podium.ops._operation import array_function, dispatch, operation
from podium.ops._promotion import to_float


@array_function()
def _nansum(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    return jnp.nansum(x, axis=hashable_axis(axis), keepdims=keepdims)


@operation(_nansum)
def nansum(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Sum along an axis, with NaN treated as 0.

    Args:
        x: Input tensor.
        axis: Axis or axes to reduce. `None` reduces all.
        keepdims: Whether reduced axes are kept, with size 1.

    Example:
        >>> ops.nansum([[1.0, np.nan], [3.0, 4.0]], axis=1).numpy()
        array([1., 7.], dtype=float32)
    """
    return dispatch(_nansum, x, axis, keepdims)


@array_function()
def _nanprod(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    return jnp.nanprod(x, axis=hashable_axis(axis), keepdims=keepdims)


@operation(_nanprod)
def nanprod(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Product along an axis, with NaN treated as 1.

    Args:
        x: Input tensor.
        axis: Axis or axes to reduce. `None` reduces all.
        keepdims: Whether reduced axes are kept, with size 1.

    Example:
        >>> ops.nanprod([[1.0, np.nan], [3.0, 4.0]], axis=1).numpy()
        array([ 1., 12.], dtype=float32)
    """
    return dispatch(_nanprod, x, axis, keepdims)


@array_function()
def _nanmean(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    return jnp.nanmean(x, axis=hashable_axis(axis), keepdims=keepdims)


@operation(_nanmean)
def nanmean(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Mean along an axis, ignoring NaN.

    Args:
        x: Input tensor.
        axis: Axis or axes to reduce. `None` reduces all.
        keepdims: Whether reduced axes are kept, with size 1.

    Example:
        >>> ops.nanmean([[1.0, np.nan], [3.0, 4.0]], axis=1).numpy()
        array([1. , 3.5], dtype=float32)
    """
    return dispatch(_nanmean, x, axis, keepdims)


@array_function()
def _nanstd(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    return jnp.nanstd(x, axis=hashable_axis(axis), keepdims=keepdims)


@operation(_nanstd)
def nanstd(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Standard deviation along an axis, ignoring NaN.

    Args:
        x: Input tensor.
        axis: Axis or axes to reduce. `None` reduces all.
        keepdims: Whether reduced axes are kept, with size 1.

    Example:
        >>> ops.nanstd([[1.0, np.nan], [3.0, 4.0]], axis=1).numpy()
        array([0. , 0.5], dtype=float32)
    """
    return dispatch(_nanstd, x, axis, keepdims)


@array_function()
def _nanvar(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    return jnp.nanvar(x, axis=hashable_axis(axis), keepdims=keepdims)


@operation(_nanvar)
def nanvar(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Variance along an axis, ignoring NaN.

    Args:
        x: Input tensor.
        axis: Axis or axes to reduce. `None` reduces all.
        keepdims: Whether reduced axes are kept, with size 1.

    Example:
        >>> ops.nanvar([[1.0, np.nan], [3.0, 4.0]], axis=1).numpy()
        array([0.  , 0.25], dtype=float32)
    """
    return dispatch(_nanvar, x, axis, keepdims)


@array_function()
def _nanmax(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    return jnp.nanmax(x, axis=hashable_axis(axis), keepdims=keepdims)


@operation(_nanmax)
def nanmax(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Maximum along an axis, ignoring NaN.

    Args:
        x: Input tensor.
        axis: Axis or axes to reduce. `None` reduces all.
        keepdims: Whether reduced axes are kept, with size 1.

    Example:
        >>> ops.nanmax([[1.0, np.nan], [3.0, 4.0]], axis=1).numpy()
        array([1., 4.], dtype=float32)
    """
    return dispatch(_nanmax, x, axis, keepdims)


@array_function()
def _nanmin(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    return jnp.nanmin(x, axis=hashable_axis(axis), keepdims=keepdims)


@operation(_nanmin)
def nanmin(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Minimum along an axis, ignoring NaN.

    Args:
        x: Input tensor.
        axis: Axis or axes to reduce. `None` reduces all.
        keepdims: Whether reduced axes are kept, with size 1.

    Example:
        >>> ops.nanmin([[1.0, np.nan], [3.0, 4.0]], axis=1).numpy()
        array([1., 3.], dtype=float32)
    """
    return dispatch(_nanmin, x, axis, keepdims)


@array_function()
def _nanargmax(x: Array, axis: int | None = None, keepdims: bool = False) -> Array:
    return jnp.nanargmax(x, axis=axis, keepdims=keepdims)


@operation(_nanargmax)
def nanargmax(x: TensorLike, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Indices of the maximum along an axis, ignoring NaN.

    Args:
        x: Input tensor.
        axis: Axis to search along. `None` searches the flattened tensor.
        keepdims: Whether reduced axes are kept, with size 1.

    Example:
        >>> ops.nanargmax([[1.0, np.nan], [3.0, 4.0]], axis=1).numpy()
        array([0, 1], dtype=int32)
    """
    return dispatch(_nanargmax, x, axis, keepdims)


@array_function()
def _nanargmin(x: Array, axis: int | None = None, keepdims: bool = False) -> Array:
    return jnp.nanargmin(x, axis=axis, keepdims=keepdims)


@operation(_nanargmin)
def nanargmin(x: TensorLike, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Indices of the minimum along an axis, ignoring NaN.

    Args:
        x: Input tensor.
        axis: Axis to search along. `None` searches the flattened tensor.
        keepdims: Whether reduced axes are kept, with size 1.

    Example:
        >>> ops.nanargmin([[1.0, np.nan], [3.0, 4.0]], axis=1).numpy()
        array([0, 0], dtype=int32)
    """
    return dispatch(_nanargmin, x, axis, keepdims)


@array_function()
def _nanmedian(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    return jnp.nanmedian(x, axis=hashable_axis(axis), keepdims=keepdims)


@operation(_nanmedian)
def nanmedian(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Median along an axis, ignoring NaN.

    Args:
        x: Input tensor.
        axis: Axis or axes to reduce. `None` reduces all.
        keepdims: Whether reduced axes are kept, with size 1.

    Example:
        >>> ops.nanmedian([[1.0, np.nan], [3.0, 4.0]], axis=1).numpy()
        array([1. , 3.5], dtype=float32)
    """
    return dispatch(_nanmedian, x, axis, keepdims)


@array_function()
def _nanpercentile(
    x: Array, q: Array, axis: Axis = None, method: str = "linear", keepdims: bool = False
) -> Array:
    return jnp.nanpercentile(
        to_float(x), to_float(q), axis=hashable_axis(axis), method=method, keepdims=keepdims
    )


@operation(_nanpercentile)
def nanpercentile(
    x: TensorLike, q: TensorLike, axis: Axis = None, method: str = "linear", keepdims: bool = False
) -> Tensor:
    """Percentile along an axis, ignoring NaN.

    Args:
        x: Input tensor.
        q: Percentages between 0 and 100, scalar or 1D.
        axis: Axis or axes to reduce. `None` reduces all.
        method: Interpolation method: `linear`, `lower`, `higher`, `midpoint` or `nearest`.
        keepdims: Whether reduced axes are kept, with size 1.

    Example:
        >>> ops.nanpercentile([1.0, np.nan, 3.0], 50).numpy()
        array(2., dtype=float32)
    """
    return dispatch(_nanpercentile, x, q, axis, method, keepdims)


@array_function()
def _nanquantile(
    x: Array, q: Array, axis: Axis = None, method: str = "linear", keepdims: bool = False
) -> Array:
    return jnp.nanquantile(
        to_float(x), to_float(q), axis=hashable_axis(axis), method=method, keepdims=keepdims
    )


@operation(_nanquantile)
def nanquantile(
    x: TensorLike, q: TensorLike, axis: Axis = None, method: str = "linear", keepdims: bool = False
) -> Tensor:
    """Quantile along an axis, ignoring NaN.

    Args:
        x: Input tensor.
        q: Probabilities between 0 and 1, scalar or 1D.
        axis: Axis or axes to reduce. `None` reduces all.
        method: Interpolation method: `linear`, `lower`, `higher`, `midpoint` or `nearest`.
        keepdims: Whether reduced axes are kept, with size 1.

    Example:
        >>> ops.nanquantile([1.0, np.nan, 3.0], 0.5).numpy()
        array(2., dtype=float32)
    """
    return dispatch(_nanquantile, x, q, axis, method, keepdims)


@array_function()
def _nancumsum(x: Array, axis: int | None = None, dtype: DTypeLike | None = None) -> Array:
    return jnp.nancumsum(x, axis=axis, dtype=dtype_or_none(dtype))


@operation(_nancumsum)
def nancumsum(x: TensorLike, axis: int | None = None, dtype: DTypeLike | None = None) -> Tensor:
    """Cumulative sum, with NaN treated as 0.

    Args:
        x: Input tensor.
        axis: Axis to operate along. `None` operates on the flattened tensor.
        dtype: Dtype of the result. `None` means that of `x`.

    Example:
        >>> ops.nancumsum([2.0, np.nan, 3.0]).numpy()
        array([2., 2., 5.], dtype=float32)
    """
    return dispatch(_nancumsum, x, axis, dtype)


@array_function()
def _nancumprod(x: Array, axis: int | None = None, dtype: DTypeLike | None = None) -> Array:
    return jnp.nancumprod(x, axis=axis, dtype=dtype_or_none(dtype))


@operation(_nancumprod)
def nancumprod(x: TensorLike, axis: int | None = None, dtype: DTypeLike | None = None) -> Tensor:
    """Cumulative product, with NaN treated as 1.

    Args:
        x: Input tensor.
        axis: Axis to operate along. `None` operates on the flattened tensor.
        dtype: Dtype of the result. `None` means that of `x`.

    Example:
        >>> ops.nancumprod([2.0, np.nan, 3.0]).numpy()
        array([2., 2., 6.], dtype=float32)
    """
    return dispatch(_nancumprod, x, axis, dtype)
