"""TimeDistributed: applies a layer to every time step."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from podium.layers.core._wrapper import Wrapper
from podium.layers.rnn._loops import dispatch_loop, on_tensors


class TimeDistributed(Wrapper):
    """Applies a layer to every step of `(batch, time, ...)`, each step for itself.

    Steps are computed side by side; if the layer keeps state (running averages, random draws), one
    after another.

    Args:
        layer: The layer for one step.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> layer = podium.layers.TimeDistributed(podium.layers.Dense(4))
        >>> layer(np.ones((2, 5, 3), "float32")).shape, layer.layer.kernel.shape
        ((2, 5, 4), (3, 4))
    """

    def __init__(self, layer: Any, **kwargs: Any):
        super().__init__(layer, **kwargs)
        self.supports_masking = True

    def _step_shape(self, shape: Any) -> tuple:
        if len(shape) < 3:
            raise ValueError(
                f"Layer {self.name!r} (TimeDistributed) was called with shape {tuple(shape)}; at "
                "least (batch, time, features) was expected. Add the missing dimension, for "
                "example with `x[..., None]`."
            )
        return (shape[0], *shape[2:])

    def build(self, input_shape: Any = None) -> None:
        """Build the layer for the shape of one step."""
        super().build(self._step_shape(input_shape))

    def call(self, inputs: Any, training: bool | None = None, mask: Any = None) -> Any:
        """Apply the layer to every step."""
        if mask is not None and tuple(mask.shape[:2]) != tuple(inputs.shape[:2]):
            raise ValueError(
                f"Layer {self.name!r} (TimeDistributed) was given a mask of shape "
                f"{tuple(mask.shape)} for inputs of shape "
                f"{tuple(inputs.shape)}. The first two lengths (batch, time) must be equal."
            )
        signature = self.layer._call_signature

        def step(x: Any, keep: Any) -> Any:
            named = {"mask": keep} if keep is not None and signature.has_mask else {}
            named |= {"training": training} if "training" in signature.all_names else {}
            return self.layer(x, **named)

        def run(scan: Any, inputs: Any, mask: Any) -> Any:
            if not self.layer.non_trainable_variables:
                return jax.vmap(
                    on_tensors(step), in_axes=(1, None if mask is None else 1), out_axes=1
                )(inputs, mask)
            xs = jnp.swapaxes(inputs, 0, 1), None if mask is None else jnp.swapaxes(mask, 0, 1)
            _, outputs = scan(lambda carry, x: (carry, on_tensors(step)(*x)), (), xs)
            return jax.tree.map(lambda output: jnp.swapaxes(output, 0, 1), outputs)

        return dispatch_loop(run, inputs, mask)

    def compute_output_shape(self, input_shape: Any) -> tuple:
        """Return the shape of the outputs."""
        step = self.layer.compute_output_shape(self._step_shape(input_shape))
        return (step[0], input_shape[1], *step[1:])
