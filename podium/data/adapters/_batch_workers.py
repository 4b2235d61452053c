"""BatchWorkers: threads or processes that make the batches of a PyDataset ahead of time.

Batches are returned in order, and workers end with the iteration. Which batches to make is the
adapter's matter.
"""

from __future__ import annotations

import collections
import concurrent.futures
import multiprocessing
import pickle
import signal
import weakref
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Protocol

from podium._typing import Tree

_BROKEN = (
    "use_multiprocessing=True was given: each worker is a new process that imports the script "
    "again and gets a copy of the data by pickling. Define the class at the top level of a file "
    "(not in a function, a notebook or at the prompt), and put what the script runs under "
    '`if __name__ == "__main__":`. Or leave out use_multiprocessing: the workers are then threads.'
)


class IndexedBatches(Protocol):
    """Returns batches by index."""

    def __getitem__(self, index: int, /) -> Tree:
        """Return the batch of that index."""


_process_source: IndexedBatches | None = None  # in a worker process: its copy of the source


class BatchWorkers:
    """Makes `source[index]` for many indices, and returns the batches in order. A note on an
    exception says which index raised it.

    Workers end with the iteration, whether it was read to its end, closed, or left by an exception.
    Only processes that are to be kept wait for the next iteration, until `close`. A batch that is
    being made when the iteration ends is waited for, since threads cannot be stopped.

    Args:
        source: Returns a batch by index.
        count: The number of threads or processes; with one thread or none, the caller makes the
            batches.
        processes: Whether the workers are processes.
        ahead: The largest number of batches that are being made, or made and not yet returned.
        keep: Whether processes are kept for the next iteration. They have the source as it was when
            they started.
    """

    def __init__(
        self,
        source: IndexedBatches,
        count: int,
        *,
        processes: bool = False,
        ahead: int = 10,
        keep: bool = False,
    ):
        self._source = source
        self._count = count
        self._processes = processes
        self._ahead = ahead
        self._keep = keep and processes
        self._executor: concurrent.futures.Executor | None = None
        self._finalizer: weakref.finalize[Any, BatchWorkers] | None = None

    def iterate(self, indices: Iterable[int]) -> Iterator[Tree]:
        """Iterate over the batches of those indices."""
        if self._count < 1 or (self._count == 1 and not self._processes):
            for index in indices:
                yield self._with_note(index, self._source.__getitem__, index)
            return
        make = _make_in_process if self._processes else self._source.__getitem__
        pending: collections.deque[tuple[int, concurrent.futures.Future[Tree]]]
        pending = collections.deque()
        complete = False
        try:
            for index in indices:
                pending.append((index, self._submit(make, index)))
                if len(pending) >= self._ahead:
                    first, future = pending.popleft()
                    yield self._with_note(first, future.result)
            while pending:
                index, future = pending.popleft()
                batch = self._with_note(index, future.result)
                complete = not pending
                if complete and not self._keep:
                    self.close()  # the workers end before the last batch is used, not after
                yield batch
        finally:
            if not complete:
                self.close()

    def close(self) -> None:
        """End the workers."""
        executor, self._executor = self._executor, None
        if executor is not None and self._finalizer is not None:
            self._finalizer.detach()
            executor.shutdown(wait=True, cancel_futures=True)

    def _submit(self, make: Callable[[int], Tree], index: int) -> concurrent.futures.Future[Tree]:
        if self._executor is None:
            if self._processes:
                self._executor = _make_process_pool(self._source, self._count)
            else:
                self._executor = concurrent.futures.ThreadPoolExecutor(
                    self._count, "podium-batches"
                )
            self._finalizer = weakref.finalize(self, self._executor.shutdown, cancel_futures=True)
        try:
            return self._executor.submit(make, index)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            if not self._processes:
                raise
            raise TypeError(
                f"{type(self._source).__name__} cannot be copied to worker processes: {error}. "
                f"{_BROKEN}"
            ) from error
        except Exception as error:  # the workers have ended
            if self._processes:
                error.add_note(_BROKEN)
            raise

    def _with_note(self, index: int, get: Callable[..., Tree], *args: int) -> Tree:
        """Return `get(*args)`; add the index of the batch to its exceptions, since batches may be
        shuffled.
        """
        try:
            return get(*args)
        except BrokenProcessPool as error:
            error.add_note(_BROKEN)
            raise
        except Exception as error:
            error.add_note(
                f"It was raised by `{type(self._source).__name__}.__getitem__({index})`."
            )
            raise


def _make_process_pool(
    source: IndexedBatches, count: int
) -> concurrent.futures.ProcessPoolExecutor:
    """Return a pool of spawned processes. A fork of this one could deadlock: JAX runs threads,
    which hold locks.
    """
    context = multiprocessing.get_context("spawn")
    return concurrent.futures.ProcessPoolExecutor(
        count, context, initializer=_start_process, initargs=(source,)
    )


def _start_process(source: IndexedBatches) -> None:
    """Initialize a worker process. Ctrl-C reaches all processes; the one that trains ends the
    others.
    """
    global _process_source
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _process_source = source


def _make_in_process(index: int) -> Tree:
    assert _process_source is not None
    return _process_source[index]
