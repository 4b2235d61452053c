"""RetryingAdapter: reads another adapter's batches, and reads again where that fails.

It owns the position of the reading. After a failure it starts a new iteration of the other adapter
where the failed one stopped: at the position if there are positions, otherwise at the start. Then
the batches that were returned before are skipped, and compared with what they were.
"""

from __future__ import annotations

import functools
import time
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from podium._typing import Tree
from podium.data._argument_names import DEFAULT_NAMES, ArgumentNames
from podium.data._retrying import Retrying
from podium.data._structure import leaves
from podium.data.adapters._adapter import DataAdapter, Position

_MAX_EARLIER = 256  # positions before a failure; more batches are never read ahead
_MAX_COMPARED = 4096  # numbers of an array
_ATTRIBUTES = (
    "kind",
    "seekable",
    "one_shot",
    "fresh",
    "quick",
    "owned",
    "checked",
    "concurrent",
    "batching",
)


class AdapterWrapper(DataAdapter):
    """Describes the batches as another adapter does; how they are read is left to subclasses.

    Args:
        source: What the user passed as x.
        inner: The other adapter.
        names: The names of the caller's arguments, for messages.
    """

    def __init__(self, source: Any, inner: DataAdapter, names: ArgumentNames):
        super().__init__(source, steps=inner.steps, names=names)
        self._inner = inner
        for name in _ATTRIBUTES:
            setattr(self, name, getattr(inner, name))

    def current_order(self) -> list[Any]:
        """Return what determined the order of the last iteration."""
        return self._inner.current_order()

    def next_order(self) -> list[Any]:
        """Return what will determine the order of the next iteration."""
        return self._inner.next_order()

    def set_order(self, order: list[Any]) -> None:
        """Restore the order of the next iteration."""
        self._inner.set_order(order)

    def process_draws(self) -> set[str]:
        """Return the global random generators that worker processes have drawn from."""
        return self._inner.process_draws()

    def keep_on_device(self, budget: int, passes: int) -> bool:
        """Keep the source on the device, if it fits the budget."""
        is_kept = self._inner.keep_on_device(budget, passes)
        self.checked = self._inner.checked
        return is_kept

    def get_size(self) -> int | None:
        """Return the number of batches in one iteration, or None."""
        return self._inner.get_size()

    def batch_size(self) -> int | None:
        """Return the number of samples in a full batch, or None."""
        return self._inner.batch_size()

    def has_partial_batch(self) -> bool:
        """Return whether the last batch is known to be smaller."""
        return self._inner.has_partial_batch()

    def partial_batch_size(self) -> int | None:
        """Return the size of a smaller last batch, or None."""
        return self._inner.partial_batch_size()

    def should_recreate_iterator(self) -> bool:
        """Return whether each epoch starts a new iteration."""
        return self._inner.should_recreate_iterator()

    def on_epoch_end(self) -> None:
        """Call the hook of the source."""
        self._inner.on_epoch_end()


class RetryingAdapter(AdapterWrapper):
    """Batches of another adapter, whose failing reads are tried again.

    Args:
        source: The Retrying source.
        inner: The adapter of what it wraps.
        names: The names of the caller's arguments, for messages.
    """

    def __init__(
        self,
        source: Retrying,
        inner: DataAdapter,
        *,
        names: ArgumentNames = DEFAULT_NAMES,
    ):
        super().__init__(source, inner, names)
        self._retries_inside = inner.retry_reads(source.policy)
        self._first = 0  # the number of batches before the latest iteration of `inner`
        self._earlier: dict[int, Position | None] = {}  # positions before that

    @property
    def retries(self) -> int:
        """How many times a read was tried again, in all runs."""
        count: int = self.source.retries
        return count

    @staticmethod
    def can_handle(x: object) -> bool:
        """Return whether a source is a Retrying."""
        return isinstance(x, Retrying)

    def iterate(self, epoch: int, start: Position = 0) -> Iterator[Tree]:
        """Iterate over the batches of an epoch."""
        inner = self._inner
        self._first, self._earlier = 0, {}
        order = inner.next_order()
        inner.start = start
        if self._retries_inside:
            return self._count_retries(iter(inner.iterate(epoch, start)))
        batches: Iterator[Tree] | None = None
        errors: list[Exception] = []
        try:
            batches = iter(inner.iterate(epoch, start))
        except self.source.policy.on as error:
            errors.append(error)
        return self._read(batches, errors, functools.partial(self._open, epoch, start, order))

    def _count_retries(self, reads: Iterator[Any]) -> Iterator[Tree]:
        policy = self.source.policy
        try:
            for read in reads:
                if read.errors:
                    self.source.record(read.errors, read.seconds)
                yield read.value
        except policy.on as error:
            self.source.record([error] * policy.times, 0.0)
            raise
        finally:
            _close(reads)

    def _read(
        self,
        batches: Iterator[Tree] | None,
        errors: list[Exception],
        open_after: Callable[[list[int]], Iterator[Tree]],
    ) -> Iterator[Tree]:
        """Yield batches, and try again what fails.

        Args:
            batches: The iteration; None if it could not be started.
            errors: The errors of the next batch so far.
            open_after: Starts an iteration again, after batches with these checksums.
        """
        source, compares = self.source, not self._inner.seekable
        checksums: list[int] = []  # of the batches that were returned
        start = time.perf_counter()
        try:
            while True:
                try:
                    if errors:
                        self._wait(errors)
                        batches = open_after(checksums)
                    assert batches is not None
                    batch = next(batches)
                except StopIteration:
                    return
                except source.policy.on as error:
                    if error in errors:  # raised for the last time
                        raise
                    errors.append(error)
                    _close(batches)
                    batches = None
                    continue
                if errors:
                    source.record([], time.perf_counter() - start)
                    errors = []
                checksums.append(_checksum(batch) if compares else 0)
                yield batch
                start = time.perf_counter()
        finally:
            _close(batches)

    def _wait(self, errors: list[Exception]) -> None:
        """Count the last error and wait, or raise it."""
        if len(errors) <= self.source.policy.times:
            self.source.record(errors[-1:], 0.0)
        self.source.policy.wait(errors)

    def _open(
        self, epoch: int, start: Position, order: list[Any], checksums: list[int]
    ) -> Iterator[Tree]:
        """Start an iteration after the batches with these checksums."""
        inner, count = self._inner, len(checksums)
        if inner.seekable and count:
            return self._open_at_position(epoch, count)
        if order:
            inner.set_order(order)
        inner.start = start
        batches = iter(inner.iterate(epoch, start))
        for index, checksum in enumerate(checksums):
            if _checksum(next(batches, None)) != checksum:
                raise RuntimeError(
                    f"Retrying has read the {inner.kind} again from its start after an error, and "
                    f"batch {index} was another one than before (the first is 0): batches would "
                    "be lost or repeated. Let each iteration over the source yield the same "
                    "batches in the same order, or use a source that is read by index, such as a "
                    "PyDataset."
                )
        return batches

    def _open_at_position(self, epoch: int, count: int) -> Iterator[Tree]:
        inner = self._inner
        if count not in self._earlier:  # it is after an iteration that could not be started
            low = max(self._first, count - _MAX_EARLIER + 1)
            kept = {taken: p for taken, p in self._earlier.items() if taken > count - _MAX_EARLIER}
            self._earlier = kept | {
                taken: inner.position(taken - self._first) for taken in range(low, count + 1)
            }
        position = self._earlier[count]
        assert position is not None
        inner.start = position
        batches = iter(inner.iterate(epoch, position))
        self._first = count
        return batches

    def position(self, taken: int) -> Position | None:
        """Return the position `taken` batches after the start of the iteration."""
        if taken < self._first:
            return self._earlier[taken]
        return self._inner.position(taken - self._first)

    def close(self) -> None:
        """Release what the source keeps, and report the retries of the run."""
        self._inner.close()
        self.source.end_run()


def _close(batches: object) -> None:
    if hasattr(batches, "close"):
        batches.close()


def _checksum(batch: Tree) -> int:
    """Return a checksum of some numbers of every array of a batch."""
    checksum = 0
    for leaf in leaves(batch):
        array = np.asarray(leaf)
        checksum = zlib.crc32(repr((array.shape, array.dtype)).encode(), checksum)
        some = array.reshape(-1)[:: max(1, array.size // _MAX_COMPARED)]
        data = repr(some.tolist()).encode() if some.dtype.hasobject else some.tobytes()
        checksum = zlib.crc32(data, checksum)
    return checksum
