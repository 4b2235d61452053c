"""TimeDistributed: applies a layer to every time step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from podium._typing import SymbolicShape, Tree
from podium.core import Tensor
from podium.layers._layer import Layer
from podium.layers.core._wrapper import Wrapper
from podium.layers.rnn._layer_scan import adapt_to_arrays, dispatch_scan


class TimeDistributed(Wrapper):
    """Applies a layer to every time step of inputs `(batch, time, ...)` separately.

    Steps are computed in parallel; if the layer has state (moving averages, seeds), one after
    another.

    Args:
        layer: The layer to apply to each time step.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> layer = podium.layers.TimeDistributed(podium.layers.Dense(4))
        >>> layer(np.ones((2, 5, 3), "float32")).shape, layer.layer.kernel.shape
        ((2, 5, 4), (3, 4))
    """

    def __init__(self, layer: Layer, **kwargs: Any):
        super().__init__(layer, **kwargs)
        self.supports_masking = True

    def _step_shape(self, shape: SymbolicShape) -> SymbolicShape:
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

    def call(
        self, inputs: Tensor, training: bool | None = None, mask: Tensor | None = None
    ) -> Tree:
        """Apply the layer to every time step."""
        if mask is not None and tuple(mask.shape[:2]) != tuple(inputs.shape[:2]):
            raise ValueError(
                f"Layer {self.name!r} (TimeDistributed) was given a mask of shape "
                f"{tuple(mask.shape)} for inputs of shape "
                f"{tuple(inputs.shape)}. The first two sizes (batch, time) must be equal."
            )
        signature = self.layer._call_signature

        def step(x: Tensor, keep: Tensor | None) -> Tree:
            arguments: dict[str, Any] = (
                {"mask": keep} if keep is not None and signature.has_mask else {}
            )
            arguments |= {"training": training} if "training" in signature.all_names else {}
            return self.layer(x, **arguments)

        def run(scan: Callable[..., Any], inputs: jax.Array, mask: jax.Array | None) -> Tree:
            if not self.layer.non_trainable_variables:
                return jax.vmap(
                    adapt_to_arrays(step), in_axes=(1, None if mask is None else 1), out_axes=1
                )(inputs, mask)
            xs = jnp.swapaxes(inputs, 0, 1), None if mask is None else jnp.swapaxes(mask, 0, 1)
            _, outputs = scan(lambda carry, x: (carry, adapt_to_arrays(step)(*x)), (), xs)
            return jax.tree.map(lambda output: jnp.swapaxes(output, 0, 1), outputs)

        return dispatch_scan(run, inputs, mask)

    def compute_output_shape(self, input_shape: SymbolicShape) -> SymbolicShape:
        """Return the shape of the outputs."""
        step = self.layer.compute_output_shape(self._step_shape(input_shape))
        return (step[0], input_shape[1], *step[1:])
