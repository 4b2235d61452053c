"""Sizes and paddings of transposed convolutions, which the tests of those layers compute with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def canonicalize_axis(axis: int, num_dims: int) -> int:
    """Return an axis counted from the first."""
    if not -num_dims <= axis < num_dims:
        raise ValueError(f"axis={axis} is out of bounds for an array of rank {num_dims}.")
    return axis % num_dims


def compute_conv_transpose_output_shape(
    input_shape: Sequence[int | None],
    kernel_size: Sequence[int],
    filters: int,
    strides: Any,
    padding: str,
    output_padding: Any = None,
    data_format: str = "channels_last",
    dilation_rate: Any = 1,
) -> list[int | None]:
    """Return the shape of the outputs: (size - 1) * stride plus what kernel and padding add."""
    is_last = data_format == "channels_last"
    sizes: list[int | None] = []
    for axis, size in enumerate(input_shape[1:-1] if is_last else input_shape[2:]):
        stride = _of_axis(strides, axis)
        low, high = _padding_of_axis(
            kernel_size[axis],
            stride,
            padding,
            _of_axis(output_padding, axis),
            _of_axis(dilation_rate, axis),
        )
        reach = (kernel_size[axis] - 1) * _of_axis(dilation_rate, axis) + 1
        sizes.append(None if size is None else (size - 1) * stride + 2 - reach + low + high)
    return [input_shape[0], *sizes, filters] if is_last else [input_shape[0], filters, *sizes]


def compute_conv_transpose_padding_args_for_jax(
    input_shape: Sequence[int | None],
    kernel_shape: Sequence[int],
    strides: Any,
    padding: str,
    output_padding: Any,
    dilation_rate: Any,
) -> list[tuple[int, int]]:
    """Return what `jax.lax.conv_transpose` is to add at both ends of each axis."""
    return [
        _padding_of_axis(
            kernel_shape[axis],
            _of_axis(strides, axis),
            padding,
            _of_axis(output_padding, axis),
            _of_axis(dilation_rate, axis),
        )
        for axis in range(len(input_shape) - 2)
    ]


def _padding_of_axis(
    kernel_size: int, stride: int, padding: str, output_padding: int | None, dilation: int
) -> tuple[int, int]:
    reach = (kernel_size - 1) * dilation + 1
    if padding == "valid":
        more = max(stride - reach, 0) if output_padding is None else output_padding
        return reach - 1, reach - 1 + more
    if output_padding is None:
        total = reach + stride - 2
    else:
        total = reach + reach % 2 - 2 + output_padding
    low = min((total + 1) // 2, reach - 1)
    return low, total - low


def _of_axis(value: Any, axis: int) -> Any:
    return value[axis] if isinstance(value, (list, tuple)) else value
