"""ArrayAdapter: batches cut from arrays by index, in a new order for each epoch.

Owns the division of arrays into batches and their order. The arrays themselves are converted by
`_convert_arrays.py`, and read through Columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from podium._typing import Tree
from podium.core import Selection, Table
from podium.core.internal import preserve_key_order
from podium.data._argument_names import DEFAULT_NAMES, ArgumentNames, check_shuffle
from podium.data._convert_arrays import check_lengths, convert_arrays, is_array_source
from podium.data._copy_values import is_number_list, record_to_dict
from podium.data._device_budget import device_budget
from podium.data._packing import pack_x_y_sample_weight
from podium.data._structure import (
    describe_structure,
    map_leaves,
    named_leaves,
    rebuild_sequence,
)
from podium.data._value_checks import device_dtype
from podium.data.adapters._adapter import DataAdapter, Position
from podium.data.columns._column import Index, as_column

DEFAULT_BATCH_SIZE = 32


class ArrayAdapter(DataAdapter):
    """Batches of arrays in any nesting: NumPy, JAX, Tensors, frames, tables, files, lists of
    numbers.

    A batch is a copy, so it cannot change later. The order of epoch e depends on the seed and on e
    alone: a run resumed at epoch e reads the data in the order of the uninterrupted run.

    Args:
        x: Inputs.
        y: Targets or None.
        sample_weight: Weights of the samples or None; a None inside means weights of 1.
        batch_size: Samples per batch; by default 32, or what makes `steps` batches.
        steps: The number of batches per epoch that the user passed, or None.
        shuffle: True for samples in random order, "batch" for batches in random order.
        seed: Determines the order.
        output_names: The names of the model's outputs, for weights by name.
        names: The names of the arguments, for messages.
        end_epoch: The epoch before which an iteration ends that continues with further passes; None
            for no end.
    """

    kind = "array"
    seekable = True
    owned = True
    checked = True

    def __init__(
        self,
        x: Tree,
        y: Tree = None,
        sample_weight: Tree = None,
        *,
        batch_size: int | None = None,
        steps: int | None = None,
        shuffle: bool | str = False,
        seed: int = 0,
        output_names: list[str] | None = None,
        names: ArgumentNames = DEFAULT_NAMES,
        end_epoch: int | None = None,
    ):
        super().__init__(x, steps=steps, names=names)
        self._end_epoch = end_epoch
        inputs, targets = convert_arrays(x, names.x, optional=False), convert_arrays(y, names.y)
        weights = convert_arrays(
            _weights_for_outputs(sample_weight, targets, names, output_names), names.sample_weight
        )
        parts = {names.x: inputs, names.y: targets, names.sample_weight: weights}
        self.samples = check_lengths(parts)
        if batch_size is None:
            batch_size = DEFAULT_BATCH_SIZE if steps is None else -(-self.samples // steps)
        self._batch_size = batch_size
        self._shuffle = check_shuffle(shuffle)
        self._seed = seed
        arrays = [row for name, part in parts.items() for row in named_leaves(part, name)]
        columns = [as_column(array, name) for name, array in arrays]
        indices = iter(range(len(columns)))
        numbered = [map_leaves(lambda _: next(indices), part) for part in parts.values()]
        order, self._treedef = jax.tree.flatten(
            preserve_key_order(pack_x_y_sample_weight(*numbered))
        )
        self.columns = [columns[index] for index in order]
        self._bytes = sum(
            column.size * device_dtype(column.dtype).itemsize for column in self.columns
        )
        self.quick = self._bytes <= device_budget() and all(
            column.in_memory is not None for column in self.columns
        )
        self._table: Table | None = None
        # A seed, its generator, and the state with which that starts.
        self._random_state: tuple[int, np.random.PCG64, Any] | None = None
        self._start = 0

    @staticmethod
    def can_handle(x: object) -> bool:
        """Return whether a source is arrays."""
        return is_array_source(x)

    def iterate(self, epoch: int, start: Position = 0) -> _ArrayBatches:
        """Iterate over the batches of an epoch, and then over those of the following epochs if one
        iteration serves several.
        """
        self._start = start["batch"] if isinstance(start, dict) else start
        if isinstance(start, dict):
            self._seed = start["seed"]
        passes, first = divmod(self._start, self.get_size())
        can_fuse = self._table is not None and self._shuffle != "batch"
        return _ArrayBatches(self, self._table, can_fuse, epoch + passes, first)

    def position(self, taken: int) -> dict[str, int]:
        """Return the index of the next batch, and the seed of the order."""
        return {"batch": self._start + taken, "seed": self._seed}

    def keep_on_device(self, budget: int, passes: int) -> bool:
        """Keep arrays in memory on the device if they fit the budget and there is more than one
        batch.

        On CPU this is worthwhile for a single pass too: several batches are taken at once, from the
        arrays as they are. Changes made to them meanwhile are seen in the batches that follow.
        """
        fits = (
            self._bytes <= budget
            and self.get_size() > 1
            and (passes > 1 or jax.default_backend() == "cpu")
        )
        if fits and all(column.in_memory is not None or column.in_host for column in self.columns):
            all_rows = slice(0, self.samples)
            arrays = [
                column.rows(all_rows) if column.in_memory is None else column.in_memory
                for column in self.columns
            ]
            dtypes = [device_dtype(array.dtype) for array in arrays]
            self._table = Table(list(zip(arrays, dtypes, strict=True)), self._treedef, self.cut)
        return self._table is not None

    def cut(self, index: Index) -> Tree:
        """Return the batch of those rows, a copy."""
        return jax.tree.unflatten(self._treedef, [column.rows(index) for column in self.columns])

    def get_size(self) -> int:
        """Return the number of batches in the data."""
        return -(-self.samples // self._batch_size)

    def batch_size(self) -> int:
        """Return the number of samples in a full batch."""
        return self._batch_size

    def has_partial_batch(self) -> bool:
        """Return whether the last batch is smaller."""
        return self.samples % self._batch_size > 0

    def partial_batch_size(self) -> int | None:
        """Return the size of a smaller last batch, or None."""
        return self.samples % self._batch_size or None

    def order(self, epoch: int) -> tuple[NDArray[Any] | None, Sequence[int]]:
        """Return the order of the rows in an epoch (None if they are not shuffled), and the indices
        of its batches in order.
        """
        if self._shuffle is False:
            return None, range(self.get_size())
        generator = self._generator(epoch)
        if self._shuffle == "batch":
            return None, generator.permutation(self.get_size()).tolist()
        order = generator.permutation(self.samples)
        return order.astype(np.int32) if self.samples < 2**31 else order, range(self.get_size())

    def _generator(self, epoch: int) -> np.random.Generator:
        """Return the random generator of an epoch: that of the seed, advanced far beyond the
        numbers of the epoch before. Seeding a new one takes longer.
        """
        if self._random_state is None or self._random_state[0] != self._seed:
            bits = np.random.PCG64(self._seed)
            self._random_state = self._seed, bits, bits.state
        _, bits, start = self._random_state
        bits.state = start
        bits.advance(epoch << 64)
        return np.random.Generator(bits)

    def continues_after(self, epoch: int) -> bool:
        """Return whether an iteration starts the data again after the pass of an epoch: an epoch
        has fewer or more steps than there are batches. There are as many passes as epochs.
        """
        if self.steps is None or self.steps == self.get_size():
            return False
        return self._end_epoch is None or epoch + 1 < self._end_epoch


class _ArrayBatches:
    """Iterates over the batches of an epoch, and of the following ones if the adapter continues."""

    def __init__(
        self, adapter: ArrayAdapter, table: Table | None, can_fuse: bool, epoch: int, start: int
    ):
        self._adapter = adapter
        self._table = table
        self._can_fuse = can_fuse  # whether one Selection can name several neighboring batches
        self._epoch = epoch
        self._position = start
        self._size = adapter.batch_size()
        self._rows, self._batches = adapter.order(epoch)

    def __iter__(self) -> _ArrayBatches:
        return self

    def is_exhausted(self) -> bool:
        """Return whether no batch is left."""
        at_end = self._position >= len(self._batches)
        return at_end and not self._adapter.continues_after(self._epoch)

    def next_selection(self, max_count: int = 1) -> Tree:
        """Return the next batch, or a Selection of up to `max_count` of the next ones."""
        if self._position >= len(self._batches):
            if self.is_exhausted():
                raise StopIteration
            self._epoch, self._position = self._epoch + 1, 0
            self._rows, self._batches = self._adapter.order(self._epoch)
        first = self._batches[self._position] * self._size
        count = (
            max(1, min(max_count, (self._adapter.samples - first) // self._size))
            if self._can_fuse
            else 1
        )
        end = min(first + count * self._size, self._adapter.samples)
        self._position += count
        if self._table is None:
            return self._adapter.cut(
                slice(first, end) if self._rows is None else self._rows[first:end]
            )
        index = (
            np.arange(first, end, dtype=np.int32) if self._rows is None else self._rows[first:end]
        )
        return Selection(self._table, index if count == 1 else index.reshape(count, -1))

    __next__ = next_selection


def _weights_for_outputs(
    sample_weight: Tree, y: Tree, names: ArgumentNames, output_names: list[str] | None
) -> Tree:
    """Return weights for every output: one array serves all of them, and None means weights
    of 1.
    """
    sample_weight = record_to_dict(sample_weight)
    if sample_weight is None:
        return None
    if y is None:
        raise ValueError(
            f"`{names.sample_weight}` was given without `{names.y}`; weights belong to targets. "
            f"Give `{names.y}` too, or put the weights into `{names.x}`."
        )
    if not isinstance(y, (dict, list, tuple)):
        return sample_weight
    if isinstance(sample_weight, dict) and isinstance(y, dict):
        unknown = [key for key in sample_weight if key not in y]
        if unknown:
            raise ValueError(
                f"`{names.sample_weight}` has the keys {unknown}, which `{names.y}` does not "
                f"have; its keys are {list(y)}."
            )
        return {
            key: _ones(part) if sample_weight.get(key) is None else sample_weight[key]
            for key, part in y.items()
        }
    if isinstance(sample_weight, dict):
        if output_names is None or len(output_names) != len(y) or isinstance(y, dict):
            raise ValueError(
                f"`{names.sample_weight}` is a dictionary and `{names.y}` is "
                f"{describe_structure(y)}. Give the weights in the structure of `{names.y}`, "
                "or give both as dictionaries by output name."
            )
        unknown = [key for key in sample_weight if key not in output_names]
        if unknown:
            raise ValueError(
                f"`{names.sample_weight}` has the keys {unknown}; the outputs are {output_names}."
            )
        sample_weight = [sample_weight.get(name) for name in output_names]
    if isinstance(sample_weight, (list, tuple)) and not is_number_list(sample_weight):
        if isinstance(y, dict) or len(y) != len(sample_weight):
            raise ValueError(
                f"`{names.sample_weight}` has {len(sample_weight)} parts and `{names.y}` is "
                f"{describe_structure(y)}. Give one array for all outputs, or one for each in the "
                "same structure."
            )
        weights = zip(sample_weight, y, strict=True)
        return rebuild_sequence(
            y, [_ones(part) if weight is None else weight for weight, part in weights]
        )
    return map_leaves(lambda _: sample_weight, y)


def _ones(target: Tree) -> Tree:
    return map_leaves(lambda array: np.ones(array.shape[0], np.float32), target)
