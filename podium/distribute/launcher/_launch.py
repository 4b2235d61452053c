"""`podium launch` without Ray: starts several workers of a script on this machine, and stops all
when one fails or a signal asks for it. `_command_line.py` reads the command line.

Each worker gets its cluster in `TF_CONFIG`. No worker outlives the launcher: a signal is passed on
to the workers, which get time to save; if the launcher itself is killed, the system kills its
workers (Linux), or each of them notices that its connection was closed. Processes that a worker has
started end with it, unless they are in a session of their own. Does not import JAX.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from typing import IO

from podium.distribute._heartbeat import LOST_PEER
from podium.distribute.launcher._launcher_connection import SOCKET_VARIABLE
from podium.distribute.launcher._signals import announce_signal, receive_signals, report
from podium.distribute.launcher._worker_connections import WorkerConnections

_TERMINATION_SECONDS = 10.0  # between SIGTERM and SIGKILL, after a worker has failed
GRACE_SECONDS = 30.0  # the same after a signal: time to save a checkpoint
_POLL_SECONDS = 0.05
# Runs in the process of a worker, ahead of the worker's own command: asks Linux (PR_SET_PDEATHSIG)
# to kill the process when its parent ends, unless that has happened already. Elsewhere the worker
# notices that its connection to the launcher was closed.
_END_WITH_PARENT = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGKILL)
if os.getppid() == int(sys.argv[1]):
    os.execv(sys.argv[2], sys.argv[2:])
"""
# How long to wait for the worker that failed, after another one has ended because of it.
_CAUSE_SECONDS = 5.0


def launch(
    command: list[str],
    workers: int,
    devices: int | None = None,
    heartbeat: float | None = None,
    grace: float = GRACE_SECONDS,
) -> int:
    """Run workers until they end.

    Args:
        command: The script and its arguments.
        workers: The number of workers.
        devices: The number of virtual CPU devices of each.
        heartbeat: Seconds of silence after which a worker counts as lost.
        grace: Seconds for the workers to end by themselves after a signal to this process.

    Returns:
        0, or the status of the first worker that failed; 128 plus the signal's number for one that
        was killed, and after a signal to this process, unless all workers saved and exited with 75.
    """
    addresses = _free_addresses(workers)
    connections = WorkerConnections()
    processes: list[subprocess.Popen[bytes]] = []
    with contextlib.ExitStack() as stack:
        stack.callback(connections.close)
        stack.callback(_kill, processes)
        received = stack.enter_context(receive_signals())
        for worker in range(workers):
            with connections.add() as socket_of_worker:
                processes.append(
                    _start(command, worker, addresses, devices, heartbeat, socket_of_worker)
                )
        return _wait_for_workers(processes, connections, received, heartbeat, grace)


def _wait_for_workers(
    processes: list[subprocess.Popen[bytes]],
    connections: WorkerConnections,
    received: list[int],
    heartbeat: float | None,
    grace: float,
) -> int:
    """Show the output of the workers until all have ended, and return the exit status."""
    lock = threading.Lock()
    output_threads = []
    for worker, process in enumerate(processes):
        for stream, target in ((process.stdout, sys.stdout), (process.stderr, sys.stderr)):
            thread = threading.Thread(
                target=_prefix_lines, args=(f"[{worker}] ", stream, target, lock), daemon=True
            )
            thread.start()
            output_threads.append(thread)
    try:
        status = _wait(processes, (heartbeat or 30.0) + 5.0, received)
        if not received:
            _send_signal(processes, signal.SIGTERM)
            _wait_or_kill(processes, _TERMINATION_SECONDS, received)
        if received:
            status = _stop_after_signal(processes, connections, received, grace)
    finally:
        _kill(processes)
        for thread in output_threads:
            thread.join(timeout=5)
    return status


def _stop_after_signal(
    processes: list[subprocess.Popen[bytes]],
    connections: WorkerConnections,
    received: list[int],
    grace: float,
) -> int:
    """Pass a signal on to the workers, wait for them, and return the exit status.

    The signal would reach the workers at different steps, and one that stops before the others
    breaks their next step. So those that back up their run are stopped at the same safepoint
    instead.
    """
    number = received[0]
    forwarded = announce_signal(number, grace)
    if not connections.stop_at_safepoint():
        _send_signal(processes, forwarded)
    _wait_or_kill(processes, grace, received)
    codes = [process.returncode for process in processes]
    return LOST_PEER if all(code == LOST_PEER for code in codes) else 128 + number


def _start(
    command: list[str],
    worker: int,
    addresses: list[str],
    devices: int | None,
    heartbeat: float | None,
    connection: socket.socket,
) -> subprocess.Popen[bytes]:
    environment = {
        **os.environ,
        "TF_CONFIG": json.dumps(
            {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": worker}}
        ),
        "PYTHONUNBUFFERED": "1",
        SOCKET_VARIABLE: str(connection.fileno()),
    }
    if devices is not None:
        flag = f"--xla_force_host_platform_device_count={devices}"
        environment["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {flag}".strip()
    if heartbeat is not None:
        environment["PODIUM_HEARTBEAT"] = str(heartbeat)
    interpreter = [sys.executable]
    if sys.platform.startswith("linux"):
        interpreter += ["-I", "-S", "-c", _END_WITH_PARENT, str(os.getpid()), sys.executable]
    return subprocess.Popen(
        [*interpreter, *command],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=(connection.fileno(),),
        start_new_session=True,  # Ctrl-C in a terminal reaches the launcher, which forwards it
    )


def _wait(processes: list[subprocess.Popen[bytes]], timeout: float, received: list[int]) -> int:
    """Wait until all have ended, until `timeout` seconds after one has failed, or until a signal
    was received; return the exit status.
    """
    first: tuple[int, int] | None = None
    deadline = cause_deadline = float("inf")
    while True:
        codes = list(map(_poll, processes))
        if first is None:
            failed = [(worker, code) for worker, code in enumerate(codes) if code]
            causes = [row for row in failed if row[1] != LOST_PEER]
            waited = bool(failed) and all(code is not None for code in codes)
            if failed and not causes and not waited:
                cause_deadline = min(cause_deadline, time.monotonic() + _CAUSE_SECONDS)
                waited = time.monotonic() > cause_deadline
            if causes or waited:
                first = (causes or failed)[0]
                description = (
                    f"was ended by signal {-first[1]}"
                    if first[1] < 0
                    else f"ended with status {first[1]}"
                )
                running = [worker for worker, code in enumerate(codes) if code is None]
                suspects = [] if causes else running
                if suspects:
                    description += f", because of worker {suspects[0]} which does not end"
                deadline = time.monotonic() + (0.0 if suspects else timeout)
                report(f"worker {first[0]} {description}; all workers are stopped.")
        is_over = all(code is not None for code in codes) or time.monotonic() > deadline
        if is_over or received:
            if first is None:
                return 0
            return 128 - first[1] if first[1] < 0 else first[1]
        time.sleep(_POLL_SECONDS)


def _send_signal(processes: list[subprocess.Popen[bytes]], number: signal.Signals) -> None:
    """Send a signal to the processes that still run."""
    for process in processes:
        if _poll(process) is None:
            process.send_signal(number)
            process.send_signal(signal.SIGCONT)  # a stopped process handles signals only then


def _wait_or_kill(
    processes: list[subprocess.Popen[bytes]], seconds: float, received: list[int]
) -> None:
    """Wait for the processes; send SIGKILL after some seconds, or when one more signal is
    received.
    """
    deadline = time.monotonic() + seconds
    num_received = len(received)
    while any(_poll(process) is None for process in processes):
        if time.monotonic() > deadline or len(received) > num_received:
            break
        time.sleep(_POLL_SECONDS)
    _kill(processes)


def _kill(processes: list[subprocess.Popen[bytes]]) -> None:
    """End the processes that still run by SIGKILL, with the processes that they have started."""
    for process in processes:
        if _poll(process) is None:
            _kill_group(process)
            process.wait()


def _poll(process: subprocess.Popen[bytes]) -> int | None:
    """Return the exit code of a process, or None while it runs. When it has ended, what it has
    started and left running is ended too.
    """
    was_running = process.returncode is None
    code = process.poll()
    if was_running and code is not None:  # only now: later the number may be another process's
        _kill_group(process)
    return code


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):  # there is none, or a zombie
        os.killpg(process.pid, signal.SIGKILL)


def _prefix_lines(prefix: str, stream: IO[bytes], target: IO[str], lock: threading.Lock) -> None:
    """Write the lines of a stream to another one, each with a prefix."""
    for line in iter(stream.readline, b""):
        with lock:
            target.write(prefix + line.decode(errors="replace").rstrip("\r\n") + "\n")
            target.flush()
    stream.close()


def _free_addresses(count: int) -> list[str]:
    """Return addresses on this machine that are not in use."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for unused in sockets:
            unused.bind(("127.0.0.1", 0))
        return [f"127.0.0.1:{unused.getsockname()[1]}" for unused in sockets]
    finally:
        for unused in sockets:
            unused.close()
