"""RNN: runs a cell over the time steps of a sequence.

It owns sequences, masks, direction and the states of stateful layers; cells own the computation of
a step. Built-in cells run as one compiled loop (`_recurrent_cell.py`), other cells in the scan of
`_layer_scan.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import jax
import jax.numpy as jnp

from podium import initializers
from podium._typing import Config, SymbolicShape, Tree
from podium.core import Tensor, Variable, dispatch, map_structure, name_scope, tree_leaves
from podium.core.internal import unwrap_result
from podium.layers._layer import Layer
from podium.layers._layer_serialization import deserialize, serialize
from podium.layers.rnn._cell_states import (
    call_cell,
    check_cell,
    initial_states,
    output_dims,
    state_shapes,
    states_as_list,
)
from podium.layers.rnn._layer_scan import adapt_to_arrays, dispatch_scan, trace_without_writes
from podium.layers.rnn._recurrent_cell import RecurrentCell
from podium.layers.rnn._recurrent_loop import where_kept
from podium.layers.rnn._stacked_cells import StackedRNNCells


class RNN(Layer):
    """Base layer for recurrent networks: runs a cell over sequences `(batch, time, ...)`.

    A cell has `call(inputs, states)`, which returns `(output, new_states)`, and a `state_size`: an
    int, or a list of them, also nested, with one int for each state. A state of more dimensions has
    a `tf.TensorShape` there, or the cell creates its states in `get_initial_state(batch_size)`.
    Dropout inside a custom cell uses a different mask at every step.

    Args:
        cell: A cell, or a list of cells to stack.
        return_sequences: Whether to return the outputs of all time steps instead of the last.
        return_state: Whether to return the last states after the output.
        go_backwards: Whether to process the sequence in reverse; outputs are reversed too.
        stateful: Whether each call starts from the last states of the previous one, per sample. The
            batch size is then fixed.
        unroll: Whether to unroll the loop: faster for short sequences, slower to compile.
        zero_output_for_mask: Whether masked steps output zeros instead of the previous output.
        **kwargs: `name`, `dtype`, `trainable`, `activity_regularizer`.

    Example:
        >>> cell = podium.layers.GRUCell(4)
        >>> layer = podium.layers.RNN(cell, return_sequences=True, return_state=True)
        >>> sequences, state = layer(np.ones((2, 5, 3), "float32"))
        >>> sequences.shape, state.shape
        ((2, 5, 4), (2, 4))
    """

    def __init__(
        self,
        cell: Any,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        zero_output_for_mask: bool = False,
        **kwargs: Any,
    ):
        if kwargs.pop("time_major", False):
            raise ValueError(
                f"{type(self).__name__} was given time_major=True; inputs of shape (batch, time, "
                "features) are expected. Swap the first two axes of the data: `np.swapaxes(x, 0, "
                "1)`."
            )
        super().__init__(**kwargs)
        self.cell = (
            StackedRNNCells(cell)
            if isinstance(cell, (list, tuple))
            else check_cell(type(self).__name__, cell)
        )
        self.return_sequences = return_sequences
        self.return_state = return_state
        self.go_backwards = go_backwards
        self.stateful = stateful
        self.unroll = unroll
        self.zero_output_for_mask = zero_output_for_mask
        self.supports_masking = True
        self._stateful_states = _StatefulStates()

    @property
    def state_size(self) -> list[Any]:
        """The sizes of the states."""
        return states_as_list(self.cell.state_size)

    @property
    def states(self) -> Any:
        """The Variables that hold the states of a stateful layer; None otherwise."""
        return self._stateful_states.variables

    def build(
        self, sequences_shape: SymbolicShape, initial_state_shape: SymbolicShape | None = None
    ) -> None:
        """Build the cell, and the states of a stateful layer."""
        if len(sequences_shape) < 3:
            raise ValueError(
                f"Layer {self.name!r} ({type(self).__name__}) was called with shape "
                f"{tuple(sequences_shape)}; sequences of shape "
                "(batch, time, features) were expected. Add the missing dimension, for example "
                "with `x[..., None]`."
            )
        if self.unroll and sequences_shape[1] is None:
            raise ValueError(
                f"Layer {self.name!r} ({type(self).__name__}) has unroll=True, and the number of "
                f"time steps is unknown in {tuple(sequences_shape)}. Specify it in "
                "`Input(shape=(time, features))`, or omit `unroll`."
            )
        if isinstance(self.cell, Layer):
            self.cell.build_from_config({"input_shape": (sequences_shape[0], *sequences_shape[2:])})
        if self.stateful:
            if sequences_shape[0] is None:
                raise ValueError(
                    f"Layer {self.name!r} ({type(self).__name__}) has stateful=True and was given "
                    f"shape {tuple(sequences_shape)}, whose batch size is unknown. It has states "
                    "for each sample of the batch: specify the batch size with "
                    "`Input(batch_shape=(batch, time, features))`."
                )
            self._stateful_states.create(self, sequences_shape[0])

    def get_initial_state(self, batch_size: int) -> list[Any]:
        """Return the initial states of a sequence."""
        states = initial_states(self.cell, batch_size, self.compute_dtype)
        return list(states) if isinstance(states, (list, tuple)) else [states]

    def reset_state(self) -> None:
        """Reset the states of a stateful layer to zero."""
        for variable in tree_leaves(self._stateful_states.variables):
            variable.assign(jnp.zeros(variable.shape, variable.dtype))

    def reset_states(self) -> None:
        """Reset the states of a stateful layer to zero."""
        self.reset_state()

    def __call__(self, sequences: Any, *args: Any, **kwargs: Any) -> Any:
        """Run the cell over sequences; a list `[sequences, state, ...]` includes initial states."""
        if (
            isinstance(sequences, (list, tuple))
            and len(sequences) > 1
            and hasattr(sequences[0], "shape")
            and all(hasattr(part, "shape") for part in tree_leaves(list(sequences)))
        ):
            kwargs["initial_state"] = list(sequences[1:])
            sequences = sequences[0]
        return super().__call__(sequences, *args, **kwargs)

    def call(
        self,
        sequences: Tensor,
        initial_state: Tree = None,
        mask: Tensor | None = None,
        training: bool = False,
    ) -> Tree:
        """Run the cell over the sequence."""
        states = self._states_at_start(sequences, initial_state)
        mask = mask[0] if isinstance(mask, (list, tuple)) else mask
        if self.go_backwards:
            sequences, mask = dispatch(_reverse_time, sequences, mask)
        last, outputs, states = self._run_steps(
            self.cell, sequences, states, mask, training, self.return_sequences
        )
        if self.stateful:
            map_structure(
                lambda variable, value: variable.assign(value),
                self._stateful_states.variables,
                states,
            )
        output = outputs if self.return_sequences else last
        return (output, *states) if self.return_state else output

    def _states_at_start(self, sequences: Tensor, initial_state: Tree) -> list[Any]:
        if self.stateful and sequences.shape[0] != self._stateful_states.batch_size:
            raise ValueError(
                f"Layer {self.name!r} ({type(self).__name__}) has stateful=True and has states "
                f"for {self._stateful_states.batch_size} samples; it was called with shape "
                f"{tuple(sequences.shape)}. Use that batch size, or create a new layer."
            )
        if initial_state is None:
            states = (
                self._stateful_states.variables
                if self.stateful
                else self.get_initial_state(sequences.shape[0])
            )
        else:
            states = (
                list(initial_state) if isinstance(initial_state, (list, tuple)) else [initial_state]
            )
        if len(states) != len(self.state_size):
            raise ValueError(
                f"Layer {self.name!r} ({type(self).__name__}) was given {len(states)} initial "
                f"states; its cell has {len(self.state_size)}, of sizes {self.state_size}. Pass a "
                f"list of {len(self.state_size)}."
            )
        result: list[Any] = map_structure(
            lambda value: dispatch(_cast_state, value, self.compute_dtype), states
        )
        return result

    def _run_steps(
        self,
        cell: Any,
        sequences: Tensor,
        states: Tree,
        mask: Tensor | None,
        training: bool,
        return_sequences: bool,
    ) -> tuple[Any, ...]:
        """Run a cell over all steps; return the last output, all outputs (or None) and states."""
        if type(cell) is StackedRNNCells:
            # Each cell runs over the entire sequence before the next one starts: the same results,
            # with larger matrix products.
            new_states = []
            for position, (inner, state) in enumerate(zip(cell.cells, states, strict=True)):
                needs_all = return_sequences or position < len(cell.cells) - 1
                last, sequences, new = self._run_steps(
                    inner, sequences, state, mask, training, needs_all
                )
                new_states.append(new)
            return last, sequences, new_states
        options = {
            "return_sequences": return_sequences,
            "unroll": bool(self.unroll),
            "zero_output_for_mask": bool(self.zero_output_for_mask),
        }
        nested = isinstance(states, (list, tuple))
        states = list(states) if nested else [states]
        if isinstance(cell, RecurrentCell) and type(cell).call is RecurrentCell.call:
            last, outputs, new = cell.run(sequences, states, mask, bool(training), **options)
        else:
            last, outputs, new = _run_custom(cell, sequences, states, mask, bool(training), options)
        return last, outputs, new if nested else new[0]

    def compute_mask(self, inputs: Tensor, mask: Tensor | None = None) -> Tree:
        """Return the mask of the inputs for outputs of all steps; states have no mask."""
        mask = mask[0] if isinstance(mask, (list, tuple)) else mask
        mask = mask if self.return_sequences else None
        return [mask, *[None] * len(tree_leaves(self.state_size))] if self.return_state else mask

    def compute_output_shape(
        self, sequences_shape: SymbolicShape, initial_state_shape: SymbolicShape | None = None
    ) -> Tree:
        """Return the shape of the outputs, and of the states if they are returned."""
        batch, length = sequences_shape[0], sequences_shape[1]
        dims = output_dims(self.cell)
        output = (batch, length, *dims) if self.return_sequences else (batch, *dims)
        return (output, *state_shapes(self.state_size, batch)) if self.return_state else output

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        names = (
            "return_sequences",
            "return_state",
            "go_backwards",
            "stateful",
            "unroll",
            "zero_output_for_mask",
        )
        return (
            super().get_config()
            | {name: getattr(self, name) for name in names}
            | {"cell": serialize(self.cell)}
        )

    @classmethod
    def from_config(
        cls, config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None
    ) -> Self:
        """Create a layer from the result of `get_config`."""
        arguments = dict(config)
        return cls(deserialize(arguments.pop("cell"), custom_objects), **arguments)


class _StatefulStates:
    """The Variables with the states of a stateful layer.

    They are not weights: trackers do not search this object.
    """

    def __init__(self) -> None:
        self.variables: Any = None
        self.batch_size: int | None = None

    def create(self, layer: RNN, batch_size: int) -> None:
        specs = jax.eval_shape(lambda: unwrap_result(layer.get_initial_state(batch_size)))
        zeros, dtype = initializers.Zeros(), layer.variable_dtype
        with name_scope(layer.name):
            self.variables = jax.tree.map(
                lambda state: Variable(
                    zeros, state.shape, dtype, trainable=False, name="rnn_state"
                ),
                specs,
            )
        self.batch_size = batch_size


def _cast_state(value: jax.Array, dtype: str) -> Any:
    return value.astype(dtype)


def _reverse_time(sequences: jax.Array, mask: jax.Array | None) -> Any:
    return jnp.flip(sequences, 1), None if mask is None else jnp.flip(mask, 1)


def _run_custom(
    cell: Any,
    sequences: Tensor,
    states: list[Any],
    mask: Tensor | None,
    training: bool,
    options: dict[str, Any],
) -> tuple[Any, ...]:
    """Run a custom cell over all steps, in a loop in which it may call layers and assign."""

    def step(x: jax.Array, states: list[Any]) -> tuple[Any, ...]:
        output, new = adapt_to_arrays(call_cell)(cell, x, states, training)
        return output, jax.tree.unflatten(jax.tree.structure(states), jax.tree.leaves(new))

    def run(
        scan: Any, sequences: jax.Array, states: list[Any], mask: jax.Array | None
    ) -> tuple[Any, ...]:
        inputs = jnp.swapaxes(sequences, 0, 1)
        spec = jax.eval_shape(lambda x, s: trace_without_writes(step)(x, s)[0], inputs[0], states)
        first = jax.tree.leaves(states)[0]
        # As in built-in cells, a first state of this shape is the output before the first step.
        output = (
            first.astype(spec.dtype)
            if first.shape == spec.shape
            else jnp.zeros(spec.shape, spec.dtype)
        )

        def body(carry: tuple[Any, ...], x_and_keep: tuple[Any, ...]) -> tuple[Any, ...]:
            (x, keep), (states, previous) = x_and_keep, carry
            output, new = step(x, states)
            if keep is not None:
                zeros = options["zero_output_for_mask"]
                output = where_kept(keep, output, jnp.zeros_like(output) if zeros else previous)
                new = jax.tree.map(
                    lambda state, previous: where_kept(keep, state, previous), new, states
                )
            return (new, output), output if options["return_sequences"] else None

        keep = None if mask is None else jnp.swapaxes(mask.astype(bool), 0, 1)
        (states, output), outputs = scan(
            body, (states, output), (inputs, keep), unroll=options["unroll"]
        )
        return output, None if outputs is None else jnp.swapaxes(outputs, 0, 1), states

    result: tuple[Any, ...] = dispatch_scan(run, sequences, states, mask)
    return result
