"""Convolutions and transposed convolutions on JAX arrays, channels last, with Keras's arithmetic.

Owns the meaning of `strides`, `padding`, `output_padding` and `dilation`, and the choice
between our products and plain `lax`. How the products are computed, and their gradients, are
`_convolution_gradients.py`.
"""

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import jax
from jax import Array

from podium.core.internal import context
from podium.ops.nn._convolution_gradients import (
    Geometry,
    correlate,
    lax_correlate,
    lax_spread,
    spread,
)

Padding = str | tuple[tuple[int, int], ...]

# One compiled call each when used eagerly, where every tap of the window would be a call of its own
# (4 ms against 50 us on a small image); inside a compiled function they are inlined and change
# nothing.
_compiled = functools.partial(jax.jit, static_argnums=2, inline=True)
_correlate, _lax_correlate = _compiled(correlate), _compiled(lax_correlate)
_spread, _lax_spread = _compiled(spread), _compiled(lax_spread)

_plain: ContextVar[bool] = ContextVar("plain_convolutions", default=False)


@contextmanager
def plain_convolutions() -> Iterator[None]:
    """Makes convolutions traced inside the block use plain `lax` only.

    Use it for forward-mode derivatives (`jax.jvp`, `jax.jacfwd`, `jax.hessian`): on CPU our
    convolutions bring their own reverse-mode gradients, which JAX cannot push forward. The
    numbers are the same; gradients are slower. What was traced before stays as it was traced:
    enter the block before the first call of a jitted function.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> x, kernel = jnp.ones((1, 4, 1)), jnp.ones((3, 1, 1))
        >>> def f(x):
        ...     return convolve(x, kernel, strides=(1,), padding="valid", dilation=(1,))
        >>> with plain_convolutions():
        ...     value, tangent = jax.jvp(f, (x,), (x,))
        >>> tangent.ravel().tolist()
        [3.0, 3.0]
    """
    token = _plain.set(True)
    try:
        yield
    finally:
        _plain.reset(token)


def convolve(
    x: Array,
    kernel: Array,
    *,
    strides: tuple[int, ...],
    padding: Padding,
    dilation: tuple[int, ...],
    groups: int = 1,
) -> Array:
    """Slides `kernel` over `x`, in 1, 2 or 3 spatial dimensions.

    Args:
        x: Shape `(batch, *spatial, channels)`. The batch size may be symbolic.
        kernel: Shape `(*window, channels // groups, features)`, of x's dtype.
        strides: Step between two outputs, per spatial dimension.
        padding: `"valid"` (none), `"same"` (as many outputs as `ceil(size / stride)`, the
            extra zero at the end if the number is odd), or `(low, high)` per dimension.
        dilation: Distance between two kernel taps, per spatial dimension.
        groups: Channels and features are divided into this many independent groups;
            `groups == channels` is a depthwise convolution.

    Returns:
        Shape `(batch, *output, features)`, of x's dtype; low precision accumulates in float32.

    Raises:
        ValueError: If shapes, groups and padding do not fit together.

    Example:
        >>> import jax.numpy as jnp
        >>> x = jnp.arange(5.0).reshape(1, 5, 1)
        >>> y = convolve(x, jnp.ones((3, 1, 1)), strides=(2,), padding="same", dilation=(1,))
        >>> y.ravel().tolist()
        [1.0, 6.0, 7.0]
    """
    _check(x, kernel, strides, dilation)
    channels, features = kernel.shape[-2:]
    if x.shape[-1] != channels * groups or features % groups:
        raise ValueError(
            f"Got x of shape {x.shape} and kernel of shape {kernel.shape} with groups={groups}. "
            f"Expected x to have {channels} * {groups} channels and the kernel's {features} "
            f"features to divide into {groups} groups. Give the kernel shape "
            "(*window, channels // groups, features)."
        )
    size, window = x.shape[1:-1], kernel.shape[:-2]
    pads = _resolve_padding(size, window, strides, padding, dilation)
    geometry = Geometry(size, window, tuple(strides), tuple(dilation), pads, groups)
    if 0 in geometry.output:
        raise ValueError(
            f"Got x of spatial size {size}, window={window}, dilation={dilation} and "
            f"padding={padding!r}, which leave no output: {geometry.output}. Expected the window "
            'to fit into the padded x. Use a smaller window or dilation, or padding="same".'
        )
    return (_lax_correlate if _use_plain() else _correlate)(x, kernel, geometry)


def convolve_transpose(
    x: Array,
    kernel: Array,
    *,
    strides: tuple[int, ...],
    padding: str,
    output_padding: tuple[int, ...] | None = None,
    dilation: tuple[int, ...],
) -> Array:
    """Spreads every position of `x` over a window of the output: the gradient of `convolve`.

    Args:
        x: Shape `(batch, *spatial, channels)`. The batch size may be symbolic.
        kernel: Shape `(*window, features, channels)`, Keras's order, of x's dtype.
        strides: Step between the windows of two neighbours, per spatial dimension.
        padding: `"valid"` keeps all of `(size - 1) * stride + max(extent, stride)`, where
            `extent` is the dilated window; `"same"` keeps `size * stride`.
        output_padding: Per spatial dimension; sets the output size to
            `(size - 1) * stride + extent + output_padding` for `"valid"`, and to the same with
            `extent % 2` in place of `extent` for `"same"`.
        dilation: Distance between two kernel taps, per spatial dimension.

    Returns:
        Shape `(batch, *output, features)`, of x's dtype; low precision accumulates in float32.

    Raises:
        ValueError: If shapes and padding do not fit together.

    Example:
        >>> import jax.numpy as jnp
        >>> x = jnp.ones((1, 2, 1))
        >>> y = convolve_transpose(
        ...     x, jnp.ones((3, 1, 1)), strides=(2,), padding="valid", dilation=(1,))
        >>> y.ravel().tolist()
        [1.0, 1.0, 2.0, 1.0, 1.0]
    """
    _check(x, kernel, strides, dilation)
    if x.shape[-1] != kernel.shape[-1]:
        raise ValueError(
            f"Got x of shape {x.shape} and kernel of shape {kernel.shape}. Expected the kernel's "
            f"last dimension to equal x's {x.shape[-1]} channels. A transposed convolution's "
            "kernel has shape (*window, features, channels)."
        )
    if padding not in ("valid", "same"):
        raise ValueError(
            f'Got padding={padding!r}. Expected "valid" or "same". Use output_padding to set the '
            "output size."
        )
    output, window = x.shape[1:-1], kernel.shape[:-2]
    extras = output_padding or (None,) * len(output)
    ends = [
        _transposed_ends(*numbers, padding)
        for numbers in zip(output, window, strides, dilation, extras, strict=True)
    ]
    size, pads = zip(*ends, strict=True)
    geometry = Geometry(size, window, tuple(strides), tuple(dilation), pads)
    return (_lax_spread if _use_plain() else _spread)(x, kernel, geometry)


def _use_plain() -> bool:
    # XLA's own gradients are good on GPU and TPU.
    return _plain.get() or context.forward_mode or jax.default_backend() != "cpu"


def _check(x: Array, kernel: Array, strides: tuple[int, ...], dilation: tuple[int, ...]) -> None:
    rank = x.ndim - 2
    if rank not in (1, 2, 3) or {kernel.ndim - 2, len(strides), len(dilation)} != {rank}:
        raise ValueError(
            f"Got x of shape {x.shape}, kernel of shape {kernel.shape}, strides={strides} and "
            f"dilation={dilation}. Expected x as (batch, *spatial, channels) with 1, 2 or 3 "
            "spatial dimensions, and the kernel, strides and dilation to have as many. "
            "Give strides and dilation as tuples, such as (1, 1) for images."
        )
    if x.dtype != kernel.dtype:
        raise TypeError(
            f"Got x of dtype {x.dtype} and kernel of dtype {kernel.dtype}. Expected one dtype. "
            "Convert one of them with .astype()."
        )


def _resolve_padding(size, window, strides, padding, dilation) -> tuple[tuple[int, int], ...]:
    if padding == "valid":
        return ((0, 0),) * len(size)
    if padding == "same":
        totals = (
            max((-(-n // s) - 1) * s + (k - 1) * d + 1 - n, 0)
            for n, k, s, d in zip(size, window, strides, dilation, strict=True)
        )
        return tuple((total // 2, total - total // 2) for total in totals)
    if isinstance(padding, str) or len(padding) != len(size):
        raise ValueError(
            f'Got padding={padding!r}. Expected "valid", "same" or a (low, high) pair for each '
            f"of {len(size)} spatial dimensions. Did you mean padding={((1, 1),) * len(size)}?"
        )
    return tuple((low, high) for low, high in padding)


def _transposed_ends(
    size: int, window: int, stride: int, dilation: int, extra: int | None, padding: str
) -> tuple[int, tuple[int, int]]:
    """The output's size, and how much of what the windows cover is cut at either end of it."""
    extent = (window - 1) * dilation + 1
    covered = (size - 1) * stride + extent
    if padding == "valid":
        extra = max(stride - extent, 0) if extra is None else extra
        return covered + extra, (0, -extra)
    extra = stride - extent % 2 if extra is None else extra
    output = (size - 1) * stride + extent % 2 + extra
    # Both ends together keep this many zeros around x when written as a convolution; Keras
    # puts the odd one first.
    around = extent + extent % 2 - 2 + extra
    low = extent - 1 - min(around - around // 2, extent - 1)
    return output, (low, covered - low - output)
