"""Grain's datasets, loaders and iterators. Grain is never imported here: an object that comes from
it brings it along.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from typing import Any

from podium.data._argument_names import DEFAULT_NAMES, ArgumentNames
from podium.data.adapters._adapter import DataAdapter
from podium.data.adapters._recorded_iterator import RecordedIterator, restored
from podium.data.columns._foreign_types import is_instance_of

_SPARSE = (
    "FilterMapDataset",
    "FlatMapMapDataset",
)  # not every number has an element: their length is an upper bound
_ENDLESS = sys.maxsize
_READ = {
    "num_threads": 8,
    "prefetch_buffer_size": 16,
}  # Grain's own 500 are meant for single rows, these are batches


class GrainMapAdapter(DataAdapter):
    """Batches of a `grain.MapDataset`, which gives them by number.

    The numbers of epoch e follow those of the epochs before, so a dataset that shuffles does so
    anew for each epoch, as Grain's own `repeat` does. With fewer steps than batches, an epoch goes
    on where the one before has stopped.
    """

    kind = "grain.MapDataset"
    seekable = True

    def __init__(
        self, source: Any, *, steps: int | None = None, names: ArgumentNames = DEFAULT_NAMES
    ):
        super().__init__(source, steps=steps, names=names)
        self._first = 0  # where the walk was started
        self._origin: int | None = None  # the first epoch of the run
        if steps is None and self.get_size() is None:
            self.steps = _endless(self)

    @staticmethod
    def can_handle(x: Any) -> bool:
        """Tell whether a source is a MapDataset that has an element for each number."""
        return is_instance_of(x, "grain", "MapDataset") and not _has(x, *_SPARSE)

    def iterate(self, epoch: int, start: Any = 0) -> Iterator[Any]:
        """Start Grain's reading threads at a batch of an epoch."""
        if isinstance(start, dict):
            start, self._origin = start["batch"], start["origin"]
        if self._origin is None or epoch < self._origin:
            self._origin = epoch
        self._first = start
        size, steps = self.get_size(), self.steps
        if steps is None or (size is not None and steps >= size):
            first, count = epoch * (size or 0), size or 0
        else:
            first, count = self._origin * (size or 0) + (epoch - self._origin) * steps, steps
        numbers = (
            self.source.repeat(epoch + 1) if size else self.source
        )  # the endless go on by themselves
        walk = iter(numbers.to_iter_dataset(sys.modules["grain"].ReadOptions(**_READ)))
        walk.set_state({"next_index": first + start})
        return _closing(walk, count - start)

    def position(self, taken: int) -> dict[str, Any]:
        """Return the number of batches taken in the epoch, and what decides where it began."""
        return {"batch": self._first + taken, "origin": self._origin}

    def get_size(self) -> int | None:
        """Return the number of batches, or None if there is no end."""
        return len(self.source) if len(self.source) < _ENDLESS else None

    def should_recreate_iterator(self) -> bool:
        """Each epoch starts a new walk: it knows where to begin."""
        return True


class GrainStreamAdapter(DataAdapter):
    """Batches of a `grain.IterDataset`, a Grain DataLoader, or a MapDataset that leaves out
    elements.

    Each walk is the same, unless the data are repeated: then an epoch is `steps_per_epoch` batches
    of one long walk. Its place is Grain's own state, which a DataLoader only takes back if the
    `repr` of its data source is the same.
    """

    kind = "grain dataset"
    seekable = True

    def __init__(
        self, source: Any, *, steps: int | None = None, names: ArgumentNames = DEFAULT_NAMES
    ):
        super().__init__(source, steps=steps, names=names)
        self._walk: RecordedIterator | None = None
        if steps is None and _never_ends(source):
            self.steps = _endless(self)

    @staticmethod
    def can_handle(x: Any) -> bool:
        """Tell whether a source is one of Grain's that can be walked again and again."""
        return is_instance_of(x, "grain", "IterDataset", "MapDataset", "DataLoader")

    def iterate(self, epoch: int, start: Any = 0) -> Iterator[Any]:
        """Start a new walk."""
        self._walk = _recorded(iter(self.source), start)
        return self._walk

    def position(self, taken: int) -> Any:
        """Return Grain's state after `taken` batches of the walk."""
        return None if self._walk is None else self._walk.position(taken)


class GrainIteratorAdapter(DataAdapter):
    """Batches that an iterator of Grain's gives: read once and never ahead, but it can be set to
    another place.
    """

    kind = "grain iterator"
    one_shot = True
    seekable = True

    def __init__(
        self, source: Any, *, steps: int | None = None, names: ArgumentNames = DEFAULT_NAMES
    ):
        super().__init__(source, steps=steps, names=names)
        self._walk: RecordedIterator | None = None

    @staticmethod
    def can_handle(x: Any) -> bool:
        """Tell whether a source is one of Grain's iterators."""
        return is_instance_of(x, "grain", "DatasetIterator", "DataLoaderIterator")

    def iterate(self, epoch: int, start: Any = 0) -> Iterator[Any]:
        """Go on with the one walk that there is, or begin it anew at `start`."""
        if self._walk is None or start:
            self._walk = _recorded(self.source, start, ours=False)
        return self._walk

    def position(self, taken: int) -> Any:
        """Return Grain's state after `taken` batches of the walk."""
        return None if self._walk is None else self._walk.position(taken)


def _recorded(walk: Any, start: Any, ours: bool = True) -> RecordedIterator:
    """Begin a walk where it is, or at a state."""
    if start:
        walk.set_state(restored(start["state"]))
    return RecordedIterator(walk, walk.get_state, getattr(walk, "close", None) if ours else None)


def _closing(walk: Any, count: int) -> Iterator[Any]:
    """Walk `count` batches, and stop the threads that read them afterwards."""
    try:
        yield from itertools.islice(walk, count)
    finally:
        if hasattr(walk, "close"):
            walk.close()


def _has(dataset: Any, *names: str) -> bool:
    """Tell whether a dataset was made with one of the transformations of those names."""
    return is_instance_of(dataset, "grain", *names) or any(
        _has(parent, *names) for parent in getattr(dataset, "parents", ())
    )


def _never_ends(source: Any) -> bool:
    """Tell whether a source certainly never ends: it is repeated without a number, and nothing
    limits it afterwards.
    """
    if is_instance_of(source, "grain", "DataLoader"):
        return getattr(getattr(source, "_sampler", None), "_num_epochs", 1) is None
    if is_instance_of(source, "grain", "LimitIterDataset"):
        return False
    if is_instance_of(source, "grain", "RepeatIterDataset"):
        return getattr(source, "_num_epochs", 1) is None
    if is_instance_of(source, "grain", "MapDataset"):
        return len(source) >= _ENDLESS
    parents: Any = getattr(source, "parents", None) or getattr(source, "_parents", ())
    return len(parents) == 1 and _never_ends(parents[0])


def _endless(adapter: DataAdapter) -> int:
    names = adapter.names
    return names.steps_for_infinite(
        f"`{names.x}` is an infinite {adapter.kind}, and {names.steps} was not given. Say how many "
        f"batches make an epoch, `{names.steps}=100`, or leave out `repeat()`."
    )
