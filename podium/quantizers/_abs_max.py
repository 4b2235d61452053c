"""Quantization of tensors by their largest magnitudes, and in groups of rows with zero points.

The functions compute with the operations of `podium.ops`, or on the host with NumPy, which needs no
memory on the device. The results are the same up to the rounding of scales.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from podium import ops
from podium._typing import DType, TensorLike
from podium.core import Tensor, convert_to_tensor
from podium.core.internal import check_int

EPSILON = 1e-7


def abs_max_quantize(
    inputs: TensorLike,
    axis: int | Sequence[int],
    value_range: Sequence[int] = (-127, 127),
    dtype: DType = "int8",
    epsilon: float = EPSILON,
    to_numpy: bool = False,
) -> tuple[Tensor, Tensor]:
    """Scale values so that the largest magnitude along some axes becomes the largest integer.

    Args:
        inputs: The values.
        axis: The axis, or axes, that share a scale.
        value_range: The smallest and the largest quantized value.
        dtype: The dtype of quantized values.
        epsilon: A small number that avoids division by zero.
        to_numpy: Whether to compute on the host, which needs no memory on the device.

    Returns:
        The quantized values, and their scale: `inputs` is about `values / scale`.

    Example:
        >>> values, scale = podium.quantizers.abs_max_quantize([[1.0, -4.0]], axis=-1)
        >>> values.numpy(), float(scale[0, 0])
        (array([[  32, -127]], dtype=int8), 31.75)
    """
    axes = axis if isinstance(axis, int) else tuple(axis)
    low, high = value_range
    if to_numpy:
        array = np.asarray(convert_to_tensor(inputs))
        largest = np.max(np.abs(array), axis=axes, keepdims=True)
        host_scale = np.divide(high, np.add(largest, epsilon))
        values = np.clip(np.round(np.multiply(array, host_scale)), low, high).astype(dtype)
        return convert_to_tensor(values), convert_to_tensor(host_scale.astype(array.dtype))
    x = convert_to_tensor(inputs)
    scale = ops.divide(high, ops.add(ops.max(ops.abs(x), axis=axes, keepdims=True), epsilon))
    scale = ops.cast(scale, x.dtype)
    outputs = ops.clip(ops.round(ops.multiply(x, scale)), low, high)
    return ops.cast(outputs, dtype), scale


def abs_max_quantize_grouped_with_zero_point(
    inputs: TensorLike,
    block_size: int,
    value_range: Sequence[int] = (-8, 7),
    dtype: DType = "int8",
    epsilon: float = EPSILON,
    to_numpy: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """Map the range of every block of rows, column by column, to a range of integers.

    Unlike for `abs_max_quantize`, a range need not be centered at zero. It should contain zero, as
    that of weights usually does: zero points have the bits of values, so that a range far from zero
    is cut off.

    Args:
        inputs: A matrix. If `block_size` does not divide its rows, zeros are added to the last
            block.
        block_size: The number of rows that share a scale and a zero point.
        value_range: The smallest and the largest quantized value; a power of two many.
        dtype: The dtype of quantized values.
        epsilon: A small number that avoids division by zero.
        to_numpy: Whether to compute on the host, which needs no memory on the device.

    Returns:
        The quantized values, the scales, and the zero points (int8), both of shape
        `(blocks, columns)`: `inputs` is about `(values - zero_point) * scale`.

    Example:
        >>> kernel = np.array([[0.0], [1.5], [-1.0], [2.0]], "float32")
        >>> values, scale, zero = podium.quantizers.abs_max_quantize_grouped_with_zero_point(
        ...     kernel, block_size=2)
        >>> values[:, 0].numpy(), zero[:, 0].numpy(), scale.shape
        (array([-8,  7, -8,  7], dtype=int8), array([-8, -3], dtype=int8), (2, 1))
    """
    check_int("block_size", block_size, type_error=ValueError)
    x = convert_to_tensor(inputs)
    if len(x.shape) != 2:
        raise ValueError(
            f"inputs of shape {x.shape} were given; a matrix was expected. Reshape it first."
        )
    low, high = value_range
    quantize = _quantize_groups_on_host if to_numpy else _quantize_groups
    return quantize(x, block_size, low, high, dtype, epsilon)


def _quantize_groups_on_host(
    x: Tensor, block_size: int, low: int, high: int, dtype: DType, epsilon: float
) -> tuple[Tensor, Tensor, Tensor]:
    array = np.asarray(x)
    rows, columns = array.shape
    groups = -(-rows // block_size)
    padded = np.pad(array, ((0, groups * block_size - rows), (0, 0)))
    blocks = padded.reshape(groups, block_size, columns)
    smallest = np.min(blocks, axis=1, keepdims=True)
    scale = np.divide(
        np.subtract(np.max(blocks, axis=1, keepdims=True), smallest) + epsilon, high - low
    )
    zero_point = np.clip(np.round(np.divide(-smallest, scale)) + low, low, high)
    values = np.clip(np.round(np.divide(blocks, scale)) + zero_point, low, high).astype(dtype)
    return (
        convert_to_tensor(values.reshape(-1, columns)[:rows]),
        convert_to_tensor(scale[:, 0].astype(array.dtype)),
        convert_to_tensor(zero_point[:, 0].astype("int8")),
    )


def _quantize_groups(
    x: Tensor, block_size: int, low: int, high: int, dtype: DType, epsilon: float
) -> tuple[Tensor, Tensor, Tensor]:
    rows, columns = x.shape
    bits = (high - low + 1).bit_length() - 1
    scale, zero_point, _ = compute_quantization_parameters(
        ops.transpose(x),
        bits=bits,
        per_channel=True,
        group_size=block_size,
        compute_dtype=x.dtype.name,
        epsilon=epsilon,
        signed=True,
    )
    scale, zero_point = ops.transpose(scale), ops.transpose(zero_point)
    groups = scale.shape[0]
    padded = ops.pad(x, [[0, groups * block_size - rows], [0, 0]])
    blocks = ops.reshape(padded, (groups, block_size, columns))
    values = ops.add(
        ops.round(ops.divide(blocks, ops.expand_dims(scale, 1))),
        ops.cast(ops.expand_dims(zero_point, 1), x.dtype),
    )
    values = ops.reshape(ops.cast(ops.clip(values, low, high), dtype), (-1, columns))
    return values[:rows], scale, zero_point


def compute_quantization_parameters(
    x: TensorLike,
    *,
    bits: int,
    symmetric: bool = False,
    per_channel: bool = False,
    group_size: int = -1,
    compute_dtype: DType = "float32",
    epsilon: float = 0.0,
    signed: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """Compute the scales and the zero points that quantize a matrix.

    Args:
        x: The matrix, of shape `(out_features, in_features)`.
        bits: The number of bits of a quantized value.
        symmetric: Whether the range of values is centered at zero.
        per_channel: Whether every row has a range of its own.
        group_size: With `per_channel`, the number of values of a row that share a range; -1 for
            all.
        compute_dtype: The dtype of the largest quantized value.
        epsilon: A number added to the size of ranges.
        signed: Whether quantized values are centered at zero, and not at least zero.

    Returns:
        The scales and the zero points, of shape `(out_features, groups)`, and the largest value.

    Raises:
        ValueError: `x` is None or empty, or has fewer than two dimensions.

    Example:
        >>> from podium.quantizers.internal import compute_quantization_parameters
        >>> scale, zero, _ = compute_quantization_parameters([[0.0, 3.0], [-1.0, 2.0]], bits=2,
        ...     per_channel=True)
        >>> scale[:, 0].numpy(), zero[:, 0].numpy()
        (array([1., 1.], dtype=float32), array([0, 1], dtype=uint8))
    """
    if x is None:
        raise ValueError("x=None was given; a matrix was expected. It cannot be None.")
    matrix = convert_to_tensor(x)
    if len(matrix.shape) < 2:
        raise ValueError(f"x of shape {matrix.shape} was given; a rank of at least 2 was expected.")
    if 0 in matrix.shape:
        raise ValueError(f"x of shape {matrix.shape} was given: it is empty.")
    rows, columns = matrix.shape[:2]
    groups = -(-columns // group_size) if per_channel and group_size > 0 else 1
    if groups > 1:
        padded = ops.pad(matrix, [[0, 0], [0, groups * group_size - columns]])
        ranges = ops.reshape(padded, (rows, groups, group_size))
    else:
        ranges = ops.reshape(matrix, (rows if per_channel else 1, 1, -1))
    low, high = ops.min(ranges, axis=2), ops.max(ranges, axis=2)
    if symmetric:
        high = ops.maximum(ops.abs(low), high)
        low = ops.where(ops.less(low, 0), ops.negative(high), low)
    is_constant = ops.equal(low, high)
    low, high = ops.where(is_constant, low - 1, low), ops.where(is_constant, high + 1, high)
    largest = ops.cast(2**bits - 1, compute_dtype)
    scale = ops.divide(ops.add(ops.subtract(high, low), epsilon), largest)
    scale = ops.where(ops.less_equal(scale, 0), 1e-8, scale)
    smallest = -(2 ** (bits - 1)) if signed else 0
    if symmetric:
        zero = ops.full_like(scale, 2 ** (bits - 1) + smallest)
    else:
        zero = ops.add(ops.round(ops.divide(ops.negative(low), scale)), smallest)
    if signed:
        zero = ops.clip(zero, smallest, smallest + 2**bits - 1)
    if not per_channel:
        scale, zero = ops.tile(scale, (rows, 1)), ops.tile(zero, (rows, 1))
    return scale, ops.cast(zero, "int8" if signed else "uint8"), largest


def quantize_with_zero_point(
    x: TensorLike, scale: TensorLike, zero: TensorLike, largest: TensorLike
) -> Tensor:
    """Return values from 0 to `largest`, as floats: `x / scale + zero`, rounded.

    Example:
        >>> from podium.quantizers.internal import quantize_with_zero_point
        >>> quantize_with_zero_point([-1.0, 0.4, 9.0], 1.0, 1, 3).numpy()
        array([0., 1., 3.], dtype=float32)
    """
    divisor = ops.where(ops.equal(scale, 0), 1e-8, scale)
    offset = ops.cast(zero, convert_to_tensor(scale).dtype)
    values = ops.round(ops.add(ops.divide(x, divisor), offset))
    return ops.clip(values, 0, cast(Any, largest))


def dequantize_with_zero_point(x: TensorLike, scale: TensorLike, zero: TensorLike) -> Tensor:
    """Return `scale * (x - zero)`.

    Example:
        >>> from podium.quantizers.internal import dequantize_with_zero_point
        >>> dequantize_with_zero_point([0.0, 3.0], 0.5, 1).numpy()
        array([-0.5,  1. ], dtype=float32)
    """
    offset = ops.cast(zero, convert_to_tensor(scale).dtype)
    return ops.multiply(scale, ops.subtract(x, offset))


def dequantize_with_groups(
    values: TensorLike,
    scale: TensorLike,
    zero: TensorLike,
    groups: TensorLike,
    group_axis: int = -1,
) -> Tensor:
    """Return `(values - zero) * scale`, with the scales and zero points of groups.

    Args:
        values: The quantized values.
        scale: The scales, with the groups along `group_axis`.
        zero: The zero points, of the same shape.
        groups: The number of the group of each position along the quantized axis, as floats.
        group_axis: The axis of the groups.

    Example:
        >>> from podium.quantizers.internal import dequantize_with_groups
        >>> values, scale, zero = np.array([[5, 7, 1]]), np.array([[2.0, 0.5]]), np.array([[5, 1]])
        >>> dequantize_with_groups(values, scale, zero, np.array([0.0, 0.0, 1.0])).numpy()
        array([[0., 4., 0.]], dtype=float32)
    """
    positions = ops.cast(groups, "int32")
    scales = ops.take(scale, positions, axis=group_axis)
    zeros = ops.cast(ops.take(zero, positions, axis=group_axis), scales.dtype)
    return ops.multiply(ops.subtract(ops.cast(values, scales.dtype), zeros), scales)
