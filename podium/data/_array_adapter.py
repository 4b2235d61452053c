"""Arrays in memory: batches cut out by index, in an order that is drawn anew for each epoch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from podium.core._structures import in_order
from podium.data._arrays import check_lengths, is_arrays, prepared
from podium.data._packing import pack_x_y_sample_weight
from podium.data._structure import describe, map_leaves, rebuilt
from podium.data._values import arriving_dtype, holds_numbers
from podium.data._words import Words, check_shuffle

DEFAULT_BATCH_SIZE = 32


class ArrayAdapter:
    """Batches of arrays in any nesting: NumPy, JAX, Tensors, frames, lists of numbers.

    A batch is a copy, so nobody can change it later. The order of epoch e depends on the seed and on e alone: a run that
    is continued at epoch e goes through the data as the uninterrupted one would.

    Args:
        x: Inputs.
        y: Targets or None.
        sample_weight: Weights of the samples or None; a None within means weights of 1.
        batch_size: Samples per batch; by default 32, or what makes `steps` batches.
        steps: Batches per epoch that the user asked for, or None.
        shuffle: True for samples, "batch" for whole batches in random order.
        seed: Decides the order.
        output_names: The names of the model's outputs, for weights by name.
        words: The names of the arguments, for messages.
    """

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
        words: Words = Words(),  # noqa: B008
    ):
        inputs, targets = prepared(x, words.x, optional=False), prepared(y, words.y)
        weights = prepared(_completed(sample_weight, targets, words, output_names), words.sample_weight)
        self._samples = check_lengths({words.x: inputs, words.y: targets, words.sample_weight: weights})
        if batch_size is None:
            batch_size = DEFAULT_BATCH_SIZE if steps is None else -(-self._samples // steps)
        self._batch_size = batch_size
        self._steps = steps
        self._shuffle = check_shuffle(shuffle)
        self._seed = seed
        arrays, self._structure = jax.tree.flatten(in_order(pack_x_y_sample_weight(inputs, targets, weights)))
        self._columns = [(array, arriving_dtype(array.dtype)) for array in arrays]

    @staticmethod
    def can_handle(x: Any) -> bool:
        """Tell whether a source is arrays."""
        return is_arrays(x)

    def iterate(self, epoch: int) -> Iterator[Any]:
        """Walk the batches of an epoch, and then those of the following ones if one walk serves several epochs."""
        while True:
            for rows in self._rows(epoch):
                # Copies: nobody shall change a batch later. A float64 beyond float32 becomes inf, which the loss will show.
                with np.errstate(over="ignore"):
                    parts = [np.array(array[rows], dtype, order="C") for array, dtype in self._columns]
                yield jax.tree.unflatten(self._structure, parts)
            epoch += 1
            if self._steps is None or self._steps >= self.get_size():
                return

    def get_size(self) -> int:
        """Return the number of batches in the data."""
        return -(-self._samples // self._batch_size)

    def batch_size(self) -> int:
        """Return the number of samples in a full batch."""
        return self._batch_size

    def has_partial_batch(self) -> bool:
        """Tell whether the last batch is smaller."""
        return self._samples % self._batch_size > 0

    def partial_batch_size(self) -> int | None:
        """Return the size of a smaller last batch, or None."""
        return self._samples % self._batch_size or None

    def should_recreate_iterator(self) -> bool:
        """Tell whether every epoch is one walk through all data."""
        return self._steps is None or self._steps == self.get_size()

    def on_epoch_end(self) -> None:
        """Nothing to do: the next epoch's order follows from its number."""

    def _rows(self, epoch: int) -> list[Any]:
        """List the rows of each batch of an epoch, in the epoch's order."""
        generator = np.random.default_rng([self._seed, epoch])
        starts = range(0, self._samples, self._batch_size)
        if self._shuffle is True:
            order = generator.permutation(self._samples)
            return [order[start : start + self._batch_size] for start in starts]
        slices = [slice(start, start + self._batch_size) for start in starts]
        return slices if self._shuffle is False else [slices[batch] for batch in generator.permutation(len(slices))]


def _completed(sample_weight: Any, y: Any, words: Words, output_names: list[str] | None) -> Any:
    """Give every output weights: one array serves all of them, and None means weights of 1."""
    if sample_weight is None:
        return None
    if y is None:
        raise ValueError(
            f"`{words.sample_weight}` was given without `{words.y}`; weights belong to targets. Give `{words.y}` too, or put "
            f"the weights into `{words.x}`."
        )
    if not isinstance(y, (dict, list, tuple)):
        return sample_weight
    if isinstance(sample_weight, dict) and isinstance(y, dict):
        unknown = [key for key in sample_weight if key not in y]
        if unknown:
            raise ValueError(
                f"`{words.sample_weight}` has the keys {unknown}, which `{words.y}` does not have; its keys are {list(y)}."
            )
        return {key: _ones(part) if sample_weight.get(key) is None else sample_weight[key] for key, part in y.items()}
    if isinstance(sample_weight, dict):
        if output_names is None or len(output_names) != len(y) or isinstance(y, dict):
            raise ValueError(
                f"`{words.sample_weight}` is a dictionary and `{words.y}` is {describe(y)}. Give the weights in the structure of "
                f"`{words.y}`, or give both as dictionaries by output name."
            )
        unknown = [key for key in sample_weight if key not in output_names]
        if unknown:
            raise ValueError(f"`{words.sample_weight}` has the keys {unknown}; the outputs are {output_names}.")
        sample_weight = [sample_weight.get(name) for name in output_names]
    if isinstance(sample_weight, (list, tuple)) and not holds_numbers(sample_weight):
        if isinstance(y, dict) or len(y) != len(sample_weight):
            raise ValueError(
                f"`{words.sample_weight}` has {len(sample_weight)} parts and `{words.y}` is {describe(y)}. Give one array for "
                "all outputs, or one for each in the same structure."
            )
        return rebuilt(y, [_ones(part) if own is None else own for own, part in zip(sample_weight, y, strict=True)])
    return map_leaves(lambda _: sample_weight, y)


def _ones(target: Any) -> Any:
    return map_leaves(lambda array: np.ones(array.shape[0], np.float32), target)
