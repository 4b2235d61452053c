"""StackedRNNCells: several cells that act as one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podium._typing import Config, SymbolicShape, Tree
from podium.core import Tensor, tree_leaves
from podium.layers._layer import Layer
from podium.layers._layer_serialization import deserialize, serialize
from podium.layers.rnn._cell_states import (
    call_cell,
    check_cell,
    initial_states,
    output_dims,
    output_size,
)


class StackedRNNCells(Layer):
    """Stack of RNN cells that acts as a single cell.

    Args:
        cells: The cells, from the first to the last.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> cells = [podium.layers.LSTMCell(8), podium.layers.LSTMCell(4)]
        >>> layer = podium.layers.RNN(podium.layers.StackedRNNCells(cells))
        >>> layer(np.ones((2, 5, 3), "float32")).shape
        (2, 4)
    """

    def __init__(self, cells: Any, **kwargs: Any):
        super().__init__(**kwargs)
        if not isinstance(cells, (list, tuple)) or not cells:
            raise ValueError(
                f"StackedRNNCells was given cells={cells!r}; a list of at least one cell was "
                "expected."
            )
        self.cells = [check_cell("StackedRNNCells", cell) for cell in cells]

    @property
    def state_size(self) -> list[Any]:
        """The sizes of the states, one entry per cell."""
        return [cell.state_size for cell in self.cells]

    @property
    def output_size(self) -> Any:
        """The size of the output of the last cell."""
        return output_size(self.cells[-1])

    def get_initial_state(self, batch_size: int | None = None) -> list[Any]:
        """Return states of zeros, one entry per cell."""
        return [initial_states(cell, batch_size, self.compute_dtype) for cell in self.cells]

    def build(self, input_shape: SymbolicShape) -> None:
        """Build the cells, each for the output of the previous one."""
        for cell in self.cells:
            if isinstance(cell, Layer):
                cell.build_from_config({"input_shape": tuple(input_shape)})
            input_shape = (input_shape[0], *output_dims(cell))

    def call(self, inputs: Tensor, states: Tree, training: bool = False) -> Tree:
        """Compute one step of every cell; return the output and the new states."""
        new_states = []
        for cell, state in zip(self.cells, states, strict=True):
            nested = isinstance(state, (list, tuple))
            inputs, new = call_cell(cell, inputs, list(state) if nested else [state], training)
            new_states.append(new if nested else tree_leaves(new)[0])
        return inputs, new_states

    def get_config(self) -> Config:
        """Return the arguments that recreate this cell."""
        return super().get_config() | {"cells": [serialize(cell) for cell in self.cells]}

    @classmethod
    def from_config(
        cls, config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None
    ) -> StackedRNNCells:
        """Create a cell from the result of `get_config`."""
        arguments = dict(config)
        return cls(
            [deserialize(cell, custom_objects) for cell in arguments.pop("cells")], **arguments
        )
