"""`podium launch`: starts several workers of a script on this machine, and stops all when one
fails.

Each worker finds its cluster in `TF_CONFIG`. Nothing of JAX is needed here.
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
from typing import IO, Any

_GRACE = 10.0  # seconds between asking a worker to end and ending it
_MOMENT = (
    5.0  # seconds to wait for the worker that is to blame, after one has ended because of another
)


def main(arguments: list[str]) -> int:
    """Run `podium launch` with its arguments, and return the exit status: that of the first worker
    that failed.
    """
    parser = argparse.ArgumentParser(
        prog="podium launch",
        description="Start a script several times on this machine, as the workers of one "
        "MultiWorkerMirroredStrategy. Their "
        "output is shown with the number of the worker in front. When one fails, all are stopped.",
    )
    parser.add_argument("--workers", type=int, default=2, help="how many workers (2)")
    parser.add_argument(
        "--devices", type=int, help="how many virtual CPU devices each worker has (1)"
    )
    parser.add_argument(
        "--heartbeat",
        type=float,
        help="seconds of silence after which a worker counts as lost (30)",
    )
    parser.add_argument("script", help="the script, or -m for a module")
    parser.add_argument("rest", nargs=argparse.REMAINDER, metavar="arguments", help="its arguments")
    options = parser.parse_args(arguments)
    if options.workers < 1:
        parser.error(f"--workers {options.workers}: at least 1 was expected.")
    return launch(
        [options.script, *options.rest], options.workers, options.devices, options.heartbeat
    )


def launch(
    command: list[str], workers: int, devices: int | None = None, heartbeat: float | None = None
) -> int:
    """Run workers until they end.

    Args:
        command: The script and its arguments.
        workers: How many.
        devices: Virtual CPU devices for each.
        heartbeat: Seconds of silence after which a worker counts as lost.

    Returns:
        0, or the status of the first worker that failed; 128 and the signal's number for one that
        was killed.
    """
    addresses = _free_addresses(workers)
    running = [_start(command, worker, addresses, devices, heartbeat) for worker in range(workers)]
    lock = threading.Lock()
    pumps = []
    for worker, process in enumerate(running):
        for stream, target in ((process.stdout, sys.stdout), (process.stderr, sys.stderr)):
            pump = threading.Thread(
                target=_prefix, args=(f"[{worker}] ", stream, target, lock), daemon=True
            )
            pump.start()
            pumps.append(pump)
    status = 0
    try:
        status = _wait(running, (heartbeat or 30.0) + 5.0)
    except KeyboardInterrupt:
        status = 130
    finally:
        _stop(running)
        for pump in pumps:
            pump.join(timeout=5)
    return status


def _start(
    command: list[str],
    worker: int,
    addresses: list[str],
    devices: int | None,
    heartbeat: float | None,
) -> Any:
    environment = {
        **os.environ,
        "TF_CONFIG": json.dumps(
            {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": worker}}
        ),
        "PYTHONUNBUFFERED": "1",
    }
    if devices is not None:
        environment["XLA_FLAGS"] = (
            f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={devices}".strip()
        )
    if heartbeat is not None:
        environment["PODIUM_HEARTBEAT"] = str(heartbeat)
    return subprocess.Popen(
        [sys.executable, *command],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def _wait(running: list[Any], patience: float) -> int:
    """Wait until all have ended, or one has failed and the others have had time to say why they end
    too.
    """
    first: tuple[int, int] | None = None
    deadline = suspected = float("inf")
    while True:
        ended = [process.poll() for process in running]
        if first is None:
            failed = [(worker, code) for worker, code in enumerate(ended) if code not in (None, 0)]
            cause = [
                each for each in failed if each[1] != 75
            ]  # 75: it ended because of another, which may take a moment longer
            waited = failed and all(code is not None for code in ended)
            if failed and not cause and not waited:
                suspected = min(suspected, time.monotonic() + _MOMENT)
                waited = time.monotonic() > suspected
            if cause or waited:
                first = (cause or failed)[0]
                how = (
                    f"was ended by signal {-first[1]}"
                    if first[1] < 0
                    else f"ended with status {first[1]}"
                )
                silent = (
                    [] if cause else [worker for worker, code in enumerate(ended) if code is None]
                )
                how += f", because of worker {silent[0]} which does not end" if silent else ""
                deadline = time.monotonic() + (0.0 if silent else patience)
                sys.stderr.write(
                    f"podium launch: worker {first[0]} {how}; all workers are stopped.\n"
                )
                sys.stderr.flush()
        if all(code is not None for code in ended) or time.monotonic() > deadline:
            if first is None:
                return 0
            return 128 - first[1] if first[1] < 0 else first[1]
        time.sleep(0.05)


def _stop(running: list[Any]) -> None:
    """End what still runs: ask first, then make it."""
    for process in running:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            process.send_signal(signal.SIGCONT)  # one that was stopped hears it only then
    deadline = time.monotonic() + _GRACE
    for process in running:
        try:
            process.wait(timeout=max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _prefix(prefix: str, stream: IO[bytes], target: Any, lock: threading.Lock) -> None:
    """Pass lines on, each with the worker's number in front."""
    for line in iter(stream.readline, b""):
        with lock:
            target.write(prefix + line.decode(errors="replace").rstrip("\r\n") + "\n")
            target.flush()
    stream.close()


def _free_addresses(count: int) -> list[str]:
    """Return addresses on this machine that nobody uses now."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [f"127.0.0.1:{one.getsockname()[1]}" for one in sockets]
    finally:
        for one in sockets:
            one.close()
