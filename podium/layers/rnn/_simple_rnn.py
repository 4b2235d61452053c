"""SimpleRNN and its cell."""

from __future__ import annotations

from typing import Any

from podium.layers.rnn._recurrent_cell import RecurrentCell
from podium.layers.rnn._recurrent_layer import RecurrentLayer
from podium.layers.rnn._recurrent_loop import Step


class SimpleRNNCell(RecurrentCell):
    """One step of a plain recurrent network: `activation(inputs @ kernel + state @ recurrent_kernel
    + bias)`.

    Args:
        units: The size of the state and of the output.
        activation: What squashes the new state.
        use_bias: Whether to add a bias.
        kernel_initializer: How the kernel starts.
        recurrent_initializer: How the recurrent kernel starts.
        bias_initializer: How the bias starts.
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
        >>> cell = podium.layers.SimpleRNNCell(4)
        >>> output, states = cell(np.ones((2, 3), "float32"), cell.get_initial_state(batch_size=2))
        >>> output.shape, len(states)
        ((2, 4), 1)
    """

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
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
            units, activation, None, use_bias, dropout, recurrent_dropout, seed, weights, **kwargs
        )

    def _step(self) -> Step:
        return Step(_simple)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this cell again."""
        config = super().get_config()
        del config["recurrent_activation"]
        return config


def _simple(z: Any, states: list, activations: tuple) -> list:
    return [activations[0](z)]


class SimpleRNN(RecurrentLayer):
    """A plain recurrent network over sequences `(batch, time, features)`.

    Args:
        units: The size of the state and of the output.
        activation: What squashes the new state.
        use_bias: Whether to add a bias.
        kernel_initializer: How the kernel starts.
        recurrent_initializer: How the recurrent kernel starts.
        bias_initializer: How the bias starts.
        kernel_regularizer: A penalty on the kernel.
        recurrent_regularizer: A penalty on the recurrent kernel.
        bias_regularizer: A penalty on the bias.
        activity_regularizer: A penalty on the output.
        kernel_constraint: Applied to the kernel after updates.
        recurrent_constraint: Applied to the recurrent kernel after updates.
        bias_constraint: Applied to the bias after updates.
        dropout: The share of the inputs to drop in training, the same at every step.
        recurrent_dropout: The share of the states to drop in training, the same at every step.
        return_sequences: Return the outputs of all steps instead of the last.
        return_state: Return the last states behind the output.
        go_backwards: Read the sequence from its end; outputs come in that order too.
        stateful: Start each call with the states the last one ended with. The batch size is then
            fixed.
        unroll: Write the loop out: faster for short sequences, slower to compile.
        seed: A whole number for repeatable dropout.
        **kwargs: `name`, `dtype`, `trainable`, `implementation`, `zero_output_for_mask`.

    Example:
        >>> podium.layers.SimpleRNN(4)(np.ones((2, 5, 3), "float32")).shape
        (2, 4)
    """

    _cell_class = SimpleRNNCell

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        recurrent_constraint: Any = None,
        bias_constraint: Any = None,
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

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this layer again."""
        config = super().get_config()
        del config["seed"]  # as Keras writes it
        return config
