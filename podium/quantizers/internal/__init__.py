"""What other packages may use of `podium.quantizers` beyond its public API. Not for users."""

# Computes the scales and the zero points that quantize a matrix.
from podium.quantizers._abs_max import (
    compute_quantization_parameters as compute_quantization_parameters,
)

# Returns the floats behind quantized values, with the scales of groups.
from podium.quantizers._abs_max import dequantize_with_groups as dequantize_with_groups

# Returns the floats behind quantized values.
from podium.quantizers._abs_max import dequantize_with_zero_point as dequantize_with_zero_point

# Returns quantized values for given scales and zero points.
from podium.quantizers._abs_max import quantize_with_zero_point as quantize_with_zero_point
