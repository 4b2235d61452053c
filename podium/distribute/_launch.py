"""`podium launch`: starts several workers of a script on this machine, and stops all when one
fails.

Each worker gets its cluster in `TF_CONFIG`. Does not import JAX.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from typing import IO

_TERMINATION_SECONDS = 10.0  # between SIGTERM and SIGKILL
# How long to wait for the worker that failed, after another one has ended because of it.
_CAUSE_SECONDS = 5.0
_LOST_PEER = 75  # the exit status of a worker that ended because of another


def main(arguments: list[str]) -> int:
    """Run `podium launch` with its arguments, and return the exit status: that of the first worker
    that failed.
    """
    parser = argparse.ArgumentParser(
        prog="podium launch",
        description="Start a script several times on this machine, as the workers of one "
        "MultiWorkerMirroredStrategy. Their "
        "output is prefixed with the index of the worker. When one fails, all are stopped.",
    )
    parser.add_argument("--workers", type=int, default=2, help="number of workers (2)")
    parser.add_argument(
        "--devices", type=int, help="number of virtual CPU devices of each worker (1)"
    )
    parser.add_argument(
        "--heartbeat",
        type=float,
        help="seconds of silence after which a worker counts as lost (30)",
    )
    parser.add_argument("script", help="the script, or -m for a module")
    parser.add_argument(
        "script_arguments", nargs=argparse.REMAINDER, metavar="arguments", help="its arguments"
    )
    options = parser.parse_args(arguments)
    if options.workers < 1:
        parser.error(f"--workers {options.workers}: at least 1 was expected.")
    return launch(
        [options.script, *options.script_arguments],
        options.workers,
        options.devices,
        options.heartbeat,
    )


def launch(
    command: list[str], workers: int, devices: int | None = None, heartbeat: float | None = None
) -> int:
    """Run workers until they end.

    Args:
        command: The script and its arguments.
        workers: The number of workers.
        devices: The number of virtual CPU devices of each.
        heartbeat: Seconds of silence after which a worker counts as lost.

    Returns:
        0, or the status of the first worker that failed; 128 plus the signal's number for one that
        was killed.
    """
    addresses = _free_addresses(workers)
    processes = [
        _start(command, worker, addresses, devices, heartbeat) for worker in range(workers)
    ]
    lock = threading.Lock()
    output_threads = []
    for worker, process in enumerate(processes):
        for stream, target in ((process.stdout, sys.stdout), (process.stderr, sys.stderr)):
            thread = threading.Thread(
                target=_prefix_lines, args=(f"[{worker}] ", stream, target, lock), daemon=True
            )
            thread.start()
            output_threads.append(thread)
    status = 0
    try:
        status = _wait(processes, (heartbeat or 30.0) + 5.0)
    except KeyboardInterrupt:
        status = 130
    finally:
        _stop(processes)
        for thread in output_threads:
            thread.join(timeout=5)
    return status


def _start(
    command: list[str],
    worker: int,
    addresses: list[str],
    devices: int | None,
    heartbeat: float | None,
) -> subprocess.Popen[bytes]:
    environment = {
        **os.environ,
        "TF_CONFIG": json.dumps(
            {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": worker}}
        ),
        "PYTHONUNBUFFERED": "1",
    }
    if devices is not None:
        flag = f"--xla_force_host_platform_device_count={devices}"
        environment["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {flag}".strip()
    if heartbeat is not None:
        environment["PODIUM_HEARTBEAT"] = str(heartbeat)
    return subprocess.Popen(
        [sys.executable, *command],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def _wait(processes: list[subprocess.Popen[bytes]], timeout: float) -> int:
    """Wait until all have ended, or until `timeout` seconds after one has failed; return the exit
    status.
    """
    first: tuple[int, int] | None = None
    deadline = cause_deadline = float("inf")
    while True:
        codes = [process.poll() for process in processes]
        if first is None:
            failed = [(worker, code) for worker, code in enumerate(codes) if code]
            causes = [row for row in failed if row[1] != _LOST_PEER]
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
                sys.stderr.write(
                    f"podium launch: worker {first[0]} {description}; all workers are stopped.\n"
                )
                sys.stderr.flush()
        if all(code is not None for code in codes) or time.monotonic() > deadline:
            if first is None:
                return 0
            return 128 - first[1] if first[1] < 0 else first[1]
        time.sleep(0.05)


def _stop(processes: list[subprocess.Popen[bytes]]) -> None:
    """End the processes that still run: by SIGTERM, then by SIGKILL."""
    for process in processes:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            process.send_signal(signal.SIGCONT)  # a stopped process handles SIGTERM only then
    deadline = time.monotonic() + _TERMINATION_SECONDS
    for process in processes:
        try:
            process.wait(timeout=max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


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
