"""The layers ConvLSTM1D, ConvLSTM2D and ConvLSTM3D."""

from __future__ import annotations

from typing import Any, ClassVar

from podium._typing import (
    ActivationLike,
    ConstraintLike,
    InitializerLike,
    RegularizerLike,
    SymbolicShape,
    Tree,
)
from podium.layers._input_spec import InputSpec
from podium.layers.rnn._conv_lstm_cell import ConvLSTMCell
from podium.layers.rnn._recurrent_layer import RecurrentLayer


class _ConvLSTM(RecurrentLayer):
    """ConvLSTM1D, ConvLSTM2D and ConvLSTM3D, by `rank`."""

    rank: ClassVar[int]
    _cell_class = ConvLSTMCell

    def __init__(
        self,
        filters: int,
        kernel_size: int | tuple[int, ...],
        strides: int | tuple[int, ...] = 1,
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: int | tuple[int, ...] = 1,
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
        **kwargs: Any,
    ):
        cell = {
            "rank": self.rank,
            "filters": filters,
            "kernel_size": kernel_size,
            "strides": strides,
            "padding": padding,
            "data_format": data_format,
            "dilation_rate": dilation_rate,
            "activation": activation,
            "recurrent_activation": recurrent_activation,
            "use_bias": use_bias,
            "unit_forget_bias": unit_forget_bias,
            "dropout": dropout,
            "recurrent_dropout": recurrent_dropout,
            "seed": seed,
            "weights": {
                "kernel_initializer": kernel_initializer,
                "recurrent_initializer": recurrent_initializer,
                "bias_initializer": bias_initializer,
                "kernel_regularizer": kernel_regularizer,
                "recurrent_regularizer": recurrent_regularizer,
                "bias_regularizer": bias_regularizer,
                "kernel_constraint": kernel_constraint,
                "recurrent_constraint": recurrent_constraint,
                "bias_constraint": bias_constraint,
            },
        }
        super().__init__(
            cell,
            activity_regularizer=activity_regularizer,
            return_sequences=return_sequences,
            return_state=return_state,
            go_backwards=go_backwards,
            stateful=stateful,
            **kwargs,
        )
        self.input_spec = InputSpec(ndim=self.rank + 3)

    def build(
        self, sequences_shape: SymbolicShape, initial_state_shape: SymbolicShape | None = None
    ) -> None:
        """Build the cell, and the states of a stateful layer."""
        super().build(sequences_shape, initial_state_shape)
        sizes = dict(enumerate(sequences_shape[2:], 2))
        self.input_spec = InputSpec(ndim=self.rank + 3, axes=sizes)

    def compute_output_shape(
        self, sequences_shape: SymbolicShape, initial_state_shape: SymbolicShape | None = None
    ) -> Tree:
        """Return the shape of the outputs, and of the states if they are returned."""
        batch, length, *step = sequences_shape
        state, _ = self.cell.compute_output_shape((batch, *step))
        output = (batch, length, *state[1:]) if self.return_sequences else state
        return (output, state, state) if self.return_state else output


class ConvLSTM1D(_ConvLSTM):
    """1D convolutional LSTM layer, for sequences `(batch, time, steps, channels)`.

    The convolution of the state keeps its size, so it is always padded like "same". Spatial sizes
    must be known.

    Args:
        filters: The number of channels of the output and of the states.
        kernel_size: The length of the convolution window.
        strides: The step of the window over the inputs. Cannot be combined with `dilation_rate`.
        padding: "valid" for no padding of the inputs, or "same" for zeros, so that strides=1 keeps
            the size.
        data_format: "channels_last" (default) or "channels_first": `(batch, time, channels,
            steps)`.
        dilation_rate: The dilation of the convolution of the inputs.
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
        **kwargs: `name`, `dtype`, `trainable`, `unroll`, `zero_output_for_mask`.

    Example:
        >>> layer = podium.layers.ConvLSTM1D(5, 3)
        >>> layer(np.ones((2, 4, 8, 3), "float32")).shape
        (2, 6, 5)
    """

    rank = 1


class ConvLSTM2D(_ConvLSTM):
    """2D convolutional LSTM layer, for videos `(batch, time, height, width, channels)`.

    The convolution of the state keeps its size, so it is always padded like "same". Spatial sizes
    must be known.

    Args:
        filters: The number of channels of the output and of the states.
        kernel_size: Height and width of the window: a pair of ints, or one int.
        strides: The step of the window over the inputs. Cannot be combined with `dilation_rate`.
        padding: "valid" for no padding of the inputs, or "same" for zeros, so that strides=1 keeps
            the size.
        data_format: "channels_last" (default) or "channels_first": `(batch, time,
            channels, height, width)`.
        dilation_rate: The dilation of the convolution of the inputs.
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
        **kwargs: `name`, `dtype`, `trainable`, `unroll`, `zero_output_for_mask`.

    Example:
        >>> layer = podium.layers.ConvLSTM2D(5, 3)
        >>> layer(np.ones((2, 4, 8, 8, 3), "float32")).shape
        (2, 6, 6, 5)
    """

    rank = 2


class ConvLSTM3D(_ConvLSTM):
    """3D convolutional LSTM layer, for sequences of volumes `(batch, time, d1, d2, d3, channels)`.

    The convolution of the state keeps its size, so it is always padded like "same". Spatial sizes
    must be known.

    Args:
        filters: The number of channels of the output and of the states.
        kernel_size: The sizes of the window: three ints, or one int.
        strides: The step of the window over the inputs. Cannot be combined with `dilation_rate`.
        padding: "valid" for no padding of the inputs, or "same" for zeros, so that strides=1 keeps
            the size.
        data_format: "channels_last" (default) or "channels_first": `(batch, time,
            channels, d1, d2, d3)`.
        dilation_rate: The dilation of the convolution of the inputs.
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
        **kwargs: `name`, `dtype`, `trainable`, `unroll`, `zero_output_for_mask`.

    Example:
        >>> layer = podium.layers.ConvLSTM3D(5, 3)
        >>> layer(np.ones((2, 4, 4, 4, 4, 3), "float32")).shape
        (2, 2, 2, 2, 5)
    """

    rank = 3
