"""defer_interrupts: a block that Ctrl-C does not divide.

It owns the handler of SIGINT for the length of the block. Only the main thread receives signals, so
in other threads it does nothing.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType


def _never() -> bool:
    return False


@contextlib.contextmanager
def defer_interrupts(unless: Callable[[], bool] = _never) -> Iterator[None]:
    """Defer Ctrl-C until the end of the block.

    Args:
        unless: Called at an interrupt: if it returns True, the interrupt is not deferred.

    Example:
        >>> import signal
        >>> from podium.core.compile._interrupts import defer_interrupts
        >>> try:
        ...     with defer_interrupts():
        ...         signal.raise_signal(signal.SIGINT)
        ...         print("completed")
        ... except KeyboardInterrupt:
        ...     print("interrupted")
        completed
        interrupted
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler):
        yield
        return
    deferred: list[tuple[int, FrameType | None]] = []

    def defer(number: int, frame: FrameType | None) -> None:
        if unless():
            handler(number, frame)
        else:
            deferred.append((number, frame))

    signal.signal(signal.SIGINT, defer)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if deferred:
            handler(*deferred[0])
