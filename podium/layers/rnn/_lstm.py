"""LSTM: the long short-term memory layer, and its cell."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from podium import activations, initializers
from podium._typing import (
    ActivationLike,
    Config,
    ConstraintLike,
    DTypeLike,
    InitializerLike,
    RegularizerLike,
    ShapeLike,
)
from podium.core import Tensor, dispatch
from podium.layers.rnn._recurrent_cell import RecurrentCell
from podium.layers.rnn._recurrent_layer import RecurrentLayer
from podium.layers.rnn._recurrent_loop import Step


class LSTMCell(RecurrentCell):
    """Cell class for the LSTM layer: one step, with input, forget and output gates.

    Args:
        units: The dimensionality of the output and of the state.
        activation: The activation of the new state.
        recurrent_activation: The activation of the gates.
        use_bias: Whether to add a bias.
        kernel_initializer: Initializer of the kernel.
        recurrent_initializer: Initializer of the recurrent kernel.
        bias_initializer: Initializer of the bias.
        unit_forget_bias: Whether the bias of the forget gate is initialized to 1.
        kernel_regularizer: Regularizer of the kernel.
        recurrent_regularizer: Regularizer of the recurrent kernel.
        bias_regularizer: Regularizer of the bias.
        kernel_constraint: Constraint of the kernel, applied after updates.
        recurrent_constraint: Constraint of the recurrent kernel, applied after updates.
        bias_constraint: Constraint of the bias, applied after updates.
        dropout: The fraction of the inputs to drop in training, the same at every time step.
        recurrent_dropout: The fraction of the states to drop in training, the same at every step.
        seed: An int that makes dropout deterministic.
        **kwargs: `name`, `dtype`, `trainable`, `implementation`.

    Example:
        >>> cell = podium.layers.LSTMCell(4)
        >>> states = cell.get_initial_state(batch_size=2)
        >>> output, (state, carry) = cell(np.ones((2, 3), "float32"), states)
        >>> output.shape, carry.shape
        ((2, 4), (2, 4))
    """

    _gates = 4
    _states = 2
    bias_initializer: Any

    def __init__(
        self,
        units: int,
        activation: ActivationLike = "tanh",
        recurrent_activation: ActivationLike = "sigmoid",
        use_bias: bool = True,
        kernel_initializer: InitializerLike = "glorot_uniform",
        recurrent_initializer: InitializerLike = "orthogonal",
        bias_initializer: InitializerLike = "zeros",
        unit_forget_bias: bool = True,
        kernel_regularizer: RegularizerLike = None,
        recurrent_regularizer: RegularizerLike = None,
        bias_regularizer: RegularizerLike = None,
        kernel_constraint: ConstraintLike = None,
        recurrent_constraint: ConstraintLike = None,
        bias_constraint: ConstraintLike = None,
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
        return (
            options | {"initializer": self._initialize_bias} if self.unit_forget_bias else options
        )

    def _initialize_bias(self, shape: ShapeLike, dtype: DTypeLike | None = None) -> Tensor:
        """Initialize the bias of the forget gate to 1, and the others as specified."""
        sizes = (self.units, self.units, 2 * self.units)
        parts = (self.bias_initializer, initializers.get("ones"), self.bias_initializer)
        result: Tensor = dispatch(
            jnp.concatenate, [part((size,), dtype) for part, size in zip(parts, sizes, strict=True)]
        )
        return result

    def _step(self) -> Step:
        return _STEP

    def get_config(self) -> Config:
        """Return the arguments that recreate this cell."""
        return super().get_config() | {"unit_forget_bias": self.unit_forget_bias}


def lstm_step(z: jax.Array, states: list[Any], activations: tuple[Any, ...]) -> list[Any]:
    """Compute the new output and carry from the sum of both products, channels last."""
    activation, gate = activations
    i, f, c, o = jnp.split(z, 4, axis=-1)
    carry = gate(f) * states[1] + gate(i) * activation(c)
    return [gate(o) * activation(carry), carry]


def _lstm_vjp(z: jax.Array, states: list[Any]) -> tuple[list[Any], Any]:
    """Compute the step with tanh and sigmoid, and a pullback that saves only what it needs."""
    i, f, c, o = jnp.split(z, 4, axis=-1)
    i, f, c, o = jax.nn.sigmoid(i), jax.nn.sigmoid(f), jnp.tanh(c), jax.nn.sigmoid(o)
    carry = f * states[1] + i * c
    activated = jnp.tanh(carry)
    return [o * activated, carry], jax.tree_util.Partial(
        _lstm_pullback, i, f, c, o, states[1], activated
    )


def _lstm_pullback(
    i: jax.Array,
    f: jax.Array,
    c: jax.Array,
    o: jax.Array,
    old: jax.Array,
    activated: jax.Array,
    gradients: list[Any],
) -> tuple[tuple[Any, ...], list[Any]]:
    by_output, by_carry = gradients
    by_carry = by_carry + by_output * o * (1 - activated * activated)
    gates = [
        by_carry * c * i * (1 - i),
        by_carry * old * f * (1 - f),
        by_carry * i * (1 - c * c),
        by_output * activated * o * (1 - o),
    ]
    return (jnp.concatenate(gates, axis=-1),), [jnp.zeros_like(by_output), by_carry * f]


_STEP = Step(lstm_step, vjp=_lstm_vjp, vjp_with=(activations.tanh, activations.sigmoid))


class LSTM(RecurrentLayer):
    """Long short-term memory layer, for sequences `(batch, time, features)`.

    Args:
        units: The dimensionality of the output and of the state.
        activation: The activation of the new state.
        recurrent_activation: The activation of the gates.
        use_bias: Whether to add a bias.
        kernel_initializer: Initializer of the kernel.
        recurrent_initializer: Initializer of the recurrent kernel.
        bias_initializer: Initializer of the bias.
        unit_forget_bias: Whether the bias of the forget gate is initialized to 1.
        kernel_regularizer: Regularizer of the kernel.
        recurrent_regularizer: Regularizer of the recurrent kernel.
        bias_regularizer: Regularizer of the bias.
        activity_regularizer: Regularizer of the outputs.
        kernel_constraint: Constraint of the kernel, applied after updates.
        recurrent_constraint: Constraint of the recurrent kernel, applied after updates.
        bias_constraint: Constraint of the bias, applied after updates.
        dropout: The fraction of the inputs to drop in training, the same at every time step.
        recurrent_dropout: The fraction of the states to drop in training, the same at every step.
        seed: An int that makes dropout deterministic.
        return_sequences: Whether to return the outputs of all time steps instead of the last.
        return_state: Whether to return the last states after the output.
        go_backwards: Whether to process the sequence in reverse; outputs are reversed too.
        stateful: Whether each call starts from the last states of the previous one. The batch size
            is then fixed.
        unroll: Whether to unroll the loop: faster for short sequences, slower to compile.
        use_cudnn: Accepted for compatibility with Keras; XLA selects the kernels.
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
        activation: ActivationLike = "tanh",
        recurrent_activation: ActivationLike = "sigmoid",
        use_bias: bool = True,
        kernel_initializer: InitializerLike = "glorot_uniform",
        recurrent_initializer: InitializerLike = "orthogonal",
        bias_initializer: InitializerLike = "zeros",
        unit_forget_bias: bool = True,
        kernel_regularizer: RegularizerLike = None,
        recurrent_regularizer: RegularizerLike = None,
        bias_regularizer: RegularizerLike = None,
        activity_regularizer: RegularizerLike = None,
        kernel_constraint: ConstraintLike = None,
        recurrent_constraint: ConstraintLike = None,
        bias_constraint: ConstraintLike = None,
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
