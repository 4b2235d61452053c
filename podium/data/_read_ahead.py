"""ReadAhead: reads a slow source on a thread, a few elements ahead of the one who takes them.

A quick source is read in the caller's own thread: handing an element over would cost more than reading it.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterable
from typing import Any

from podium.core import warn_user

_SLOW = 3e-4  # seconds for one element: from there on a thread pays
_SLOW_READS = 3  # so many slow elements, and the thread begins
_PATIENCE = 10.0  # seconds to wait for the source to return at the end


class ReadAhead:
    """Walks `elements`, up to `ahead` of them read before they are asked for.

    Errors of the source are raised where the element would have been. Nothing is read ahead beyond what `allow` allows.

    Args:
        elements: What to read; nobody else may read from it meanwhile.
        ahead: How many elements may wait.
    """

    def __init__(self, elements: Iterable, ahead: int):
        self._elements = iter(elements)
        self._ahead = max(2, ahead)
        self._allowed: float = 0  # elements that may be read in all
        self._read = 0
        self._slow_reads = 0
        self._ready: deque[tuple[Any, BaseException | None]] = deque()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False

    def allow(self, count: int | None, ahead: int) -> None:
        """Allow to read `count` elements more than are waiting now, None for all; `ahead` of them at a time."""
        with self._changed:
            self._allowed = float("inf") if count is None else self._read - len(self._ready) + count
            self._ahead = max(2, ahead)
            self._changed.notify_all()

    def __iter__(self) -> ReadAhead:
        return self

    def __next__(self) -> Any:
        if self._thread is None:
            start = time.perf_counter()
            element = next(self._elements)
            self._read += 1
            self._slow_reads += time.perf_counter() - start > _SLOW
            if self._slow_reads == _SLOW_READS and not self._closed:
                self._thread = threading.Thread(target=self._read_on, name="podium-read-ahead", daemon=True)
                self._thread.start()
            return element
        with self._changed:
            self._allowed = max(self._allowed, self._read - len(self._ready) + 1)  # what is asked for may be read
            self._changed.notify_all()
            while not self._ready:
                self._changed.wait()
            element, error = self._ready.popleft()
            self._changed.notify_all()
        if error is not None:
            self._thread.join()
            self._thread = None
            self._elements = iter(())
            raise error
        return element

    def _read_on(self) -> None:
        """Read until the source ends or fails, or nobody wants more."""
        while True:
            with self._changed:
                while not self._closed and (len(self._ready) >= self._ahead or self._read >= self._allowed):
                    self._changed.wait()
                if self._closed:
                    return
            element, error = None, None
            try:
                element = next(self._elements)
            except BaseException as raised:  # the caller's thread raises it, the end of the source included
                error = raised
            with self._changed:
                self._read += 1
                self._ready.append((element, error))
                self._changed.notify_all()
            if error is not None:
                return

    def close(self) -> None:
        """End the thread, and drop what it has read."""
        with self._changed:
            self._closed = True
            self._ready.clear()
            self._changed.notify_all()
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join(_PATIENCE)
        if thread is not None and thread.is_alive():
            warn_user(
                f"A data source has not returned for {_PATIENCE:.0f} s; the thread that reads it is left behind and ends with "
                "the process, or when the source returns."
            )
        elif hasattr(self._elements, "close"):
            self._elements.close()
        self._elements = iter(())
