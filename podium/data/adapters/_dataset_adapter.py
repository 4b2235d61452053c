"""Datasets, and any other object that can be walked again and again and gives batches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from podium.data._dataset import Dataset
from podium.data._pipeline import INFINITE_CARDINALITY
from podium.data._words import Words
from podium.data.adapters._adapter import DataAdapter

_NO_SOURCE = (type, set, frozenset, str, bytes, bytearray, dict, list, tuple)  # can be iterated, but not as batches


class DatasetAdapter(DataAdapter):
    """Batches of a Dataset, or of an object whose `__iter__` starts a new walk, such as a data loader."""

    def __init__(self, source: Any, *, steps: int | None = None, words: Words = Words()):  # noqa: B008
        super().__init__(source, steps=steps, words=words)
        self.owned = isinstance(source, Dataset)
        if not self.owned:
            self.kind = type(source).__name__
        if steps is None and self._cardinality() == INFINITE_CARDINALITY:
            raise ValueError(
                f"`{words.x}` is an infinite dataset, and {words.steps} was not given. Say how many batches make an epoch, "
                f"`{words.steps}=100`, or leave out `repeat()`."
            )

    @staticmethod
    def can_handle(x: Any) -> bool:
        """Tell whether a source can be walked again and again."""
        return isinstance(x, Dataset) or (hasattr(x, "__iter__") and not isinstance(x, _NO_SOURCE))

    def iterate(self, epoch: int, start: Any = 0) -> Iterable[Any]:
        """Start a new walk."""
        return self.source.pipeline.elements() if isinstance(self.source, Dataset) else self.source

    def get_size(self) -> int | None:
        """Return the number of batches, or None if nobody knows or there is no end."""
        size = self._cardinality()
        return size if size is not None and size >= 0 else None

    def on_epoch_end(self) -> None:
        """Tell a loader that wants to know, such as one that shuffles between epochs."""
        if not isinstance(self.source, Dataset) and callable(getattr(self.source, "on_epoch_end", None)):
            self.source.on_epoch_end()

    def _cardinality(self) -> int | None:
        if isinstance(self.source, Dataset):
            return int(self.source.cardinality())
        try:
            return len(self.source)
        except TypeError:
            return None
