"""WorkerProcess: the actor that runs a worker's script on a node of a Ray cluster.

The script is a process of its own, as under `podium launch` without Ray. It ends with the actor,
and so do the processes that it has started. Imports nothing of Podium: Ray sends this module to
nodes as it is, so that an actor starts without importing JAX.
"""

from __future__ import annotations

import collections
import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import IO

SOCKET_VARIABLE = "PODIUM_ELASTIC_SOCKET"  # a descriptor; the script reports checkpoints there
_MAX_LINES = 10_000  # that the launcher has not received; then the script waits
_MAX_LINES_AT_ONCE = 1_000
_OUTPUT_SECONDS = 5.0  # for output that processes of an ended script may still hold open
# Runs in the process of the script, ahead of it. Asks Linux (PR_SET_PDEATHSIG) to kill the process
# when its parent ends, unless that has happened already. Ray blocks SIGINT in its processes.
_START_SCRIPT = """
import ctypes, os, signal, sys
if sys.platform.startswith("linux"):
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
signal.pthread_sigmask(signal.SIG_SETMASK, ())
if os.getppid() == int(sys.argv[1]):
    os.execv(sys.argv[2], sys.argv[2:])
"""

# Runs as a process of its own, which Ray does not know: when the actor ends, in whatever way, it
# ends the processes that the script has started, unless the script has ended well.
_END_PROCESSES = """
import os, signal, sys
if not os.fork() and not sys.stdin.read():
    try:
        os.killpg(int(sys.argv[1]), signal.SIGKILL)
    except ProcessLookupError:
        pass
"""


class WorkerProcess:
    """One worker's script, with its output, its status and its reports.

    The launcher calls `poll` in a loop. A line is kept until the launcher has confirmed it, so
    that a call that was lost on the network loses nothing.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: socket.socket | None = None
        self._condition = threading.Condition()
        self._lines: collections.deque[tuple[str, str]] = collections.deque()
        self._num_confirmed = 0

    def locate(self) -> tuple[str, str, str, int]:
        """Return the node on which this runs: its ID, the name and address of its machine, and a
        port that is not in use.
        """
        import ray

        find_address: Callable[[], str] = ray.util.get_node_ip_address
        address = find_address()
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with socket.socket(family) as unused:
            unused.bind((address, 0))
            port = unused.getsockname()[1]
        node = ray.get_runtime_context().get_node_id()
        return node, socket.gethostname(), address, port

    def start(self, command: Sequence[str], folder: str, environment: Mapping[str, str]) -> int:
        """Start the script with this node's Python, and return the ID of its process.

        Raises:
            FileNotFoundError: The folder does not exist on this node.
        """
        if not os.path.isdir(folder):
            raise FileNotFoundError(
                f"The folder {folder!r}, from which the job was launched, does not exist on "
                f"{socket.gethostname()}. Put the script on a disk that all nodes share, or into "
                "their image under the same path."
            )
        started = threading.Event()
        # Linux ties the life of the script to the thread that starts it, not to the process.
        threading.Thread(
            target=self._run, args=(list(command), folder, environment, started), daemon=True
        ).start()
        started.wait()
        assert self._process is not None
        return self._process.pid

    def poll(self, num_received: int, seconds: float) -> list[tuple[str, str]]:
        """Return what is new: pairs of "out", "err", "report" or "end", and a line.

        Args:
            num_received: How many the launcher has received before.
            seconds: How long to wait for the first one.
        """
        with self._condition:
            while self._num_confirmed < num_received:
                self._lines.popleft()
                self._num_confirmed += 1
            self._condition.notify_all()
            self._condition.wait_for(lambda: self._lines, seconds)
            return [line for line, _ in zip(self._lines, range(_MAX_LINES_AT_ONCE), strict=False)]

    def send(self, message: str) -> None:
        """Send a line to the script."""
        with contextlib.suppress(OSError):
            assert self._connection is not None
            self._connection.sendall(f"{message}\n".encode())

    def send_signal(self, number: int) -> None:
        """Send a signal to the script; SIGKILL to the processes that it has started as well."""
        if self._process is None or self._process.poll() is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            if number == signal.SIGKILL:
                os.killpg(self._process.pid, number)
            else:
                self._process.send_signal(number)
                self._process.send_signal(signal.SIGCONT)  # a stopped process handles it only then

    # --- the thread that starts the script and waits for it

    def _run(
        self,
        command: list[str],
        folder: str,
        environment: Mapping[str, str],
        started: threading.Event,
    ) -> None:
        self._connection, other_end = socket.socketpair()
        with contextlib.ExitStack() as exits:
            exits.callback(started.set)
            exits.enter_context(other_end)
            start = [sys.executable, "-I", "-S", "-c", _START_SCRIPT, str(os.getpid())]
            self._process = process = subprocess.Popen(
                [*start, sys.executable, *command],
                cwd=folder,
                env={**os.environ, **environment, SOCKET_VARIABLE: str(other_end.fileno())},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=(other_end.fileno(),),
                start_new_session=True,
            )
        assert process.stdout is not None and process.stderr is not None
        streams = {
            "out": process.stdout,
            "err": process.stderr,
            "report": self._connection.makefile("rb"),
        }
        readers = [
            threading.Thread(target=self._read, args=(kind, stream), daemon=True)
            for kind, stream in streams.items()
        ]
        for reader in readers:
            reader.start()
        guard = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _END_PROCESSES, str(process.pid)],
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        status = process.wait()
        guard.communicate(b"" if status else b"ended well")
        for reader in readers:
            reader.join(_OUTPUT_SECONDS)
        self._add("end", str(status))

    def _read(self, kind: str, stream: IO[bytes]) -> None:
        with contextlib.suppress(OSError):
            for line in iter(stream.readline, b""):
                self._add(kind, line.decode(errors="replace").rstrip("\r\n"))

    def _add(self, kind: str, line: str) -> None:
        with self._condition:
            self._condition.wait_for(lambda: len(self._lines) < _MAX_LINES)
            self._lines.append((kind, line))
            self._condition.notify_all()
