"""ReadAhead: reads a slow source on a thread, a few elements ahead of the caller.

A quick source is read in the caller's own thread: passing an element between threads would cost
more than reading it. So is a source that draws from the global random generators in a run that can
be resumed: callbacks may draw from them too, and the order must not depend on the threads' speed.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections import deque
from collections.abc import Iterable, Iterator

from podium._typing import Tree
from podium.core import warn_user
from podium.data._random_draws import RandomDraws

_SLOW_SECONDS = 3e-4  # an element that takes longer to read is worth a thread
_SLOW_READS = 3  # the thread starts after this many slow elements
_JOIN_SECONDS = 10.0  # how long `close` waits for the source to return


class ReadAhead:
    """Iterates over `elements`, and reads up to `ahead` of them before they are asked for.

    Errors of the source are raised where the element would have been. Nothing is read ahead beyond
    what `allow` permits. The thread ends with `close`, with the source, and when this object is
    garbage collected.

    Args:
        elements: The source; nothing else may read from it meanwhile.
        ahead: The largest number of elements that are read and not yet returned.
        draws: Records the random numbers that the source draws.
    """

    def __init__(self, elements: Iterable[Tree], ahead: int, draws: RandomDraws | None = None):
        self._queue = _ElementQueue(iter(elements), max(2, ahead), draws or RandomDraws())
        self._slow_reads = 0
        self._thread: threading.Thread | None = None
        weakref.finalize(self, self._queue.end).atexit = False

    def allow(self, count: int | None, ahead: int) -> None:
        """Permit reading of `count` elements from the caller's position (None for all), `ahead` at
        a time.
        """
        queue = self._queue
        with queue.changed:
            queue.allowed = float("inf") if count is None else queue.read - len(queue.ready) + count
            queue.ahead = max(2, ahead)
            queue.changed.notify_all()

    def __iter__(self) -> ReadAhead:
        return self

    def __next__(self) -> Tree:
        queue = self._queue
        if self._thread is not None and queue.stopped and not queue.ready:
            self._thread.join()
            self._thread = None
        if self._thread is None:
            start = time.perf_counter()
            element = queue.read_element()
            queue.read += 1
            self._slow_reads += time.perf_counter() - start > _SLOW_SECONDS
            may_start = not queue.ended and not queue.draws_random_numbers
            if self._slow_reads == _SLOW_READS and may_start:
                self._thread = threading.Thread(
                    target=queue.fill, name="podium-read-ahead", daemon=True
                )
                self._thread.start()
            return element
        with queue.changed:
            # The element that is asked for may always be read.
            queue.allowed = max(queue.allowed, queue.read - len(queue.ready) + 1)
            queue.changed.notify_all()
            while not queue.ready:
                queue.changed.wait()
            element, error = queue.ready.popleft()
            queue.changed.notify_all()
        if error is not None:
            self._thread.join()
            self._thread = None
            queue.elements = iter(())
            raise error
        return element

    def close(self) -> None:
        """End the thread, and drop the elements that it has read."""
        queue, thread = self._queue, self._thread
        queue.end()
        self._thread = None
        if thread is not None:
            thread.join(_JOIN_SECONDS)
        if thread is not None and thread.is_alive():
            warn_user(
                f"A data source has not returned for {_JOIN_SECONDS:.0f} s. The thread that reads "
                "it keeps running; it ends when the source returns, or with the process."
            )
        elif hasattr(queue.elements, "close"):
            queue.elements.close()
        queue.elements = iter(())


class _ElementQueue:
    """Shared by the reading thread and the caller: the elements that are ready, and how many more
    to read.
    """

    def __init__(self, elements: Iterator[Tree], ahead: int, draws: RandomDraws):
        self.elements = elements
        self._draws = draws
        self.ahead = ahead
        self.allowed: float = 0  # the number of elements that may be read in total
        self.read = 0
        self.ready: deque[tuple[Tree, BaseException | None]] = deque()
        self.changed = threading.Condition()
        self.ended = False
        self.stopped = False  # whether the thread reads no further

    def end(self) -> None:
        """Stop reading, and drop what is ready."""
        with self.changed:
            self.ended = True
            self.ready.clear()
            self.changed.notify_all()

    @property
    def draws_random_numbers(self) -> bool:
        """Whether the source draws random numbers that are recorded: the caller's thread reads."""
        return self._draws.recording and bool(self._draws.generators)

    def read_element(self) -> Tree:
        """Return the next element of the source."""
        return self._draws.read(self.elements) if self._draws.recording else next(self.elements)

    def fill(self) -> None:
        """Read until the source ends or fails, draws recorded random numbers, or `end` is called.
        Runs on the thread.
        """
        while not self.stopped:
            with self.changed:
                while not self.ended and (
                    len(self.ready) >= self.ahead or self.read >= self.allowed
                ):
                    self.changed.wait()
                if self.ended:
                    return
            element, error = None, None
            try:
                element = self.read_element()
            except BaseException as raised:  # raised again in the caller, StopIteration included
                error = raised
            with self.changed:
                self.read += 1
                self.ready.append((element, error))
                self.stopped = error is not None or self.draws_random_numbers
                self.changed.notify_all()
