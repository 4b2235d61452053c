"""ReadAhead: reads a slow source on a thread, a few elements ahead of the one who takes them.

A quick source is read in the caller's own thread: handing an element over would cost more than
reading it.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from podium.core import warn_user

_SLOW = 3e-4  # seconds for one element: from there on a thread pays
_SLOW_READS = 3  # so many slow elements, and the thread begins
_PATIENCE = 10.0  # seconds to wait for the source to return at the end


class ReadAhead:
    """Walks `elements`, up to `ahead` of them read before they are asked for.

    Errors of the source are raised where the element would have been. Nothing is read ahead beyond
    what `allow` allows. The thread ends with `close`, with the source, and when nobody holds this
    object any more.

    Args:
        elements: What to read; nobody else may read from it meanwhile.
        ahead: How many elements may wait.
    """

    def __init__(self, elements: Iterable, ahead: int):
        self._shelf = _Shelf(iter(elements), max(2, ahead))
        self._slow_reads = 0
        self._thread: threading.Thread | None = None
        weakref.finalize(self, self._shelf.end).atexit = False

    def allow(self, count: int | None, ahead: int) -> None:
        """Allow to read `count` elements more than are waiting now, None for all; `ahead` of them
        at a time.
        """
        shelf = self._shelf
        with shelf.changed:
            shelf.allowed = float("inf") if count is None else shelf.read - len(shelf.ready) + count
            shelf.ahead = max(2, ahead)
            shelf.changed.notify_all()

    def __iter__(self) -> ReadAhead:
        return self

    def __next__(self) -> Any:
        shelf = self._shelf
        if self._thread is None:
            start = time.perf_counter()
            element = next(shelf.elements)
            shelf.read += 1
            self._slow_reads += time.perf_counter() - start > _SLOW
            if self._slow_reads == _SLOW_READS and not shelf.ended:
                self._thread = threading.Thread(
                    target=shelf.fill, name="podium-read-ahead", daemon=True
                )
                self._thread.start()
            return element
        with shelf.changed:
            shelf.allowed = max(
                shelf.allowed, shelf.read - len(shelf.ready) + 1
            )  # what is asked for may be read
            shelf.changed.notify_all()
            while not shelf.ready:
                shelf.changed.wait()
            element, error = shelf.ready.popleft()
            shelf.changed.notify_all()
        if error is not None:
            self._thread.join()
            self._thread = None
            shelf.elements = iter(())
            raise error
        return element

    def close(self) -> None:
        """End the thread, and drop what it has read."""
        shelf, thread = self._shelf, self._thread
        shelf.end()
        self._thread = None
        if thread is not None:
            thread.join(_PATIENCE)
        if thread is not None and thread.is_alive():
            warn_user(
                f"A data source has not returned for {_PATIENCE:.0f} s; the thread that reads it "
                "is left behind and ends with the process, or when the source returns."
            )
        elif hasattr(shelf.elements, "close"):
            shelf.elements.close()
        shelf.elements = iter(())


class _Shelf:
    """What the reading thread and the one who takes share: elements that are ready, and how many
    more are wanted.
    """

    def __init__(self, elements: Iterator, ahead: int):
        self.elements = elements
        self.ahead = ahead
        self.allowed: float = 0  # elements that may be read in all
        self.read = 0
        self.ready: deque[tuple[Any, BaseException | None]] = deque()
        self.changed = threading.Condition()
        self.ended = False

    def end(self) -> None:
        """Want nothing any more."""
        with self.changed:
            self.ended = True
            self.ready.clear()
            self.changed.notify_all()

    def fill(self) -> None:
        """Read until the source ends or fails, or nobody wants more. The thread does this."""
        while True:
            with self.changed:
                while not self.ended and (
                    len(self.ready) >= self.ahead or self.read >= self.allowed
                ):
                    self.changed.wait()
                if self.ended:
                    return
            element, error = None, None
            try:
                element = next(self.elements)
            except (
                BaseException
            ) as raised:  # the caller's thread raises it, the end of the source included
                error = raised
            with self.changed:
                self.read += 1
                self.ready.append((element, error))
                self.changed.notify_all()
            if error is not None:
                return
