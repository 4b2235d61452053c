"""Arrays in memory: batches cut out by index, in an order that is drawn anew for each epoch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import jax
import numpy as np

from podium.core import Selection, Table
from podium.core.internal import preserve_key_order
from podium.data._argument_names import DEFAULT_NAMES, ArgumentNames, check_shuffle
from podium.data._convert_arrays import check_lengths, convert_arrays, is_array_source
from podium.data._copy_values import device_dtype, is_number_list, record_to_dict
from podium.data._device_budget import device_budget
from podium.data._packing import pack_x_y_sample_weight
from podium.data._structure import describe_structure, map_leaves, named_leaves, rebuild_sequence
from podium.data.adapters._adapter import DataAdapter
from podium.data.columns._column import Index, as_column

DEFAULT_BATCH_SIZE = 32


class ArrayAdapter(DataAdapter):
    """Batches of arrays in any nesting: NumPy, JAX, Tensors, frames, tables, files, lists of
    numbers.

    A batch is a copy, so nobody can change it later. The order of epoch e depends on the seed and
    on e alone: a run that is continued at epoch e goes through the data as the uninterrupted one
    would.

    Args:
        x: Inputs.
        y: Targets or None.
        sample_weight: Weights of the samples or None; a None within means weights of 1.
        batch_size: Samples per batch; by default 32, or what makes `steps` batches.
        steps: Batches per epoch that the user asked for, or None.
        shuffle: True for samples, "batch" for whole batches in random order.
        seed: Decides the order.
        output_names: The names of the model's outputs, for weights by name.
        names: The names of the arguments, for messages.
    """

    kind = "array"
    seekable = True
    owned = True
    checked = True

    def __init__(
        self,
        x: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        batch_size: int | None = None,
        steps: int | None = None,
        shuffle: bool | str = False,
        seed: int = 0,
        output_names: list[str] | None = None,
        names: ArgumentNames = DEFAULT_NAMES,
    ):
        super().__init__(x, steps=steps, names=names)
        inputs, targets = convert_arrays(x, names.x, optional=False), convert_arrays(y, names.y)
        weights = convert_arrays(
            _completed(sample_weight, targets, names, output_names), names.sample_weight
        )
        parts = {names.x: inputs, names.y: targets, names.sample_weight: weights}
        self.samples = check_lengths(parts)
        if batch_size is None:
            batch_size = DEFAULT_BATCH_SIZE if steps is None else -(-self.samples // steps)
        self._batch_size = batch_size
        self._shuffle = check_shuffle(shuffle)
        self._seed = seed
        named = [row for name, part in parts.items() for row in named_leaves(part, name)]
        self.columns = [as_column(array, name) for name, array in named]
        numbers = iter(range(len(named)))
        places = [map_leaves(lambda _: next(numbers), part) for part in (inputs, targets, weights)]
        numbered, self._treedef = jax.tree.flatten(
            preserve_key_order(pack_x_y_sample_weight(*places))
        )
        self.columns = [self.columns[number] for number in numbered]
        self._bytes = sum(
            column.size * device_dtype(column.dtype).itemsize for column in self.columns
        )
        self.quick = self._bytes <= device_budget() and all(
            column.in_memory is not None for column in self.columns
        )
        self._table: Table | None = None
        self._numbers: tuple[int, np.random.PCG64, Any] | None = (
            None  # a seed, its generator, and where that starts
        )
        self._start = 0

    @staticmethod
    def can_handle(x: Any) -> bool:
        """Tell whether a source is arrays."""
        return is_array_source(x)

    def iterate(self, epoch: int, start: Any = 0) -> Iterator[Any]:
        """Walk the batches of an epoch, and then those of the following ones if one walk serves
        several epochs.
        """
        if isinstance(start, dict):
            start, self._seed = start["batch"], start["seed"]
        self._start = start
        in_blocks = self._table is not None and self._shuffle != "batch"
        return _Walk(
            self, self._table, in_blocks, epoch + start // self.get_size(), start % self.get_size()
        )

    def position(self, taken: int) -> dict[str, int]:
        """Return the number of batches taken, and the seed of the order."""
        return {"batch": self._start + taken, "seed": self._seed}

    def keep_on_device(self, budget: int, passes: int) -> bool:
        """Keep what lies in memory on the device if it fits the budget and there is more than one
        batch to gather.

        On CPU that pays for a single pass too: several batches are taken at once, from the arrays
        as they are. What changes in them meanwhile is seen in the batches that follow.
        """
        fits = (
            self._bytes <= budget
            and self.get_size() > 1
            and (passes > 1 or jax.default_backend() == "cpu")
        )
        if fits and all(column.in_memory is not None or column.in_host for column in self.columns):
            whole = slice(0, self.samples)
            arrays = [
                column.rows(whole) if column.in_memory is None else column.in_memory
                for column in self.columns
            ]
            types = [device_dtype(array.dtype) for array in arrays]
            self._table = Table(list(zip(arrays, types, strict=True)), self._treedef, self.cut)
        return self._table is not None

    def cut(self, index: Index) -> Any:
        """Return the batch of those rows, a copy."""
        return jax.tree.unflatten(self._treedef, [column.rows(index) for column in self.columns])

    def get_size(self) -> int:
        """Return the number of batches in the data."""
        return -(-self.samples // self._batch_size)

    def batch_size(self) -> int:
        """Return the number of samples in a full batch."""
        return self._batch_size

    def has_partial_batch(self) -> bool:
        """Tell whether the last batch is smaller."""
        return self.samples % self._batch_size > 0

    def partial_batch_size(self) -> int | None:
        """Return the size of a smaller last batch, or None."""
        return self.samples % self._batch_size or None

    def order(self, epoch: int) -> tuple[np.ndarray | None, Sequence[int]]:
        """Return the rows of an epoch in their order (None: as they are), and the numbers of its
        batches in theirs.
        """
        if self._shuffle is False:
            return None, range(self.get_size())
        generator = self._generator(epoch)
        if self._shuffle == "batch":
            return None, generator.permutation(self.get_size()).tolist()
        order = generator.permutation(self.samples)
        return order.astype(np.int32) if self.samples < 2**31 else order, range(self.get_size())

    def _generator(self, epoch: int) -> np.random.Generator:
        """Return random numbers of an epoch: those of the seed, far behind the ones of the epoch
        before. Seeding takes longer.
        """
        if self._numbers is None or self._numbers[0] != self._seed:
            bits = np.random.PCG64(self._seed)
            self._numbers = self._seed, bits, bits.state
        _, bits, start = self._numbers
        bits.state = start
        bits.advance(epoch << 64)
        return np.random.Generator(bits)

    @property
    def goes_on(self) -> bool:
        """Whether a walk goes on through the data again and again: with fewer steps an epoch than
        there are batches.
        """
        return self.steps is not None and self.steps < self.get_size()


class _Walk:
    """One walk through the batches of an epoch, and of the following ones if it goes on."""

    def __init__(
        self, adapter: ArrayAdapter, table: Table | None, in_blocks: bool, epoch: int, start: int
    ):
        self._adapter = adapter
        self._table = table
        self._in_blocks = in_blocks  # whether neighbouring batches can be named at once
        self._epoch = epoch
        self._at = start
        self._size = adapter.batch_size()
        self._rows, self._batches = adapter.order(epoch)

    def __iter__(self) -> _Walk:
        return self

    def ended(self) -> bool:
        """Tell whether no batch is left."""
        return self._at >= len(self._batches) and not self._adapter.goes_on

    def many(self, wanted: int = 1) -> Any:
        """Return the next batch, or name as many of the next ones as can be named at once, up to
        `wanted`.
        """
        if self._at >= len(self._batches):
            if self.ended():
                raise StopIteration
            self._epoch, self._at = self._epoch + 1, 0
            self._rows, self._batches = self._adapter.order(self._epoch)
        first = self._batches[self._at] * self._size
        count = (
            max(1, min(wanted, (self._adapter.samples - first) // self._size))
            if self._in_blocks
            else 1
        )
        end = min(first + count * self._size, self._adapter.samples)
        self._at += count
        if self._table is None:
            return self._adapter.cut(
                slice(first, end) if self._rows is None else self._rows[first:end]
            )
        numbers = (
            np.arange(first, end, dtype=np.int32) if self._rows is None else self._rows[first:end]
        )
        return Selection(self._table, numbers if count == 1 else numbers.reshape(count, -1))

    __next__ = many


def _completed(
    sample_weight: Any, y: Any, names: ArgumentNames, output_names: list[str] | None
) -> Any:
    """Give every output weights: one array serves all of them, and None means weights of 1."""
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
        return rebuild_sequence(
            y,
            [
                _ones(part) if own is None else own
                for own, part in zip(sample_weight, y, strict=True)
            ],
        )
    return map_leaves(lambda _: sample_weight, y)


def _ones(target: Any) -> Any:
    return map_leaves(lambda array: np.ones(array.shape[0], np.float32), target)
