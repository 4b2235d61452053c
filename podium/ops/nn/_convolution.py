"""Convolutions and transposed convolutions on JAX arrays, channels last, with Keras's arithmetic.

Owns the meaning of `strides`, `padding`, `output_padding` and `dilation`, and the choice
between our algorithms and those of `lax`. The algorithms and their gradients are in
`_convolution_gradients.py`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import jax
from jax import Array

from podium._typing import Shape
from podium.core.internal import context
from podium.ops.nn._convolution_geometry import Geometry, lax_conv_forward, lax_conv_input_grad
from podium.ops.nn._convolution_gradients import conv_forward, conv_input_grad

Padding = str | tuple[tuple[int, int], ...]

# One compiled call each when used eagerly, where otherwise every tap of the window is a call
# (4 ms against 50 us on a small image); inside a compiled function they are inlined.
_jit = functools.partial(jax.jit, static_argnums=2, inline=True)
_conv_forward, _lax_conv_forward = _jit(conv_forward), _jit(lax_conv_forward)
_conv_input_grad, _lax_conv_input_grad = _jit(conv_input_grad), _jit(lax_conv_input_grad)

_lax_only: ContextVar[bool] = ContextVar("lax_convolutions", default=False)


@contextmanager
def lax_convolutions() -> Iterator[None]:
    """Make convolutions traced inside the block use `lax` only.

    Use it for forward-mode derivatives (`jax.jvp`, `jax.jacfwd`, `jax.hessian`): on CPU our
    convolutions define custom reverse-mode gradients, which JAX cannot push forward. The
    values are the same; gradients are slower. Functions that are already traced do not change:
    enter the block before the first call of a jitted function.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> x, kernel = jnp.ones((1, 4, 1)), jnp.ones((3, 1, 1))
        >>> def f(x):
        ...     return convolve(x, kernel, strides=(1,), padding="valid", dilation=(1,))
        >>> with lax_convolutions():
        ...     value, tangent = jax.jvp(f, (x,), (x,))
        >>> tangent.ravel().tolist()
        [3.0, 3.0]
    """
    token = _lax_only.set(True)
    try:
        yield
    finally:
        _lax_only.reset(token)


def convolve(
    x: Array,
    kernel: Array,
    *,
    strides: Shape,
    padding: Padding,
    dilation: Shape,
    groups: int = 1,
) -> Array:
    """Convolve `x` with `kernel`, in 1, 2 or 3 spatial dimensions.

    Args:
        x: Shape `(batch, *spatial, channels)`. The batch size may be symbolic.
        kernel: Shape `(*window, channels // groups, features)`, of x's dtype.
        strides: Step between two outputs, per spatial dimension.
        padding: `"valid"` (none), `"same"` (`ceil(size / stride)` outputs, with the
            extra zero at the end if the padding is odd), or `(low, high)` per dimension.
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
    _check_convolution(x, kernel, strides, dilation)
    channels, features = kernel.shape[-2:]
    if x.shape[-1] != channels * groups or features % groups:
        raise ValueError(
            f"Got x of shape {x.shape} and kernel of shape {kernel.shape} with groups={groups}. "
            f"Expected x to have {channels} * {groups} channels and the kernel's {features} "
            f"features to divide into {groups} groups. Pass a kernel of shape "
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
    output: Array = (_lax_conv_forward if _use_lax() else _conv_forward)(x, kernel, geometry)
    return output


def convolve_transpose(
    x: Array,
    kernel: Array,
    *,
    strides: Shape,
    padding: str,
    output_padding: Shape | None = None,
    dilation: Shape,
) -> Array:
    """Transposed convolution: the gradient of `convolve` with respect to its input.

    Args:
        x: Shape `(batch, *spatial, channels)`. The batch size may be symbolic.
        kernel: Shape `(*window, features, channels)`, Keras's order, of x's dtype.
        strides: Step between the windows of neighboring positions, per spatial dimension.
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
    _check_convolution(x, kernel, strides, dilation)
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
        _transposed_ends(*sizes, padding)
        for sizes in zip(output, window, strides, dilation, extras, strict=True)
    ]
    size, pads = zip(*ends, strict=True)
    geometry = Geometry(size, window, tuple(strides), tuple(dilation), pads)
    result: Array = (_lax_conv_input_grad if _use_lax() else _conv_input_grad)(x, kernel, geometry)
    return result


def _use_lax() -> bool:
    # XLA's own gradients are good on GPU and TPU.
    return _lax_only.get() or context.forward_mode or jax.default_backend() != "cpu"


def _check_convolution(x: Array, kernel: Array, strides: Shape, dilation: Shape) -> None:
    rank = x.ndim - 2
    if rank not in (1, 2, 3) or {kernel.ndim - 2, len(strides), len(dilation)} != {rank}:
        raise ValueError(
            f"Got x of shape {x.shape}, kernel of shape {kernel.shape}, strides={strides} and "
            f"dilation={dilation}. Expected x as (batch, *spatial, channels) with 1, 2 or 3 "
            "spatial dimensions, and the kernel, strides and dilation to have as many. "
            "Pass strides and dilation as tuples, such as (1, 1) for images."
        )
    if x.dtype != kernel.dtype:
        raise TypeError(
            f"Got x of dtype {x.dtype} and kernel of dtype {kernel.dtype}. Expected one dtype. "
            "Convert one of them with .astype()."
        )


def _resolve_padding(
    size: Shape, window: Shape, strides: Shape, padding: Padding, dilation: Shape
) -> tuple[tuple[int, int], ...]:
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
    """Return the size of the output, and how much of the covered range is cut at either end."""
    extent = (window - 1) * dilation + 1
    covered = (size - 1) * stride + extent
    if padding == "valid":
        extra = max(stride - extent, 0) if extra is None else extra
        return covered + extra, (0, -extra)
    extra = stride - extent % 2 if extra is None else extra
    output = (size - 1) * stride + extent % 2 + extra
    # Written as a convolution, both ends together keep this many zeros around x; Keras puts
    # the odd one first.
    around = extent + extent % 2 - 2 + extra
    low = extent - 1 - min(around - around // 2, extent - 1)
    return output, (low, covered - low - output)
