"""The part of `tf.nn` that slides windows over images: convolutions and pooling."""

from typing import Any

import jax.numpy as jnp

from podium import ops
from podium.compat.tensorflow._sizes import sizes
from podium.core import check_choice, dispatch

_FORMATS = {"NWC": 1, "NCW": 1, "NHWC": 2, "NCHW": 2, "NDHWC": 3, "NCDHW": 3}


def _layout(data_format: str | None, dims: int) -> str:
    if data_format is None:
        return "channels_last"
    check_choice("data_format", data_format, [name for name, n in _FORMATS.items() if n == dims])
    return "channels_first" if data_format.startswith("NC") else "channels_last"


def _steps(value: Any, dims: int, layout: str) -> tuple[int, ...]:
    """Strides or window sizes of the spatial axes; TensorFlow also writes those of batch and
    channels.
    """
    if value is None:
        return (1,) * dims
    found = sizes(value)
    if len(found) == dims + 2:
        return found[1:-1] if layout == "channels_last" else found[2:]
    return found * dims if len(found) == 1 else found


def _padded(x: Any, padding: Any, layout: str, fill: float = 0.0) -> tuple[Any, str]:
    """Apply explicit margins; return the input and the word for what is left to do."""
    if isinstance(padding, str):
        return x, check_choice("padding", padding.lower(), ("same", "valid"))
    widths = [tuple(pair) for pair in padding]
    return dispatch(lambda x: jnp.pad(x, widths, constant_values=fill), x), "valid"


def _conv(
    dims: int,
    input: Any,
    filters: Any,
    strides: Any,
    padding: Any,
    data_format: str | None,
    dilations: Any,
) -> Any:
    layout = _layout(data_format, dims)
    x, how = _padded(input, padding, layout)
    return ops.conv(
        x, filters, _steps(strides, dims, layout), how, layout, _steps(dilations, dims, layout)
    )


def conv1d(
    input: Any,
    filters: Any,
    stride: Any,
    padding: Any,
    data_format: str = "NWC",
    dilations: Any = None,
    name: str | None = None,
) -> Any:
    """Convolve sequences with filters `(length, channels in, channels out)`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.nn.conv1d(tf.ones((1, 5, 2)), tf.ones((3, 2, 4)), stride=1, padding="VALID").shape
        (1, 3, 4)
    """
    return _conv(1, input, filters, stride, padding, data_format, dilations)


def conv2d(
    input: Any,
    filters: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Any:
    """Convolve images with filters `(height, width, channels in, channels out)`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.nn.conv2d(tf.ones((1, 4, 4, 1)), tf.ones((3, 3, 1, 2)), strides=[1, 2, 2, 1], padding="SAME").shape
        (1, 2, 2, 2)
    """
    return _conv(2, input, filters, strides, padding, data_format, dilations)


def conv3d(
    input: Any,
    filters: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NDHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Any:
    """Convolve volumes with filters `(depth, height, width, channels in, channels out)`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.nn.conv3d(tf.ones((1, 3, 3, 3, 1)), tf.ones((2, 2, 2, 1, 4)), strides=1, padding="VALID").shape
        (1, 2, 2, 2, 4)
    """
    return _conv(3, input, filters, strides, padding, data_format, dilations)


def depthwise_conv2d(
    input: Any,
    filter: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Any:
    """Convolve each channel by itself; filters are `(height, width, channels, multiplier)`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.nn.depthwise_conv2d(tf.ones((1, 4, 4, 3)), tf.ones((2, 2, 3, 2)), [1, 1, 1, 1], "SAME").shape
        (1, 4, 4, 6)
    """
    layout = _layout(data_format, 2)
    x, how = _padded(input, padding, layout)
    return ops.depthwise_conv(
        x, filter, _steps(strides, 2, layout), how, layout, _steps(dilations, 2, layout)
    )


def conv2d_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: str = "SAME",
    data_format: str = "NHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Any:
    """The gradient of a convolution; filters are `(height, width, channels out, channels in)`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.nn.conv2d_transpose(tf.ones((1, 2, 2, 3)), tf.ones((3, 3, 5, 3)), (1, 4, 4, 5), strides=2).shape
        (1, 4, 4, 5)
    """
    layout = _layout(data_format, 2)
    made = ops.conv_transpose(
        input,
        filters,
        _steps(strides, 2, layout),
        padding.lower(),
        None,
        layout,
        _steps(dilations, 2, layout),
    )
    wanted = sizes(output_shape)
    if tuple(made.shape[1:]) != wanted[1:]:
        raise ValueError(
            f"output_shape={wanted} was given; these strides and this padding give "
            f"{tuple(made.shape)}."
        )
    return made


def _pool(
    op: Any, dims: int, input: Any, ksize: Any, strides: Any, padding: str, data_format: str | None
) -> Any:
    layout = _layout(data_format, dims)
    return op(
        input, _steps(ksize, dims, layout), _steps(strides, dims, layout), padding.lower(), layout
    )


def max_pool2d(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NHWC",
    name: str | None = None,
) -> Any:
    """The largest value in each window.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.nn.max_pool2d(tf.ones((1, 4, 4, 1)), 2, 2, "VALID").shape
        (1, 2, 2, 1)
    """
    return _pool(ops.max_pool, 2, input, ksize, strides, padding, data_format)


def avg_pool2d(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NHWC",
    name: str | None = None,
) -> Any:
    """The mean of each window.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.nn.avg_pool2d(tf.ones((1, 4, 4, 1)), 2, 2, "VALID").shape
        (1, 2, 2, 1)
    """
    return _pool(ops.average_pool, 2, input, ksize, strides, padding, data_format)


def max_pool1d(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NWC",
    name: str | None = None,
) -> Any:
    """The largest value in each window of sequences.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.nn.max_pool1d(tf.ones((1, 4, 1)), 2, 2, "VALID").shape
        (1, 2, 1)
    """
    return _pool(ops.max_pool, 1, input, ksize, strides, padding, data_format)


def avg_pool1d(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NWC",
    name: str | None = None,
) -> Any:
    """The mean of each window of sequences.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.nn.avg_pool1d(tf.ones((1, 4, 1)), 2, 2, "VALID").shape
        (1, 2, 1)
    """
    return _pool(ops.average_pool, 1, input, ksize, strides, padding, data_format)


def max_pool(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str | None = None,
    name: str | None = None,
) -> Any:
    """The largest value in each window of sequences, images or volumes.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.nn.max_pool(tf.ones((1, 4, 4, 1)), 2, 2, "VALID").shape
        (1, 2, 2, 1)
    """
    return _pool(
        ops.max_pool, len(ops.shape(input)) - 2, input, ksize, strides, padding, data_format
    )


def avg_pool(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str | None = None,
    name: str | None = None,
) -> Any:
    """The mean of each window of sequences, images or volumes.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.nn.avg_pool(tf.ones((1, 4, 4, 1)), 2, 2, "VALID").shape
        (1, 2, 2, 1)
    """
    return _pool(
        ops.average_pool, len(ops.shape(input)) - 2, input, ksize, strides, padding, data_format
    )
