"""SimpleRNN: the fully-connected recurrent layer, and its cell."""

from __future__ import annotations

from typing import Any

import jax

from podium._typing import ActivationLike, Config, ConstraintLike, InitializerLike, RegularizerLike
from podium.layers.rnn._recurrent_cell import RecurrentCell
from podium.layers.rnn._recurrent_layer import RecurrentLayer
from podium.layers.rnn._recurrent_loop import Step


class SimpleRNNCell(RecurrentCell):
    """Cell class for SimpleRNN: `activation(inputs @ kernel + state @ recurrent_kernel + bias)`.

    Args:
        units: The dimensionality of the output and of the state.
        activation: The activation of the new state.
        use_bias: Whether to add a bias.
        kernel_initializer: Initializer of the kernel.
        recurrent_initializer: Initializer of the recurrent kernel.
        bias_initializer: Initializer of the bias.
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
        >>> cell = podium.layers.SimpleRNNCell(4)
        >>> output, states = cell(np.ones((2, 3), "float32"), cell.get_initial_state(batch_size=2))
        >>> output.shape, len(states)
        ((2, 4), 1)
    """

    def __init__(
        self,
        units: int,
        activation: ActivationLike = "tanh",
        use_bias: bool = True,
        kernel_initializer: InitializerLike = "glorot_uniform",
        recurrent_initializer: InitializerLike = "orthogonal",
        bias_initializer: InitializerLike = "zeros",
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
            units, activation, None, use_bias, dropout, recurrent_dropout, seed, weights, **kwargs
        )

    def _step(self) -> Step:
        return Step(_simple_step)

    def get_config(self) -> Config:
        """Return the arguments that recreate this cell."""
        config = super().get_config()
        del config["recurrent_activation"]
        return config


def _simple_step(z: jax.Array, states: list[Any], activations: tuple[Any, ...]) -> list[Any]:
    return [activations[0](z)]


class SimpleRNN(RecurrentLayer):
    """Fully-connected RNN layer, for sequences `(batch, time, features)`.

    Args:
        units: The dimensionality of the output and of the state.
        activation: The activation of the new state.
        use_bias: Whether to add a bias.
        kernel_initializer: Initializer of the kernel.
        recurrent_initializer: Initializer of the recurrent kernel.
        bias_initializer: Initializer of the bias.
        kernel_regularizer: Regularizer of the kernel.
        recurrent_regularizer: Regularizer of the recurrent kernel.
        bias_regularizer: Regularizer of the bias.
        activity_regularizer: Regularizer of the outputs.
        kernel_constraint: Constraint of the kernel, applied after updates.
        recurrent_constraint: Constraint of the recurrent kernel, applied after updates.
        bias_constraint: Constraint of the bias, applied after updates.
        dropout: The fraction of the inputs to drop in training, the same at every time step.
        recurrent_dropout: The fraction of the states to drop in training, the same at every step.
        return_sequences: Whether to return the outputs of all time steps instead of the last.
        return_state: Whether to return the last states after the output.
        go_backwards: Whether to process the sequence in reverse; outputs are reversed too.
        stateful: Whether each call starts from the last states of the previous one. The batch size
            is then fixed.
        unroll: Whether to unroll the loop: faster for short sequences, slower to compile.
        seed: An int that makes dropout deterministic.
        **kwargs: `name`, `dtype`, `trainable`, `implementation`, `zero_output_for_mask`.

    Example:
        >>> podium.layers.SimpleRNN(4)(np.ones((2, 5, 3), "float32")).shape
        (2, 4)
    """

    _cell_class = SimpleRNNCell

    def __init__(
        self,
        units: int,
        activation: ActivationLike = "tanh",
        use_bias: bool = True,
        kernel_initializer: InitializerLike = "glorot_uniform",
        recurrent_initializer: InitializerLike = "orthogonal",
        bias_initializer: InitializerLike = "zeros",
        kernel_regularizer: RegularizerLike = None,
        recurrent_regularizer: RegularizerLike = None,
        bias_regularizer: RegularizerLike = None,
        activity_regularizer: RegularizerLike = None,
        kernel_constraint: ConstraintLike = None,
        recurrent_constraint: ConstraintLike = None,
        bias_constraint: ConstraintLike = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        seed: int | None = None,
        **kwargs: Any,
    ):
        cell = {
            "units": units,
            "activation": activation,
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
            **kwargs,
        )

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        config = super().get_config()
        del config["seed"]  # as Keras writes it
        return config
