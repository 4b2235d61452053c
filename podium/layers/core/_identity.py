"""Identity: a layer that returns its inputs unchanged."""

from __future__ import annotations

from typing import Any

from podium._typing import Config, SymbolicShape
from podium.core import KerasTensor, Tensor, map_structure
from podium.layers._layer import Layer


class Identity(Layer):
    """Identity layer: returns its inputs unchanged.

    Example:
        >>> podium.layers.Identity()(np.ones((2, 3))).shape
        (2, 3)
    """

    _needs_no_build = True

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, inputs: Tensor) -> Tensor:
        """Return the inputs."""
        return inputs

    def compute_output_shape(self, input_shape: SymbolicShape) -> SymbolicShape:
        """Return the shape of the inputs."""
        return input_shape

    def compute_output_spec(self, inputs: KerasTensor) -> Any:
        """Return the shapes and types of the inputs."""
        return map_structure(lambda x: KerasTensor(x.shape, x.dtype), inputs)

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        return super().get_config()
