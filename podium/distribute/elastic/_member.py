"""What a script does because `podium launch --ray` has started it.

It reports its checkpoints, stops at one when it is asked to, and ends when the launcher does. Ray
and JAX's coordination service find lost workers, so there are no heartbeats of ours: a worker
whose connection breaks exits, and the launcher forms the group again.
"""

from __future__ import annotations

import atexit
import contextlib
import math
import os
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable
from types import TracebackType

from podium.distribute._heartbeat import end_process, is_collective_error
from podium.distribute._strategy import Strategy
from podium.distribute.elastic._worker_process import SOCKET_VARIABLE

_PAUSE_SECONDS = 20.0  # for the launcher to answer
_LOSS_SECONDS = 1.0  # for JAX to report the loss on its own


class LauncherConnection:
    """The connection of a script to its launcher, through the actor that has started it.

    A signal to the launcher reaches workers at different steps, and one that stops before the
    others would break their next step. So the launcher asks all for the number of safepoints that
    they have reached ("pause"), where they wait meanwhile, and has them stop at the next one after
    the largest ("stop 8"). The thread answers, since the main thread may be waiting for another
    worker in a step.

    Args:
        connection: A socket; messages are lines.
        end: Called with a message when the launcher has ended; ends this process.

    Attributes:
        is_growing: Whether the launcher has asked to stop at the next checkpoint.
        is_stoppable: Whether a run that stops at a safepoint is in progress.
    """

    def __init__(self, connection: socket.socket, end: Callable[[str], None] = end_process):
        self._connection = connection
        self._end = end
        self.is_growing = False
        self.is_stoppable = False
        self._condition = threading.Condition()
        self._num_safepoints = 0
        self._is_paused = False
        self._stop_at = math.inf
        self.send("connected")
        threading.Thread(target=self._receive, name="podium-launcher", daemon=True).start()

    def _receive(self) -> None:
        with contextlib.suppress(OSError), self._connection as peer, peer.makefile("r") as lines:
            for line in lines:
                self._handle(*line.split())
        self._end("podium: `podium launch` has ended, and so does this worker.")

    def _handle(self, command: str, *arguments: str) -> None:
        with self._condition:
            if command == "grow":
                self.is_growing = True
            elif command == "pause":
                self._is_paused = self.is_stoppable
                self.send(f"safepoint {self._num_safepoints if self.is_stoppable else -1}")
            else:
                self._is_paused = False
                self._stop_at = int(arguments[0]) if command == "stop" else math.inf
            self._condition.notify_all()

    def pass_safepoint(self) -> bool:
        """Return whether to stop at this safepoint, as all workers do."""
        with self._condition:
            self._num_safepoints += 1
            self._condition.wait_for(lambda: not self._is_paused, _PAUSE_SECONDS)
            return self._num_safepoints >= self._stop_at

    @property
    def stops(self) -> bool:
        """Whether all workers stop at a safepoint, which they may not have reached."""
        return self._stop_at < math.inf

    def send(self, message: str) -> None:
        """Send a line to the launcher."""
        with contextlib.suppress(OSError):
            self._connection.sendall(f"{message}\n".encode())


_connections: list[LauncherConnection] = []  # of this process: one at most


def connect_to_launcher() -> bool:
    """Return whether `podium launch --ray` has started this process; connect to it."""
    descriptor = os.environ.pop(SOCKET_VARIABLE, None)  # not for the processes that this one starts
    if descriptor is not None:
        os.set_inheritable(int(descriptor), False)
        _connections.append(LauncherConnection(socket.socket(fileno=int(descriptor))))
    return bool(_connections)


def launcher_connection() -> LauncherConnection | None:
    """Return the connection to `podium launch --ray`, if that has started this process."""
    return _connections[0] if _connections else None


def report_checkpoint(path: str, position: int) -> None:
    """Report a checkpoint to the launcher, if there is one: it counts losses from the last one.

    Args:
        path: Where the checkpoint was saved.
        position: How far the run is, such as the number of its steps.
    """
    for connection in _connections:
        connection.send(f"checkpoint {position} {path}".replace("\n", " "))


def should_grow_at_checkpoint(strategy: Strategy) -> bool:
    """Return whether the launcher wants to form the group again with more workers. All workers must
    call it after the same step; they agree.
    """
    if not _connections:
        return False
    return bool(strategy.reduce_across_workers(_connections[0].is_growing, how="chief"))


def exit_on_errors(worker: int) -> None:
    """Exit at once after an error of this process: with 1, or with 75 if another worker is the
    cause. A normal exit of JAX would wait for the others.
    """
    previous = sys.excepthook
    statuses: list[int] = []

    def handle(
        kind: type[BaseException], error: BaseException, frames: TracebackType | None
    ) -> None:
        text = "".join(traceback.format_exception_only(kind, error)).strip()
        if is_collective_error(text):
            time.sleep(_LOSS_SECONDS)
            end_process(
                f"podium: worker {worker} has lost its connection to another worker and stops; the "
                f"launcher forms the group again. JAX reported: {text[:500]}"
            )
        statuses.append(1)
        previous(kind, error, frames)

    def leave() -> None:
        if statuses:
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(Exception):
                    stream.flush()
            os._exit(statuses[0])

    sys.excepthook = handle
    atexit.register(leave)
