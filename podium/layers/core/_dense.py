"""Dense: a densely connected layer."""

from __future__ import annotations

from typing import Any

from podium import activations, constraints, initializers, ops, regularizers
from podium._typing import (
    ActivationLike,
    Config,
    ConstraintLike,
    InitializerLike,
    RegularizerLike,
    Shape,
    SymbolicShape,
    TensorLike,
    Value,
)
from podium.core import Tensor, dispatch
from podium.core.internal import check_int
from podium.layers._input_spec import InputSpec
from podium.layers.core._float8_product import float8_bias, float8_product
from podium.layers.core._int4_kernel import (
    add_int4_kernel,
    int4_kernel_floats,
    int4_kernel_values,
)
from podium.layers.core._quantizable_layer import (
    QuantizableLayer,
    QuantizedValues,
    kernel_serialization_spec,
    quantized_matmul,
    scale_of_size,
)
from podium.ops.internal import narrow_matmul
from podium.quantizers import AbsMaxQuantizer, QuantizationConfig


class Dense(QuantizableLayer):
    """Densely connected layer: computes `activation(inputs @ kernel + bias)`.

    Args:
        units: The size of the last dimension of the outputs.
        activation: Name of an activation, or a function; None for a linear output.
        use_bias: Whether to add a bias.
        kernel_initializer: Initializer of the kernel.
        bias_initializer: Initializer of the bias.
        kernel_regularizer: Regularizer of the kernel.
        bias_regularizer: Regularizer of the bias.
        activity_regularizer: Regularizer of the outputs.
        kernel_constraint: Constraint of the kernel, applied after updates.
        bias_constraint: Constraint of the bias, applied after updates.
        lora_rank: The rank of a trained product that is added to the frozen kernel, see
            `enable_lora`; None to train the kernel itself.
        lora_alpha: The product is multiplied by `lora_alpha / lora_rank`; by default by 1.
        quantization_config: How the kernel is quantized if the dtype policy says that it is, see
            `quantize`; by default the standard config of the mode.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> layer = podium.layers.Dense(4, activation="relu")
        >>> layer(np.ones((2, 3), "float32")).shape, layer.kernel.shape
        ((2, 4), (3, 4))
    """

    def __init__(
        self,
        units: int,
        activation: ActivationLike = None,
        use_bias: bool = True,
        kernel_initializer: InitializerLike = "glorot_uniform",
        bias_initializer: InitializerLike = "zeros",
        kernel_regularizer: RegularizerLike = None,
        bias_regularizer: RegularizerLike = None,
        activity_regularizer: RegularizerLike = None,
        kernel_constraint: ConstraintLike = None,
        bias_constraint: ConstraintLike = None,
        lora_rank: int | None = None,
        lora_alpha: float | None = None,
        quantization_config: QuantizationConfig | Config | None = None,
        **kwargs: Any,
    ):
        super().__init__(
            activity_regularizer=activity_regularizer,
            lora_rank=lora_rank,
            lora_alpha=lora_alpha,
            quantization_config=quantization_config,
            **kwargs,
        )
        self.units = check_int("units", units, owner="Dense", type_error=ValueError)
        self.activation = activations.get(activation)
        self.use_bias = use_bias
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        self.kernel_regularizer = regularizers.get(kernel_regularizer)
        self.bias_regularizer = regularizers.get(bias_regularizer)
        self.kernel_constraint = constraints.get(kernel_constraint)
        self.bias_constraint = constraints.get(bias_constraint)
        self.supports_masking = True
        self.input_spec = InputSpec(min_ndim=2)
        self.bias: Any = None

    @property
    def kernel(self) -> Any:
        """The kernel: a Variable, or with LoRA a Tensor that includes it; None before `build`."""
        return self._adapted_weight()

    @kernel.setter
    def kernel(self, value: Any) -> None:
        self._kernel = value

    def build(self, input_shape: SymbolicShape) -> None:
        """Create the kernel and the bias."""
        features = input_shape[-1]
        if self._build_quantized((features, self.units)):
            self._kernel = self.add_weight(
                name="kernel",
                shape=(features, self.units),
                initializer=self.kernel_initializer,
                regularizer=self.kernel_regularizer,
                constraint=self.kernel_constraint,
            )
        if self.use_bias:
            self.bias = self.add_weight(
                name="bias",
                shape=(self.units,),
                initializer=self.bias_initializer,
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
            )
        self.input_spec = InputSpec(min_ndim=2, axes={-1: features})
        self._build_lora()

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        """Compute the outputs."""
        outputs = dispatch(narrow_matmul, inputs, self.kernel)
        return self._add_bias_and_activate(outputs, self.bias)

    def _add_bias_and_activate(self, outputs: Tensor, bias: TensorLike | None) -> Tensor:
        if bias is not None:
            outputs = outputs + bias
        return outputs if self.activation is None else self.activation(outputs)

    # --- quantized kernels

    _quantization_modes = ("int8", "int4", "float8")

    def _quantized_values(
        self, mode: str, config: QuantizationConfig | None, weight: Value | None = None
    ) -> QuantizedValues:
        weight = self._kernel if weight is None else weight
        if mode == "int8":
            quantizer = (config and config.weight_quantizer) or AbsMaxQuantizer(axis=0)
            kernel, scale = quantizer(weight, to_numpy=True)
            return {"kernel": kernel, "kernel_scale": scale_of_size(scale, (self.units,), self)}
        return int4_kernel_values(self, weight, config) if mode == "int4" else {}

    def _int8_build(self, shape: Shape, config: QuantizationConfig | None) -> None:
        self.inputs_quantizer = AbsMaxQuantizer() if config is None else config.activation_quantizer
        self._kernel = self._add_constant("kernel", shape, "zeros", "int8")
        self.kernel_scale = self._add_constant("kernel_scale", (self.units,))

    def _int4_build(self, shape: Shape, config: QuantizationConfig | None) -> None:
        self.inputs_quantizer = None if config is None else config.activation_quantizer
        add_int4_kernel(self, shape, shape, config)

    def _dequantized_weight(self) -> Tensor:
        if self.quantization_mode == "int4":
            return int4_kernel_floats(self)
        return ops.divide(ops.cast(self._kernel, self.compute_dtype), self.kernel_scale)

    def _int8_call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        return self._finish(inputs, self._quantized_product(inputs, self._kernel))

    def _int4_call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        if self._block_size is not None:
            return self._finish(inputs, ops.matmul(inputs, int4_kernel_floats(self)))
        return self._finish(inputs, self._quantized_product(inputs, self._unpacked_weight()))

    def _quantized_product(self, inputs: Tensor, integers: Value) -> Tensor:
        return quantized_matmul(
            inputs, integers, self.kernel_scale, self.inputs_quantizer, self.compute_dtype
        )

    def _finish(self, inputs: Tensor, outputs: Tensor) -> Tensor:
        """Add LoRA and the bias to the product of inputs and the quantized kernel."""
        if self.lora_enabled:
            outputs = self._add_lora(outputs, ops.matmul(inputs, self._lora_matrices()[0]))
        return self._add_bias_and_activate(outputs, self.bias)

    def _float8_call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        outputs = float8_product(self, ops.matmul, inputs, training)
        return self._add_bias_and_activate(
            outputs, None if self.bias is None else float8_bias(self)
        )

    def compute_output_shape(self, input_shape: SymbolicShape) -> SymbolicShape:
        """Return the shape of the outputs."""
        return (*tuple(input_shape)[:-1], self.units)

    @property
    def variable_serialization_spec(self) -> dict[str | None, list[str]]:
        """The names of the variables in files, in order, by quantization mode; None for none."""
        return kernel_serialization_spec()

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        return super().get_config() | {
            "units": self.units,
            "activation": activations.serialize(self.activation),
            "use_bias": self.use_bias,
            "kernel_initializer": initializers.serialize(self.kernel_initializer),
            "bias_initializer": initializers.serialize(self.bias_initializer),
            "kernel_regularizer": regularizers.serialize(self.kernel_regularizer),
            "bias_regularizer": regularizers.serialize(self.bias_regularizer),
            "kernel_constraint": constraints.serialize(self.kernel_constraint),
            "bias_constraint": constraints.serialize(self.bias_constraint),
            **self._quantization_options(),
        }
