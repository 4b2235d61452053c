"""Bidirectional: one recurrent layer reads the sequence forwards, another backwards, and their
outputs are merged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp

from podium.core import check_choice, dispatch, tree_leaves
from podium.layers._layer import Layer
from podium.layers._serialization import deserialize, serialize

_MERGE: dict[str, Any] = {
    "concat": lambda a, b: jnp.concatenate([a, b], axis=-1),
    "sum": jnp.add,
    "mul": jnp.multiply,
    "ave": lambda a, b: (a + b) / 2,
}


class Bidirectional(Layer):
    """Runs a recurrent layer over sequences in both directions.

    Args:
        layer: The recurrent layer, such as `LSTM(8)`. Two new layers are made from its config.
        merge_mode: How the two outputs become one: "concat", "sum", "mul" or "ave"; None returns
            both.
        weights: Values for all weights, first those of the forward layer; set when the layer is
            built.
        backward_layer: A layer for the other direction, made with `go_backwards=True`; by default
            like `layer`.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> layer = podium.layers.Bidirectional(podium.layers.LSTM(4, return_sequences=True))
        >>> layer(np.ones((2, 5, 3), "float32")).shape
        (2, 5, 8)
    """

    def __init__(
        self,
        layer: Any,
        merge_mode: str | None = "concat",
        weights: Any = None,
        backward_layer: Any = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        for name, given in (("layer", layer), ("backward_layer", backward_layer or layer)):
            if not isinstance(given, Layer) or not hasattr(given, "go_backwards"):
                raise ValueError(
                    f"Bidirectional was given {name}={given!r}; a recurrent layer was expected, "
                    "such as podium.layers.LSTM(8)."
                )
        self.merge_mode = check_choice("merge_mode", merge_mode, [*_MERGE, None])
        self.forward_layer = _copy(layer, "forward_", go_backwards=layer.go_backwards)
        if backward_layer is None:
            backward_layer = _copy(layer, "backward_", go_backwards=not layer.go_backwards)
        self.backward_layer = backward_layer
        self._check_pair()
        for one in (
            self.forward_layer,
            self.backward_layer,
        ):  # masked steps of both directions must line up
            one.zero_output_for_mask = one.return_sequences
        self.stateful = layer.stateful
        self.return_sequences = layer.return_sequences
        self.return_state = layer.return_state
        self.supports_masking = True
        self.input_spec = layer.input_spec
        self._first_weights = None if weights is None else tuple(weights)

    def _check_pair(self) -> None:
        ahead, back = self.forward_layer, self.backward_layer
        if ahead.go_backwards == back.go_backwards:
            raise ValueError(
                f"Bidirectional was given two layers with go_backwards={ahead.go_backwards}; they "
                "must differ. Make the backward layer with go_backwards=True."
            )
        for name in ("stateful", "return_sequences", "return_state"):
            if getattr(ahead, name) != getattr(back, name):
                raise ValueError(
                    f"Bidirectional was given layers with {name}={getattr(ahead, name)} and "
                    f"{name}={getattr(back, name)}; they must agree. Make both layers with the "
                    "same value."
                )

    def build(self, sequences_shape: Any, initial_state_shape: Any = None) -> None:
        """Build both layers."""
        for layer in (self.forward_layer, self.backward_layer):
            layer.build_from_config({"input_shape": tuple(sequences_shape)})
        self.input_spec = self.forward_layer.input_spec
        if self._first_weights is not None:
            self.set_weights(self._first_weights)

    def call(
        self,
        sequences: Any,
        initial_state: Any = None,
        mask: Any = None,
        training: bool | None = None,
    ) -> Any:
        """Run both directions and merge their outputs; states come behind, forward ones first."""
        ahead_state, back_state = self._halves(initial_state)
        options = {"mask": mask, "training": bool(training)}
        ahead = self.forward_layer(sequences, initial_state=ahead_state, **options)
        back = self.backward_layer(sequences, initial_state=back_state, **options)
        states: tuple = ()
        if self.return_state:
            ahead, back, states = ahead[0], back[0], (*ahead[1:], *back[1:])
        if self.return_sequences:
            back = dispatch(jnp.flip, back, 1)
        if self.merge_mode is None:
            return (ahead, back, *states)
        output = dispatch(_MERGE[self.merge_mode], ahead, back)
        return (output, *states) if self.return_state else output

    def _halves(self, initial_state: Any) -> tuple[Any, Any]:
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
        """The Variables with the states that stateful layers keep; None otherwise."""
        ahead, back = self.forward_layer.states, self.backward_layer.states
        return None if ahead is None or back is None else (*ahead, *back)

    def reset_state(self) -> None:
        """Set the states that stateful layers keep to zero."""
        self.forward_layer.reset_state()
        self.backward_layer.reset_state()

    def reset_states(self) -> None:
        """Set the states that stateful layers keep to zero."""
        self.reset_state()

    def compute_mask(self, inputs: Any, previous_mask: Any) -> Any:
        """Return the masks of the outputs: that of the inputs if all steps are returned. States
        have none.
        """
        mask = previous_mask[0] if isinstance(previous_mask, (list, tuple)) else previous_mask
        masks = [mask if self.return_sequences else None] * (2 if self.merge_mode is None else 1)
        sizes = [self.forward_layer.state_size, self.backward_layer.state_size]
        return masks + [None] * (len(tree_leaves(sizes)) if self.return_state else 0)

    def compute_output_shape(self, sequences_shape: Any, initial_state_shape: Any = None) -> Any:
        """Return the shape of the outputs, and of the states if they are returned."""
        ahead, back = (
            layer.compute_output_shape(sequences_shape)
            for layer in (self.forward_layer, self.backward_layer)
        )
        states: tuple = ()
        if self.return_state:
            ahead, back, states = ahead[0], back[0], (*ahead[1:], *back[1:])
        if self.merge_mode is None:
            return (ahead, back, *states)
        output = (*ahead[:-1], ahead[-1] + back[-1]) if self.merge_mode == "concat" else ahead
        return (output, *states) if self.return_state else output

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this layer again."""
        return super().get_config() | {
            "merge_mode": self.merge_mode,
            "layer": serialize(self.forward_layer),
            "backward_layer": serialize(self.backward_layer),
        }

    @classmethod
    def from_config(
        cls, config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None
    ) -> Bidirectional:
        """Make a layer from `get_config`'s result."""
        made = {
            name: deserialize(config.get(name), custom_objects)
            for name in ("layer", "backward_layer")
        }
        return cls(**(dict(config) | made))


def _copy(layer: Any, prefix: str, go_backwards: bool) -> Any:
    """Make a layer like another, with a prefix to its name."""
    config = layer.get_config()
    changes = {"name": prefix + layer.name.removeprefix(prefix), "go_backwards": go_backwards}
    return type(layer).from_config(config | changes)
