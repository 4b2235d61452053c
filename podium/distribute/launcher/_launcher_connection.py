"""LauncherConnection: how a script and `podium launch` talk, with or without Ray.

The script ends when its launcher does, and stops at a safepoint when the launcher has received a
signal.
"""

from __future__ import annotations

import contextlib
import math
import os
import socket
import threading
from collections.abc import Callable

from podium.distribute._heartbeat import end_process
from podium.distribute.elastic._worker_process import SOCKET_VARIABLE as RAY_SOCKET_VARIABLE

SOCKET_VARIABLE = "PODIUM_LAUNCHER_SOCKET"  # the descriptor of a socket, without Ray
_PAUSE_SECONDS = 20.0  # for the launcher to answer


class LauncherConnection:
    """The connection of a script to its launcher; with Ray, through the actor that has started it.

    A signal to the launcher reaches workers at different steps, and one that stops before the
    others would break their next step. So the launcher asks all for the number of safepoints that
    they have reached ("pause"), where they wait meanwhile, and has them stop at the next one after
    the largest ("stop 8"). The thread answers, since the main thread may be waiting for another
    worker in a step.

    Args:
        connection: A socket; messages are lines.
        end: Called with a message when the launcher has ended; ends this process.
        is_elastic: Whether the launcher uses Ray.

    Attributes:
        is_elastic: Whether the launcher uses Ray.
        is_growing: Whether the launcher has asked to stop at the next checkpoint.
        is_stoppable: Whether a run that stops at a safepoint is in progress.
    """

    def __init__(
        self,
        connection: socket.socket,
        end: Callable[[str], None] = end_process,
        is_elastic: bool = False,
    ):
        self._connection = connection
        self._end = end
        self.is_elastic = is_elastic
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


def connect_to_launcher() -> LauncherConnection | None:
    """Connect to `podium launch`, if that has started this process."""
    for variable in (SOCKET_VARIABLE, RAY_SOCKET_VARIABLE):
        descriptor = os.environ.pop(variable, None)  # not for the processes that this one starts
        if descriptor is not None:
            os.set_inheritable(int(descriptor), False)
            connection = socket.socket(fileno=int(descriptor))
            is_elastic = variable == RAY_SOCKET_VARIABLE
            _connections.append(LauncherConnection(connection, is_elastic=is_elastic))
    return launcher_connection()


def launcher_connection() -> LauncherConnection | None:
    """Return the connection to `podium launch`, if that has started this process."""
    return _connections[0] if _connections else None
