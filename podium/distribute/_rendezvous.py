"""The greetings with which workers identify themselves to worker 0.

All connections are read at once, so that one that sends nothing, or little, delays no other. Who
does not send a whole greeting in time, or sends another job's, is disconnected.
"""

from __future__ import annotations

import dataclasses
import hmac
import os
import selectors
import socket
import time

_GREETING_SECONDS = 5.0  # for an entire greeting, from when its connection was accepted
_MAX_GREETING = 500  # bytes
_MAX_PENDING = 256  # connections that have not greeted; with more, the oldest is closed


@dataclasses.dataclass(frozen=True)
class Greeting:
    """A worker that has connected.

    Attributes:
        worker: Its index.
        process: The ID of its process.
        host: The name of its machine.
        address: The address from which it has connected.
        connection: Its connection; what follows the greeting has not been read.
    """

    worker: int
    process: str
    host: str
    address: str
    connection: socket.socket


def format_greeting(worker: int, token: str) -> bytes:
    """Return the line with which a worker greets worker 0. The token identifies the job."""
    return f"hello {worker} {os.getpid()} {socket.gethostname()} {token}\n".encode()


def accept_workers(
    server: socket.socket, num_workers: int, token: str, timeout: float
) -> dict[int, Greeting]:
    """Accept connections until all other workers have greeted, and return their greetings.

    Args:
        server: The socket that accepts connections.
        num_workers: The number of workers, with worker 0.
        token: What the greetings must contain.
        timeout: For how many seconds to wait for all.

    Raises:
        RuntimeError: Workers are missing; the message names them.
    """
    rendezvous = _Rendezvous(server)
    missing = set(range(1, num_workers))
    workers: dict[int, Greeting] = {}
    deadline = time.monotonic() + timeout
    try:
        while missing:
            if time.monotonic() > deadline:
                raise RuntimeError(
                    f"Workers {sorted(missing)} have not connected within {timeout:.0f} seconds."
                )
            for pending in rendezvous.wait(deadline):
                greeting = pending.parse(token)
                if greeting is None or greeting.worker not in missing:
                    pending.connection.close()
                else:
                    missing.remove(greeting.worker)
                    workers[greeting.worker] = greeting
    finally:
        rendezvous.close()
    return workers


class _Rendezvous:
    """The connections whose greetings are incomplete."""

    def __init__(self, server: socket.socket):
        self._server = server
        self._server.setblocking(False)
        self._pending: dict[socket.socket, _Pending] = {}  # oldest first
        self._selector = selectors.DefaultSelector()
        self._selector.register(server, selectors.EVENT_READ)

    def wait(self, deadline: float) -> list[_Pending]:
        """Accept and read what arrives until a time; return the connections whose line is complete,
        which are the caller's now. Closes those that are too slow.
        """
        now = time.monotonic()
        for pending in list(self._pending.values()):
            if now > pending.deadline:
                self._remove(pending).close()
        until = min([deadline, *(pending.deadline for pending in self._pending.values())])
        complete = []
        for key, _ in self._selector.select(max(0.0, until - now) + 0.001):
            if key.data is None:
                self._accept()
            elif key.data in self._pending and self._pending[key.data].read():
                complete.append(self._pending[key.data])
                self._remove(complete[-1])
        return complete

    def _accept(self) -> None:
        try:
            connection, address = self._server.accept()
        except OSError:
            return  # the client has gone already
        connection.setblocking(False)
        self._pending[connection] = _Pending(connection, str(address[0]))
        self._selector.register(connection, selectors.EVENT_READ, connection)
        if len(self._pending) > _MAX_PENDING:
            self._remove(next(iter(self._pending.values()))).close()

    def _remove(self, pending: _Pending) -> socket.socket:
        self._selector.unregister(pending.connection)
        del self._pending[pending.connection]
        return pending.connection

    def close(self) -> None:
        """Close the connections that have not greeted."""
        self._selector.close()
        for connection in self._pending:
            connection.close()


class _Pending:
    """A connection whose greeting is incomplete."""

    def __init__(self, connection: socket.socket, address: str):
        self.deadline = time.monotonic() + _GREETING_SECONDS
        self.connection = connection
        self._address = address
        self._line = b""

    def read(self) -> bool:
        """Read what has arrived of the greeting and not a byte more; return whether it has ended,
        be it by an error.
        """
        try:
            while not self._line.endswith(b"\n"):
                byte = self.connection.recv(1)
                self._line += byte
                if not byte or len(self._line) > _MAX_GREETING:
                    return True
        except BlockingIOError:
            return False
        except OSError:
            return True
        return True

    def parse(self, token: str) -> Greeting | None:
        """Return the greeting; None if it is not one of this job."""
        try:
            command, worker, process, host, received = self._line.decode().split()
            if command != "hello" or not hmac.compare_digest(received.encode(), token.encode()):
                return None
            return Greeting(int(worker), process, host, self._address, self.connection)
        except ValueError:
            return None
