"""Convolutions and pooling of `tf.nn`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import jax
import jax.numpy as jnp

from podium import ops
from podium._typing import ShapeLike, TensorLike
from podium.compat.tensorflow._decorators import lift_with_promotion
from podium.compat.tensorflow._shapes import static_shape
from podium.core import Tensor, check_choice

# "SAME", "VALID", or the widths before and after for each axis.
Padding: TypeAlias = str | Sequence[Sequence[int]]

# The number of spatial axes of each data format.
_DATA_FORMATS = {"NWC": 1, "NCW": 1, "NHWC": 2, "NCHW": 2, "NDHWC": 3, "NCDHW": 3}


def _keras_data_format(data_format: str | None, num_dims: int) -> str:
    if data_format is None:
        return "channels_last"
    choices = [name for name, spatial_dims in _DATA_FORMATS.items() if spatial_dims == num_dims]
    check_choice("data_format", data_format, choices)
    return "channels_first" if data_format.startswith("NC") else "channels_last"


def _spatial(value: ShapeLike | None, num_dims: int, data_format: str) -> tuple[int, ...]:
    """Return strides or window sizes of the spatial axes.

    TensorFlow also accepts values for the batch and channel axes, which are dropped.
    """
    if value is None:
        return (1,) * num_dims
    values = static_shape(value)
    if len(values) == num_dims + 2:
        return values[1:-1] if data_format == "channels_last" else values[2:]
    return values * num_dims if len(values) == 1 else values


def _pad_explicitly(x: TensorLike, padding: Padding) -> tuple[TensorLike, str]:
    """Apply explicit padding; return the input and the padding mode of the convolution."""
    if isinstance(padding, str):
        return x, check_choice("padding", padding.lower(), ("same", "valid"))
    widths = [tuple(pair) for pair in padding]

    @lift_with_promotion
    def pad(x: TensorLike) -> jax.Array:
        return jnp.pad(jnp.asarray(x), widths)

    return pad(x), "valid"


def _conv(
    num_dims: int,
    input: TensorLike,
    filters: TensorLike,
    strides: ShapeLike,
    padding: Padding,
    data_format: str | None,
    dilations: ShapeLike | None,
) -> Tensor:
    keras_format = _keras_data_format(data_format, num_dims)
    x, padding_mode = _pad_explicitly(input, padding)
    return ops.conv(
        x,
        filters,
        _spatial(strides, num_dims, keras_format),
        padding_mode,
        keras_format,
        _spatial(dilations, num_dims, keras_format),
    )


def conv1d(
    input: TensorLike,
    filters: TensorLike,
    stride: ShapeLike,
    padding: Padding,
    data_format: str = "NWC",
    dilations: ShapeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Convolve sequences with filters `(length, channels in, channels out)`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.nn.conv1d(tf.ones((1, 5, 2)), tf.ones((3, 2, 4)), stride=1, padding="VALID").shape
        (1, 3, 4)
    """
    return _conv(1, input, filters, stride, padding, data_format, dilations)


def conv2d(
    input: TensorLike,
    filters: TensorLike,
    strides: ShapeLike,
    padding: Padding,
    data_format: str = "NHWC",
    dilations: ShapeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Convolve images with filters `(height, width, channels in, channels out)`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> images, filters = tf.ones((1, 4, 4, 1)), tf.ones((3, 3, 1, 2))
        >>> tf.nn.conv2d(images, filters, strides=[1, 2, 2, 1], padding="SAME").shape
        (1, 2, 2, 2)
    """
    return _conv(2, input, filters, strides, padding, data_format, dilations)


def conv3d(
    input: TensorLike,
    filters: TensorLike,
    strides: ShapeLike,
    padding: Padding,
    data_format: str = "NDHWC",
    dilations: ShapeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Convolve volumes with filters `(depth, height, width, channels in, channels out)`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> volumes, filters = tf.ones((1, 3, 3, 3, 1)), tf.ones((2, 2, 2, 1, 4))
        >>> tf.nn.conv3d(volumes, filters, strides=1, padding="VALID").shape
        (1, 2, 2, 2, 4)
    """
    return _conv(3, input, filters, strides, padding, data_format, dilations)


def depthwise_conv2d(
    input: TensorLike,
    filter: TensorLike,
    strides: ShapeLike,
    padding: Padding,
    data_format: str = "NHWC",
    dilations: ShapeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Convolve each channel separately; filters are `(height, width, channels, multiplier)`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> images, filters = tf.ones((1, 4, 4, 3)), tf.ones((2, 2, 3, 2))
        >>> tf.nn.depthwise_conv2d(images, filters, [1, 1, 1, 1], "SAME").shape
        (1, 4, 4, 6)
    """
    keras_format = _keras_data_format(data_format, 2)
    x, padding_mode = _pad_explicitly(input, padding)
    return ops.depthwise_conv(
        x,
        filter,
        _spatial(strides, 2, keras_format),
        padding_mode,
        keras_format,
        _spatial(dilations, 2, keras_format),
    )


def conv2d_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: ShapeLike,
    strides: ShapeLike,
    padding: str = "SAME",
    data_format: str = "NHWC",
    dilations: ShapeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Compute a transposed convolution; filters are `(height, width, channels out, channels in)`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> images, filters = tf.ones((1, 2, 2, 3)), tf.ones((3, 3, 5, 3))
        >>> tf.nn.conv2d_transpose(images, filters, (1, 4, 4, 5), strides=2).shape
        (1, 4, 4, 5)
    """
    keras_format = _keras_data_format(data_format, 2)
    result = ops.conv_transpose(
        input,
        filters,
        _spatial(strides, 2, keras_format),
        padding.lower(),
        None,
        keras_format,
        _spatial(dilations, 2, keras_format),
    )
    expected_shape = static_shape(output_shape)
    if tuple(result.shape[1:]) != expected_shape[1:]:
        raise ValueError(
            f"output_shape={expected_shape} was given; these strides and this padding produce "
            f"{tuple(result.shape)}."
        )
    return result


def _pool(
    op: Callable[..., Tensor],
    num_dims: int,
    input: TensorLike,
    ksize: ShapeLike,
    strides: ShapeLike,
    padding: str,
    data_format: str | None,
) -> Tensor:
    keras_format = _keras_data_format(data_format, num_dims)
    return op(
        input,
        _spatial(ksize, num_dims, keras_format),
        _spatial(strides, num_dims, keras_format),
        padding.lower(),
        keras_format,
    )


def max_pool2d(
    input: TensorLike,
    ksize: ShapeLike,
    strides: ShapeLike,
    padding: str,
    data_format: str = "NHWC",
    name: str | None = None,
) -> Tensor:
    """Compute the maximum of each window.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.nn.max_pool2d(tf.ones((1, 4, 4, 1)), 2, 2, "VALID").shape
        (1, 2, 2, 1)
    """
    return _pool(ops.max_pool, 2, input, ksize, strides, padding, data_format)


def avg_pool2d(
    input: TensorLike,
    ksize: ShapeLike,
    strides: ShapeLike,
    padding: str,
    data_format: str = "NHWC",
    name: str | None = None,
) -> Tensor:
    """Compute the mean of each window.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.nn.avg_pool2d(tf.ones((1, 4, 4, 1)), 2, 2, "VALID").shape
        (1, 2, 2, 1)
    """
    return _pool(ops.average_pool, 2, input, ksize, strides, padding, data_format)


def max_pool1d(
    input: TensorLike,
    ksize: ShapeLike,
    strides: ShapeLike,
    padding: str,
    data_format: str = "NWC",
    name: str | None = None,
) -> Tensor:
    """Compute the maximum of each window of sequences.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.nn.max_pool1d(tf.ones((1, 4, 1)), 2, 2, "VALID").shape
        (1, 2, 1)
    """
    return _pool(ops.max_pool, 1, input, ksize, strides, padding, data_format)


def avg_pool1d(
    input: TensorLike,
    ksize: ShapeLike,
    strides: ShapeLike,
    padding: str,
    data_format: str = "NWC",
    name: str | None = None,
) -> Tensor:
    """Compute the mean of each window of sequences.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.nn.avg_pool1d(tf.ones((1, 4, 1)), 2, 2, "VALID").shape
        (1, 2, 1)
    """
    return _pool(ops.average_pool, 1, input, ksize, strides, padding, data_format)


def max_pool(
    input: TensorLike,
    ksize: ShapeLike,
    strides: ShapeLike,
    padding: str,
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Compute the maximum of each window of sequences, images or volumes.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.nn.max_pool(tf.ones((1, 4, 4, 1)), 2, 2, "VALID").shape
        (1, 2, 2, 1)
    """
    return _pool(
        ops.max_pool, len(ops.shape(input)) - 2, input, ksize, strides, padding, data_format
    )


def avg_pool(
    input: TensorLike,
    ksize: ShapeLike,
    strides: ShapeLike,
    padding: str,
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Compute the mean of each window of sequences, images or volumes.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.nn.avg_pool(tf.ones((1, 4, 4, 1)), 2, 2, "VALID").shape
        (1, 2, 2, 1)
    """
    return _pool(
        ops.average_pool, len(ops.shape(input)) - 2, input, ksize, strides, padding, data_format
    )
