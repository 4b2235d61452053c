"""WorkerConnections: the launcher's ends of its connections to the workers on this machine.

`_launcher_connection.py` has the other ends. A worker ends when its connection is closed.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterable

AGREE_SECONDS = 5.0  # for workers to report where they are


class WorkerConnections:
    """Connections to workers, in the order in which they are started."""

    def __init__(self) -> None:
        self._sockets: list[socket.socket] = []
        self._condition = threading.Condition()
        self._safepoints: dict[int, int | None] = {}  # of the workers that have connected

    def add(self) -> socket.socket:
        """Return the end of a new connection that the next worker inherits."""
        own_end, other_end = socket.socketpair()
        worker = len(self._sockets)
        self._sockets.append(own_end)
        threading.Thread(target=self._receive, args=(worker, own_end), daemon=True).start()
        return other_end

    def stop_at_safepoint(self) -> bool:
        """Have all workers stop at the same safepoint of `BackupAndRestore`, where they are at the
        same step; return whether that is possible.
        """
        with self._condition:
            if len(self._safepoints) < len(self._sockets):
                return False
            self._safepoints = dict.fromkeys(self._safepoints)
            self._send("pause")
            self._condition.wait_for(self._have_all_answered, AGREE_SECONDS)
            stop = find_safepoint_to_stop_at(self._safepoints.values())
            if stop is None or len(self._safepoints) < len(self._sockets):
                self._send("continue")
                return False
            self._send(f"stop {stop}")
            return True

    def close(self) -> None:
        """Close the connections, which ends the workers that still run."""
        for connection in self._sockets:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)  # the thread that reads it ends
            connection.close()

    def _receive(self, worker: int, connection: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError), connection.makefile("r") as lines:
            for line in lines:
                command, _, text = line.strip().partition(" ")
                with self._condition:
                    if command == "connected":
                        self._safepoints[worker] = None
                    elif command == "safepoint":
                        self._safepoints[worker] = int(text)
                    self._condition.notify_all()
        with self._condition:
            self._safepoints.pop(worker, None)
            self._condition.notify_all()

    def _have_all_answered(self) -> bool:
        is_one_lost = len(self._safepoints) < len(self._sockets)
        return is_one_lost or None not in self._safepoints.values()

    def _send(self, message: str) -> None:
        for connection in self._sockets:
            with contextlib.suppress(OSError):
                connection.sendall(f"{message}\n".encode())


def find_safepoint_to_stop_at(reached: Iterable[int | None]) -> int | None:
    """Return the next safepoint that no worker has reached; None if a worker cannot stop at one.

    Args:
        reached: How many safepoints each worker has passed; negative if it has none to stop at,
            None if it has not answered.
    """
    answers = [-1 if number is None else number for number in reached]
    return None if min(answers, default=-1) < 0 else max(answers) + 1
