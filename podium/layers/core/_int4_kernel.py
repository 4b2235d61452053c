"""Kernels of 4 bits: the variables of Dense and EinsumDense in the mode "int4".

A kernel is a matrix here, `(rows, columns)`, whose rows are summed over. Its values are packed in
pairs along the columns.
"""

from __future__ import annotations

from podium import ops
from podium._typing import Shape, Value
from podium.core import Tensor
from podium.layers.core._int4_weights import (
    group_numbers,
    int4_block_size,
    num_groups,
    quantize_matrix_to_int4,
)
from podium.layers.core._quantizable_layer import QuantizableLayer, QuantizedValues, scale_of_size
from podium.quantizers import QuantizationConfig, pack_int4, unpack_int4
from podium.quantizers.internal import dequantize_with_groups


def int4_kernel_values(
    layer: QuantizableLayer, matrix: Value, config: QuantizationConfig | None
) -> QuantizedValues:
    """Return the values of the variables of a quantized kernel.

    Args:
        layer: The layer.
        matrix: The float kernel.
        config: The quantization config.
    """
    block_size = int4_block_size(layer, config)
    quantized = quantize_matrix_to_int4(
        matrix, block_size, None if config is None else config.weight_quantizer
    )
    scale = quantized.scale
    if block_size is None:
        scale = scale_of_size(scale, (matrix.shape[1],), layer)
    values = {"kernel": pack_int4(quantized.values, axis=-1)[0], "kernel_scale": scale}
    if quantized.zero is not None:
        values["kernel_zero"] = quantized.zero
    return values


def add_int4_kernel(
    layer: QuantizableLayer, shape: Shape, flat_shape: Shape, config: QuantizationConfig | None
) -> None:
    """Create the variables of a quantized kernel.

    Args:
        layer: The layer.
        shape: The shape of the float kernel.
        flat_shape: Its shape as a matrix.
        config: The quantization config.
    """
    rows, columns = flat_shape
    block_size = layer._block_size = int4_block_size(layer, config)
    layer._float_shape = shape
    layer._kernel = layer._add_constant("kernel", (rows, (columns + 1) // 2), "zeros", "int8")
    if block_size is None:
        layer.kernel_scale = layer._add_constant("kernel_scale", (columns,))
        return
    scale_shape = (num_groups(rows, block_size), columns)
    layer.kernel_scale = layer._add_constant("kernel_scale", scale_shape)
    layer.kernel_zero = layer._add_constant("kernel_zero", scale_shape, "zeros", "int8")
    layer.g_idx = layer._add_constant("g_idx", (rows,), group_numbers(rows, block_size), "float32")


def int4_kernel_floats(layer: QuantizableLayer) -> Tensor:
    """Return the floats behind a quantized kernel, in its shape."""
    columns = layer.kernel_scale.shape[-1]
    integers = unpack_int4(layer._kernel, columns, axis=-1)
    if layer._block_size is None:
        floats = ops.divide(ops.cast(integers, layer.compute_dtype), layer.kernel_scale)
    else:
        floats = dequantize_with_groups(
            integers, layer.kernel_scale, layer.kernel_zero, layer.g_idx, group_axis=0
        )
        floats = ops.cast(floats, layer.compute_dtype)
    return ops.reshape(floats, layer._float_shape)
