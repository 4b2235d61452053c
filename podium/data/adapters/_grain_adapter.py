"""Adapters for Grain's datasets, loaders and iterators.

Grain is never imported here: if a source is one of its objects, the user has imported it.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from typing import Any

from podium._typing import Tree
from podium.data._argument_names import DEFAULT_NAMES, ArgumentNames
from podium.data.adapters._adapter import DataAdapter, Position
from podium.data.adapters._recorded_iterator import RecordedIterator, decode_state
from podium.data.columns._foreign_types import ForeignObject, is_instance_of

# Datasets with indices that have no element: their length is an upper bound.
_SPARSE = ("FilterMapDataset", "FlatMapMapDataset")
_INFINITE_LENGTH = sys.maxsize
# Grain's default buffer of 500 is meant for single rows; these are batches.
_READ_OPTIONS = {"num_threads": 8, "prefetch_buffer_size": 16}


class GrainMapAdapter(DataAdapter):
    """Batches of a `grain.MapDataset`, which returns them by index.

    The indices of epoch e follow those of the epochs before, so a dataset that shuffles has a new
    order in each epoch, as with Grain's own `repeat`. With fewer steps than batches, an epoch
    continues where the previous one stopped.
    """

    kind = "grain.MapDataset"
    seekable = True

    def __init__(
        self,
        source: ForeignObject,
        *,
        steps: int | None = None,
        names: ArgumentNames = DEFAULT_NAMES,
    ):
        super().__init__(source, steps=steps, names=names)
        self._start = 0  # where the iteration was started
        self._first_epoch: int | None = None  # of the run
        if steps is None and self.get_size() is None:
            self.steps = _steps_for_infinite(self)

    @staticmethod
    def can_handle(x: object) -> bool:
        """Return whether a source is a MapDataset that has an element for each index."""
        return is_instance_of(x, "grain", "MapDataset") and not _has_transformation(x, *_SPARSE)

    def iterate(self, epoch: int, start: Position = 0) -> Iterator[Tree]:
        """Start Grain's reading threads at a batch of an epoch."""
        self._start = start["batch"] if isinstance(start, dict) else start
        if isinstance(start, dict):
            self._first_epoch = start["origin"]
        if self._first_epoch is None or epoch < self._first_epoch:
            self._first_epoch = epoch
        size, steps = self.get_size(), self.steps
        if steps is None or (size is not None and steps >= size):
            first, count = epoch * (size or 0), size or 0
        else:
            first_epoch = self._first_epoch
            first, count = first_epoch * (size or 0) + (epoch - first_epoch) * steps, steps
        # An infinite dataset has indices beyond the first pass without being repeated.
        repeated = self.source.repeat(epoch + 1) if size else self.source
        options = sys.modules["grain"].ReadOptions(**_READ_OPTIONS)
        iterator = iter(repeated.to_iter_dataset(options))
        iterator.set_state({"next_index": first + self._start})
        return _iterate_and_close(iterator, count - self._start)

    def position(self, taken: int) -> dict[str, Any]:
        """Return the index of the next batch in the epoch, and what determines where the epoch
        begins.
        """
        return {"batch": self._start + taken, "origin": self._first_epoch}

    def get_size(self) -> int | None:
        """Return the number of batches, or None if it is infinite."""
        return len(self.source) if len(self.source) < _INFINITE_LENGTH else None

    def should_recreate_iterator(self) -> bool:
        """Return True: each epoch starts a new iteration, which knows where to begin."""
        return True


class _RecordingAdapter(DataAdapter):
    """Base of adapters whose position is Grain's own state."""

    seekable = True

    def __init__(
        self,
        source: ForeignObject,
        *,
        steps: int | None = None,
        names: ArgumentNames = DEFAULT_NAMES,
    ):
        super().__init__(source, steps=steps, names=names)
        self._iterator: RecordedIterator | None = None

    def position(self, taken: int) -> dict[str, Any] | None:
        """Return Grain's state after `taken` batches."""
        return None if self._iterator is None else self._iterator.position(taken)


class GrainStreamAdapter(_RecordingAdapter):
    """Batches of a `grain.IterDataset`, a Grain DataLoader, or a MapDataset that leaves out
    elements.

    Each iteration is the same, unless the data are repeated: then an epoch is `steps_per_epoch`
    batches of one long iteration. The position is Grain's own state, which a DataLoader accepts
    only if the `repr` of its data source is the same.
    """

    kind = "grain dataset"

    def __init__(
        self,
        source: ForeignObject,
        *,
        steps: int | None = None,
        names: ArgumentNames = DEFAULT_NAMES,
    ):
        super().__init__(source, steps=steps, names=names)
        if steps is None and _is_infinite(source):
            self.steps = _steps_for_infinite(self)

    @staticmethod
    def can_handle(x: object) -> bool:
        """Return whether a source is one of Grain's that can be iterated repeatedly."""
        return is_instance_of(x, "grain", "IterDataset", "MapDataset", "DataLoader")

    def iterate(self, epoch: int, start: Position = 0) -> Iterator[Tree]:
        """Start a new iteration."""
        iterator = iter(self.source)
        self._iterator = _record_iteration(iterator, start, getattr(iterator, "close", None))
        return self._iterator


class GrainIteratorAdapter(_RecordingAdapter):
    """Batches of one of Grain's iterators: read once and never ahead, but its position can be
    set.
    """

    kind = "grain iterator"
    one_shot = True

    @staticmethod
    def can_handle(x: object) -> bool:
        """Return whether a source is one of Grain's iterators."""
        return is_instance_of(x, "grain", "DatasetIterator", "DataLoaderIterator")

    def iterate(self, epoch: int, start: Position = 0) -> Iterator[Tree]:
        """Continue the only iteration, or start it again at `start`."""
        if self._iterator is None or start:
            self._iterator = _record_iteration(self.source, start)
        return self._iterator


def _record_iteration(
    iterator: ForeignObject, start: Position, close: Callable[[], object] | None = None
) -> RecordedIterator:
    """Record an iteration from its current position, or from a state."""
    if isinstance(start, dict):
        iterator.set_state(decode_state(start["state"]))
    return RecordedIterator(iterator, iterator.get_state, close)


def _iterate_and_close(iterator: ForeignObject, count: int) -> Iterator[Tree]:
    """Iterate over `count` batches, then stop the threads that read them."""
    try:
        yield from itertools.islice(iterator, count)
    finally:
        if hasattr(iterator, "close"):
            iterator.close()


def _has_transformation(dataset: ForeignObject, *names: str) -> bool:
    """Return whether a dataset was made with one of the transformations of those names."""
    return is_instance_of(dataset, "grain", *names) or any(
        _has_transformation(parent, *names) for parent in getattr(dataset, "parents", ())
    )


def _is_infinite(source: ForeignObject) -> bool:
    """Return whether a source certainly never ends: it is repeated without a count, and no later
    transformation limits it.
    """
    if is_instance_of(source, "grain", "DataLoader"):
        return getattr(getattr(source, "_sampler", None), "_num_epochs", 1) is None
    if is_instance_of(source, "grain", "LimitIterDataset"):
        return False
    if is_instance_of(source, "grain", "RepeatIterDataset"):
        return getattr(source, "_num_epochs", 1) is None
    if is_instance_of(source, "grain", "MapDataset"):
        return len(source) >= _INFINITE_LENGTH
    parents: Any = getattr(source, "parents", None) or getattr(source, "_parents", ())
    return len(parents) == 1 and _is_infinite(parents[0])


def _steps_for_infinite(adapter: DataAdapter) -> int:
    names = adapter.names
    return names.steps_for_infinite(
        f"`{names.x}` is an infinite {adapter.kind}, and {names.steps} was not given. Say how many "
        f"batches make an epoch, `{names.steps}=100`, or leave out `repeat()`."
    )
