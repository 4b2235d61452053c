"""Softmax as a layer, and the masked softmax that attention uses too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from podium._typing import Config, SymbolicShape
from podium.core import Tensor, dispatch
from podium.layers.activations._activation import ElementwiseLayer
from podium.ops.internal import store_logits


class Softmax(ElementwiseLayer):
    """Softmax activation layer: the outputs are positive and sum to one.

    Args:
        axis: The axis, or axes, over which the outputs sum to one.
        **kwargs: `name`, `dtype`.

    Example:
        >>> layer = podium.layers.Softmax()
        >>> layer(np.zeros((1, 4), "float32"), mask=np.array([[True, True, False, False]])).numpy()
        array([[0.5, 0.5, 0. , 0. ]], dtype=float32)
    """

    def __init__(self, axis: int | Sequence[int] = -1, **kwargs: Any):
        super().__init__(**kwargs)
        self.axis = axis

    def call(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        """Compute the softmax; it is zero where `mask` is False."""
        if mask is not None and not _mask_is_broadcastable(mask.shape, inputs.shape):
            raise ValueError(
                f"Layer {self.name!r} (Softmax) was given a mask of shape {tuple(mask.shape)} for "
                f"inputs of shape {tuple(inputs.shape)}. Each size of the mask must be 1 or "
                "that of the inputs, counted from the end."
            )
        outputs: Tensor = dispatch(masked_softmax, inputs, mask, self.axis)
        return outputs if mask is not None else store_logits(outputs, inputs, "softmax", self.axis)

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        return super().get_config() | {"axis": self.axis}


def _mask_is_broadcastable(shape: SymbolicShape, target: Any) -> bool:
    pairs = zip(reversed(shape), reversed(target), strict=False)
    return len(shape) <= len(target) and all(a == b or a == 1 for a, b in pairs)


def masked_softmax(x: jax.Array, mask: jax.Array | None, axis: int | Sequence[int]) -> jax.Array:
    """Softmax over `axis` of the elements where `mask` is True; the others are zero."""
    axis = tuple(axis) if isinstance(axis, (list, tuple)) else axis
    if mask is None:
        return jax.nn.softmax(x, axis=axis)
    mask = mask if mask.dtype == bool else mask > 0.5
    low = jnp.asarray(-3e4 if x.dtype == jnp.float16 else -1e9, x.dtype)
    return jnp.where(mask, jax.nn.softmax(jnp.where(mask, x, low), axis=axis), 0)
