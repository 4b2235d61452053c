"""BatchCall: the arrays of one call of a compiled step, and the key of the program that runs them.

It owns how batches become arrays: their flattening, stacking for fused steps, and placement on the
devices of the current strategy. Which batches go into a call is decided by `_execution.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from podium._typing import Array, Tree
from podium.core import Selection, check_numeric, map_structure
from podium.core.internal import (
    Program,
    Tensor,
    array_for_device,
    check_int_range,
    context,
    preserve_key_order,
    wrap,
)

# How the leaves make a batch (a tree definition), then shape and dtype of each leaf; for stacked
# batches the length of the stack follows. JAX does not export the type of a tree definition.
Key = tuple[Any, ...]

_DTYPES = frozenset(
    np.dtype(name)
    for name in (
        "float32",
        "float16",
        "int32",
        "int16",
        "int8",
        "uint8",
        "uint16",
        "uint32",
        "bool",
    )
)  # that programs take as they are
# Types whose arrays need no conversion. That of JAX is added when it is first seen, because
# creating an array takes time.
_array_types: set[type] = {np.ndarray}
_device_counts: dict[int, jax.Array] = {}  # of steps; there are few


class BatchCall:
    """One call of a program: which one (`key`), with which arrays, for how many steps.

    Attributes:
        key: Identifies the program.
        arrays: What the program is called with.
        selection: Rows of a table that are still to be gathered, in place of arrays.
        num_steps: The number of fused steps; None for a program of a single step.
        num_rows: The number of samples in a batch.
    """

    __slots__ = ("arrays", "key", "num_rows", "num_steps", "selection")

    def __init__(
        self,
        key: Key,
        arrays: list[Any],
        selection: Selection | None = None,
        num_steps: int | None = None,
    ):
        self.key = key
        self.arrays = arrays
        self.selection = selection
        self.num_steps = num_steps
        spec = key[1] if len(key) > 1 else None
        self.num_rows: int = spec[0][0] if type(spec) is tuple and spec[0] else 1

    @classmethod
    def from_batch(cls, batch: Tree) -> BatchCall:
        """Create the call for one batch. NumPy arrays are transferred to the device with the call;
        a selection is gathered later.
        """
        if type(batch) is Selection:
            return cls(batch.table.key(batch.index.shape[-1]), [], batch)
        if dict in map(type, batch if isinstance(batch, tuple) else (batch,)):
            batch = preserve_key_order(batch)  # JAX would sort its keys
        leaves, treedef = jax.tree.flatten(((batch,), {}))
        key: list[Any] = [treedef]
        for slot, leaf in enumerate(leaves):
            if type(leaf) not in _array_types or leaf.dtype not in _DTYPES:
                leaves[slot] = leaf = to_array(leaf)
            key.append((leaf.shape, leaf.dtype))
        return cls(tuple(key), leaves)

    @classmethod
    def stack(cls, calls: list[BatchCall], length: int) -> BatchCall:
        """Create one call of fused steps from several calls with the same `stack_key`.

        Args:
            calls: The calls, in the order of their steps.
            length: The length of the stacked arrays; what follows the last step is not read.
        """
        num_steps = sum(call.num_batches for call in calls)
        selection = calls[0].selection
        if selection is not None:
            indices = [
                np.atleast_2d(call.selection.index) for call in calls if call.selection is not None
            ]
            arrays = selection.table.gather(
                indices[0] if len(indices) == 1 else np.concatenate(indices), length
            )
        else:
            arrays = [
                _stack_leaves(leaves, length)
                for leaves in zip(*[call.arrays for call in calls], strict=True)
            ]
        if context.layout is not None:
            arrays = context.layout.place_batch(arrays, axis=1)
        key = (*calls[0].key, length)
        return cls(key, [*arrays, _count_on_device(num_steps)], num_steps=num_steps)

    def place(self) -> BatchCall:
        """Gather the rows of a selection, and place the batch as the current strategy requires;
        returns itself.
        """
        if self.selection is not None:
            self.arrays = self.selection.table.gather(self.selection.index)
        if context.layout is not None:
            self.arrays = context.layout.place_batch(self.arrays)
        return self

    @property
    def batch_key(self) -> Key:
        """The key of one batch, whether it is stacked or not."""
        return self.key if self.num_steps is None else self.key[:-1]

    @property
    def num_batches(self) -> int:
        """How many batches a call that is not stacked was created from."""
        return 1 if self.selection is None else self.selection.count

    def stack_key(self) -> tuple[Key, int | None]:
        """Return what calls must share to be stacked: the shape of the batch, and the table if they
        are selections.
        """
        return self.key, None if self.selection is None else id(self.selection.table)

    def make_program(self, step: Callable[[Tree], Tree]) -> Program:
        """Return a new program for such calls; it has not been traced yet."""
        treedef, in_loop = self.key[0], self.num_steps is not None
        return Program(step, self.arrays[:-1] if in_loop else self.arrays, treedef, in_loop)


def to_array(leaf: object) -> Array:
    """Return a leaf of a batch as a numeric array of a dtype that programs take."""
    if isinstance(leaf, jax.Array):
        _array_types.add(type(leaf))
        return leaf
    array = np.asarray(leaf)
    check_numeric(array, "a batch")
    return check_int_range(array)


def to_tensors(batch: Tree) -> Tree:
    """Return a batch with Tensors in place of arrays, for a step that runs eagerly."""
    if type(batch) is Selection:
        batch = batch.batch()

    def to_tensor(leaf: object) -> Tensor:
        array = to_array(leaf)
        if context.layout is not None:
            return wrap(context.layout.place_batch([array])[0])
        return wrap(array if isinstance(array, jax.Array) else jnp.asarray(array))

    return map_structure(to_tensor, batch)


def _stack_leaves(leaves: Sequence[Any], length: int) -> Array:
    """Stack one leaf of several batches to an array of that length."""
    if all(isinstance(leaf, np.ndarray) for leaf in leaves):
        stacked = array_for_device((length, *leaves[0].shape), leaves[0].dtype)
        np.stack(leaves, out=stacked[: len(leaves)])
        return stacked
    return jnp.stack([*leaves, *[leaves[-1]] * (length - len(leaves))])


def _count_on_device(count: int) -> Array | np.generic:
    """Return a number of steps as an array that need not be transferred for each call."""
    if context.layout is not None:
        return np.int32(count)  # each program of several devices places it itself
    if count not in _device_counts:
        _device_counts[count] = jnp.int32(count)
    return _device_counts[count]
