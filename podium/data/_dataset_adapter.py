"""Datasets, and any other object that can be walked again and again and gives batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from podium.data._batch_checks import BatchReader
from podium.data._dataset import Dataset
from podium.data._pipeline import INFINITE_CARDINALITY
from podium.data._words import Words

_NO_SOURCE = (type, set, frozenset, str, bytes, bytearray, dict, list, tuple)  # can be iterated, but not as batches


class DatasetAdapter:
    """Batches of a Dataset, or of an object whose `__iter__` starts a new walk, such as a data loader.

    Args:
        x: The Dataset or loader.
        steps: Batches per epoch that the user asked for, or None.
        same_lengths: Whether x, y and sample_weight of a batch must have as many rows as each other.
        words: The names of the arguments, for messages.
    """

    def __init__(self, x: Any, *, steps: int | None = None, same_lengths: bool = True, words: Words = Words()):  # noqa: B008
        self._source = x
        self._steps = steps
        if steps is None and self._cardinality() == INFINITE_CARDINALITY:
            raise ValueError(
                f"`{words.x}` is an infinite dataset, and {words.steps} was not given. Say how many batches make an epoch, "
                f"`{words.steps}=100`, or leave out `repeat()`."
            )
        is_dataset = isinstance(x, Dataset)
        kind = "dataset" if is_dataset else type(x).__name__
        self._reader = BatchReader(kind, words, convert=not is_dataset, same_lengths=same_lengths)

    @staticmethod
    def can_handle(x: Any) -> bool:
        """Tell whether a source can be walked again and again."""
        return isinstance(x, Dataset) or (hasattr(x, "__iter__") and not isinstance(x, _NO_SOURCE))

    def iterate(self, epoch: int) -> Iterator[Any]:
        """Start a new walk."""
        source = self._source
        return self._reader.read(source.pipeline.elements() if isinstance(source, Dataset) else source)

    def get_size(self) -> int | None:
        """Return the number of batches, or None if nobody knows or there is no end."""
        size = self._cardinality()
        return size if size is not None and size >= 0 else None

    def batch_size(self) -> int | None:
        """Return None: batches may differ."""
        return None

    def has_partial_batch(self) -> bool:
        """Return False: nothing is known of the last batch."""
        return False

    def partial_batch_size(self) -> int | None:
        """Return None: nothing is known of the last batch."""
        return None

    def should_recreate_iterator(self) -> bool:
        """Tell whether every epoch is a walk of its own: if no steps were asked for, or just as many as there are."""
        return self._steps is None or self._steps == self.get_size()

    def on_epoch_end(self) -> None:
        """Tell a loader that wants to know, such as one that shuffles between epochs."""
        if not isinstance(self._source, Dataset) and callable(getattr(self._source, "on_epoch_end", None)):
            self._source.on_epoch_end()

    def _cardinality(self) -> int | None:
        if isinstance(self._source, Dataset):
            return int(self._source.cardinality())
        try:
            return len(self._source)
        except TypeError:
            return None
