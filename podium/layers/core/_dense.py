"""The layer that multiplies by a matrix: Dense."""

from __future__ import annotations

from typing import Any

from podium import activations, constraints, initializers, regularizers
from podium.core import dispatch
from podium.layers._input_spec import InputSpec
from podium.layers._layer import Layer
from podium.ops.internal import narrow_matmul


class Dense(Layer):
    """Computes `activation(inputs @ kernel + bias)`.

    Args:
        units: How many numbers come out, in the last dimension.
        activation: A name or function; None for none.
        use_bias: Whether to add a bias.
        kernel_initializer: How the kernel starts.
        bias_initializer: How the bias starts.
        kernel_regularizer: A penalty on the kernel.
        bias_regularizer: A penalty on the bias.
        activity_regularizer: A penalty on the output.
        kernel_constraint: Applied to the kernel after updates.
        bias_constraint: Applied to the bias after updates.
        lora_rank: Must be None; low-rank adaptation is not available.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> layer = podium.layers.Dense(4, activation="relu")
        >>> layer(np.ones((2, 3), "float32")).shape, layer.kernel.shape
        ((2, 4), (3, 4))
    """

    def __init__(
        self,
        units: int,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ):
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        if isinstance(units, bool) or not isinstance(units, int) or units < 1:
            raise ValueError(
                f"Dense was given units={units!r}; a whole number above zero was expected."
            )
        self.units = units
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
        self.kernel: Any = None
        self.bias: Any = None

    def build(self, input_shape: Any) -> None:
        """Make the kernel and the bias."""
        features = input_shape[-1]
        self.kernel = self.add_weight(
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

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        """Compute the outputs."""
        outputs = dispatch(narrow_matmul, inputs, self.kernel)
        if self.bias is not None:
            outputs = outputs + self.bias
        return outputs if self.activation is None else self.activation(outputs)

    def compute_output_shape(self, input_shape: Any) -> tuple:
        """Return the shape of the outputs."""
        return (*tuple(input_shape)[:-1], self.units)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this layer again."""
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
        }
