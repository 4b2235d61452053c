"""Convolutions and pooling of `keras.backend`, with Keras 2's parameters."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from podium import ops
from podium._typing import TensorLike
from podium.compat.keras.backend._shapes import temporal_padding
from podium.core import Tensor, check_choice
from podium.ops.internal import resolve_data_format


def conv1d(
    x: TensorLike,
    kernel: TensorLike,
    strides: int = 1,
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: int = 1,
) -> Tensor:
    """Compute a convolution over sequences.

    Args:
        x: Sequences `(batch, steps, channels)`.
        kernel: `(size, channels, filters)`.
        strides: The steps between two outputs.
        padding: "valid", "same", or "causal" for padding at the start alone.
        data_format: "channels_last", "channels_first", or None for the default.
        dilation_rate: The steps between two elements of the kernel.

    Example:
        >>> from podium.compat import keras
        >>> x, kernel = np.ones((1, 4, 1), "float32"), np.ones((2, 1, 1), "float32")
        >>> keras.backend.conv1d(x, kernel, padding="causal").numpy().ravel()
        array([1., 2., 2., 2.], dtype=float32)
    """
    data_format = resolve_data_format(data_format)
    if padding == "causal":
        added = (dilation_rate * (ops.shape(kernel)[0] - 1), 0)
        if data_format == "channels_first":
            x = ops.pad(x, [(0, 0), (0, 0), added])
        else:
            x = temporal_padding(x, added)
        padding = "valid"
    return ops.conv(x, kernel, strides, padding, data_format, dilation_rate)


def conv2d(
    x: TensorLike,
    kernel: TensorLike,
    strides: tuple[int, int] = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: tuple[int, int] = (1, 1),
) -> Tensor:
    """Compute a convolution over images; the kernel is `(height, width, channels, filters)`.

    Example:
        >>> from podium.compat import keras
        >>> x, kernel = np.ones((1, 4, 4, 3), "float32"), np.ones((3, 3, 3, 5), "float32")
        >>> keras.backend.conv2d(x, kernel).shape
        (1, 2, 2, 5)
    """
    return ops.conv(x, kernel, strides, padding, resolve_data_format(data_format), dilation_rate)


def conv3d(
    x: TensorLike,
    kernel: TensorLike,
    strides: tuple[int, int, int] = (1, 1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: tuple[int, int, int] = (1, 1, 1),
) -> Tensor:
    """Compute a convolution over volumes; the kernel ends with the channels and the filters.

    Example:
        >>> from podium.compat import keras
        >>> x, kernel = np.ones((1, 4, 4, 4, 3), "float32"), np.ones((3, 3, 3, 3, 5), "float32")
        >>> keras.backend.conv3d(x, kernel).shape
        (1, 2, 2, 2, 5)
    """
    return ops.conv(x, kernel, strides, padding, resolve_data_format(data_format), dilation_rate)


def depthwise_conv2d(
    x: TensorLike,
    depthwise_kernel: TensorLike,
    strides: tuple[int, int] = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: tuple[int, int] = (1, 1),
) -> Tensor:
    """Convolve each channel of images by itself; the kernel is `(height, width, channels, number)`.

    Example:
        >>> from podium.compat import keras
        >>> x, kernel = np.ones((1, 4, 4, 3), "float32"), np.ones((3, 3, 3, 2), "float32")
        >>> keras.backend.depthwise_conv2d(x, kernel).shape
        (1, 2, 2, 6)
    """
    data_format = resolve_data_format(data_format)
    return ops.depthwise_conv(x, depthwise_kernel, strides, padding, data_format, dilation_rate)


def separable_conv2d(
    x: TensorLike,
    depthwise_kernel: TensorLike,
    pointwise_kernel: TensorLike,
    strides: tuple[int, int] = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: tuple[int, int] = (1, 1),
) -> Tensor:
    """Convolve each channel of images by itself, and then all channels of each pixel.

    Example:
        >>> from podium.compat import keras
        >>> x, depthwise = np.ones((1, 4, 4, 3), "float32"), np.ones((3, 3, 3, 2), "float32")
        >>> keras.backend.separable_conv2d(x, depthwise, np.ones((1, 1, 6, 5), "float32")).shape
        (1, 2, 2, 5)
    """
    if len(tuple(strides)) != 2:
        raise ValueError(f"separable_conv2d was given strides={strides}; two were expected.")
    return ops.separable_conv(
        x,
        depthwise_kernel,
        pointwise_kernel,
        strides,
        padding,
        resolve_data_format(data_format),
        dilation_rate,
    )


def conv2d_transpose(
    x: TensorLike,
    kernel: TensorLike,
    output_shape: Sequence[int | None],
    strides: tuple[int, int] = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: tuple[int, int] = (1, 1),
) -> Tensor:
    """Compute the gradient of a convolution over images, which enlarges them.

    Args:
        x: Images.
        kernel: `(height, width, filters, channels)`.
        output_shape: The shape of the result, in the same data format; the batch size may be None.
        strides: The steps between two elements of x in the result.
        padding: The padding of the convolution: "valid" or "same".
        data_format: "channels_last", "channels_first", or None for the default.
        dilation_rate: The steps between two elements of the kernel.

    Example:
        >>> from podium.compat import keras
        >>> x, kernel = np.ones((1, 2, 2, 3), "float32"), np.ones((3, 3, 5, 3), "float32")
        >>> keras.backend.conv2d_transpose(x, kernel, (1, 6, 6, 5), strides=(2, 2)).shape
        (1, 6, 6, 5)
    """
    data_format = resolve_data_format(data_format)
    first = 1 if data_format == "channels_last" else 2
    result = ops.conv_transpose(x, kernel, strides, "valid", 0, data_format, dilation_rate)
    padding = check_choice("padding", padding, ("valid", "same"))
    starts, sizes = [0] * 4, list(ops.shape(result))
    added = [(0, 0)] * 4
    for axis in (first, first + 1):
        size, full = output_shape[axis], sizes[axis]
        if size is None:
            raise ValueError(
                f"conv2d_transpose was given output_shape={tuple(output_shape)}; heights and "
                "widths must be numbers."
            )
        spacing = dilation_rate[axis - first]
        window = (ops.shape(kernel)[axis - first] - 1) * spacing + 1
        reached = size - window + 1 if padding == "valid" else size
        if math.ceil(reached / strides[axis - first]) != ops.shape(x)[axis]:
            raise ValueError(
                f"conv2d_transpose was given output_shape={tuple(output_shape)}; a convolution of "
                f"such images with strides={strides} and padding={padding!r} has not the shape "
                f"{tuple(ops.shape(x))} of x."
            )
        if padding == "same":
            starts[axis] = max(full - size, 0) // 2
        sizes[axis] = min(size, full - starts[axis])
        added[axis] = (0, size - sizes[axis])
    return ops.pad(result[_window(starts, sizes, first)], added)


def _window(starts: list[int], sizes: list[int], first: int) -> tuple[slice, ...]:
    """Return the index of a part of images, of which `first` is the dimension of rows."""
    return (slice(None),) * first + tuple(
        slice(starts[axis], starts[axis] + sizes[axis]) for axis in (first, first + 1)
    )


def pool2d(
    x: TensorLike,
    pool_size: tuple[int, int],
    strides: tuple[int, int] = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    pool_mode: str = "max",
) -> Tensor:
    """Return the maximum or mean of windows of images; by default of each one, with strides of 1.

    Args:
        x: Images.
        pool_size: The height and width of the windows.
        strides: The distances between windows.
        padding: "valid" or "same".
        data_format: "channels_last", "channels_first", or None for the default.
        pool_mode: "max" or "avg".

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.pool2d(np.ones((1, 4, 4, 1), "float32"), (2, 2)).shape
        (1, 3, 3, 1)
    """
    if len(pool_size) != 2 or len(strides) != 2:
        raise ValueError(
            f"pool2d was given pool_size={pool_size} and strides={strides}; two numbers for each "
            "were expected."
        )
    return _pool_nd(x, pool_size, strides, padding, data_format, pool_mode)


def pool3d(
    x: TensorLike,
    pool_size: tuple[int, int, int],
    strides: tuple[int, int, int] = (1, 1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    pool_mode: str = "max",
) -> Tensor:
    """Return the maximum or mean of windows of volumes; by default of each one, with strides of 1.

    Args:
        x: Volumes.
        pool_size: The depth, height and width of the windows.
        strides: The distances between windows.
        padding: "valid" or "same".
        data_format: "channels_last", "channels_first", or None for the default.
        pool_mode: "max" or "avg".

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.pool3d(np.ones((1, 4, 4, 4, 1), "float32"), (2, 2, 2)).shape
        (1, 3, 3, 3, 1)
    """
    return _pool_nd(x, pool_size, strides, padding, data_format, pool_mode)


def _pool_nd(
    x: TensorLike,
    pool_size: Sequence[int],
    strides: Sequence[int],
    padding: str,
    data_format: str | None,
    pool_mode: str,
) -> Tensor:
    is_max = check_choice("pool_mode", pool_mode, ("max", "avg")) == "max"
    pool = ops.max_pool if is_max else ops.average_pool
    return pool(x, pool_size, strides, padding, resolve_data_format(data_format))


def local_conv1d(
    inputs: TensorLike,
    kernel: TensorLike,
    kernel_size: Sequence[int],
    strides: Sequence[int],
    data_format: str | None = None,
) -> Tensor:
    """Compute a convolution over sequences with a kernel of its own for each position.

    Args:
        inputs: Sequences `(batch, steps, channels)`.
        kernel: `(output steps, kernel size * channels, filters)`.
        kernel_size: The size of the window.
        strides: The steps between two windows.
        data_format: "channels_last", "channels_first", or None for the default.

    Example:
        >>> from podium.compat import keras
        >>> inputs, kernel = np.ones((2, 4, 3), "float32"), np.ones((3, 6, 5), "float32")
        >>> keras.backend.local_conv1d(inputs, kernel, (2,), (1,)).shape
        (2, 3, 5)
    """
    sizes = (ops.shape(kernel)[0],)
    return _convolve_locally(inputs, kernel, kernel_size, strides, sizes, data_format)


def local_conv2d(
    inputs: TensorLike,
    kernel: TensorLike,
    kernel_size: Sequence[int],
    strides: Sequence[int],
    output_shape: Sequence[int],
    data_format: str | None = None,
) -> Tensor:
    """Compute a convolution over images with a kernel of its own for each position.

    Args:
        inputs: Images `(batch, rows, columns, channels)`.
        kernel: `(output rows * output columns, kernel rows * kernel columns * channels, filters)`.
        kernel_size: The rows and columns of the window.
        strides: The rows and columns between two windows.
        output_shape: The rows and columns of the result.
        data_format: "channels_last", "channels_first", or None for the default.

    Example:
        >>> from podium.compat import keras
        >>> inputs, kernel = np.ones((2, 3, 3, 1), "float32"), np.ones((4, 4, 5), "float32")
        >>> keras.backend.local_conv2d(inputs, kernel, (2, 2), (1, 1), (2, 2)).shape
        (2, 2, 2, 5)
    """
    return _convolve_locally(inputs, kernel, kernel_size, strides, output_shape, data_format)


def _convolve_locally(
    inputs: TensorLike,
    kernel: TensorLike,
    kernel_size: Sequence[int],
    strides: Sequence[int],
    output_shape: Sequence[int],
    data_format: str | None,
) -> Tensor:
    is_last = resolve_data_format(data_format) == "channels_last"
    # One strided slice per element of the window: the number of operations does not depend on the
    # number of positions.
    slices = []
    for offsets in itertools.product(*map(range, kernel_size)):
        index = tuple(
            slice(offset, offset + (size - 1) * stride + 1, stride)
            for offset, stride, size in zip(offsets, strides, output_shape, strict=True)
        )
        slices.append(_index_space(inputs, index, is_last))
    # (positions, elements of the window, batch, channels) in the order of the kernel's dimensions.
    count, channels = math.prod(output_shape), ops.shape(inputs)[-1 if is_last else 1]
    windows = ops.stack([_positions_first(part, count, is_last) for part in slices], axis=1)
    filters = ops.shape(kernel)[-1]
    if is_last:
        shape, letters = (count, len(slices), channels, filters), "pkcf"
    else:
        shape, letters = (count, channels, len(slices), filters), "pckf"
    result = ops.einsum(f"pkbc,{letters}->bpf", windows, ops.reshape(kernel, shape))
    if is_last:
        return ops.reshape(result, (-1, *output_shape, filters))
    return ops.reshape(ops.transpose(result, (0, 2, 1)), (-1, filters, *output_shape))


def _index_space(x: TensorLike, index: tuple[slice, ...], is_last: bool) -> Tensor:
    all_of_it = slice(None)
    return ops.get_item(x, (all_of_it, *index) if is_last else (all_of_it, all_of_it, *index))


def _positions_first(x: Tensor, count: int, is_last: bool) -> Tensor:
    """Return `(positions, batch, channels)`."""
    batch = ops.shape(x)[0]
    batch = -1 if batch is None else batch
    if is_last:
        return ops.transpose(ops.reshape(x, (batch, count, ops.shape(x)[-1])), (1, 0, 2))
    return ops.transpose(ops.reshape(x, (batch, ops.shape(x)[1], count)), (2, 0, 1))
