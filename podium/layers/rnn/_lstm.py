"""LSTM and its cell."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from podium import activations, initializers
from podium.core import dispatch
from podium.layers.rnn._recurrent_cell import RecurrentCell
from podium.layers.rnn._recurrent_layer import RecurrentLayer
from podium.layers.rnn._recurrent_loop import Step


class LSTMCell(RecurrentCell):
    """One step of a long short-term memory: a state and a carry behind input, forget and output
    gates.

    Args:
        units: The size of the state and of the output.
        activation: What squashes the new state.
        recurrent_activation: What squashes the gates.
        use_bias: Whether to add a bias.
        kernel_initializer: How the kernel starts.
        recurrent_initializer: How the recurrent kernel starts.
        bias_initializer: How the bias starts.
        unit_forget_bias: Whether the forget gate's bias starts at 1.
        kernel_regularizer: A penalty on the kernel.
        recurrent_regularizer: A penalty on the recurrent kernel.
        bias_regularizer: A penalty on the bias.
        kernel_constraint: Applied to the kernel after updates.
        recurrent_constraint: Applied to the recurrent kernel after updates.
        bias_constraint: Applied to the bias after updates.
        dropout: The share of the inputs to drop in training, the same at every step.
        recurrent_dropout: The share of the states to drop in training, the same at every step.
        seed: A whole number for repeatable dropout.
        **kwargs: `name`, `dtype`, `trainable`, `implementation`.

    Example:
        >>> cell = podium.layers.LSTMCell(4)
        >>> output, (state, carry) = cell(np.ones((2, 3), "float32"), cell.get_initial_state(batch_size=2))
        >>> output.shape, carry.shape
        ((2, 4), (2, 4))
    """

    _gates = 4
    _states = 2
    bias_initializer: Any

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "sigmoid",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        unit_forget_bias: bool = True,
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        kernel_constraint: Any = None,
        recurrent_constraint: Any = None,
        bias_constraint: Any = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        **kwargs: Any,
    ):
        weights = {
            "kernel_initializer": kernel_initializer,
            "recurrent_initializer": recurrent_initializer,
            "bias_initializer": bias_initializer,
            "kernel_regularizer": kernel_regularizer,
            "recurrent_regularizer": recurrent_regularizer,
            "bias_regularizer": bias_regularizer,
            "kernel_constraint": kernel_constraint,
            "recurrent_constraint": recurrent_constraint,
            "bias_constraint": bias_constraint,
        }
        super().__init__(
            units,
            activation,
            recurrent_activation,
            use_bias,
            dropout,
            recurrent_dropout,
            seed,
            weights,
            **kwargs,
        )
        self.unit_forget_bias = unit_forget_bias

    def _bias_options(self) -> dict[str, Any]:
        options = super()._bias_options()
        return options | {"initializer": self._forgetful_bias} if self.unit_forget_bias else options

    def _forgetful_bias(self, shape: Any, dtype: Any = None) -> Any:
        """Start the forget gate's part at one, so that the carry is kept at first."""
        sizes = (self.units, self.units, 2 * self.units)
        kinds = (self.bias_initializer, initializers.get("ones"), self.bias_initializer)
        return dispatch(
            jnp.concatenate, [kind((size,), dtype) for kind, size in zip(kinds, sizes, strict=True)]
        )

    def _step(self) -> Step:
        return _STEP

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this cell again."""
        return super().get_config() | {"unit_forget_bias": self.unit_forget_bias}


def _lstm(z: Any, states: list, activations: tuple) -> list:
    activation, gate = activations
    i, f, c, o = jnp.split(z, 4, axis=-1)
    carry = gate(f) * states[1] + gate(i) * activation(c)
    return [gate(o) * activation(carry), carry]


def _lstm_vjp(z: Any, states: list) -> tuple[list, Any]:
    """Compute the step with tanh and sigmoid, and its pullback, which keeps no more than it
    needs.
    """
    i, f, c, o = jnp.split(z, 4, axis=-1)
    i, f, c, o = jax.nn.sigmoid(i), jax.nn.sigmoid(f), jnp.tanh(c), jax.nn.sigmoid(o)
    carry = f * states[1] + i * c
    shown = jnp.tanh(carry)
    return [o * shown, carry], jax.tree_util.Partial(_lstm_pull, i, f, c, o, states[1], shown)


def _lstm_pull(
    i: Any, f: Any, c: Any, o: Any, old: Any, shown: Any, gradients: list
) -> tuple[tuple, list]:
    by_output, by_carry = gradients
    by_carry = by_carry + by_output * o * (1 - shown * shown)
    gates = [
        by_carry * c * i * (1 - i),
        by_carry * old * f * (1 - f),
        by_carry * i * (1 - c * c),
        by_output * shown * o * (1 - o),
    ]
    return (jnp.concatenate(gates, axis=-1),), [jnp.zeros_like(by_output), by_carry * f]


_STEP = Step(_lstm, vjp=_lstm_vjp, vjp_with=(activations.tanh, activations.sigmoid))


class LSTM(RecurrentLayer):
    """Long short-term memory over sequences `(batch, time, features)`.

    Args:
        units: The size of the state and of the output.
        activation: What squashes the new state.
        recurrent_activation: What squashes the gates.
        use_bias: Whether to add a bias.
        kernel_initializer: How the kernel starts.
        recurrent_initializer: How the recurrent kernel starts.
        bias_initializer: How the bias starts.
        unit_forget_bias: Whether the forget gate's bias starts at 1.
        kernel_regularizer: A penalty on the kernel.
        recurrent_regularizer: A penalty on the recurrent kernel.
        bias_regularizer: A penalty on the bias.
        activity_regularizer: A penalty on the output.
        kernel_constraint: Applied to the kernel after updates.
        recurrent_constraint: Applied to the recurrent kernel after updates.
        bias_constraint: Applied to the bias after updates.
        dropout: The share of the inputs to drop in training, the same at every step.
        recurrent_dropout: The share of the states to drop in training, the same at every step.
        seed: A whole number for repeatable dropout.
        return_sequences: Return the outputs of all steps instead of the last.
        return_state: Return the last states behind the output.
        go_backwards: Read the sequence from its end; outputs come in that order too.
        stateful: Start each call with the states the last one ended with. The batch size is then
            fixed.
        unroll: Write the loop out: faster for short sequences, slower to compile.
        use_cudnn: Accepted as in Keras; XLA chooses the kernels.
        **kwargs: `name`, `dtype`, `trainable`, `implementation`, `zero_output_for_mask`.

    Example:
        >>> layer = podium.layers.LSTM(4, return_sequences=True, return_state=True)
        >>> outputs, state, carry = layer(np.ones((2, 5, 3), "float32"))
        >>> outputs.shape, carry.shape
        ((2, 5, 4), (2, 4))
    """

    _cell_class = LSTMCell

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "sigmoid",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        unit_forget_bias: bool = True,
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        recurrent_constraint: Any = None,
        bias_constraint: Any = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        use_cudnn: Any = "auto",
        **kwargs: Any,
    ):
        cell = {
            "units": units,
            "activation": activation,
            "recurrent_activation": recurrent_activation,
            "use_bias": use_bias,
            "kernel_initializer": kernel_initializer,
            "recurrent_initializer": recurrent_initializer,
            "bias_initializer": bias_initializer,
            "kernel_regularizer": kernel_regularizer,
            "recurrent_regularizer": recurrent_regularizer,
            "bias_regularizer": bias_regularizer,
            "kernel_constraint": kernel_constraint,
            "recurrent_constraint": recurrent_constraint,
            "bias_constraint": bias_constraint,
            "unit_forget_bias": unit_forget_bias,
            "dropout": dropout,
            "recurrent_dropout": recurrent_dropout,
            "seed": seed,
        }
        super().__init__(
            cell,
            activity_regularizer=activity_regularizer,
            return_sequences=return_sequences,
            return_state=return_state,
            go_backwards=go_backwards,
            stateful=stateful,
            unroll=unroll,
            use_cudnn=use_cudnn,
            **kwargs,
        )
