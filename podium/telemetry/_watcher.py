"""Watcher: a thread that notes when an array has been computed, while the loop does other things.

The loop never waits for the device to measure it. Where it waits for data or runs callbacks, the
end of an execution would go unseen; so now and then one execution is watched from here.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import weakref

import jax

from podium.telemetry._durations import clock

_JOIN_SECONDS = 0.2


class Watcher:
    """Waits for one array at a time, on a thread that is started for the first one.

    The thread ends with `stop`, or when nothing refers to the watcher any more.

    Attributes:
        is_idle: Whether another array can be watched.
        seen: The latest number, and when the array of that execution had been computed.
    """

    def __init__(self) -> None:
        self.is_idle = True
        self._requests: queue.SimpleQueue[_Request | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self.seen = (-1, 0)
        weakref.finalize(self, self._requests.put, None).atexit = False

    def watch(self, number: int, array: jax.Array) -> None:
        """Watch the array of the execution with this number."""
        self.is_idle = False
        if self._thread is None:
            self._thread = threading.Thread(
                target=_run, args=(self._requests,), name="podium-telemetry", daemon=True
            )
            self._thread.start()
        self._requests.put((weakref.ref(self), number, array))

    def stop(self) -> None:
        """End the thread. One that waits for a device that hangs is left behind."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._requests.put(None)
            thread.join(_JOIN_SECONDS)


_Request = tuple["weakref.ref[Watcher]", int, jax.Array]


def _run(requests: queue.SimpleQueue[_Request | None]) -> None:
    while (request := requests.get()) is not None:
        reference, number, array = request
        seen = None
        with contextlib.suppress(Exception):  # raised in the loop, where it reads the array
            array.block_until_ready()
            seen = number, clock.ns()
        watcher = reference()
        if watcher is not None:
            watcher.seen = seen or watcher.seen
            watcher.is_idle = True
        del request, array, watcher
