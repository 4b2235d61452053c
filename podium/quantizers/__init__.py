"""Quantization of weights and activations, under the names of `keras.quantizers`."""

from podium.quantizers._abs_max import abs_max_quantize as abs_max_quantize
from podium.quantizers._abs_max import (
    abs_max_quantize_grouped_with_zero_point as abs_max_quantize_grouped_with_zero_point,
)
from podium.quantizers._calibrated_configs import AWQConfig as AWQConfig
from podium.quantizers._calibrated_configs import GPTQConfig as GPTQConfig
from podium.quantizers._fake_quant import (
    fake_quant_with_min_max_vars as fake_quant_with_min_max_vars,
)
from podium.quantizers._float8 import compute_float8_amax_history as compute_float8_amax_history
from podium.quantizers._float8 import compute_float8_scale as compute_float8_scale
from podium.quantizers._float8 import quantize_and_dequantize as quantize_and_dequantize
from podium.quantizers._int4_packing import pack_int4 as pack_int4
from podium.quantizers._int4_packing import unpack_int4 as unpack_int4
from podium.quantizers._quantization_config import (
    Float8QuantizationConfig as Float8QuantizationConfig,
)
from podium.quantizers._quantization_config import Int4QuantizationConfig as Int4QuantizationConfig
from podium.quantizers._quantization_config import Int8QuantizationConfig as Int8QuantizationConfig
from podium.quantizers._quantization_config import QuantizationConfig as QuantizationConfig
from podium.quantizers._quantizer import AbsMaxQuantizer as AbsMaxQuantizer
from podium.quantizers._quantizer import Quantizer as Quantizer
from podium.quantizers._registry import deserialize as deserialize
from podium.quantizers._registry import get as get
from podium.quantizers._registry import serialize as serialize
