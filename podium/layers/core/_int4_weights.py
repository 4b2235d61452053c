"""Weights of 4 bits: their quantization in columns or in blocks of rows, and their variables.

A weight is a matrix here; layers reshape theirs. Its values are packed in pairs along the columns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from podium._typing import DTypeLike, Shape, Value
from podium.core import Int4DTypePolicy, Tensor
from podium.layers._layer import Layer
from podium.quantizers import (
    AbsMaxQuantizer,
    Int4QuantizationConfig,
    QuantizationConfig,
    abs_max_quantize_grouped_with_zero_point,
)

INT4_RANGE = (-8, 7)


class Int4Matrix(NamedTuple):
    """Values from -8 to 7, not packed, with their scales; zero points if there are blocks."""

    values: Tensor
    scale: Tensor
    zero: Tensor | None


def int4_block_size(layer: Layer, config: QuantizationConfig | None) -> int | None:
    """Return how many rows share a scale: as the config says, else the dtype policy; None for all.

    Args:
        layer: A layer.
        config: The quantization config, or None.
    """
    policy = layer.dtype_policy.for_path(layer.name)
    size: int | None = None
    if isinstance(config, Int4QuantizationConfig):
        size = config.block_size
    elif isinstance(policy, Int4DTypePolicy):
        size = policy.block_size
    return None if size == -1 else size


def quantize_matrix_to_int4(
    matrix: Value, block_size: int | None, quantizer: Any = None
) -> Int4Matrix:
    """Quantize a matrix.

    Args:
        matrix: The matrix.
        block_size: How many rows share a scale and a zero point; None for one scale a column.
        quantizer: Quantizes instead if there are no blocks.
    """
    if block_size is not None:
        values, scale, zero = abs_max_quantize_grouped_with_zero_point(
            matrix, block_size, to_numpy=True
        )
        return Int4Matrix(values, scale, zero)
    quantizer = quantizer or AbsMaxQuantizer(axis=0, value_range=INT4_RANGE)
    values, scale = quantizer(matrix, to_numpy=True)
    return Int4Matrix(values, scale, None)


def group_numbers(size: int, block_size: int) -> Callable[..., np.ndarray[Any, Any]]:
    """Return an initializer of the number of the block of each row, as floats, like in Keras."""

    def initialize(shape: Shape, dtype: DTypeLike | None = None) -> np.ndarray[Any, Any]:
        return (np.arange(size) // block_size).astype("float32")

    return initialize


def num_groups(size: int, block_size: int) -> int:
    """Return the number of blocks; the last one may be smaller."""
    return -(-size // block_size)
