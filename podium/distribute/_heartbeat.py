"""Watch: workers tell each other that they live, and stop when one does not, saying which.

Every worker keeps a connection to worker 0 and sends a beat on it. A process that is killed closes
its connection at once; a machine that is gone falls silent. Without this, the others would wait for
it in a collective.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import selectors
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

LOST_PEER = 75  # the exit status of a worker that stopped because of another: try again
_FROM_COLLECTIVES = ("Gloo", "Connection closed by peer", "coordination", "NCCL", "barrier")


class Watch:
    """The connections of one worker.

    Args:
        worker: The number of this worker; 0 listens, the others connect.
        num_workers: How many there are.
        heartbeat: After so many seconds of silence a worker counts as lost.
        stop: Called with what is to be said when another worker is lost or has failed; ends this
            process.
    """

    def __init__(
        self,
        worker: int,
        num_workers: int,
        heartbeat: float,
        stop: Callable[[str], None] | None = None,
    ):
        self._worker = worker
        self._num_workers = num_workers
        self._heartbeat = heartbeat
        self._stop = stop or end_process
        self._peers: dict[int, _Peer] = {}
        self._listener: socket.socket | None = None
        self._thread: threading.Thread | None = None
        self._closing = threading.Event()
        self._failed = False
        self._stopped = 0.0  # for how many seconds this process itself was stopped, the last time

    # --- meeting

    def listen(self, host: str) -> int:
        """Open a port for the others; returns its number."""
        self._listener = socket.create_server((host, 0), backlog=self._num_workers)
        return self._listener.getsockname()[1]

    def meet(self, host: str, port: int, token: str) -> None:
        """Connect all workers to worker 0. The token keeps strangers out.

        Raises:
            RuntimeError: Not all have come within the time of a heartbeat, at least 30 seconds.
        """
        patience = max(30.0, self._heartbeat)
        if self._listener is None:
            connection = socket.create_connection((host, port), timeout=patience)
            connection.sendall(
                f"hello {self._worker} {os.getpid()} {socket.gethostname()} {token}\n".encode()
            )
            self._peers[0] = _Peer(connection, f"worker 0 (the chief, on {host})")
        else:
            self._listener.settimeout(patience)
            try:
                while len(self._peers) < self._num_workers - 1:
                    self._welcome(token)
            except TimeoutError:
                missing = sorted(set(range(1, self._num_workers)) - set(self._peers))
                raise RuntimeError(
                    f"Workers {missing} have not come within {patience:.0f} seconds."
                ) from None
            finally:
                self._listener.close()
        for peer in self._peers.values():
            peer.connection.setblocking(False)
        self._thread = threading.Thread(target=self._watch, name="podium-watch", daemon=True)
        self._thread.start()
        atexit.register(self.leave)
        self._before = sys.excepthook
        sys.excepthook = self._on_error

    def _welcome(self, token: str) -> None:
        assert self._listener is not None
        connection, address = self._listener.accept()
        connection.settimeout(5.0)
        with contextlib.suppress(OSError, ValueError):
            word, number, process, name, said = _first_line(connection).split()
            if word == "hello" and said == token:
                self._peers[int(number)] = _Peer(
                    connection, f"worker {number} (process {process} on {name}, {address[0]})"
                )
                return
        connection.close()

    # --- watching

    def _watch(self) -> None:
        selector = selectors.DefaultSelector()
        for peer in self._peers.values():
            selector.register(peer.connection, selectors.EVENT_READ, peer)
        interval = self._heartbeat / 5
        next_beat = 0.0
        looked = time.monotonic()
        while not self._closing.is_set():
            now = time.monotonic()
            self._excuse(now - looked - interval)
            looked = now
            if now >= next_beat:
                self._tell("beat")
                next_beat = now + interval
            for key, _ in selector.select(timeout=min(interval, 0.5)):
                peer = key.data
                lines = peer.read()
                if lines is None:
                    selector.unregister(peer.connection)
                    peer.gone = True
                    if not peer.left and not self._closing.is_set():
                        self._lost(
                            peer, "its connection was closed; the process has probably been killed"
                        )
                for line in lines or ():
                    self._hear(peer, line)
            for peer in self._peers.values():
                silent = (
                    looked - peer.heard
                )  # as of when this worker last listened: it may have been stopped since
                if not peer.left and silent > self._heartbeat:
                    self._lost(peer, f"it has not been heard of for {silent:.0f} seconds")

    def _excuse(self, stopped: float) -> None:
        """Hear that this process was stopped (SIGSTOP, a suspended job) for some seconds, in which
        it could hear nobody.
        """
        if stopped > self._heartbeat / 2:
            self._stopped = stopped
            for peer in self._peers.values():
                peer.heard = min(peer.heard + stopped, time.monotonic())

    def _hear(self, peer: _Peer, line: str) -> None:
        if line == "bye":
            peer.left = True
        elif line.startswith("failed "):
            peer.left = True
            self._end(f"{peer.name} failed: {line[7:]}", f"lost {peer.name} failed: {line[7:]}")
        elif line.startswith("lost "):
            self._end(line[5:], None)

    def _lost(self, peer: _Peer, reason: str) -> None:
        peer.left = True
        self._end(f"{peer.name} was lost: {reason}", f"lost {peer.name} was lost: {reason}")

    def _end(self, what: str, word: str | None) -> None:
        if self._closing.is_set() or self._failed:
            return
        if word is not None and self._worker == 0:
            self._tell(word)
        if self._stopped:
            what += f" (this worker, {self._worker}, had itself been stopped for {self._stopped:.0f} seconds)"
        self._stop(
            f"podium: {what}. Worker {self._worker} stops, since workers cannot go on without each "
            "other. Start the whole job again: it goes on from its last checkpoint."
        )

    def _tell(self, line: str) -> None:
        for peer in self._peers.values():
            with contextlib.suppress(OSError):
                peer.connection.send((line.replace("\n", " ")[:2000] + "\n").encode())

    # --- leaving

    def leave(self) -> None:
        """Tell the others that this worker ends as it should; or end at once, if it failed."""
        if self._failed:
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(Exception):
                    stream.flush()
            os._exit(1)  # JAX would wait for the others at its end
        self._tell("bye")
        while self._worker == 0 and any(self._waits_for(peer) for peer in self._peers.values()):
            time.sleep(0.02)  # the others need the chief's services until they have ended
        self._closing.set()

    def _waits_for(self, peer: _Peer) -> bool:
        """Tell whether a worker is still to end; after its goodbye it has the time of a
        heartbeat.
        """
        return not peer.gone and not (peer.left and time.monotonic() - peer.heard > self._heartbeat)

    def close(self) -> None:
        """End the watch and its connections. At the end of a process they stay, so that the others
        see when it is gone.
        """
        self._closing.set()
        if self._thread is not None:
            self._thread.join()
        for peer in self._peers.values():
            peer.connection.close()

    def _on_error(self, kind: type[BaseException], error: BaseException, frames: Any) -> None:
        """Hear of an error that ends this process; one of a collective is usually another worker's
        fault, which is waited for.
        """
        text = "".join(traceback.format_exception_only(kind, error)).strip()
        if any(word in text for word in _FROM_COLLECTIVES):
            time.sleep(
                min(5.0, self._heartbeat)
            )  # the watch knows better which worker it was, and ends the process
        self._failed = True
        self._tell(f"failed {text}")
        self._before(kind, error, frames)


class _Peer:
    """The connection to another worker."""

    def __init__(self, connection: socket.socket, name: str):
        self.connection = connection
        self.name = name
        self.heard = time.monotonic()
        self.left = False  # it said goodbye, or is known to be lost
        self.gone = False  # its process has ended
        self._rest = b""

    def read(self) -> list[str] | None:
        """Return the lines that have come; None if the connection is closed."""
        try:
            data = self.connection.recv(65536)
        except BlockingIOError:
            return []
        except OSError:
            return None
        if not data:
            return None
        self.heard = time.monotonic()
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [line.decode(errors="replace") for line in lines]


def _first_line(connection: socket.socket) -> str:
    """Read one line and not a byte more: the watch reads what follows."""
    line = b""
    while not line.endswith(b"\n") and len(line) < 500:
        line += connection.recv(1) or b"\n"
    return line.decode()


def end_process(message: str) -> None:
    """Say why, and end this process at once."""
    sys.stdout.flush()
    sys.stderr.write(message + "\n")
    sys.stderr.flush()
    os._exit(LOST_PEER)
