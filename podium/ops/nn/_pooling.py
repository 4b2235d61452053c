"""Max and average pooling on JAX arrays, channels last, in any number of spatial dimensions.

Owns the arithmetic of windows and the choice of an algorithm with a fast gradient. Arguments as
users write them are validated in `_pooling_ops.py`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from podium._typing import Shape

# Every tap of a window becomes an operation of the program, so large windows are left to `lax`.
MAX_TAPS = 16


# One compiled call when used eagerly; inlined inside compiled functions.
_jit = partial(jax.jit, static_argnames=("window", "strides", "padding"), inline=True)


@_jit
def max_pool(x: Array, window: Shape, strides: Shape, padding: str) -> Array:
    """Return the maximum of every window.

    Of equal elements the first one in the window gets the gradient, as in `lax`.

    Args:
        x: Shape `(batch, *spatial, channels)`. The batch size may be symbolic.
        window: Size of the window, per spatial dimension.
        strides: Step between two windows, per spatial dimension.
        padding: `"valid"` (only windows inside x) or `"same"` (`ceil(size / stride)` windows).

    Returns:
        Shape `(batch, *output, channels)`, of x's dtype.

    Raises:
        ValueError: If `padding` is another string, or the tuples do not fit x.

    Example:
        >>> import jax.numpy as jnp
        >>> x = jnp.array([1.0, 3, 2, 5, 4]).reshape(1, 5, 1)
        >>> max_pool(x, (2,), (2,), "same").ravel().tolist()
        [3.0, 5.0, 4.0]
    """
    pads = _pads(x, window, strides, padding)
    lowest = np.asarray(
        -jnp.inf if jnp.issubdtype(x.dtype, jnp.floating) else jnp.iinfo(x.dtype).min, x.dtype
    )
    if jax.default_backend() != "cpu" or math.prod(window) > MAX_TAPS:
        maxima: Array = lax.reduce_window(x, lowest, lax.max, *_lax_window(window, strides, pads))
        return maxima
    # XLA's gradient of the above searches every window again, one scalar at a time. This one
    # stores the comparisons: value and gradient 3x faster for 2x2, 1.2x for 3x3 with stride
    # 2, on 32x32x64. Strictly greater, so the first of equal elements is kept; NaN propagates.
    edges = ((0, 0, 0), *((low, high, 0) for low, high in pads), (0, 0, 0))
    taps = _window_elements(lax.pad(x, lowest, edges), window, strides)
    best = next(taps)
    for tap in taps:
        best = jnp.where((tap > best) | (tap != tap), tap, best)
    return best


@_jit
def average_pool(x: Array, window: Shape, strides: Shape, padding: str) -> Array:
    """Return the mean of every window; padding is excluded from the means.

    Args:
        x: Floating point, of shape `(batch, *spatial, channels)`. The batch size may be symbolic.
        window: Size of the window, per spatial dimension.
        strides: Step between two windows, per spatial dimension.
        padding: `"valid"` (only windows inside x) or `"same"` (`ceil(size / stride)` windows).

    Returns:
        Shape `(batch, *output, channels)`, of x's dtype; low precision accumulates in float32.

    Raises:
        ValueError: If `padding` is another string, or the tuples do not fit x.

    Example:
        >>> import jax.numpy as jnp
        >>> x = jnp.array([1.0, 3, 2, 5, 4]).reshape(1, 5, 1)
        >>> average_pool(x, (2,), (2,), "same").ravel().tolist()
        [2.0, 3.5, 4.0]
    """
    pads = _pads(x, window, strides, padding)
    wide = x.astype(jnp.float32) if x.dtype.itemsize < 4 else x
    zero = np.zeros((), wide.dtype)
    sums: Array = lax.reduce_window(wide, zero, lax.add, *_lax_window(window, strides, pads))
    return (sums / _counts(x, window, strides, pads).astype(sums.dtype)).astype(x.dtype)


def _pads(x: Array, window: Shape, strides: Shape, padding: str) -> list[tuple[int, int]]:
    size = x.shape[1:-1]
    if not len(size) == len(window) == len(strides):
        raise ValueError(
            f"Got x of shape {x.shape}, window={window} and strides={strides}. Expected x as "
            f"(batch, *spatial, channels) and {len(size)} numbers in window and strides. "
            "Pass one number for each spatial dimension."
        )
    if padding not in ("valid", "same"):
        raise ValueError(
            f'Got padding={padding!r}. Expected "valid" or "same". Pad x yourself for anything '
            "else."
        )
    pads: list[tuple[int, int]] = lax.padtype_to_pads(size, window, strides, padding.upper())
    return pads


def _lax_window(
    window: Shape, strides: Shape, pads: Sequence[tuple[int, int]]
) -> tuple[Shape, Shape, tuple[tuple[int, int], ...]]:
    """Return window, strides and padding with entries for the batch and the channels."""
    return (1, *window, 1), (1, *strides, 1), ((0, 0), *pads, (0, 0))


def _window_elements(x: Array, window: Shape, strides: Shape) -> Iterator[Array]:
    """Iterate over positions in the window, with the elements of all windows at each."""
    output = [(n - k) // s + 1 for n, k, s in zip(x.shape[1:-1], window, strides, strict=True)]
    if tuple(window) == tuple(strides):
        # Adjacent windows are a reshape, whose gradient is cheaper than that of a strided slice.
        x = x[(slice(None), *(slice(o * s) for o, s in zip(output, strides, strict=True)))]
        pairs = (n for pair in zip(output, strides, strict=True) for n in pair)
        x = x.reshape(x.shape[0], *pairs, x.shape[-1])
        for position in itertools.product(*map(range, window)):
            yield x[(slice(None), *(i for a in position for i in (slice(None), a)))]
        return
    for position in itertools.product(*map(range, window)):
        spans = zip(position, output, strides, strict=True)
        yield x[(slice(None), *(slice(a, a + (o - 1) * s + 1, s) for a, o, s in spans))]


def _counts(
    x: Array, window: Shape, strides: Shape, pads: Sequence[tuple[int, int]]
) -> np.ndarray[Any, Any]:
    """Return the number of elements of each window that are inside x."""
    counts = np.ones((1,) * x.ndim)
    for axis, (n, k, s, (low, high)) in enumerate(
        zip(x.shape[1:-1], window, strides, pads, strict=True), start=1
    ):
        first = np.arange(0, n + low + high - k + 1, s) - low
        inside = np.minimum(first + k, n) - np.maximum(first, 0)
        counts = counts * np.expand_dims(inside, [a for a in range(x.ndim) if a != axis])
    return counts
