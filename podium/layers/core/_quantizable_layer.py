"""QuantizableLayer: the base class of layers whose large weight `quantize` replaces.

It owns the order of things: quantized values are computed, the float weight is removed, quantized
variables are created and assigned, and the dtype policy names the mode. It also decides what files
hold. Subclasses define the values and the variables of each mode, and compute with them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, cast

import numpy as np

from podium import ops, quantizers
from podium._typing import Config, Shape, SymbolicShape, Value
from podium.core import Tensor, Variable, custom_gradient, get_dtype_policy, unknown_choice
from podium.layers._quantize_method import (
    CALIBRATED_MODES,
    calibration_error,
    missing_method_error,
)
from podium.layers.core._adaptable_layer import AdaptableLayer
from podium.layers.core._float8_product import FLOAT8_VARIABLES, add_float8_variables
from podium.quantizers import QuantizationConfig

# What `quantize` assigns: arrays by the names of variables.
QuantizedValues = dict[str, Tensor]

# A result, and a function of the gradient of the result that returns that of the inputs, and None
# for quantized values.
WithInputsGradient: TypeAlias = tuple[Tensor, Callable[[Tensor], tuple[Tensor | None, ...]]]

# Modes whose weight is stored as integers.
INTEGER_MODES = ("int8", "int4")


class QuantizableLayer(AdaptableLayer):
    """A layer that can be quantized.

    Args:
        quantization_config: How the weight is quantized, if the dtype policy is one of quantized
            layers; None for the standard config of its mode.
        **kwargs: Arguments of `AdaptableLayer`.
    """

    # The modes that a class itself supports. Its subclasses may compute something else.
    _quantization_modes: tuple[str, ...] = ()

    # Created by `quantized_build`, for a kernel.
    _kernel: Any
    kernel_scale: Variable
    kernel_zero: Variable
    g_idx: Variable

    def __init__(
        self, *, quantization_config: QuantizationConfig | Config | None = None, **kwargs: Any
    ):
        super().__init__(**kwargs)
        config = quantizers.get(quantization_config)
        if config is not None and not isinstance(config, QuantizationConfig):
            raise ValueError(
                f"{type(self).__name__} was given quantization_config={quantization_config!r}; a "
                "`QuantizationConfig`, its config or None was expected."
            )
        self.quantization_config = config
        self.inputs_quantizer: Any = None
        self._block_size: int | None = None  # of int4, if there are blocks
        self._float_shape: Shape = ()  # of a weight that is stored packed

    # --- quantize

    def quantize(
        self,
        mode: str | None = None,
        config: QuantizationConfig | None = None,
        type_check: bool = True,
    ) -> None:
        """Replace the weight by a quantized one; see `Layer.quantize`."""
        if type_check and "_quantization_modes" not in vars(type(self)):
            raise missing_method_error(self, "quantize")
        mode = str(mode)
        if mode not in self._quantization_modes:
            raise self._unsupported_mode(mode)
        self._check_adaptation(mode)
        values = self._quantized_values(mode, config)
        shape = self._weight_shape()
        self.quantization_config = config
        if mode in INTEGER_MODES:
            self._remove_float_weights()
        self.quantized_build(shape, mode, config)
        for name, value in values.items():
            self._variable(name).assign(value)
        policy = self.dtype_policy.for_path(self.name)
        if policy.quantization_mode is None:
            self.dtype_policy = get_dtype_policy(f"{self._mode_name(mode)}_from_{policy.name}")

    def _check_adaptation(self, mode: str) -> None:
        if self.lora_enabled and mode == "float8":
            raise NotImplementedError(
                f"Layer {self.name!r} ({type(self).__name__}) has LoRA, which mode='float8' does "
                "not support. Quantize to 'int8' or 'int4'."
            )

    def _check_can_adapt(self) -> None:
        super()._check_can_adapt()
        if self.quantization_mode not in (None, *INTEGER_MODES):
            raise NotImplementedError(
                f"Layer {self.name!r} ({type(self).__name__}) is quantized in the mode "
                f"{self.quantization_mode!r}, which LoRA does not support. Quantize to 'int8' or "
                "'int4'."
            )

    def _mode_name(self, mode: str) -> str:
        """Return the beginning of the name of the dtype policy."""
        return f"int4/{self._block_size or -1}" if mode == "int4" else mode

    def _quantized_values(
        self, mode: str, config: QuantizationConfig | None, weight: Value | None = None
    ) -> QuantizedValues:
        """Return the values of quantized variables by name.

        Args:
            mode: The quantization mode.
            config: The quantization config.
            weight: The float weight; by default that of the layer.
        """
        raise NotImplementedError

    def _remove_float_weights(self) -> None:
        delattr(self, f"_{self._weight_name}")

    def quantized_build(
        self, input_shape: Shape, mode: str, config: QuantizationConfig | None = None
    ) -> None:
        """Create the quantized variables, for `build` and `quantize`.

        Args:
            input_shape: The shape of the weight.
            mode: The quantization mode.
            config: The quantization config; None for the standard one.
        """
        build = getattr(self, f"_{mode}_build", None)
        if mode not in self._quantization_modes or build is None:
            raise self._unsupported_mode(mode)
        build(tuple(input_shape), config)
        self._is_quantized = True

    def _build_quantized(self, shape: SymbolicShape) -> bool:
        """Create quantized variables in `build` if the dtype policy is one of quantized layers.

        Returns:
            Whether the float weight is needed as well.
        """
        mode = self.quantization_mode
        if mode is None:
            return True
        self.quantized_build(cast(Shape, shape), mode, self.quantization_config)
        return mode not in INTEGER_MODES

    def _float8_build(self, shape: Shape, config: QuantizationConfig | None) -> None:
        for name, variable in add_float8_variables(self).items():
            setattr(self, name, variable)

    def _unsupported_mode(self, mode: str) -> NotImplementedError:
        if mode in CALIBRATED_MODES:
            return calibration_error(self, mode)
        error = unknown_choice("quantization mode", mode, self._quantization_modes)
        return NotImplementedError(f"Layer {self.name!r} ({type(self).__name__}): {error}")

    def _add_constant(
        self, name: str, shape: Shape, initializer: Any = "ones", dtype: str | None = None
    ) -> Variable:
        """Create a weight that is not trained."""
        return self.add_weight(
            name=name,
            shape=shape,
            initializer=initializer,
            dtype=dtype,
            trainable=False,
            autocast=name != "g_idx",  # numbers of blocks, which bfloat16 would round
        )

    def _weight_shape(self) -> Shape:
        return self._float_shape or super()._weight_shape()

    def _adapted_weight(self) -> Value | None:
        if self._weight is None or self.quantization_mode not in INTEGER_MODES:
            return super()._adapted_weight()
        if self.lora_enabled:
            adapted = ops.add(self._dequantized_weight(), self._lora_delta())
            return ops.cast(adapted, self.compute_dtype)
        return self._unpacked_weight()

    def _unpacked_weight(self) -> Value:
        """Return the integers of the weight, in its shape."""
        assert self._weight is not None
        if not self._float_shape:
            return self._weight
        columns = int(np.prod(self._float_shape)) // self._weight.shape[0]
        flat = quantizers.unpack_int4(self._weight, columns, axis=-1)
        return ops.reshape(flat, self._float_shape)

    # --- calls

    def _add_lora(self, outputs: Tensor, adapted_inputs: Tensor) -> Tensor:
        """Add the product of LoRA to outputs.

        Args:
            outputs: The outputs of the quantized weight.
            adapted_inputs: The product of the inputs and the first matrix.
        """
        lora = ops.matmul(adapted_inputs, self._lora_matrices()[1])
        return ops.cast(ops.add(outputs, self._lora_scale() * lora), self.compute_dtype)

    # --- configs and files

    def _quantization_options(self) -> Config:
        """Return what `get_config` returns of LoRA and the quantization."""
        options: Config = {"quantization_config": quantizers.serialize(self.quantization_config)}
        if self.lora_rank is not None:
            options |= {"lora_rank": self.lora_rank, "lora_alpha": self.lora_alpha}
        return options

    def _stores_by_mode(self) -> bool:
        return super()._stores_by_mode() or self.quantization_mode is not None

    def _merged_values(self) -> dict[str, np.ndarray[Any, Any]]:
        mode = self.quantization_mode
        if mode not in INTEGER_MODES or not self.lora_enabled:
            return super()._merged_values()
        merged = ops.add(self._dequantized_weight(), self._lora_delta())
        config = _standard_config(str(mode), self._block_size)
        values = self._quantized_values(str(mode), config, merged)
        return {name: np.asarray(value) for name, value in values.items()}

    def _dequantized_weight(self) -> Tensor:
        """Return the floats behind the quantized weight."""
        raise NotImplementedError


def kernel_serialization_spec() -> dict[str | None, list[str]]:
    """Return the names of the variables in files of a layer with a kernel, by quantization mode."""
    common = ["kernel", "bias"]
    return {
        None: common,
        "int8": [*common, "kernel_scale"],
        "int4": [*common, "kernel_scale", "kernel_zero", "g_idx"],
        "float8": [*common, *FLOAT8_VARIABLES],
    }


def _standard_config(mode: str, block_size: int | None) -> QuantizationConfig:
    if mode == "int8":
        return quantizers.Int8QuantizationConfig()
    return quantizers.Int4QuantizationConfig(block_size=block_size)


def scale_of_size(scale: Tensor, shape: Shape, owner: AdaptableLayer) -> Tensor:
    """Return the scale that a quantizer returned in the shape that a layer needs."""
    if int(np.prod(scale.shape)) != int(np.prod(shape)):
        raise ValueError(
            f"Layer {owner.name!r} ({type(owner).__name__}) needs one scale for each output, of "
            f"shape {shape}; the weight_quantizer returned one of shape {scale.shape}. Choose its "
            "`axis` accordingly, or none."
        )
    return ops.reshape(scale, shape)


def quantized_matmul(
    inputs: Tensor, kernel: Value, scale: Value, quantizer: Any, dtype: str
) -> Tensor:
    """Return the matrix product of inputs and a quantized kernel, which inputs get gradients from.

    Args:
        inputs: The inputs.
        kernel: The integers of the kernel.
        scale: The scale of each column.
        quantizer: Quantizes the inputs; None to leave them as they are.
        dtype: The dtype of the result.
    """

    @custom_gradient
    def product(x: Tensor, kernel: Value, scale: Value) -> WithInputsGradient:
        def gradient(upstream: Tensor) -> tuple[Tensor, None, None]:
            floats = ops.divide(ops.cast(kernel, dtype), scale)
            return ops.matmul(upstream, ops.transpose(floats)), None, None

        divisor = scale
        if quantizer is not None:
            x, inputs_scale = quantizer(x, axis=-1)
            divisor = ops.multiply(scale, inputs_scale)
        return ops.divide(ops.cast(ops.matmul(x, kernel), dtype), divisor), gradient

    outputs: Tensor = product(inputs, kernel, scale)
    return outputs
