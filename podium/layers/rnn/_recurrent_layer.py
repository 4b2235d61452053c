"""The base of SimpleRNN, GRU and LSTM: an RNN around a built-in cell, with the cell's arguments as
its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podium.core import check_choice
from podium.layers._input_spec import InputSpec
from podium.layers.rnn._rnn import RNN

_OF_CELL = (
    *(
        "units",
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
    """An RNN that makes its cell from its own arguments.

    Arguments of the cell (`units`, `activation`, ...) are read as attributes of the layer too.
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
        self.use_cudnn = use_cudnn  # accepted as in Keras; XLA chooses the kernels
        self.input_spec = InputSpec(ndim=3)

    def build(self, sequences_shape: Any, initial_state_shape: Any = None) -> None:
        """Build the cell, and the states that a stateful layer keeps."""
        super().build(sequences_shape, initial_state_shape)
        self.input_spec = InputSpec(ndim=3, axes={-1: sequences_shape[-1]})

    def __getattr__(self, name: str) -> Any:
        if name in _OF_CELL and "cell" in self.__dict__:
            return getattr(self.cell, name)
        raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}.")

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this layer again."""
        config = {"activity_regularizer": None} | super().get_config()
        del config["cell"]
        own = self.cell.get_config()
        return config | {name: own[name] for name in _OF_CELL if name in own}

    @classmethod
    def from_config(
        cls, config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None
    ) -> Any:
        """Make a layer from `get_config`'s result."""
        return cls(**dict(config))


def _snake_name(cell_class: type) -> str:
    return {"LSTMCell": "lstm_cell", "GRUCell": "gru_cell", "SimpleRNNCell": "simple_rnn_cell"}[
        cell_class.__name__
    ]
