"""Bidirectional: a wrapper that runs a recurrent layer in both directions and merges outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp

from podium._typing import Config, SymbolicShape, TensorLike, Tree
from podium.core import Tensor, check_choice, dispatch, tree_leaves
from podium.layers._layer import Layer
from podium.layers._layer_serialization import deserialize, serialize
from podium.layers.rnn._rnn import RNN

_MERGE: dict[str, Any] = {
    "concat": lambda a, b: jnp.concatenate([a, b], axis=-1),
    "sum": jnp.add,
    "mul": jnp.multiply,
    "ave": lambda a, b: (a + b) / 2,
}


class Bidirectional(Layer):
    """Bidirectional wrapper for recurrent layers.

    Args:
        layer: The recurrent layer, such as `LSTM(8)`. Two layers are created from its config.
        merge_mode: How the two outputs are combined: "concat", "sum", "mul" or "ave"; None returns
            both.
        weights: Initial values of all weights, those of the forward layer first.
        backward_layer: The layer for the other direction, created with `go_backwards=True`; by
            default a copy of `layer`.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> layer = podium.layers.Bidirectional(podium.layers.LSTM(4, return_sequences=True))
        >>> layer(np.ones((2, 5, 3), "float32")).shape
        (2, 5, 8)
    """

    def __init__(
        self,
        layer: RNN,
        merge_mode: str | None = "concat",
        weights: Sequence[TensorLike] | None = None,
        backward_layer: RNN | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        for name, value in (("layer", layer), ("backward_layer", backward_layer or layer)):
            if not isinstance(value, Layer) or not hasattr(value, "go_backwards"):
                raise ValueError(
                    f"Bidirectional was given {name}={value!r}; a recurrent layer was expected, "
                    "such as podium.layers.LSTM(8)."
                )
        self.merge_mode = check_choice("merge_mode", merge_mode, [*_MERGE, None])
        self.forward_layer = _copy_layer(layer, "forward_", go_backwards=layer.go_backwards)
        if backward_layer is None:
            backward_layer = _copy_layer(layer, "backward_", go_backwards=not layer.go_backwards)
        self.backward_layer = backward_layer
        self._check_layers()
        for direction in (self.forward_layer, self.backward_layer):
            # Masked steps of both directions must be at the same positions.
            direction.zero_output_for_mask = direction.return_sequences
        self.stateful = layer.stateful
        self.return_sequences = layer.return_sequences
        self.return_state = layer.return_state
        self.supports_masking = True
        self.input_spec = layer.input_spec
        self._initial_weights = None if weights is None else tuple(weights)

    def _check_layers(self) -> None:
        forward, backward = self.forward_layer, self.backward_layer
        if forward.go_backwards == backward.go_backwards:
            raise ValueError(
                "Bidirectional was given two layers with "
                f"go_backwards={forward.go_backwards}; they must differ. Create the backward layer "
                "with go_backwards=True."
            )
        for name in ("stateful", "return_sequences", "return_state"):
            if getattr(forward, name) != getattr(backward, name):
                raise ValueError(
                    f"Bidirectional was given layers with {name}={getattr(forward, name)} and "
                    f"{name}={getattr(backward, name)}; they must be equal. Create both layers "
                    "with the same value."
                )

    def build(
        self, sequences_shape: SymbolicShape, initial_state_shape: SymbolicShape | None = None
    ) -> None:
        """Build both layers."""
        for layer in (self.forward_layer, self.backward_layer):
            layer.build_from_config({"input_shape": tuple(sequences_shape)})
        self.input_spec = self.forward_layer.input_spec
        if self._initial_weights is not None:
            self.set_weights(self._initial_weights)

    def call(
        self,
        sequences: Tensor,
        initial_state: Tree = None,
        mask: Tensor | None = None,
        training: bool | None = None,
    ) -> Tree:
        """Run both directions and merge their outputs; return the states after them."""
        forward_state, backward_state = self._split_states(initial_state)
        options = {"mask": mask, "training": bool(training)}
        forward = self.forward_layer(sequences, initial_state=forward_state, **options)
        backward = self.backward_layer(sequences, initial_state=backward_state, **options)
        states: tuple[Any, ...] = ()
        if self.return_state:
            forward, backward, states = forward[0], backward[0], (*forward[1:], *backward[1:])
        if self.return_sequences:
            backward = dispatch(jnp.flip, backward, 1)
        if self.merge_mode is None:
            return (forward, backward, *states)
        output = dispatch(_MERGE[self.merge_mode], forward, backward)
        return (output, *states) if self.return_state else output

    def _split_states(self, initial_state: Tree) -> tuple[Any, Any]:
        if initial_state is None:
            return None, None
        half = len(self.forward_layer.state_size)
        if len(initial_state) != half + len(self.backward_layer.state_size):
            raise ValueError(
                f"Layer {self.name!r} (Bidirectional) was given {len(initial_state)} initial "
                f"states; {half + len(self.backward_layer.state_size)} were expected, those of the "
                "forward layer first."
            )
        return list(initial_state[:half]), list(initial_state[half:])

    @property
    def states(self) -> Any:
        """The Variables that hold the states of stateful layers; None otherwise."""
        forward, backward = self.forward_layer.states, self.backward_layer.states
        return None if forward is None or backward is None else (*forward, *backward)

    def reset_state(self) -> None:
        """Reset the states of stateful layers to zero."""
        self.forward_layer.reset_state()
        self.backward_layer.reset_state()

    def reset_states(self) -> None:
        """Reset the states of stateful layers to zero."""
        self.reset_state()

    def compute_mask(self, inputs: Tensor, mask: Tensor | None = None) -> Tree:
        """Return the mask of the inputs for outputs of all steps; states have no mask."""
        mask = mask[0] if isinstance(mask, (list, tuple)) else mask
        masks = [mask if self.return_sequences else None] * (2 if self.merge_mode is None else 1)
        sizes = [self.forward_layer.state_size, self.backward_layer.state_size]
        return masks + [None] * (len(tree_leaves(sizes)) if self.return_state else 0)

    def compute_output_shape(
        self, sequences_shape: SymbolicShape, initial_state_shape: SymbolicShape | None = None
    ) -> Tree:
        """Return the shape of the outputs, and of the states if they are returned."""
        forward, backward = (
            layer.compute_output_shape(sequences_shape)
            for layer in (self.forward_layer, self.backward_layer)
        )
        states: tuple[Any, ...] = ()
        if self.return_state:
            forward, backward, states = forward[0], backward[0], (*forward[1:], *backward[1:])
        if self.merge_mode is None:
            return (forward, backward, *states)
        output = (
            (*forward[:-1], forward[-1] + backward[-1]) if self.merge_mode == "concat" else forward
        )
        return (output, *states) if self.return_state else output

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        return super().get_config() | {
            "merge_mode": self.merge_mode,
            "layer": serialize(self.forward_layer),
            "backward_layer": serialize(self.backward_layer),
        }

    @classmethod
    def from_config(
        cls, config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None
    ) -> Bidirectional:
        """Create a layer from the result of `get_config`."""
        layers = {
            name: deserialize(config.get(name), custom_objects)
            for name in ("layer", "backward_layer")
        }
        return cls(**(dict(config) | layers))


def _copy_layer(layer: Layer, prefix: str, go_backwards: bool) -> Any:
    """Return a new layer with the same config and a prefix in its name."""
    config = layer.get_config()
    changes = {"name": prefix + layer.name.removeprefix(prefix), "go_backwards": go_backwards}
    return type(layer).from_config(config | changes)
