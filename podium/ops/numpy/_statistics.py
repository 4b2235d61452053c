"""Statistics: medians, quantiles, correlation, histograms and counts."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from podium._typing import Axis, TensorLike
from podium.core import Tensor
from podium.ops._arguments import hashable_axis, reject_sparse
from podium.ops._operation import array_function, dispatch, operation
from podium.ops._promotion import to_float


@array_function()
def _median(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    return jnp.median(to_float(x), axis=hashable_axis(axis), keepdims=keepdims)


@operation(_median)
def median(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Median along an axis.

    Args:
        x: Input tensor.
        axis: Axis or axes to reduce. `None` reduces all.
        keepdims: Whether reduced axes are kept, with size 1.

    Example:
        >>> ops.median([1.0, 9.0, 2.0]).numpy()
        array(2., dtype=float32)
    """
    return dispatch(_median, x, axis, keepdims)


@array_function()
def _percentile(
    x: Array, q: Array, axis: Axis = None, method: str = "linear", keepdims: bool = False
) -> Array:
    return jnp.percentile(
        to_float(x), to_float(q), axis=hashable_axis(axis), method=method, keepdims=keepdims
    )


@operation(_percentile)
def percentile(
    x: TensorLike, q: TensorLike, axis: Axis = None, method: str = "linear", keepdims: bool = False
) -> Tensor:
    """Value below which `q` percent of the elements fall.

    Args:
        x: Input tensor.
        q: Percentages between 0 and 100, scalar or 1D.
        axis: Axis or axes to reduce. `None` reduces all.
        method: Interpolation method: `linear`, `lower`, `higher`, `midpoint` or `nearest`.
        keepdims: Whether reduced axes are kept, with size 1.

    Example:
        >>> ops.percentile([1.0, 2.0, 3.0], 50).numpy()
        array(2., dtype=float32)
    """
    return dispatch(_percentile, x, q, axis, method, keepdims)


@array_function()
def _quantile(
    x: Array, q: Array, axis: Axis = None, method: str = "linear", keepdims: bool = False
) -> Array:
    return jnp.quantile(
        to_float(x), to_float(q), axis=hashable_axis(axis), method=method, keepdims=keepdims
    )


@operation(_quantile)
def quantile(
    x: TensorLike, q: TensorLike, axis: Axis = None, method: str = "linear", keepdims: bool = False
) -> Tensor:
    """Value below which the fraction `q` of the elements falls.

    Args:
        x: Input tensor.
        q: Probabilities between 0 and 1, scalar or 1D.
        axis: Axis or axes to reduce. `None` reduces all.
        method: Interpolation method: `linear`, `lower`, `higher`, `midpoint` or `nearest`.
        keepdims: Whether reduced axes are kept, with size 1.

    Example:
        >>> ops.quantile([1.0, 2.0, 3.0], 0.25).numpy()
        array(1.5, dtype=float32)
    """
    return dispatch(_quantile, x, q, axis, method, keepdims)


@array_function()
def _corrcoef(x: Array) -> Array:
    return jnp.corrcoef(to_float(x))


@operation(_corrcoef)
def corrcoef(x: TensorLike) -> Tensor:
    """Correlation coefficients of the rows.

    Args:
        x: Input tensor.

    Example:
        >>> ops.corrcoef([[1.0, 2.0], [2.0, 4.0]]).numpy()
        array([[0.99999994, 0.99999994],
               [0.99999994, 0.99999994]], dtype=float32)
    """
    return dispatch(_corrcoef, x)


@array_function("x weights")
def _bincount(
    x: Array, weights: Array | None = None, minlength: int = 0, sparse: bool = False
) -> Array:
    reject_sparse(sparse)
    if x.ndim != 2:
        return jnp.bincount(x, weights=weights, minlength=minlength)
    length = max(int(jnp.max(x)) + 1, minlength) if x.size else minlength

    def count(row: Array, weights: Array | None = None) -> Array:
        return jnp.bincount(row, weights=weights, minlength=minlength, length=length)

    counts: Array = jax.vmap(count)(x) if weights is None else jax.vmap(count)(x, weights)
    return counts


@operation(_bincount)
def bincount(
    x: TensorLike, weights: TensorLike | None = None, minlength: int = 0, sparse: bool = False
) -> Tensor:
    """Count the occurrences of each non-negative integer.

    The size of the result depends on the values, so `x` cannot be a traced value.

    Args:
        x: Integer tensor, 1D, or 2D to count each row.
        weights: Weight of each occurrence. `None` means 1.
        minlength: Minimum length of the result.
        sparse: Sparse results are not supported: must be `False`.

    Example:
        >>> ops.bincount([0, 1, 1, 3]).numpy()
        array([1, 2, 0, 1], dtype=int32)
    """
    return dispatch(_bincount, x, weights, minlength, sparse)


@array_function("x")
def _histogram(
    x: Array, bins: int = 10, range: tuple[float, float] | None = None
) -> tuple[Array, Array]:
    if not isinstance(bins, int):
        raise TypeError(f"`bins` must be an int, not {type(bins).__name__}.")
    if bins < 0 or (range and (len(range) != 2 or range[1] < range[0])):
        raise ValueError(
            "`bins` must not be negative, and `range` must be a pair (low, high) with low <= high."
        )
    if x.ndim > 1:
        raise ValueError(
            f"expected a 1D tensor and got shape {x.shape}. Flatten it: `ops.ravel(x)`."
        )
    return jnp.histogram(x, bins=bins, range=range)


@operation(_histogram)
def histogram(
    x: TensorLike, bins: int = 10, range: tuple[float, float] | None = None
) -> tuple[Tensor, Tensor]:
    """Count values in bins of equal width.

    Args:
        x: 1D tensor.
        bins: Number of bins.
        range: Pair of lower and upper end. `None` means those of `x`.

    Returns:
        The counts, and the `bins + 1` edges.

    Example:
        >>> counts, edges = ops.histogram([0.0, 0.5, 1.0, 1.0], bins=2)
        >>> counts.numpy(), edges.numpy()
        (array([1., 3.], dtype=float32), array([0. , 0.5, 1. ], dtype=float32))
    """
    return dispatch(_histogram, x, bins, range)


@array_function()
def _digitize(x: Array, bins: Array) -> Array:
    return jnp.digitize(x, bins)


@operation(_digitize)
def digitize(x: TensorLike, bins: TensorLike) -> Tensor:
    """Index of the bin that each value belongs to.

    Args:
        x: Input tensor.
        bins: 1D increasing bin edges.

    Example:
        >>> ops.digitize([0.5, 1.5, 9.0], [1.0, 2.0]).numpy()
        array([0, 1, 2], dtype=int32)
    """
    return dispatch(_digitize, x, bins)
