"""GRU: the gated recurrent unit layer, and its cell."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from podium._typing import ActivationLike, Config, ConstraintLike, InitializerLike, RegularizerLike
from podium.layers.rnn._recurrent_cell import RecurrentCell
from podium.layers.rnn._recurrent_layer import RecurrentLayer
from podium.layers.rnn._recurrent_loop import Step, gated_matmul


class GRUCell(RecurrentCell):
    """Cell class for the GRU layer: one step, with update and reset gates.

    Args:
        units: The dimensionality of the output and of the state.
        activation: The activation of the new state.
        recurrent_activation: The activation of the gates.
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
        reset_after: Whether the reset gate acts after the recurrent product (as cuDNN does) or
            before it.
        seed: An int that makes dropout deterministic.
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
        activation: ActivationLike = "tanh",
        recurrent_activation: ActivationLike = "sigmoid",
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

    def _bias_shape(self) -> tuple[Any, ...]:
        width = 3 * self.units
        # With `reset_after`, a second bias is added to the recurrent product.
        return (2, width) if self.reset_after else (width,)

    def _step(self) -> Step:
        return (
            Step(_gru_step, summed=False)
            if self.reset_after
            else Step(_gru_step_reset_before, computes_product=True)
        )

    def get_config(self) -> Config:
        """Return the arguments that recreate this cell."""
        return super().get_config() | {"reset_after": self.reset_after}


def _gru_step(
    x: jax.Array, h: jax.Array, states: list[Any], activations: tuple[Any, ...]
) -> list[Any]:
    activation, gate = activations
    x_z, x_r, x_h = jnp.split(x, 3, axis=-1)
    h_z, h_r, h_h = jnp.split(h, 3, axis=-1)
    z = gate(x_z + h_z)
    return [z * states[0] + (1 - z) * activation(x_h + gate(x_r + h_r) * h_h)]


def _gru_step_reset_before(
    x: jax.Array,
    kernel: jax.Array,
    masks: jax.Array | None,
    states: list[Any],
    activations: tuple[Any, ...],
) -> list[Any]:
    activation, gate = activations
    (state,) = states
    gates_kernel, state_kernel = jnp.split(kernel, [2 * state.shape[-1]], axis=-1)
    x_zr, x_h = jnp.split(x, [2 * state.shape[-1]], axis=-1)
    z, r = jnp.split(
        gate(x_zr + gated_matmul(state, gates_kernel, None if masks is None else masks[:2])),
        2,
        axis=-1,
    )
    masked_state = state if masks is None else state * masks[2]
    return [z * state + (1 - z) * activation(x_h + (r * masked_state) @ state_kernel)]


class GRU(RecurrentLayer):
    """Gated recurrent unit layer, for sequences `(batch, time, features)`.

    Args:
        units: The dimensionality of the output and of the state.
        activation: The activation of the new state.
        recurrent_activation: The activation of the gates.
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
        seed: An int that makes dropout deterministic.
        return_sequences: Whether to return the outputs of all time steps instead of the last.
        return_state: Whether to return the last states after the output.
        go_backwards: Whether to process the sequence in reverse; outputs are reversed too.
        stateful: Whether each call starts from the last states of the previous one. The batch size
            is then fixed.
        unroll: Whether to unroll the loop: faster for short sequences, slower to compile.
        reset_after: Whether the reset gate acts after the recurrent product (as cuDNN does) or
            before it.
        use_cudnn: Accepted for compatibility with Keras; XLA selects the kernels.
        **kwargs: `name`, `dtype`, `trainable`, `implementation`, `zero_output_for_mask`.

    Example:
        >>> podium.layers.GRU(4)(np.ones((2, 5, 3), "float32")).shape
        (2, 4)
    """

    _cell_class = GRUCell

    def __init__(
        self,
        units: int,
        activation: ActivationLike = "tanh",
        recurrent_activation: ActivationLike = "sigmoid",
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
