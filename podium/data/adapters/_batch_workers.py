"""Workers: threads or processes that make numbered batches ahead of time. Batches come out in
order, and workers end.
"""

from __future__ import annotations

import collections
import concurrent.futures
import multiprocessing
import signal
import weakref
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from typing import Any

_BROKEN = (
    "use_multiprocessing=True was given: each worker is a new process that imports the "
    "script again and gets a copy of the "
    "data by pickling. Define the class in a file (not in a notebook or at the prompt), "
    "and let what the script does "
    'begin with `if __name__ == "__main__":`. Or leave out use_multiprocessing: the '
    "workers are threads then."
)

_source: Any = None  # in a worker process: the data that it has got


class Workers:
    """Make `source[number]` for many numbers. Batches come out in order; an exception is told to
    which number it belongs.

    Workers are gone when a walk has ended, whether it was read to its end, closed, or left by an
    exception; only processes that are to be kept wait for the next walk, until `close`. A batch
    that is being made when a walk ends is waited for: nobody can stop a thread.

    Args:
        source: What gives a batch by number.
        count: How many threads or processes make batches; with one thread or none, the caller makes
            them.
        processes: Whether they are processes.
        ahead: How many batches may be on the way, or made and not taken.
        keep: Whether processes stay for the next walk. They have the source as it was when they
            began.
    """

    def __init__(
        self,
        source: Any,
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
        self._finalizer: weakref.finalize | None = None

    def walk(self, numbers: Iterable[int]) -> Iterator[Any]:
        """Walk the batches of those numbers."""
        if self._count < 1 or (self._count == 1 and not self._processes):
            for number in numbers:
                yield self._told(number, self._source.__getitem__, number)
            return
        make: Callable[[int], Any] = _make if self._processes else self._source.__getitem__
        coming: collections.deque = collections.deque()
        complete = False
        try:
            for number in numbers:
                coming.append((number, self._submit(make, number)))
                if len(coming) >= self._ahead:
                    number, future = coming.popleft()
                    yield self._told(number, future.result)
            while coming:
                number, future = coming.popleft()
                batch = self._told(number, future.result)
                complete = not coming
                if (
                    complete and not self._keep
                ):  # the workers end before the last batch is used, not after
                    self.close()
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

    def _submit(self, make: Callable, number: int) -> concurrent.futures.Future:
        if self._executor is None:
            if self._processes:
                self._executor = _processes(self._source, self._count)
            else:
                self._executor = concurrent.futures.ThreadPoolExecutor(
                    self._count, "podium-batches"
                )
            self._finalizer = weakref.finalize(self, self._executor.shutdown, cancel_futures=True)
        try:
            return self._executor.submit(make, number)
        except Exception as error:  # the source cannot be pickled, or the workers are dead
            if self._processes:
                error.add_note(_BROKEN)
            raise

    def _told(self, number: int, get: Callable, *args: Any) -> Any:
        """Get a batch; an exception is told which one it was: its place in the walk differs if the
        order is shuffled.
        """
        try:
            return get(*args)
        except BrokenProcessPool as error:
            error.add_note(_BROKEN)
            raise
        except Exception as error:
            error.add_note(f"It came from `{type(self._source).__name__}.__getitem__({number})`.")
            raise


def _processes(source: Any, workers: int) -> concurrent.futures.Executor:
    """Make a pool of new processes. A fork of this one could stop for ever: JAX runs threads, which
    hold locks.
    """
    context = multiprocessing.get_context("spawn")
    return concurrent.futures.ProcessPoolExecutor(
        workers, context, initializer=_begin, initargs=(source,)
    )


def _begin(source: Any) -> None:
    """Begin the life of a worker process. Ctrl-C goes to all processes; the one that trains ends
    the others.
    """
    global _source
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _source = source


def _make(number: int) -> Any:
    return _source[number]
