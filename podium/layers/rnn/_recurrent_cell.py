"""The base class of the built-in recurrent cells: weights, dropout, and calls of the loop.

A cell is a pure function of two products, `inputs @ kernel` and `state @ recurrent_kernel`, and of
the states. This file owns weights and dropout; `_recurrent_loop.py` owns the compiled loop,
`_rnn.py` everything else about sequences.
"""

from __future__ import annotations

import functools
from typing import Any

import jax.numpy as jnp

from podium import activations
from podium._typing import ActivationLike, Config, DTypeLike, SymbolicShape, Tree
from podium.core import SeedGenerator, Tensor, dispatch, dispatch_closure, draw_seed
from podium.core.internal import check_int, context
from podium.layers._input_spec import InputSpec
from podium.layers._layer import Layer
from podium.layers._layer_arguments import (
    check_rate,
    set_weight_options,
    weight_options,
    weight_options_config,
)
from podium.layers.regularization._dropout import drop
from podium.layers.rnn._recurrent_loop import Step, run_all_steps, run_step


class RecurrentCell(Layer):
    """The base class of SimpleRNNCell, GRUCell, LSTMCell and ConvLSTMCell.

    Subclasses define the number of gates and of states, and the pure `_step`.
    """

    _gates = 1
    _states = 1

    def __init__(
        self,
        units: int,
        activation: ActivationLike,
        recurrent_activation: ActivationLike,
        use_bias: bool,
        dropout: float,
        recurrent_dropout: float,
        seed: int | None,
        weights: dict[str, Any],
        implementation: int = 2,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.units = check_int("units", units, owner=self, type_error=ValueError)
        self.activation = activations.get(activation)
        self.recurrent_activation = activations.get(recurrent_activation)
        self.use_bias = use_bias
        set_weight_options(self, **weights)
        self.dropout = check_rate(self, "dropout", dropout)
        self.recurrent_dropout = check_rate(self, "recurrent_dropout", recurrent_dropout)
        if implementation not in (0, 1, 2):
            raise ValueError(
                f"{type(self).__name__} was given implementation={implementation!r}; 1 or 2 was "
                "expected."
            )
        # As in Keras: with 1, each gate has separate dropout masks. Nothing else depends on it.
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

    def build(self, input_shape: SymbolicShape) -> None:
        """Create the kernel, the recurrent kernel and the bias."""
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
        self._build_activations((input_shape[0], self.units))
        self.input_spec = InputSpec(axes={-1: input_shape[-1]})

    def _build_activations(self, shape: SymbolicShape) -> None:
        for activation in (self.activation, self.recurrent_activation):
            if isinstance(activation, Layer):  # its weights cannot be created inside the loop
                activation.build_from_config({"input_shape": shape})

    def _bias_shape(self) -> tuple[Any, ...]:
        return (self.units * self._gates,)

    def _bias_options(self) -> dict[str, Any]:
        return weight_options(self, "bias")

    def _step(self) -> Step:
        """Return the pure step."""
        raise NotImplementedError

    # --- one step, and all steps

    def call(self, inputs: Tensor, states: Tree, training: bool = False) -> Tree:
        """Compute one step; return the output and the new states."""
        nested = isinstance(states, (list, tuple))
        states = list(states) if nested else [states]
        new = self._dispatch(run_step, inputs, states, *self._weights_and_masks(inputs, training))
        return new[0], new if nested else new[0]

    def run(
        self, sequences: Tensor, states: Tree, mask: Tensor | None, training: bool, **options: Any
    ) -> tuple[Any, ...]:
        """Run over sequences; return the last output, all outputs (or None) and the states."""
        weights, *masks = self._weights_and_masks(sequences, training)
        options["autodiff"] = context.forward_mode or not self._is_pure()
        result: tuple[Any, ...] = self._dispatch(
            run_all_steps, sequences, states, weights, mask, *masks, **options
        )
        return result

    def _weights_and_masks(self, inputs: Tensor, training: bool) -> tuple[Any, ...]:
        return (self.kernel, self.recurrent_kernel, self.bias), *self.draw_masks(inputs, training)

    def _is_pure(self) -> bool:
        """Return whether the activations are built in, so that they read no Variables.

        Then JAX may cache the compiled loop.
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

    def draw_masks(self, inputs: Tensor, training: bool) -> tuple[Any, Any]:
        """Draw the dropout masks of inputs and states.

        Returns:
            Arrays of shape `(count, batch, ..., width)`, or None where the rate is 0.
        """
        if not training or self.seed_generator is None:
            return None, None
        count = self._gates if self.implementation == 1 else 1
        rates = (self.dropout, self.recurrent_dropout)
        keys = [
            [draw_seed(self.seed_generator) for _ in range(count)] if rate > 0 else None
            for rate in rates
        ]
        result: tuple[Any, Any] = dispatch(
            _draw_masks, keys, rates, self._mask_shapes(inputs), inputs.dtype
        )
        return result

    def _mask_shapes(self, inputs: Tensor) -> tuple[Any, Any]:
        """Return the shapes of one mask of the inputs, and of one of the states."""
        return (inputs.shape[0], inputs.shape[-1]), (inputs.shape[0], self.units)

    def get_initial_state(self, batch_size: int | None = None) -> list[Any]:
        """Return states of zeros."""
        return [
            dispatch(jnp.zeros, (batch_size, self.units), self.compute_dtype)
            for _ in range(self._states)
        ]

    def get_config(self) -> Config:
        """Return the arguments that recreate this cell."""
        names = ("units", "use_bias", "dropout", "recurrent_dropout", "seed")
        options = {name: getattr(self, name) for name in names}
        options["activation"] = activations.serialize(self.activation)
        options["recurrent_activation"] = activations.serialize(self.recurrent_activation)
        return (
            super().get_config()
            | options
            | weight_options_config(self, "kernel", "recurrent", "bias")
        )


def _draw_masks(keys: Any, rates: Any, shapes: Any, dtype: DTypeLike) -> tuple[Any, Any]:
    inputs, states = (
        None
        if group is None
        else jnp.stack([drop(key, jnp.ones(shape, dtype), rate) for key in group])
        for group, rate, shape in zip(keys, rates, shapes, strict=True)
    )
    return inputs, states
