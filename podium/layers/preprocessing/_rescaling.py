"""Rescaling: scales and offsets the inputs, such as the values of pixels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from podium._typing import Array, Config, SymbolicShape
from podium.core import Tensor, dispatch
from podium.layers._layer import Layer

Factor: TypeAlias = float | Sequence[float] | Array


class Rescaling(Layer):
    """Computes `inputs * scale + offset`, for example to bring pixels from 0..255 to -1..1.

    Args:
        scale: A float, or a list with one float per channel.
        offset: A float, or a list with one float per channel.
        **kwargs: `name`, `dtype`.

    Example:
        >>> podium.layers.Rescaling(1 / 127.5, offset=-1)(np.array([[0, 255]])).numpy()
        array([[-1.,  1.]], dtype=float32)
    """

    def __init__(self, scale: Factor, offset: Factor = 0.0, **kwargs: Any):
        super().__init__(**kwargs)
        self.scale = scale
        self.offset = offset
        self.supports_masking = True

    def call(self, inputs: Tensor) -> Tensor:
        """Scale and shift the inputs."""
        scale, offset = (_as_array(value) for value in (self.scale, self.offset))
        outputs: Tensor = dispatch(_rescale, inputs, scale, offset, dtype=self.compute_dtype)
        return outputs

    def compute_output_shape(self, input_shape: SymbolicShape) -> SymbolicShape:
        """Return the shape of the inputs."""
        return input_shape

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        return super().get_config() | {
            "scale": _to_json(self.scale),
            "offset": _to_json(self.offset),
        }


def _rescale(x: jax.Array, scale: Factor, offset: Factor, dtype: str) -> jax.Array:
    return x.astype(dtype) * jnp.asarray(scale, dtype) + jnp.asarray(offset, dtype)


def _as_array(value: Factor) -> Factor:
    return np.asarray(value, "float32") if isinstance(value, (list, tuple, np.ndarray)) else value


def _to_json(value: Factor) -> Any:
    return np.asarray(value).tolist() if hasattr(value, "__array__") else value
