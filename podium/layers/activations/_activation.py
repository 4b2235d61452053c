"""Activation: an activation function as a layer, and the base class of activation layers.

The functions themselves are in `podium.activations`.
"""

from __future__ import annotations

from typing import Any

from podium import activations
from podium._typing import ActivationLike, Config, SymbolicShape
from podium.core import Tensor
from podium.layers._layer import Layer


class ElementwiseLayer(Layer):
    """A layer whose outputs have the shape of its inputs, and their mask."""

    _needs_no_build = True

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self.supports_masking = True

    def compute_output_shape(self, input_shape: SymbolicShape) -> SymbolicShape:
        """Return the shape of the inputs."""
        return input_shape

    def _check_not_negative(self, **values: Any) -> None:
        for name, value in values.items():
            if value is None or value < 0:
                raise ValueError(
                    f"{type(self).__name__} was given {name}={value!r}; a number of at least 0 "
                    "was expected."
                )


class Activation(ElementwiseLayer):
    """Applies an activation function to the inputs.

    Args:
        activation: A name or function, such as "relu"; None for the identity.
        **kwargs: `name`, `dtype`.

    Example:
        >>> podium.layers.Activation("relu")(np.array([-1.0, 2.0], "float32")).numpy()
        array([0., 2.], dtype=float32)
    """

    def __init__(self, activation: ActivationLike, **kwargs: Any):
        super().__init__(**kwargs)
        self.activation = activations.get(activation)

    def call(self, inputs: Tensor) -> Tensor:
        """Apply the activation."""
        return inputs if self.activation is None else self.activation(inputs)

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        return super().get_config() | {"activation": activations.serialize(self.activation)}
