"""ActivityRegularization: a penalty on the inputs, which are returned unchanged."""

from __future__ import annotations

from typing import Any

from podium import regularizers
from podium._typing import Config, SymbolicShape
from podium.core import Tensor
from podium.layers._layer import Layer


class ActivityRegularization(Layer):
    """Layer that adds a penalty on the size of its inputs to the losses.

    Args:
        l1: The L1 regularization factor.
        l2: The L2 regularization factor.
        **kwargs: `name`, `dtype`.

    Example:
        >>> layer = podium.layers.ActivityRegularization(l2=0.5)
        >>> _ = layer(np.ones((2, 3), "float32"))
        >>> float(layer.losses[0])
        1.5
    """

    _needs_no_build = True

    def __init__(self, l1: float = 0.0, l2: float = 0.0, **kwargs: Any):
        super().__init__(activity_regularizer=regularizers.L1L2(l1=l1, l2=l2), **kwargs)
        self.supports_masking = True
        self.l1 = l1
        self.l2 = l2

    def call(self, inputs: Tensor) -> Tensor:
        """Return the inputs."""
        return inputs

    def compute_output_shape(self, input_shape: SymbolicShape) -> SymbolicShape:
        """Return the shape of the inputs."""
        return input_shape

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        config = super().get_config() | {"l1": self.l1, "l2": self.l2}
        config.pop("activity_regularizer", None)
        return config
