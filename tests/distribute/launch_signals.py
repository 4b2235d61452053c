"""Sends signals to `podium launch`, to its chief and to its worker, and looks for processes that
are left over.

Usage: launch_signals.py [--count n]; prints a line for each signal and target.
"""

import argparse
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).parents[2]
SIGNALS = ("SIGTERM", "SIGHUP", "SIGINT", "SIGKILL")
TARGETS = ("launcher", "chief", "worker")

# Stands for a script that trains: it exits with 75 after SIGTERM.
SCRIPT = """
import json, os, pathlib, signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(75))
index = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
path = pathlib.Path(sys.argv[1], str(index))
path.with_suffix(".new").write_text(str(os.getpid()))
path.with_suffix(".new").rename(path)
while True:
    time.sleep(0.05)
"""

# A runner may have started this process with signals ignored, which processes inherit.
DEFAULT_SIGNALS = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])
"""


def is_running(pid):
    """Whether a process runs; one that has ended and was not waited for does not count."""
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def wait_until(condition, seconds=60.0):
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


def send_signal(name, target, folder, grace=5):
    """Launch two workers, send a signal, and return the status of the launcher and the processes
    that are left over.
    """
    folder = pathlib.Path(folder)
    script = folder / "script.py"
    script.write_text(SCRIPT)
    launcher = subprocess.Popen(
        [sys.executable, "-c", DEFAULT_SIGNALS, sys.executable, "-m", "podium", "launch"]
        + ["--grace", str(grace), "--heartbeat", "0.5", str(script), str(folder)],
        env={**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        assert wait_until(lambda: (folder / "0").exists() and (folder / "1").exists())
        workers = [int((folder / index).read_text()) for index in ("0", "1")]
        pid = dict(zip(TARGETS, (launcher.pid, *workers), strict=True))[target]
        os.kill(pid, signal.Signals[name])
        _, error = launcher.communicate(timeout=120)
        wait_until(lambda: not any(map(is_running, workers)), 20)
        return launcher.returncode, [pid for pid in workers if is_running(pid)], error.decode()
    finally:
        launcher.kill()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=50)
    options = parser.parse_args()
    failed = 0
    for name in SIGNALS:
        for target in TARGETS:
            left = 0
            for _ in range(options.count):
                with tempfile.TemporaryDirectory() as folder:
                    left += bool(send_signal(name, target, folder)[1])
            failed += left
            print(f"{name} to the {target}: {left} of {options.count} left a process", flush=True)
    sys.exit(bool(failed))
