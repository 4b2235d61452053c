"""What the built-in recurrent cells share: weights, dropout, one step, and how the loop over time
is called.

A cell is a pure function of two products, `inputs @ kernel` and `state @ recurrent_kernel`, and of
the states. This file owns weights and dropout; `_recurrent_loop.py` owns the compiled loop,
`_rnn.py` everything else about sequences.
"""

from __future__ import annotations

import functools
from typing import Any

import jax.numpy as jnp

from podium import activations
from podium.core import SeedGenerator, dispatch, dispatch_closure, draw_seed
from podium.core.internal import context
from podium.layers._argument_checks import (
    fraction,
    set_weight_options,
    weight_options,
    weight_options_config,
    whole_number,
)
from podium.layers._input_spec import InputSpec
from podium.layers._layer import Layer
from podium.layers.regularization._dropout import drop
from podium.layers.rnn._recurrent_loop import Step, all_steps, one_step


class RecurrentCell(Layer):
    """The base of SimpleRNNCell, GRUCell and LSTMCell.

    Subclasses say how many gates they have, how many states, and give the pure `_step`.
    """

    _gates = 1
    _states = 1

    def __init__(
        self,
        units: int,
        activation: Any,
        recurrent_activation: Any,
        use_bias: bool,
        dropout: float,
        recurrent_dropout: float,
        seed: int | None,
        weights: dict[str, Any],
        implementation: int = 2,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.units = whole_number(self, "units", units)
        self.activation = activations.get(activation)
        self.recurrent_activation = activations.get(recurrent_activation)
        self.use_bias = use_bias
        set_weight_options(self, **weights)
        self.dropout = fraction(self, "dropout", dropout)
        self.recurrent_dropout = fraction(self, "recurrent_dropout", recurrent_dropout)
        if implementation not in (0, 1, 2):
            raise ValueError(
                f"{type(self).__name__} was given implementation={implementation!r}; 1 or 2 was "
                "expected."
            )
        # As in Keras: with 1, each gate has dropout masks of its own. Nothing else depends on it.
        self.implementation = 1 if self.recurrent_dropout > 0 else implementation
        self.seed = seed
        self.seed_generator = (
            SeedGenerator(seed) if self.dropout > 0 or self.recurrent_dropout > 0 else None
        )
        self.state_size: Any = self.units if self._states == 1 else [self.units] * self._states
        self.output_size = self.units
        self.kernel: Any = None
        self.recurrent_kernel: Any = None
        self.bias: Any = None

    def build(self, input_shape: Any) -> None:
        """Make the kernel, the recurrent kernel and the bias."""
        width = self.units * self._gates
        self.kernel = self.add_weight(
            name="kernel", shape=(input_shape[-1], width), **weight_options(self, "kernel")
        )
        self.recurrent_kernel = self.add_weight(
            name="recurrent_kernel", shape=(self.units, width), **weight_options(self, "recurrent")
        )
        if self.use_bias:
            self.bias = self.add_weight(
                name="bias", shape=self._bias_shape(), **self._bias_options()
            )
        for activation in (self.activation, self.recurrent_activation):
            if isinstance(activation, Layer):  # its weights must not be made inside the loop
                activation.build_from_config({"input_shape": (input_shape[0], self.units)})
        self.input_spec = InputSpec(axes={-1: input_shape[-1]})

    def _bias_shape(self) -> tuple:
        return (self.units * self._gates,)

    def _bias_options(self) -> dict[str, Any]:
        return weight_options(self, "bias")

    def _step(self) -> Step:
        """Return the pure step."""
        raise NotImplementedError

    # --- one step, and all steps

    def call(self, inputs: Any, states: Any, training: bool = False) -> tuple:
        """Compute one step: returns the output and the new states."""
        nested = isinstance(states, (list, tuple))
        states = list(states) if nested else [states]
        new = self._dispatch(one_step, inputs, states, *self._weights_and_masks(inputs, training))
        return new[0], new if nested else new[0]

    def run(self, sequences: Any, states: Any, mask: Any, training: bool, **options: Any) -> tuple:
        """Compute all steps of `(batch, time, features)`: returns last output, all outputs (or
        None) and states.
        """
        weights, *masks = self._weights_and_masks(sequences, training)
        options["plain"] = context.forward_mode or not self._is_pure()
        return self._dispatch(all_steps, sequences, states, weights, mask, *masks, **options)

    def _weights_and_masks(self, inputs: Any, training: bool) -> tuple:
        return (self.kernel, self.recurrent_kernel, self.bias), *self.draw_masks(inputs, training)

    def _is_pure(self) -> bool:
        """Tell whether the activations are ours: they read no Variables then, and JAX may keep the
        compiled loop.
        """
        return all(
            activation is None
            or (
                getattr(activation, "__module__", "").startswith("podium.")
                and not isinstance(activation, Layer)
            )
            for activation in (self.activation, self.recurrent_activation)
        )

    def _dispatch(self, fn: Any, *args: Any, **options: Any) -> Any:
        options |= {
            "step": self._step(),
            "activations": (self.activation, self.recurrent_activation),
        }
        if self._is_pure():
            return dispatch(fn, *args, **options)
        return dispatch_closure(functools.partial(fn.__wrapped__, **options), *args)

    def draw_masks(self, inputs: Any, training: bool) -> tuple[Any, Any]:
        """Draw what dropout keeps of inputs and states: `(count, batch, width)` arrays, or None
        where nothing drops.
        """
        if not training or self.seed_generator is None:
            return None, None
        count = self._gates if self.implementation == 1 else 1
        rates = (self.dropout, self.recurrent_dropout)
        keys = [
            [draw_seed(self.seed_generator) for _ in range(count)] if rate > 0 else None
            for rate in rates
        ]
        batch = inputs.shape[0]
        return dispatch(
            _draw_masks, keys, rates, ((batch, inputs.shape[-1]), (batch, self.units)), inputs.dtype
        )

    def get_initial_state(self, batch_size: Any = None) -> list:
        """Return states of zeros."""
        return [
            dispatch(jnp.zeros, (batch_size, self.units), self.compute_dtype)
            for _ in range(self._states)
        ]

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this cell again."""
        names = ("units", "use_bias", "dropout", "recurrent_dropout", "seed")
        own = {name: getattr(self, name) for name in names}
        own["activation"] = activations.serialize(self.activation)
        own["recurrent_activation"] = activations.serialize(self.recurrent_activation)
        return (
            super().get_config() | own | weight_options_config(self, "kernel", "recurrent", "bias")
        )


def _draw_masks(keys: Any, rates: Any, shapes: Any, dtype: Any) -> tuple[Any, Any]:
    inputs, states = (
        None if own is None else jnp.stack([drop(key, jnp.ones(shape, dtype), rate) for key in own])
        for own, rate, shape in zip(keys, rates, shapes, strict=True)
    )
    return inputs, states
