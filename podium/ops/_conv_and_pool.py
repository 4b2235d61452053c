"""Convolution and pooling as operations: arguments as in Keras, checked, then handed to the raw
kernels.

`_convolution.py` and `_pooling.py` own the kernels, which work channels-last; this file owns
strings, shapes and layouts.
"""

import jax.numpy as jnp
import numpy as np

from podium.core import check_choice
from podium.ops import _convolution, _pooling
from podium.ops._layout import channels_last, data_format_of, restore, sizes
from podium.ops._table import op

PADDINGS = ("valid", "same")


def _spatial_rank(inputs, name):
    if inputs.ndim not in (3, 4, 5):
        raise ValueError(
            f"`{name}` must have a batch axis, one to three spatial axes and channels, and got "
            f"shape {inputs.shape}."
        )
    return inputs.ndim - 2


def _check_kernel(inputs, kernel, name="kernel"):
    if kernel.ndim != inputs.ndim:
        raise ValueError(
            f"`{name}` of shape {kernel.shape} needs {inputs.ndim} axes: one for each spatial axis "
            f"of inputs {inputs.shape}, and two for channels."
        )


def _convolved(inputs, kernel, strides, padding, dilation_rate, groups):
    """Convolve channels-last arrays, with options given as in Keras."""
    rank = _spatial_rank(inputs, "inputs")
    return _convolution.convolve(
        inputs.astype(kernel.dtype),
        kernel,
        strides=sizes("strides", strides, rank),
        padding=check_choice("padding", padding.lower(), PADDINGS),
        dilation=sizes("dilation_rate", dilation_rate, rank),
        groups=groups,
    )


@op("inputs kernel")
def conv(inputs, kernel, strides=1, padding="valid", data_format=None, dilation_rate=1):
    """Convolution over one, two or three spatial axes.

    Args:
        inputs: Tensor `(batch, *spatial, channels)`, or `(batch, channels, *spatial)` for
            `channels_first`.
        kernel: Tensor `(*window, input_channels, output_channels)`. Fewer input channels than
            `inputs` has mean groups.
        strides: Step of the window, an int or one for each axis.
        padding: `valid` (no padding) or `same` (output as large as input over strides).
        data_format: `channels_last` or `channels_first`. `None` means the default.
        dilation_rate: Distance between taps of the kernel, an int or one for each axis.

    Returns:
        Tensor with `output_channels` channels.

    Example:
        >>> image, kernel = np.ones((1, 3, 3, 1), "float32"), np.ones((2, 2, 1, 1), "float32")
        >>> ops.conv(image, kernel).numpy()[0, :, :, 0]
        array([[4., 4.],
               [4., 4.]], dtype=float32)
    """
    data_format = data_format_of(data_format)
    _check_kernel(inputs, kernel)
    x = channels_last(inputs, data_format)
    if x.shape[-1] % kernel.shape[-2] or kernel.shape[-1] % (x.shape[-1] // kernel.shape[-2]):
        raise ValueError(
            f"inputs of shape {inputs.shape} have {x.shape[-1]} channels ({data_format}) and the "
            f"kernel of shape {kernel.shape} takes {kernel.shape[-2]}. They must be equal, or (for "
            "groups) divide the channels of inputs and outputs."
        )
    out = _convolved(
        x, kernel, strides, padding, dilation_rate, groups=x.shape[-1] // kernel.shape[-2]
    )
    return restore(out, data_format)


def _depthwise(x, kernel, strides, padding, dilation_rate, name="kernel"):
    if kernel.shape[-2] != x.shape[-1]:
        raise ValueError(
            f"`{name}` of shape {kernel.shape} filters {kernel.shape[-2]} channels and inputs have "
            f"{x.shape[-1]}. They must be equal; check `data_format`."
        )
    flat = jnp.reshape(kernel, (*kernel.shape[:-2], 1, kernel.shape[-2] * kernel.shape[-1]))
    return _convolved(
        x.astype(kernel.dtype), flat, strides, padding, dilation_rate, groups=x.shape[-1]
    )


@op("inputs kernel")
def depthwise_conv(inputs, kernel, strides=1, padding="valid", data_format=None, dilation_rate=1):
    """Convolution of each channel on its own.

    Args:
        inputs: Tensor `(batch, *spatial, channels)`, or `(batch, channels, *spatial)` for
            `channels_first`.
        kernel: Tensor `(*window, channels, multiplier)`: `multiplier` filters for each channel.
        strides: Step of the window, an int or one for each axis.
        padding: `valid` or `same`.
        data_format: `channels_last` or `channels_first`. `None` means the default.
        dilation_rate: Distance between taps of the kernel, an int or one for each axis.

    Returns:
        Tensor with `channels * multiplier` channels.

    Example:
        >>> image, kernel = np.ones((1, 3, 3, 2), "float32"), np.ones((2, 2, 2, 1), "float32")
        >>> tuple(ops.depthwise_conv(image, kernel).shape)
        (1, 2, 2, 2)
    """
    data_format = data_format_of(data_format)
    _check_kernel(inputs, kernel)
    return restore(
        _depthwise(channels_last(inputs, data_format), kernel, strides, padding, dilation_rate),
        data_format,
    )


@op("inputs depthwise_kernel pointwise_kernel")
def separable_conv(
    inputs,
    depthwise_kernel,
    pointwise_kernel,
    strides=1,
    padding="valid",
    data_format=None,
    dilation_rate=1,
):
    """A depthwise convolution followed by a pointwise one that mixes the channels.

    Args:
        inputs: Tensor `(batch, *spatial, channels)`, or `(batch, channels, *spatial)` for
            `channels_first`.
        depthwise_kernel: Tensor `(*window, channels, multiplier)`.
        pointwise_kernel: Tensor `(1, ..., 1, channels * multiplier, output_channels)`.
        strides: Step of the window, an int or one for each axis.
        padding: `valid` or `same`.
        data_format: `channels_last` or `channels_first`. `None` means the default.
        dilation_rate: Distance between taps of the kernel, an int or one for each axis.

    Returns:
        Tensor with `output_channels` channels.

    Example:
        >>> image = np.ones((1, 3, 3, 2), "float32")
        >>> depthwise, pointwise = np.ones((2, 2, 2, 1), "float32"), np.ones((1, 1, 2, 5), "float32")
        >>> tuple(ops.separable_conv(image, depthwise, pointwise).shape)
        (1, 2, 2, 5)
    """
    data_format = data_format_of(data_format)
    _check_kernel(inputs, depthwise_kernel, "depthwise_kernel")
    x = _depthwise(
        channels_last(inputs, data_format),
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
    return restore(
        _convolved(x, pointwise_kernel, 1, "valid", dilation_rate, groups=1), data_format
    )


@op("inputs kernel")
def conv_transpose(
    inputs,
    kernel,
    strides=1,
    padding="valid",
    output_padding=None,
    data_format=None,
    dilation_rate=1,
):
    """Transposed convolution: the gradient of a convolution, used to grow images.

    Args:
        inputs: Tensor `(batch, *spatial, channels)`, or `(batch, channels, *spatial)` for
            `channels_first`.
        kernel: Tensor `(*window, output_channels, input_channels)`.
        strides: By how much each spatial axis grows, an int or one for each axis.
        padding: `valid`, or `same` (output as large as input times strides).
        output_padding: Extra size of the output, an int or one for each axis. `None` means it is
            chosen to fit.
        data_format: `channels_last` or `channels_first`. `None` means the default.
        dilation_rate: Distance between taps of the kernel, an int or one for each axis.

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
    data_format = data_format_of(data_format)
    rank = _spatial_rank(inputs, "inputs")
    _check_kernel(inputs, kernel)
    x = channels_last(inputs, data_format)
    if kernel.shape[-1] != x.shape[-1]:
        raise ValueError(
            f"inputs of shape {inputs.shape} have {x.shape[-1]} channels ({data_format}) and the "
            f"kernel of shape {kernel.shape} takes {kernel.shape[-1]} (its last axis). They must "
            "be equal."
        )
    out = _convolution.convolve_transpose(
        x.astype(kernel.dtype),
        kernel,
        strides=sizes("strides", strides, rank),
        padding=check_choice("padding", padding.lower(), PADDINGS),
        output_padding=None
        if output_padding is None
        else sizes("output_padding", output_padding, rank),
        dilation=sizes("dilation_rate", dilation_rate, rank),
    )
    return restore(out, data_format)


def _pooled(kernel, inputs, pool_size, strides, padding, data_format):
    data_format = data_format_of(data_format)
    rank = _spatial_rank(inputs, "inputs")
    padding = check_choice("padding", padding.lower(), PADDINGS)
    window = sizes("pool_size", pool_size, rank)
    steps = window if strides is None else sizes("strides", strides, rank)
    x = channels_last(inputs, data_format)
    spatial = x.shape[1:-1]
    if padding == "valid" and any(
        size < reach for size, reach in zip(spatial, window, strict=True)
    ):
        raise ValueError(
            f"a window of {window} does not fit into spatial shape {spatial}: the result would be "
            "empty. Use padding='same', a smaller `pool_size` or a larger input."
        )
    return restore(kernel(x, window, steps, padding), data_format)


@op("inputs")
def max_pool(inputs, pool_size, strides=None, padding="valid", data_format=None):
    """The largest value in each window.

    Args:
        inputs: Tensor `(batch, *spatial, channels)`, or `(batch, channels, *spatial)` for
            `channels_first`.
        pool_size: Size of the window, an int or one for each axis.
        strides: Step of the window. `None` means `pool_size`.
        padding: `valid` or `same`.
        data_format: `channels_last` or `channels_first`. `None` means the default.

    Example:
        >>> ops.max_pool(np.arange(4, dtype="float32").reshape(1, 4, 1), 2).numpy().ravel()
        array([1., 3.], dtype=float32)
    """
    return _pooled(_pooling.max_pool, inputs, pool_size, strides, padding, data_format)


@op("inputs")
def average_pool(inputs, pool_size, strides=None, padding="valid", data_format=None):
    """The average of each window. Padding does not count.

    Args:
        inputs: Tensor `(batch, *spatial, channels)`, or `(batch, channels, *spatial)` for
            `channels_first`.
        pool_size: Size of the window, an int or one for each axis.
        strides: Step of the window. `None` means `pool_size`.
        padding: `valid` or `same`.
        data_format: `channels_last` or `channels_first`. `None` means the default.

    Example:
        >>> ops.average_pool(np.arange(4, dtype="float32").reshape(1, 4, 1), 2).numpy().ravel()
        array([0.5, 2.5], dtype=float32)
    """
    return _pooled(_pooling.average_pool, inputs, pool_size, strides, padding, data_format)


def _adaptive(reduce, inputs, output_size, data_format):
    """Pool each spatial axis in turn into `output_size` windows of nearly equal length."""
    data_format = data_format_of(data_format)
    rank = _spatial_rank(inputs, "inputs")
    x = channels_last(inputs, data_format)
    for axis, count in enumerate(sizes("output_size", output_size, rank), start=1):
        length = x.shape[axis]
        starts = [i * length // count for i in range(count)]
        ends = [-(-(i + 1) * length // count) for i in range(count)]
        pieces = [
            reduce(jnp.take(x, np.arange(a, b), axis=axis), axis, True)
            for a, b in zip(starts, ends, strict=True)
        ]
        x = jnp.concatenate(pieces, axis=axis)
    return restore(x, data_format)


@op("inputs")
def adaptive_average_pool(inputs, output_size, data_format=None):
    """Averages over windows chosen so that the output has a given size.

    Args:
        inputs: Tensor `(batch, *spatial, channels)`, or `(batch, channels, *spatial)` for
            `channels_first`.
        output_size: Spatial size of the result, an int or one for each axis.
        data_format: `channels_last` or `channels_first`. `None` means the default.

    Example:
        >>> ops.adaptive_average_pool(np.arange(5, dtype="float32").reshape(1, 5, 1), 2).numpy().ravel()
        array([1., 3.], dtype=float32)
    """
    return _adaptive(
        lambda x, axis, keep: jnp.mean(x, axis=axis, keepdims=keep),
        inputs,
        output_size,
        data_format,
    )


@op("inputs")
def adaptive_max_pool(inputs, output_size, data_format=None):
    """Largest values over windows chosen so that the output has a given size.

    Args:
        inputs: Tensor `(batch, *spatial, channels)`, or `(batch, channels, *spatial)` for
            `channels_first`.
        output_size: Spatial size of the result, an int or one for each axis.
        data_format: `channels_last` or `channels_first`. `None` means the default.

    Example:
        >>> ops.adaptive_max_pool(np.arange(5, dtype="float32").reshape(1, 5, 1), 2).numpy().ravel()
        array([2., 4.], dtype=float32)
    """
    return _adaptive(
        lambda x, axis, keep: jnp.max(x, axis=axis, keepdims=keep), inputs, output_size, data_format
    )
