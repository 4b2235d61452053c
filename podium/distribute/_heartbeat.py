"""Heartbeat: workers report to each other that they are alive, and stop when one is lost.

Every worker keeps a connection to worker 0 and sends a message at regular intervals. A process that
is killed closes its connection at once; a machine that is gone stops sending. Without this, the
others would wait for it in a collective. Not used under `podium launch --ray`, where Ray and JAX
find lost workers.
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
from types import TracebackType

from podium.distribute._addresses import open_port
from podium.distribute._rendezvous import accept_workers, format_greeting

LOST_PEER = 75  # exit status of a worker that stopped because of another one: try again
_COLLECTIVE_ERRORS = ("Gloo", "Connection closed by peer", "coordination", "NCCL", "barrier")


class Heartbeat:
    """The connections of one worker to the others.

    Args:
        worker: The index of this worker; 0 listens, the others connect.
        num_workers: The number of workers.
        heartbeat: The number of seconds of silence after which a worker counts as lost.
        stop: Called with a message when another worker is lost or has failed; ends this process.
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
        self._server: socket.socket | None = None
        self._thread: threading.Thread | None = None
        self._closing = threading.Event()
        self._failed = False
        self._suspended_seconds = 0.0  # for how long this process itself was last suspended
        self._previous_excepthook = sys.excepthook

    # --- connecting

    def listen(self, host: str) -> int:
        """Open a port for the other workers, and return its number."""
        self._server = open_port(host)
        port: int = self._server.getsockname()[1]
        return port

    def connect(self, host: str, port: int, token: str) -> None:
        """Connect all workers to worker 0. The token identifies the workers of the job.

        Raises:
            RuntimeError: Not all have connected within the time of a heartbeat, at least 30
                seconds.
        """
        timeout = max(30.0, self._heartbeat)
        if self._server is None:
            connection = socket.create_connection((host, port), timeout=timeout)
            connection.sendall(format_greeting(self._worker, token))
            self._peers[0] = _Peer(connection, f"worker 0 (the chief, on {host})")
        else:
            with self._server as server:
                greetings = accept_workers(server, self._num_workers, token, timeout)
            for number, worker in greetings.items():
                self._peers[number] = _Peer(
                    worker.connection,
                    f"worker {number} (process {worker.process} on {worker.host}, "
                    f"{worker.address})",
                )
        for peer in self._peers.values():
            peer.connection.setblocking(False)
        self._thread = threading.Thread(target=self._monitor, name="podium-heartbeat", daemon=True)
        self._thread.start()
        atexit.register(self.leave)
        self._previous_excepthook = sys.excepthook
        sys.excepthook = self._on_error

    # --- monitoring

    def _monitor(self) -> None:
        """Send and receive messages until `close`. Runs on the thread."""
        selector = selectors.DefaultSelector()
        for peer in self._peers.values():
            selector.register(peer.connection, selectors.EVENT_READ, peer)
        interval = self._heartbeat / 5
        next_beat = 0.0
        checked_at = time.monotonic()
        while not self._closing.is_set():
            now = time.monotonic()
            self._allow_for_suspension(now - checked_at - interval)
            checked_at = now
            if now >= next_beat:
                self._send("beat")
                next_beat = now + interval
            for key, _ in selector.select(timeout=min(interval, 0.5)):
                peer = key.data
                lines = peer.read()
                if lines is None:
                    selector.unregister(peer.connection)
                    peer.closed = True
                    if not peer.left and not self._closing.is_set():
                        self._on_lost(
                            peer, "its connection was closed; the process has probably been killed"
                        )
                for line in lines or ():
                    self._on_message(peer, line)
            for peer in self._peers.values():
                # As of the last check: this process may have been suspended since.
                silence = checked_at - peer.last_seen
                if not peer.left and silence > self._heartbeat:
                    self._on_lost(peer, f"it has not responded for {silence:.0f} seconds")

    def _allow_for_suspension(self, seconds: float) -> None:
        """Extend the deadlines of the others by the time for which this process itself was
        suspended (SIGSTOP, a suspended job).
        """
        if seconds > self._heartbeat / 2:
            self._suspended_seconds = seconds
            for peer in self._peers.values():
                peer.last_seen = min(peer.last_seen + seconds, time.monotonic())

    def _on_message(self, peer: _Peer, line: str) -> None:
        if line == "bye":
            peer.left = True
        elif line.startswith("failed "):
            peer.left = True
            reason = f"{peer.name} failed: {line.removeprefix('failed ')}"
            self._stop_worker(reason, forward=True)
        elif line.startswith("lost "):
            self._stop_worker(line.removeprefix("lost "), forward=False)

    def _on_lost(self, peer: _Peer, reason: str) -> None:
        peer.left = True
        self._stop_worker(f"{peer.name} was lost: {reason}", forward=True)

    def _stop_worker(self, reason: str, forward: bool) -> None:
        if self._closing.is_set() or self._failed:
            return
        if forward and self._worker == 0:
            self._send(f"lost {reason}")
        if self._suspended_seconds:
            reason += (
                f" (this worker, {self._worker}, had itself been suspended for "
                f"{self._suspended_seconds:.0f} seconds)"
            )
        self._stop(
            f"podium: {reason}. Worker {self._worker} stops, since workers cannot continue without "
            "each other. Start the job again: it continues from its last checkpoint."
        )

    def _send(self, line: str) -> None:
        for peer in self._peers.values():
            with contextlib.suppress(OSError):
                peer.connection.send((line.replace("\n", " ")[:2000] + "\n").encode())

    # --- leaving

    def leave(self) -> None:
        """Announce that this worker ends normally; or end at once, if it failed."""
        if self._failed:
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(Exception):
                    stream.flush()
            os._exit(1)  # a normal exit of JAX would wait for the others
        self._send("bye")
        while self._worker == 0 and any(self._waits_for(peer) for peer in self._peers.values()):
            time.sleep(0.02)  # the others need the chief's services until they have ended
        self._closing.set()

    def _waits_for(self, peer: _Peer) -> bool:
        """Return whether to wait for a worker to end; after its goodbye it has the time of a
        heartbeat.
        """
        has_expired = peer.left and time.monotonic() - peer.last_seen > self._heartbeat
        return not peer.closed and not has_expired

    def close(self) -> None:
        """Stop monitoring and close the connections. At the end of a process they stay open, so
        that the others see when it has ended.
        """
        self._closing.set()
        if self._thread is not None:
            self._thread.join()
        for peer in self._peers.values():
            peer.connection.close()

    def _on_error(
        self, kind: type[BaseException], error: BaseException, frames: TracebackType | None
    ) -> None:
        """Report an error that ends this process. If it is an error of a collective, another worker
        is the usual cause; wait until it is known.
        """
        text = "".join(traceback.format_exception_only(kind, error)).strip()
        if is_collective_error(text):
            # Meanwhile the thread finds out which worker it was, and ends the process.
            time.sleep(min(5.0, self._heartbeat))
        self._failed = True
        self._send(f"failed {text}")
        self._previous_excepthook(kind, error, frames)


class _Peer:
    """The connection to another worker."""

    def __init__(self, connection: socket.socket, name: str):
        self.connection = connection
        self.name = name
        self.last_seen = time.monotonic()
        self.left = False  # it has said goodbye, or is known to be lost
        self.closed = False  # its process has ended
        self._incomplete = b""

    def read(self) -> list[str] | None:
        """Return the lines that have arrived; None if the connection is closed."""
        try:
            data = self.connection.recv(65536)
        except BlockingIOError:
            return []
        except OSError:
            return None
        if not data:
            return None
        self.last_seen = time.monotonic()
        *lines, self._incomplete = (self._incomplete + data).split(b"\n")
        return [line.decode(errors="replace") for line in lines]


def is_collective_error(text: str) -> bool:
    """Return whether an error may be due to the loss of another worker."""
    return any(pattern in text for pattern in _COLLECTIVE_ERRORS)


def end_process(message: str) -> None:
    """Write a message to stderr, and end this process at once."""
    sys.stdout.flush()
    sys.stderr.write(message + "\n")
    sys.stderr.flush()
    os._exit(LOST_PEER)
