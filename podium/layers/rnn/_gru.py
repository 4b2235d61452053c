"""GRU and its cell."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from podium.layers.rnn._recurrent_cell import RecurrentCell
from podium.layers.rnn._recurrent_layer import RecurrentLayer
from podium.layers.rnn._recurrent_loop import Step, gated_matmul


class GRUCell(RecurrentCell):
    """One step of a gated recurrent unit: a state behind update and reset gates.

    Args:
        units: The size of the state and of the output.
        activation: What squashes the new state.
        recurrent_activation: What squashes the gates.
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
        reset_after: Whether the reset gate acts after the recurrent product (as cuDNN does) or
            before it.
        seed: A whole number for repeatable dropout.
        **kwargs: `name`, `dtype`, `trainable`, `implementation`.

    Example:
        >>> cell = podium.layers.GRUCell(4)
        >>> output, states = cell(np.ones((2, 3), "float32"), cell.get_initial_state(batch_size=2))
        >>> output.shape, len(states)
        ((2, 4), 1)
    """

    _gates = 3

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "sigmoid",
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
        reset_after: bool = True,
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
        self.reset_after = reset_after

    def _bias_shape(self) -> tuple:
        width = 3 * self.units
        return (
            (2, width) if self.reset_after else (width,)
        )  # a second bias for the recurrent product

    def _step(self) -> Step:
        return (
            Step(_gru, summed=False)
            if self.reset_after
            else Step(_gru_reset_before, own_product=True)
        )

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this cell again."""
        return super().get_config() | {"reset_after": self.reset_after}


def _gru(x: Any, h: Any, states: list, activations: tuple) -> list:
    activation, gate = activations
    x_z, x_r, x_h = jnp.split(x, 3, axis=-1)
    h_z, h_r, h_h = jnp.split(h, 3, axis=-1)
    z = gate(x_z + h_z)
    return [z * states[0] + (1 - z) * activation(x_h + gate(x_r + h_r) * h_h)]


def _gru_reset_before(x: Any, kernel: Any, masks: Any, states: list, activations: tuple) -> list:
    activation, gate = activations
    (state,) = states
    gates_kernel, state_kernel = jnp.split(kernel, [2 * state.shape[-1]], axis=-1)
    x_zr, x_h = jnp.split(x, [2 * state.shape[-1]], axis=-1)
    z, r = jnp.split(
        gate(x_zr + gated_matmul(state, gates_kernel, None if masks is None else masks[:2])),
        2,
        axis=-1,
    )
    seen = state if masks is None else state * masks[2]
    return [z * state + (1 - z) * activation(x_h + (r * seen) @ state_kernel)]


class GRU(RecurrentLayer):
    """Gated recurrent unit over sequences `(batch, time, features)`.

    Args:
        units: The size of the state and of the output.
        activation: What squashes the new state.
        recurrent_activation: What squashes the gates.
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
        seed: A whole number for repeatable dropout.
        return_sequences: Return the outputs of all steps instead of the last.
        return_state: Return the last states behind the output.
        go_backwards: Read the sequence from its end; outputs come in that order too.
        stateful: Start each call with the states the last one ended with. The batch size is then
            fixed.
        unroll: Write the loop out: faster for short sequences, slower to compile.
        reset_after: Whether the reset gate acts after the recurrent product (as cuDNN does) or
            before it.
        use_cudnn: Accepted as in Keras; XLA chooses the kernels.
        **kwargs: `name`, `dtype`, `trainable`, `implementation`, `zero_output_for_mask`.

    Example:
        >>> podium.layers.GRU(4)(np.ones((2, 5, 3), "float32")).shape
        (2, 4)
    """

    _cell_class = GRUCell

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "sigmoid",
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
        seed: int | None = None,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        reset_after: bool = True,
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
            "reset_after": reset_after,
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
