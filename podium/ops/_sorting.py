"""Sorting, searching and counting."""

from builtins import max as builtin_max

import jax
import jax.numpy as jnp

from podium.ops._table import op, row

argpartition = row(
    "argpartition(x, kth, axis=-1)",
    lambda x, kth, axis: (
        jnp.argpartition(jnp.ravel(x), kth, axis=0)
        if axis is None
        else jnp.argpartition(x, kth, axis=axis)
    ),
    "Positions that would put the `kth` smallest in its place, smaller ones before it.",
    "int(ops.argpartition([7, 1, 5], 0)[0])",
    "1",
    "x",
)
argsort = row(
    "argsort(x, axis=-1)",
    lambda x, axis: jnp.argsort(x, axis=None if x.ndim == 0 else axis),
    "Positions that would sort the tensor.",
    "ops.argsort([3, 1, 2])",
    "array([1, 2, 0], dtype=int32)",
)
digitize = row(
    "digitize(x, bins)",
    jnp.digitize,
    "The number of the bin each value falls into.",
    "ops.digitize([0.5, 1.5, 9.0], [1.0, 2.0])",
    "array([0, 1, 2], dtype=int32)",
    bins="1D increasing bin edges.",
)
sort = row(
    "sort(x, axis=-1)",
    lambda x, axis: jnp.sort(x, axis=axis),
    "Sort in increasing order.",
    "ops.sort([3, 1, 2])",
    "array([1, 2, 3], dtype=int32)",
)


@op("x weights")
def bincount(x, weights=None, minlength=0, sparse=False):
    """Count how often each non-negative integer occurs.

    The size of the result depends on the values, so inside a compiled function `x` must be known
    and `minlength` is no bound.

    Args:
        x: Integer tensor, 1D, or 2D to count each row.
        weights: What each occurrence adds. `None` means 1.
        minlength: Smallest length of the result.
        sparse: Sparse results are not supported: must be `False`.

    Example:
        >>> ops.bincount([0, 1, 1, 3]).numpy()
        array([1, 2, 0, 1], dtype=int32)
    """
    if sparse:
        raise ValueError("sparse results are not supported. Leave `sparse` out.")
    if x.ndim != 2:
        return jnp.bincount(x, weights=weights, minlength=minlength)
    length = builtin_max(int(jnp.max(x)) + 1, minlength) if x.size else minlength

    def count(row, weights=None):
        return jnp.bincount(row, weights=weights, minlength=minlength, length=length)

    return jax.vmap(count)(x) if weights is None else jax.vmap(count)(x, weights)


@op("x")
def histogram(x, bins=10, range=None):
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


@op("x fill_value")
def unique(
    x,
    sorted=True,
    return_index=False,
    return_inverse=False,
    return_counts=False,
    axis=None,
    size=None,
    fill_value=None,
):
    """The distinct elements, or slices along `axis`.

    Args:
        x: Input tensor.
        sorted: Whether the result is sorted.
        return_index: Whether to return the first position of each.
        return_inverse: Whether to return, for each element of `x`, its position in the result.
        return_counts: Whether to return how often each occurs.
        axis: Axis whose slices are compared. `None` compares elements.
        size: Fixed number of results, needed inside a compiled function: cut off, or filled up with
            `fill_value`.
        fill_value: What fills up. `None` means the smallest result.

    Returns:
        The distinct values, then whatever was asked for, as a tuple.

    Example:
        >>> ops.unique([3, 1, 3]).numpy()
        array([1, 3], dtype=int32)
    """
    return jnp.unique(
        x,
        return_index=return_index,
        return_inverse=return_inverse,
        return_counts=return_counts,
        axis=axis,
        equal_nan=False,
        size=size,
        sorted=sorted,
        fill_value=fill_value,
    )


@op("sorted_sequence values")
def searchsorted(sorted_sequence, values, side="left"):
    """Where to insert values so that a sequence stays sorted.

    Args:
        sorted_sequence: 1D sorted tensor.
        values: Tensor of values.
        side: `left` or `right`: which position to take among equals.

    Example:
        >>> ops.searchsorted([1, 3, 5], [3, 4]).numpy()
        array([1, 2], dtype=int32)
    """
    if sorted_sequence.ndim != 1:
        raise ValueError(
            f"expected a 1D `sorted_sequence` and got shape {sorted_sequence.shape}. For a "
            "batch, use `ops.vectorized_map`."
        )
    return jnp.searchsorted(sorted_sequence, values, side=side)
