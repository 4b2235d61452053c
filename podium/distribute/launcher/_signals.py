"""The signals that a launcher receives, and what it sends to its workers for them."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType

# What each signal to the launcher sends to the workers; SIGHUP would end them without a checkpoint.
FORWARDED = {
    signal.SIGINT: signal.SIGINT,
    signal.SIGTERM: signal.SIGTERM,
    signal.SIGHUP: signal.SIGTERM,
}


@contextlib.contextmanager
def receive_signals() -> Iterator[list[int]]:
    """Collect the signals that arrive, instead of being ended by them. They can be received in the
    main thread only.
    """
    received: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield received
        return

    def record(number: int, frame: FrameType | None) -> None:
        received.append(number)

    previous = {
        number: signal.signal(number, record)
        for number in FORWARDED
        if signal.getsignal(number) is not signal.SIG_IGN  # nohup, or in the background
    }
    try:
        yield received
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def announce_signal(number: int, grace: float) -> signal.Signals:
    """Report a signal to the launcher, and return the one to send to its workers."""
    name = signal.Signals(number).name
    report(f"received {name}; the workers have {grace:g} seconds to save and exit.")
    return FORWARDED[signal.Signals(number)]


def report(message: str) -> None:
    """Write a message of the launcher to stderr."""
    sys.stderr.write(f"podium launch: {message}\n")
    sys.stderr.flush()
