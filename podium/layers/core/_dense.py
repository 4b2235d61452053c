"""Dense: a densely connected layer."""

from __future__ import annotations

from typing import Any

from podium import activations, constraints, initializers, regularizers
from podium._typing import (
    ActivationLike,
    Config,
    ConstraintLike,
    InitializerLike,
    RegularizerLike,
    SymbolicShape,
)
from podium.core import Tensor, dispatch
from podium.core.internal import check_int
from podium.layers._input_spec import InputSpec
from podium.layers.core._adaptable_layer import AdaptableLayer
from podium.ops.internal import narrow_matmul


class Dense(AdaptableLayer):
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
        **kwargs: Any,
    ):
        super().__init__(
            activity_regularizer=activity_regularizer,
            lora_rank=lora_rank,
            lora_alpha=lora_alpha,
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
        if self.bias is not None:
            outputs = outputs + self.bias
        return outputs if self.activation is None else self.activation(outputs)

    def compute_output_shape(self, input_shape: SymbolicShape) -> SymbolicShape:
        """Return the shape of the outputs."""
        return (*tuple(input_shape)[:-1], self.units)

    @property
    def variable_serialization_spec(self) -> dict[str | None, list[str]]:
        """The names of the variables in files, in order, by quantization mode; None for none."""
        return {None: ["kernel", "bias"]}

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
            **self._lora_config(),
        }
