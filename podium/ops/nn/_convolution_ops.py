"""Convolutions as operations: validates arguments as Keras names them, and converts layouts.

The computation on channels-last arrays is in `_convolution.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp
from jax import Array

from podium._typing import TensorLike
from podium.core import Tensor, check_choice
from podium.ops._arguments import (
    PADDINGS,
    from_channels_last,
    resolve_data_format,
    sizes_per_axis,
    spatial_rank,
    to_channels_last,
)
from podium.ops._operation import array_function, dispatch, operation
from podium.ops.nn import _convolution


def _check_kernel(inputs: Array, kernel: Array, name: str = "kernel") -> None:
    if kernel.ndim != inputs.ndim:
        raise ValueError(
            f"`{name}` of shape {kernel.shape} needs {inputs.ndim} axes: one for each spatial axis "
            f"of inputs {inputs.shape}, and two for channels."
        )


def _convolve_channels_last(
    inputs: Array,
    kernel: Array,
    strides: int | Sequence[int],
    padding: str,
    dilation_rate: int | Sequence[int],
    groups: int,
) -> Array:
    """Convolve channels-last arrays, with options as Keras names them."""
    rank = spatial_rank(inputs)
    return _convolution.convolve(
        inputs.astype(kernel.dtype),
        kernel,
        strides=sizes_per_axis("strides", strides, rank),
        padding=check_choice("padding", padding.lower(), PADDINGS),
        dilation=sizes_per_axis("dilation_rate", dilation_rate, rank),
        groups=groups,
    )


def _convolve_depthwise(
    x: Array,
    kernel: Array,
    strides: int | Sequence[int],
    padding: str,
    dilation_rate: int | Sequence[int],
    name: str = "kernel",
) -> Array:
    if kernel.shape[-2] != x.shape[-1]:
        raise ValueError(
            f"`{name}` of shape {kernel.shape} filters {kernel.shape[-2]} channels and inputs have "
            f"{x.shape[-1]}. They must be equal; check `data_format`."
        )
    flat = jnp.reshape(kernel, (*kernel.shape[:-2], 1, kernel.shape[-2] * kernel.shape[-1]))
    return _convolve_channels_last(
        x.astype(kernel.dtype), flat, strides, padding, dilation_rate, groups=x.shape[-1]
    )


@array_function("inputs kernel")
def _conv(
    inputs: Array,
    kernel: Array,
    strides: int | Sequence[int] = 1,
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: int | Sequence[int] = 1,
) -> Array:
    data_format = resolve_data_format(data_format)
    _check_kernel(inputs, kernel)
    x = to_channels_last(inputs, data_format)
    if x.shape[-1] % kernel.shape[-2] or kernel.shape[-1] % (x.shape[-1] // kernel.shape[-2]):
        raise ValueError(
            f"inputs of shape {inputs.shape} have {x.shape[-1]} channels ({data_format}) and the "
            f"kernel of shape {kernel.shape} takes {kernel.shape[-2]}. They must be equal, or (for "
            "groups) divide the channels of inputs and outputs."
        )
    out = _convolve_channels_last(
        x, kernel, strides, padding, dilation_rate, groups=x.shape[-1] // kernel.shape[-2]
    )
    return from_channels_last(out, data_format)


@operation(_conv)
def conv(
    inputs: TensorLike,
    kernel: TensorLike,
    strides: int | Sequence[int] = 1,
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: int | Sequence[int] = 1,
) -> Tensor:
    """Convolution over one, two or three spatial axes.

    Args:
        inputs: Tensor `(batch, *spatial, channels)`, or `(batch, channels, *spatial)` for
            `channels_first`.
        kernel: Tensor `(*window, input_channels, output_channels)`. Fewer input channels than
            `inputs` has mean groups.
        strides: Step of the window, an int or one per axis.
        padding: `valid` (no padding) or `same` (output as large as input over strides).
        data_format: `channels_last` or `channels_first`. `None` means the default.
        dilation_rate: Distance between taps of the kernel, an int or one per axis.

    Returns:
        Tensor with `output_channels` channels.

    Example:
        >>> image, kernel = np.ones((1, 3, 3, 1), "float32"), np.ones((2, 2, 1, 1), "float32")
        >>> ops.conv(image, kernel).numpy()[0, :, :, 0]
        array([[4., 4.],
               [4., 4.]], dtype=float32)
    """
    return dispatch(_conv, inputs, kernel, strides, padding, data_format, dilation_rate)


@array_function("inputs kernel")
def _depthwise_conv(
    inputs: Array,
    kernel: Array,
    strides: int | Sequence[int] = 1,
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: int | Sequence[int] = 1,
) -> Array:
    data_format = resolve_data_format(data_format)
    _check_kernel(inputs, kernel)
    return from_channels_last(
        _convolve_depthwise(
            to_channels_last(inputs, data_format), kernel, strides, padding, dilation_rate
        ),
        data_format,
    )


@operation(_depthwise_conv)
def depthwise_conv(
    inputs: TensorLike,
    kernel: TensorLike,
    strides: int | Sequence[int] = 1,
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: int | Sequence[int] = 1,
) -> Tensor:
    """Depthwise convolution: each channel is convolved separately.

    Args:
        inputs: Tensor `(batch, *spatial, channels)`, or `(batch, channels, *spatial)` for
            `channels_first`.
        kernel: Tensor `(*window, channels, multiplier)`: `multiplier` filters for each channel.
        strides: Step of the window, an int or one per axis.
        padding: `valid` or `same`.
        data_format: `channels_last` or `channels_first`. `None` means the default.
        dilation_rate: Distance between taps of the kernel, an int or one per axis.

    Returns:
        Tensor with `channels * multiplier` channels.

    Example:
        >>> image, kernel = np.ones((1, 3, 3, 2), "float32"), np.ones((2, 2, 2, 1), "float32")
        >>> tuple(ops.depthwise_conv(image, kernel).shape)
        (1, 2, 2, 2)
    """
    return dispatch(_depthwise_conv, inputs, kernel, strides, padding, data_format, dilation_rate)


@array_function("inputs depthwise_kernel pointwise_kernel")
def _separable_conv(
    inputs: Array,
    depthwise_kernel: Array,
    pointwise_kernel: Array,
    strides: int | Sequence[int] = 1,
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: int | Sequence[int] = 1,
) -> Array:
    data_format = resolve_data_format(data_format)
    _check_kernel(inputs, depthwise_kernel, "depthwise_kernel")
    x = _convolve_depthwise(
        to_channels_last(inputs, data_format),
        depthwise_kernel,
        strides,
        padding,
        dilation_rate,
        "depthwise_kernel",
    )
    if pointwise_kernel.shape[-2] != x.shape[-1]:
        raise ValueError(
            f"`pointwise_kernel` of shape {pointwise_kernel.shape} must take {x.shape[-1]} "
            "channels."
        )
    return from_channels_last(
        _convolve_channels_last(x, pointwise_kernel, 1, "valid", dilation_rate, groups=1),
        data_format,
    )


@operation(_separable_conv)
def separable_conv(
    inputs: TensorLike,
    depthwise_kernel: TensorLike,
    pointwise_kernel: TensorLike,
    strides: int | Sequence[int] = 1,
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: int | Sequence[int] = 1,
) -> Tensor:
    """Depthwise convolution followed by a pointwise convolution.

    Args:
        inputs: Tensor `(batch, *spatial, channels)`, or `(batch, channels, *spatial)` for
            `channels_first`.
        depthwise_kernel: Tensor `(*window, channels, multiplier)`.
        pointwise_kernel: Tensor `(1, ..., 1, channels * multiplier, output_channels)`.
        strides: Step of the window, an int or one per axis.
        padding: `valid` or `same`.
        data_format: `channels_last` or `channels_first`. `None` means the default.
        dilation_rate: Distance between taps of the kernel, an int or one per axis.

    Returns:
        Tensor with `output_channels` channels.

    Example:
        >>> image = np.ones((1, 3, 3, 2), "float32")
        >>> depthwise = np.ones((2, 2, 2, 1), "float32")
        >>> pointwise = np.ones((1, 1, 2, 5), "float32")
        >>> tuple(ops.separable_conv(image, depthwise, pointwise).shape)
        (1, 2, 2, 5)
    """
    return dispatch(
        _separable_conv,
        inputs,
        depthwise_kernel,
        pointwise_kernel,
        strides,
        padding,
        data_format,
        dilation_rate,
    )


@array_function("inputs kernel")
def _conv_transpose(
    inputs: Array,
    kernel: Array,
    strides: int | Sequence[int] = 1,
    padding: str = "valid",
    output_padding: int | Sequence[int] | None = None,
    data_format: str | None = None,
    dilation_rate: int | Sequence[int] = 1,
) -> Array:
    data_format = resolve_data_format(data_format)
    rank = spatial_rank(inputs)
    _check_kernel(inputs, kernel)
    x = to_channels_last(inputs, data_format)
    if kernel.shape[-1] != x.shape[-1]:
        raise ValueError(
            f"inputs of shape {inputs.shape} have {x.shape[-1]} channels ({data_format}) and the "
            f"kernel of shape {kernel.shape} takes {kernel.shape[-1]} (its last axis). They must "
            "be equal."
        )
    out = _convolution.convolve_transpose(
        x.astype(kernel.dtype),
        kernel,
        strides=sizes_per_axis("strides", strides, rank),
        padding=check_choice("padding", padding.lower(), PADDINGS),
        output_padding=None
        if output_padding is None
        else sizes_per_axis("output_padding", output_padding, rank),
        dilation=sizes_per_axis("dilation_rate", dilation_rate, rank),
    )
    return from_channels_last(out, data_format)


@operation(_conv_transpose)
def conv_transpose(
    inputs: TensorLike,
    kernel: TensorLike,
    strides: int | Sequence[int] = 1,
    padding: str = "valid",
    output_padding: int | Sequence[int] | None = None,
    data_format: str | None = None,
    dilation_rate: int | Sequence[int] = 1,
) -> Tensor:
    """Transposed convolution, used for upsampling.

    Args:
        inputs: Tensor `(batch, *spatial, channels)`, or `(batch, channels, *spatial)` for
            `channels_first`.
        kernel: Tensor `(*window, output_channels, input_channels)`.
        strides: By how much each spatial axis grows, an int or one per axis.
        padding: `valid`, or `same` (output as large as input times strides).
        output_padding: Extra size of the output, an int or one per axis. `None` means it is
            chosen to fit.
        data_format: `channels_last` or `channels_first`. `None` means the default.
        dilation_rate: Distance between taps of the kernel, an int or one per axis.

    Returns:
        Tensor with `output_channels` channels.

    Example:
        >>> image, kernel = np.ones((1, 2, 2, 1), "float32"), np.ones((2, 2, 1, 1), "float32")
        >>> ops.conv_transpose(image, kernel, strides=2).numpy()[0, :, :, 0]
        array([[1., 1., 1., 1.],
               [1., 1., 1., 1.],
               [1., 1., 1., 1.],
               [1., 1., 1., 1.]], dtype=float32)
    """
    return dispatch(
        _conv_transpose,
        inputs,
        kernel,
        strides,
        padding,
        output_padding,
        data_format,
        dilation_rate,
    )
