"""Any recurrent cell, whether a layer or not: its call, and the sizes and zeros of its states.

`state_size` is a tree: its leaves are ints, or shapes such as `tf.TensorShape`. Lists and tuples
are structure, so that `[(3, 4), 5]` is a pair of states and a third one.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from podium._typing import SymbolicShape, Tree
from podium.core import Tensor, dispatch
from podium.layers._layer import Layer


def check_cell(owner: str, cell: Any) -> Any:
    """Return `cell` if it can be used as a cell; else raise and show what a cell is."""
    if not hasattr(cell, "call") or not hasattr(cell, "state_size"):
        raise ValueError(
            f"{owner} was given {cell!r} as a cell; an object with `call(inputs, states)` and "
            "`state_size` was expected, such as podium.layers.LSTMCell(8)."
        )
    sizes = jax.tree.leaves(cell.state_size)
    if not sizes or not all(isinstance(size, int) or _is_state_shape(size) for size in sizes):
        raise ValueError(
            f"{owner} was given a cell whose state_size is {cell.state_size!r}; ints were "
            "expected, or shapes as tf.TensorShape."
        )
    return cell


def call_cell(cell: Any, inputs: Tensor, states: Tree, training: bool) -> tuple[Any, ...]:
    """Call a cell; return its output and the new states."""
    takes_training = isinstance(cell, Layer) and "training" in cell._call_signature.all_names
    run = cell if callable(cell) else cell.call
    result: tuple[Any, ...] = (
        run(inputs, states, training=training) if takes_training else run(inputs, states)
    )
    return result


def output_size(cell: Any) -> Any:
    """Return the size of the output: `output_size`, or else the size of the first state."""
    size = getattr(cell, "output_size", None)
    if size is None:
        size = jax.tree.leaves(cell.state_size)[0]
    return size[0] if isinstance(size, (list, tuple)) and not _is_state_shape(size) else size


def output_dims(cell: Any) -> tuple[Any, ...]:
    """Return the shape of the output without the batch."""
    return _dims(output_size(cell))


def states_as_list(states: Tree) -> list[Any]:
    """Return states, or their sizes, as a list also for a single one."""
    single = not isinstance(states, (list, tuple)) or _is_state_shape(states)
    return [states] if single else list(states)


def state_shapes(sizes: Tree, batch_size: Any) -> Tree:
    """Return the shapes of states in the structure of their sizes."""
    return jax.tree.map(lambda size: (batch_size, *_dims(size)), sizes)


def initial_states(cell: Any, batch_size: Any, dtype: str) -> Any:
    """Return the states that the cell starts with: zeros if it does not create them."""
    if hasattr(cell, "get_initial_state"):
        return cell.get_initial_state(batch_size=batch_size)
    return jax.tree.map(
        lambda size: dispatch(jnp.zeros, (batch_size, *_dims(size)), dtype), cell.state_size
    )


def _is_state_shape(size: Any) -> bool:
    return hasattr(size, "as_list")


def _dims(size: Any) -> SymbolicShape:
    return tuple(size.as_list()) if _is_state_shape(size) else (size,)
