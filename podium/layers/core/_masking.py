"""Masking: marks the time steps that later layers skip."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from podium._typing import Config, SymbolicShape
from podium.core import Tensor, dispatch
from podium.layers._layer import Layer


class Masking(Layer):
    """Masks the time steps whose features all equal `mask_value`, so that later layers skip them.

    The outputs are zero at masked steps, and carry the mask.

    Args:
        mask_value: The value that marks a time step to skip.
        **kwargs: `name`, `dtype`.

    Example:
        >>> x = np.array([[[1.0], [0.0]]], "float32")
        >>> podium.layers.Masking()(x)._keras_mask.numpy()
        array([[ True, False]])
    """

    _needs_no_build = True

    def __init__(self, mask_value: float = 0.0, **kwargs: Any):
        super().__init__(**kwargs)
        self.mask_value = mask_value
        self.supports_masking = True

    def compute_mask(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor | None:
        """Return the mask: True for the steps to use."""
        result: Tensor | None = dispatch(_mask, inputs, self.mask_value)
        return result

    def call(self, inputs: Tensor) -> Tensor:
        """Set the masked steps to zero."""
        outputs: Tensor
        outputs, mask = dispatch(_apply_mask, inputs, self.mask_value)
        outputs._keras_mask = mask
        return outputs

    def compute_output_shape(self, input_shape: SymbolicShape) -> SymbolicShape:
        """Return the shape of the inputs."""
        return input_shape

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        return super().get_config() | {"mask_value": self.mask_value}


def _mask(x: jax.Array, value: float) -> jax.Array:
    return jnp.any(x != value, axis=-1)


def _apply_mask(x: jax.Array, value: float) -> tuple[jax.Array, jax.Array]:
    mask = _mask(x, value)
    return jnp.where(mask[..., None], x, 0), mask
