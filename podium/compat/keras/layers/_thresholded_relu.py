"""`ThresholdedReLU`, which Keras 3 has as an argument of `ReLU` alone."""

from __future__ import annotations

from typing import Any

from podium import ops
from podium._typing import Config, SymbolicShape
from podium.core import Tensor
from podium.core.internal import check_number
from podium.layers import Layer


class ThresholdedReLU(Layer):
    """Returns inputs above a threshold, and 0 for all others.

    Args:
        theta: The threshold, at least 0.
        **kwargs: `name`, `dtype`.

    Raises:
        ValueError: The threshold is negative, or not a number.

    Example:
        >>> from podium.compat import keras
        >>> keras.layers.ThresholdedReLU(theta=1.0)(np.array([0.5, 1.0, 2.0], "float32")).numpy()
        array([0., 0., 2.], dtype=float32)
    """

    def __init__(self, theta: float = 1.0, **kwargs: Any):
        super().__init__(**kwargs)
        check_number("theta", theta, 0, owner=self, type_error=ValueError)
        self.theta = float(theta)
        self.supports_masking = True

    def call(self, inputs: Tensor) -> Tensor:
        """Apply the activation."""
        return ops.multiply(inputs, ops.cast(ops.greater(inputs, self.theta), inputs.dtype))

    def compute_output_shape(self, input_shape: SymbolicShape) -> SymbolicShape:
        """Return the shape of the inputs."""
        return input_shape

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        return {**super().get_config(), "theta": self.theta}
