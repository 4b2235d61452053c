"""EinsumDense: a dense layer whose product is an einsum equation."""

from __future__ import annotations

import re
from typing import Any

import jax
import jax.numpy as jnp

from podium import activations, initializers, ops
from podium._typing import (
    ActivationLike,
    Config,
    ConstraintLike,
    InitializerLike,
    RegularizerLike,
    Shape,
    ShapeLike,
    SymbolicShape,
    TensorLike,
    Value,
)
from podium.core import Tensor, custom_gradient, dispatch
from podium.layers._input_spec import InputSpec
from podium.layers._layer_arguments import set_weight_options, weight_options, weight_options_config
from podium.layers.core._einsum_layout import EinsumLayout
from podium.layers.core._float8_product import float8_bias, float8_product
from podium.layers.core._int4_kernel import (
    add_int4_kernel,
    int4_kernel_floats,
    int4_kernel_values,
)
from podium.layers.core._quantizable_layer import (
    QuantizableLayer,
    QuantizedValues,
    WithInputsGradient,
    kernel_serialization_spec,
    scale_of_size,
)
from podium.quantizers import AbsMaxQuantizer, QuantizationConfig


class EinsumDense(QuantizableLayer):
    """Computes `activation(einsum(equation, inputs, kernel) + bias)`.

    Args:
        equation: An einsum equation of inputs and kernel, such as "abc,cd->abd" or "...x,xy->...y".
        output_shape: The shape of the outputs without the batch dimension and the dimensions of
            "..."; None for sizes that are inferred from the inputs.
        activation: Name of an activation, or a function; None for a linear output.
        bias_axes: The letters of the output that the bias has, such as "d"; None for no bias.
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
        >>> layer = podium.layers.EinsumDense("abc,cde->abde", (None, 2, 8), bias_axes="de")
        >>> layer(np.ones((4, 5, 3), "float32")).shape, layer.kernel.shape, layer.bias.shape
        ((4, 5, 2, 8), (3, 2, 8), (2, 8))
    """

    def __init__(
        self,
        equation: str,
        output_shape: ShapeLike,
        activation: ActivationLike = None,
        bias_axes: str | None = None,
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
        self.equation = equation
        self._letters = _split_equation(equation)
        self.partial_output_shape = (
            (output_shape,) if isinstance(output_shape, int) else tuple(output_shape)
        )
        self.bias_axes = bias_axes
        self.activation = activations.get(activation)
        set_weight_options(
            self,
            kernel_initializer=kernel_initializer,
            bias_initializer=bias_initializer,
            kernel_regularizer=kernel_regularizer,
            bias_regularizer=bias_regularizer,
            kernel_constraint=kernel_constraint,
            bias_constraint=bias_constraint,
        )
        for letter in bias_axes or "":
            if letter not in self._letters[2]:
                raise ValueError(
                    f"EinsumDense was given bias_axes={bias_axes!r} for the equation "
                    f"{equation!r}, whose output has the letters "
                    f"{self._letters[2].replace('.', '')!r}. Name letters of the output."
                )
        self.bias: Any = None
        self._layout = EinsumLayout("", "", "")  # of an input shape: set by `build`

    @property
    def kernel(self) -> Any:
        """The kernel: a Variable, or with LoRA a Tensor that includes it; None before `build`."""
        return self._adapted_weight()

    @kernel.setter
    def kernel(self, value: Any) -> None:
        self._kernel = value

    def build(self, input_shape: SymbolicShape) -> None:
        """Create the kernel and the bias."""
        sizes = self._letter_sizes(input_shape)
        inputs, kernel, _ = self._letters
        shape = tuple(sizes[letter] for letter in kernel)
        self._layout = EinsumLayout.of_equation(self._letters, len(input_shape))
        if self._build_quantized(shape):
            options = weight_options(self, "kernel")
            options["initializer"] = self._set_fan_axes(options["initializer"])
            self._kernel = self.add_weight(name="kernel", shape=shape, **options)
        if self.bias_axes is not None:
            self.bias = self.add_weight(
                name="bias",
                shape=self._bias_shape(sizes, input_shape),
                **weight_options(self, "bias"),
            )
        from_end = inputs.startswith(".")
        letters = inputs.replace(".", "")
        axes = {
            i - len(letters) if from_end else i: sizes[letter]
            for i, letter in enumerate(letters)
            if letter in kernel
        }
        self.input_spec = InputSpec(ndim=len(input_shape), axes=axes)
        self._build_lora()

    def _set_fan_axes(self, initializer: InitializerLike) -> Any:
        """Return the initializer, with the input and output axes of the kernel if it uses them."""
        if not isinstance(initializer, initializers.VarianceScaling):
            return initializer
        if initializer.input_axes is not None and initializer.output_axes is not None:
            return initializer
        _, kernel, outputs = self._letters
        config = initializer.get_config() | {"seed": initializer.seed}
        config["input_axes"] = [i for i, letter in enumerate(kernel) if letter not in outputs]
        config["output_axes"] = [i for i, letter in enumerate(kernel) if letter in outputs]
        return type(initializer).from_config(config)

    def _full_output_shape(self, input_shape: SymbolicShape) -> tuple[Any, ...]:
        """Return `output_shape` with the batch dimension and the dimensions of "..."."""
        inputs, _, outputs = self._letters
        elided = len(input_shape) - len(inputs.replace(".", ""))
        if elided < 0 or ("." not in inputs and elided):
            raise ValueError(
                f"Layer {self.name!r} (EinsumDense) has the equation {self.equation!r} and was "
                f"given inputs of shape {tuple(input_shape)}, with {len(input_shape)} dimensions. "
                "One letter per dimension was expected."
            )
        partial_shape = self.partial_output_shape
        if outputs.startswith("."):
            return (*input_shape[: max(elided, 1)], *partial_shape)
        return (
            input_shape[0],
            *partial_shape,
            *(input_shape[len(input_shape) - elided :] if elided else ()),
        )

    def _letter_sizes(self, input_shape: SymbolicShape) -> dict[str, Any]:
        """Return the size of each letter, from the inputs and the output shape."""
        inputs, _, outputs = self._letters
        out_shape = self._full_output_shape(input_shape)
        sizes: dict[str, Any] = {}
        for letters, shape in ((inputs, tuple(input_shape)), (outputs, out_shape)):
            names = letters.replace(".", "")
            part = (
                shape[len(shape) - len(names) :] if letters.startswith(".") else shape[: len(names)]
            )
            if len(part) != len(names):
                raise ValueError(
                    f"Layer {self.name!r} (EinsumDense) has the equation {self.equation!r} and "
                    f"output_shape={self.partial_output_shape}, which do not fit inputs of shape "
                    f"{tuple(input_shape)}. Pass an `output_shape` with one size per letter of the "
                    "output, without the batch dimension."
                )
            for letter, size in zip(names, part, strict=True):
                known = sizes.get(letter)
                if known is not None and size is not None and known != size:
                    raise ValueError(
                        f"Layer {self.name!r} (EinsumDense) has the equation {self.equation!r}: "
                        f"letter {letter!r} has size {known} in the inputs of shape "
                        f"{tuple(input_shape)} and {size} in "
                        f"output_shape={self.partial_output_shape}. "
                        "Make them equal, or use None in `output_shape`."
                    )
                sizes[letter] = size if known is None else known
        return sizes

    def _bias_shape(self, sizes: dict[str, Any], input_shape: SymbolicShape) -> list[Any]:
        outputs = self._letters[2]
        letters = outputs.replace(".", "")
        first = min(letters.index(letter) for letter in self.bias_axes or "")
        shape = [
            sizes[letter] if letter in (self.bias_axes or "") else 1 for letter in letters[first:]
        ]
        trailing = (
            len(input_shape) - len(self._letters[0].replace(".", ""))
            if outputs.endswith(".")
            else 0
        )
        return shape + [1] * trailing

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        """Compute the outputs."""
        outputs = dispatch(_einsum_and_add, self.equation, inputs, self.kernel, self.bias)
        return outputs if self.activation is None else self.activation(outputs)

    # --- quantized kernels

    _quantization_modes = ("int8", "int4", "float8")

    def _quantized_values(
        self, mode: str, config: QuantizationConfig | None, weight: Value | None = None
    ) -> QuantizedValues:
        weight = self._kernel if weight is None else weight
        if mode == "int8":
            layout = self._layout
            quantizer = config and config.weight_quantizer
            quantizer = quantizer or AbsMaxQuantizer(axis=layout.summed_kernel)
            kernel, scale = quantizer(weight, to_numpy=True)
            kept = [1 if i in layout.summed_kernel else n for i, n in enumerate(kernel.shape)]
            scale = scale_of_size(scale, tuple(kept), self)
            return {"kernel": kernel, "kernel_scale": layout.to_outputs(scale, layout.kernel)}
        if mode == "int4":
            flat = ops.reshape(weight, self._layout.flat_kernel_shape(weight.shape))
            return int4_kernel_values(self, flat, config)
        return {}

    def _int8_build(self, shape: Shape, config: QuantizationConfig | None) -> None:
        self.inputs_quantizer = AbsMaxQuantizer() if config is None else config.activation_quantizer
        self._kernel = self._add_constant("kernel", shape, "zeros", "int8")
        self.kernel_scale = self._add_constant(
            "kernel_scale", self._layout.kernel_scale_shape(shape)
        )

    def _int4_build(self, shape: Shape, config: QuantizationConfig | None) -> None:
        self.inputs_quantizer = None if config is None else config.activation_quantizer
        add_int4_kernel(self, shape, self._layout.flat_kernel_shape(shape), config)

    def _dequantized_weight(self) -> Tensor:
        if self.quantization_mode == "int4":
            return int4_kernel_floats(self)
        kernel = ops.cast(self._kernel, self.compute_dtype)
        return ops.divide(kernel, self._layout.to_kernel(self.kernel_scale))

    def _int8_call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        outputs = self._quantized_product(inputs, self._kernel, self.kernel_scale)
        return self._finish(inputs, outputs)

    def _int4_call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        floats = int4_kernel_floats(self)
        if self.inputs_quantizer is None:
            return self._finish(inputs, ops.einsum(self.equation, inputs, floats))
        scale = ops.ones((1,) * len(self._layout.outputs), self.compute_dtype)
        return self._finish(inputs, self._quantized_product(inputs, floats, scale))

    def _quantized_product(self, inputs: Tensor, kernel: Value, kernel_scale: Value) -> Tensor:
        dtype, quantizer, layout = self.compute_dtype, self.inputs_quantizer, self._layout

        @custom_gradient
        def product(x: Tensor, kernel: Value, scale: Value) -> WithInputsGradient:
            def gradient(upstream: Tensor) -> tuple[Tensor, None, None]:
                floats = ops.divide(ops.cast(kernel, dtype), layout.to_kernel(scale))
                return ops.einsum(layout.gradient_equation, upstream, floats), None, None

            divisor = scale
            if quantizer is not None:
                x, inputs_scale = quantizer(x, axis=layout.summed_inputs)
                divisor = ops.multiply(layout.to_outputs(inputs_scale, layout.inputs), scale)
            summed = ops.cast(ops.einsum(self.equation, x, kernel), dtype)
            return ops.divide(summed, divisor), gradient

        outputs: Tensor = product(inputs, kernel, kernel_scale)
        return outputs

    def _finish(self, inputs: Tensor, outputs: Tensor) -> Tensor:
        """Add LoRA and the bias to the product of inputs and the quantized kernel."""
        if self.lora_enabled:
            lora = ops.einsum(self.equation, inputs, self._lora_matrices()[0])
            outputs = self._add_lora(outputs, lora)
        return self._add_bias_and_activate(outputs, self.bias)

    def _add_bias_and_activate(self, outputs: Tensor, bias: TensorLike | None) -> Tensor:
        if bias is not None:
            outputs = ops.add(outputs, bias)
        return outputs if self.activation is None else self.activation(outputs)

    def _float8_call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        def product(x: Tensor, kernel: Tensor) -> Tensor:
            return ops.einsum(self.equation, x, kernel)

        outputs = float8_product(self, product, inputs, training)
        return self._add_bias_and_activate(
            outputs, None if self.bias is None else float8_bias(self)
        )

    def compute_output_shape(self, input_shape: SymbolicShape) -> SymbolicShape:
        """Return the shape of the outputs."""
        sizes = self._letter_sizes(input_shape)
        outputs, full = self._letters[2], self._full_output_shape(input_shape)
        names = outputs.replace(".", "")
        start = len(full) - len(names) if outputs.startswith(".") else 0
        return tuple(
            sizes[names[i - start]] if start <= i < start + len(names) else d
            for i, d in enumerate(full)
        )

    @property
    def variable_serialization_spec(self) -> dict[str | None, list[str]]:
        """The names of the variables in files, in order, by quantization mode; None for none."""
        return kernel_serialization_spec()

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        options = {
            "equation": self.equation,
            "output_shape": self.partial_output_shape,
            "activation": activations.serialize(self.activation),
            "bias_axes": self.bias_axes,
        }
        return (
            {"activity_regularizer": None}
            | super().get_config()
            | options
            | weight_options_config(self, "kernel", "bias")
            | self._quantization_options()
        )


def _einsum_and_add(
    equation: str, x: jax.Array, kernel: jax.Array, bias: jax.Array | None
) -> jax.Array:
    outputs = jnp.einsum(equation, x, kernel)
    return outputs if bias is None else outputs + bias


def _split_equation(equation: str) -> tuple[str, str, str]:
    """Return the letters of inputs, kernel and outputs; "." represents an ellipsis."""
    short = equation.replace(" ", "").replace("...", ".") if isinstance(equation, str) else ""
    match = re.fullmatch(r"(\.?)([a-zA-Z]+)(\.?),([a-zA-Z]+)->(\1)([a-zA-Z]+)(\3)", short)
    if match is None or (match[1] and match[3]):
        raise ValueError(
            f"EinsumDense was given equation={equation!r}; one of the forms 'ab,bc->ac', "
            "'...b,bc->...c' or 'ab...,bc->ac...' was expected, with the inputs first and the "
            "kernel second."
        )
    inputs, kernel, outputs = match[2], match[4], match[6]
    for letter in outputs + kernel:
        if letter not in inputs and not (letter in kernel and letter in outputs):
            raise ValueError(
                f"EinsumDense was given equation={equation!r}, in which {letter!r} has no size: "
                "every letter of the output must be in the inputs or the kernel, and every letter "
                "of the kernel in the inputs or the output."
            )
    return match[1] + inputs + match[3], kernel, match[1] + outputs + match[3]
