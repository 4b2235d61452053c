"""What the built-in recurrent cells share: weights, dropout, and the loop over time as one pure, compiled function.

A cell is a pure step `(weights, projected input, states, recurrent masks, activations) -> states` around the weights
`(kernel, recurrent_kernel, bias)`. The product of the inputs with the kernel does not depend on the states, so it is
taken out of the loop: one large matmul over all steps. `_rnn.py` owns everything else about sequences.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from podium import activations
from podium.core import SeedGenerator, dispatch, draw_seed
from podium.core._dispatch import unwrap_result
from podium.core._state import setting
from podium.layers._checks import fraction, set_weight_options, weight_options, weight_options_config, whole_number
from podium.layers._dropout import drop
from podium.layers._input_spec import InputSpec
from podium.layers._layer import Layer


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
            raise ValueError(f"{type(self).__name__} was given implementation={implementation!r}; 1 or 2 was expected.")
        # As in Keras: with 1, each gate has dropout masks of its own. Nothing else depends on it.
        self.implementation = 1 if self.recurrent_dropout > 0 else implementation
        self.seed = seed
        self.seed_generator = SeedGenerator(seed) if self.dropout > 0 or self.recurrent_dropout > 0 else None
        self.state_size: Any = self.units if self._states == 1 else [self.units] * self._states
        self.output_size = self.units
        self.kernel: Any = None
        self.recurrent_kernel: Any = None
        self.bias: Any = None

    def build(self, input_shape: Any) -> None:
        """Make the kernel, the recurrent kernel and the bias."""
        width = self.units * self._gates
        self.kernel = self.add_weight(name="kernel", shape=(input_shape[-1], width), **weight_options(self, "kernel"))
        self.recurrent_kernel = self.add_weight(
            name="recurrent_kernel", shape=(self.units, width), **weight_options(self, "recurrent")
        )
        if self.use_bias:
            self.bias = self.add_weight(name="bias", shape=self._bias_shape(), **self._bias_options())
        self.input_spec = InputSpec(axes={-1: input_shape[-1]})

    def _bias_shape(self) -> tuple:
        return (self.units * self._gates,)

    def _bias_options(self) -> dict[str, Any]:
        return weight_options(self, "bias")

    def _step(self) -> Callable:
        """Return the pure step; a function of a module, because compiled loops are found again by it."""
        raise NotImplementedError

    def _activations(self) -> tuple:
        return self.activation, self.recurrent_activation

    # --- one step, and all steps

    def call(self, inputs: Any, states: Any, training: bool = False) -> tuple:
        """Compute one step: returns the output and the new states."""
        nested = isinstance(states, (list, tuple))
        masks = self.draw_masks(inputs, training)
        weights = (self.kernel, self.recurrent_kernel, self.bias)
        options = {"step": self._step(), "activations": self._activations()}
        new = dispatch(_one_step, inputs, list(states) if nested else [states], weights, *masks, **options)
        return new[0], new if nested else new[0]

    def run(self, sequences: Any, states: Any, mask: Any, training: bool, **options: Any) -> tuple:
        """Compute all steps of `(batch, time, features)`: returns last output, all outputs (or None) and states."""
        masks = self.draw_masks(sequences, training)
        weights = (self.kernel, self.recurrent_kernel, self.bias)
        loop = _all_steps if all(map(_is_pure, self._activations())) else _all_steps.__wrapped__
        options |= {"step": self._step(), "activations": self._activations()}
        return dispatch(loop, sequences, states, weights, mask, *masks, **options)

    def draw_masks(self, inputs: Any, training: bool) -> tuple[Any, Any]:
        """Draw what dropout keeps of inputs and states: `(count, batch, width)` arrays, or None where nothing drops."""
        if not training or self.seed_generator is None:
            return None, None
        count = self._gates if self.implementation == 1 else 1
        rates = (self.dropout, self.recurrent_dropout)
        keys = [[draw_seed(self.seed_generator) for _ in range(count)] if rate > 0 else None for rate in rates]
        batch = inputs.shape[0]
        return dispatch(_draw_masks, keys, rates, ((batch, inputs.shape[-1]), (batch, self.units)), inputs.dtype)

    def get_initial_state(self, batch_size: Any = None) -> list:
        """Return states of zeros."""
        return [dispatch(jnp.zeros, (batch_size, self.units), self.compute_dtype) for _ in range(self._states)]

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this cell again."""
        names = ("units", "use_bias", "dropout", "recurrent_dropout", "seed")
        own = {name: getattr(self, name) for name in names}
        own["activation"] = activations.serialize(self.activation)
        own["recurrent_activation"] = activations.serialize(self.recurrent_activation)
        return super().get_config() | own | weight_options_config(self, "kernel", "recurrent", "bias")


def _is_pure(activation: Any) -> bool:
    """Tell whether an activation is one of ours: it then reads no Variables, and a compiled loop may be kept."""
    return activation is None or (
        getattr(activation, "__module__", "").startswith("podium.") and not isinstance(activation, Layer)
    )


def _draw_masks(keys: Any, rates: Any, shapes: Any, dtype: Any) -> tuple[Any, Any]:
    inputs, states = (
        None if own is None else jnp.stack([drop(key, jnp.ones(shape, dtype), rate) for key in own])
        for own, rate, shape in zip(keys, rates, shapes, strict=True)
    )
    return inputs, states


def on_arrays(activation: Any) -> Callable:
    """Return an activation as a function of bare arrays."""

    def run(x: Any) -> Any:
        with setting(arrays=True):
            return unwrap_result(activation(x))

    return run if activation is not None else lambda x: x


def gated_matmul(x: Any, kernel: Any, masks: Any) -> Any:
    """Multiply by the kernel; with several masks, each gate sees its own part of `x`."""
    if masks is None:
        return x @ kernel
    kernels = jnp.split(kernel, masks.shape[0], axis=-1)
    return jnp.concatenate([(x * mask) @ part for mask, part in zip(masks, kernels, strict=True)], axis=-1)


def _project(x: Any, weights: Any, masks: Any) -> Any:
    kernel, _, bias = weights
    projected = gated_matmul(x, kernel, masks)
    return projected if bias is None else projected + (bias[0] if bias.ndim == 2 else bias)


@functools.partial(jax.jit, static_argnames=("step", "activations"))
def _one_step(
    inputs: Any, states: list, weights: Any, input_masks: Any, state_masks: Any, *, step: Callable, activations: tuple
) -> list:
    functions = tuple(map(on_arrays, activations))
    return step(weights, _project(inputs, weights, input_masks), states, state_masks, functions)


@functools.partial(
    jax.jit,
    static_argnames=("step", "activations", "return_sequences", "unroll", "zero_output_for_mask"),
)
def _all_steps(
    sequences: Any,
    states: list,
    weights: Any,
    mask: Any,
    input_masks: Any,
    state_masks: Any,
    *,
    step: Callable,
    activations: tuple,
    return_sequences: bool,
    unroll: bool,
    zero_output_for_mask: bool,
) -> tuple:
    functions = tuple(map(on_arrays, activations))
    projected = _project(jnp.swapaxes(sequences, 0, 1), weights, input_masks)  # time first, as the loop wants it

    def one(x: Any, states: list) -> tuple:
        new = step(weights, x, states, state_masks, functions)
        return new[0], new

    options = {"unroll": unroll, "zero_output_for_mask": zero_output_for_mask, "return_sequences": return_sequences}
    return over_time(one, projected, states, states[0], mask, **options)


def over_time(
    step: Callable,
    inputs: Any,
    states: Any,
    output: Any,
    mask: Any,
    *,
    return_sequences: bool,
    unroll: bool,
    zero_output_for_mask: bool,
    scan: Callable = jax.lax.scan,
) -> tuple:
    """Run `step(x, states) -> (output, states)` over the first axis of `inputs`, holding still where `mask` is False.

    Args:
        step: The step.
        inputs: What it takes, time first.
        states: The states it starts from, in any structure.
        output: What counts as the output before the first step.
        mask: `(batch, time)`, or None.
        return_sequences: Whether to keep all outputs.
        unroll: Whether to write the loop out.
        zero_output_for_mask: Whether a masked step gives zeros instead of the output before it.
        scan: What loops.

    Returns:
        The last output, all outputs `(batch, time, ...)` or None, and the last states.
    """

    def body(carry: Any, x_and_keep: Any) -> Any:
        states, previous = carry
        x, keep = x_and_keep
        output, new = step(x, states)
        if keep is not None:
            output = _where(keep, output, jnp.zeros_like(output) if zero_output_for_mask else previous)
            new = jax.tree.map(functools.partial(_where, keep), new, states)
        return (new, output), output if return_sequences else None

    keep = None if mask is None else jnp.swapaxes(mask.astype(bool), 0, 1)
    (states, output), outputs = scan(body, (states, output), (inputs, keep), unroll=unroll)
    return output, None if outputs is None else jnp.swapaxes(outputs, 0, 1), states


def _where(keep: Any, new: Any, old: Any) -> Any:
    return jnp.where(keep.reshape(keep.shape[0], *[1] * (new.ndim - 1)), new, old)
