"""RecurrentLayer: the base class of SimpleRNN, GRU, LSTM and ConvLSTM, each with its cell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from podium._typing import Config, SymbolicShape
from podium.core import check_choice
from podium.layers._input_spec import InputSpec
from podium.layers.rnn._rnn import RNN

_CELL_ARGUMENTS = (
    *(
        "units",
        "filters",
        "kernel_size",
        "strides",
        "padding",
        "data_format",
        "dilation_rate",
        "activation",
        "recurrent_activation",
        "use_bias",
        "dropout",
        "recurrent_dropout",
        "seed",
    ),
    *(
        "kernel_initializer",
        "recurrent_initializer",
        "bias_initializer",
        "kernel_regularizer",
        "recurrent_regularizer",
    ),
    *(
        "bias_regularizer",
        "kernel_constraint",
        "recurrent_constraint",
        "bias_constraint",
        "unit_forget_bias",
        "reset_after",
    ),
)


class RecurrentLayer(RNN):
    """An RNN that creates its cell from its own arguments.

    Arguments of the cell (`units`, `activation`, ...) are attributes of the layer too.
    """

    _cell_class: Any = None

    def __init__(self, cell_arguments: dict[str, Any], use_cudnn: Any = "auto", **kwargs: Any):
        common = {name: kwargs[name] for name in ("dtype", "trainable") if name in kwargs}
        cell_arguments = (
            cell_arguments | {"implementation": kwargs.pop("implementation", 2)} | common
        )
        cell_class = type(self)._cell_class
        super().__init__(cell_class(**cell_arguments, name=_snake_name(cell_class)), **kwargs)
        check_choice("use_cudnn", use_cudnn, ["auto", True, False])
        self.use_cudnn = use_cudnn  # accepted for compatibility with Keras; XLA selects the kernels
        self.input_spec = InputSpec(ndim=3)

    def build(
        self, sequences_shape: SymbolicShape, initial_state_shape: SymbolicShape | None = None
    ) -> None:
        """Build the cell, and the states of a stateful layer."""
        super().build(sequences_shape, initial_state_shape)
        self.input_spec = InputSpec(ndim=3, axes={-1: sequences_shape[-1]})

    def __getattr__(self, name: str) -> Any:
        if name in _CELL_ARGUMENTS and "cell" in self.__dict__:
            return getattr(self.cell, name)
        raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}.")

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        config = {"activity_regularizer": None} | super().get_config()
        del config["cell"]
        cell_config = self.cell.get_config()
        return config | {name: cell_config[name] for name in _CELL_ARGUMENTS if name in cell_config}

    @classmethod
    def from_config(
        cls, config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None
    ) -> Self:
        """Create a layer from the result of `get_config`."""
        return cls(**dict(config))


def _snake_name(cell_class: type) -> str:
    return {
        "LSTMCell": "lstm_cell",
        "GRUCell": "gru_cell",
        "SimpleRNNCell": "simple_rnn_cell",
        "ConvLSTMCell": "conv_lstm_cell",
    }[cell_class.__name__]
