"""BatchWorkers: threads or processes that make the batches of a PyDataset ahead of time.

Batches are returned in order, and workers end with the iteration. Which batches to make is the
adapter's matter.
"""

from __future__ import annotations

import collections
import concurrent.futures
import functools
import multiprocessing
import pickle
import signal
import weakref
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Protocol, TypeAlias

from podium._typing import Tree
from podium.core import random_state
from podium.core.internal import drawn_generators
from podium.data._retrying import RetriedRead, RetryPolicy

_BROKEN = (
    "use_multiprocessing=True was given: each worker is a new process that imports the script "
    "again and gets a copy of the data by pickling. Define the class at the top level of a file "
    "(not in a function, a notebook or at the prompt), and put what the script runs under "
    '`if __name__ == "__main__":`. Or leave out use_multiprocessing: the workers are then threads.'
)


# A batch, and the names of the global random generators that were drawn from.
_Made: TypeAlias = tuple[Tree, list[str]]


class IndexedBatches(Protocol):
    """Returns batches by index."""

    def __getitem__(self, index: int, /) -> Tree:
        """Return the batch of that index."""


_process_source: IndexedBatches | None = None  # in a worker process: its copy of the source
_process_draws: list[str] | None = None  # in a worker process: what its first batch has drawn


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

    Attributes:
        concurrent: Whether several threads, or other processes, make the batches.
        process_draws: The global random generators that processes have drawn from.
        policy: When failing reads are tried again; then batches are returned as a `RetriedRead`.
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
        self.concurrent = count > 1 or (count == 1 and processes)
        self.process_draws: set[str] = set()
        self.policy: RetryPolicy | None = None
        self._executor: concurrent.futures.Executor | None = None
        self._finalizer: weakref.finalize[Any, BatchWorkers] | None = None

    def iterate(self, indices: Iterable[int]) -> Iterator[Tree]:
        """Iterate over the batches of those indices."""
        make: Callable[[int], Any] = self._source.__getitem__
        if self.concurrent:
            make = _make_in_process if self._processes else self._make
        if self.policy is not None:
            make = functools.partial(self.policy.read, make)
        if not self.concurrent:
            for index in indices:
                yield self._with_note(index, make, index)
            return
        pending: collections.deque[tuple[int, concurrent.futures.Future[_Made]]]
        pending = collections.deque()
        complete = False
        try:
            for index in indices:
                pending.append((index, self._submit(make, index)))
                if len(pending) >= self._ahead:
                    first, future = pending.popleft()
                    yield self._record(self._with_note(first, future.result))
            while pending:
                index, future = pending.popleft()
                batch = self._record(self._with_note(index, future.result))
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

    def _make(self, index: int) -> _Made:
        return self._source[index], []

    def _record(self, made: _Made | RetriedRead[_Made]) -> Tree:
        if isinstance(made, RetriedRead):
            return made._replace(value=self._record(made.value))
        batch, draws = made
        self.process_draws.update(draws)
        return batch

    def _submit(self, make: Callable[[int], _Made], index: int) -> concurrent.futures.Future[_Made]:
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

    def _with_note(self, index: int, get: Callable[..., Any], *args: int) -> Any:
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


def _make_in_process(index: int) -> _Made:
    """Return a batch, and what the first batch of this process has drawn."""
    global _process_draws
    assert _process_source is not None
    if _process_draws is not None:
        return _process_source[index], _process_draws
    before = random_state()
    batch = _process_source[index]
    _process_draws = drawn_generators(before, random_state())
    return batch, _process_draws
