"""A signal to `podium launch` stops all workers at one step, of which a checkpoint is saved."""

import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading

import pytest
from launch_signals import ROOT, is_running, wait_until

from podium.distribute.launcher._worker_connections import (
    WorkerConnections,
    find_safepoint_to_stop_at,
)

# Prints how many steps are done when it begins; steps take about a millisecond.
SCRIPT = """
import json, os, pathlib, sys
import numpy as np
import podium
from podium import layers

folder = pathlib.Path(sys.argv[1])
strategy = podium.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    podium.utils.set_random_seed(1)
    model = podium.Sequential([podium.Input((4,)), layers.Dense(3)])
    model.compile("adam", "mse")

class Report(podium.callbacks.Callback):
    every_worker = True

    def on_train_begin(self, logs=None):
        index = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
        pid = folder / f"pid{index}"
        pid.with_suffix(".new").write_text(str(os.getpid()))
        pid.with_suffix(".new").rename(pid)

    def on_epoch_begin(self, epoch, logs=None):
        step = int(self.model.optimizer.iterations.numpy())
        print("at", epoch, step, flush=True)
        if epoch == 5:
            (folder / "trains").touch()

backup = podium.callbacks.BackupAndRestore(folder / "backup", save_freq=False)
rows = np.random.default_rng(0).normal(size=(64, 4))
model.fit(rows, rows[:, :3], epochs=int(sys.argv[2]), batch_size=8, verbose=0,
          callbacks=[Report(), backup])
print("ended", int(model.optimizer.iterations.numpy()), flush=True)
"""


def start(folder, epochs):
    script = folder / "script.py"
    script.write_text(SCRIPT)
    return subprocess.Popen(
        [sys.executable, "-m", "podium", "launch", "--grace", "120", str(script), str(folder)]
        + [str(epochs)],
        env={**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def first_step(output):
    """The step at which the chief began, and the number of the last epoch that it began."""
    lines = [line.split() for line in output.splitlines() if line.startswith("[0] at")]
    return int(lines[0][3]), int(lines[-1][2])


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_signal_stops_all_workers_at_one_step_and_saves_it(tmp_path, name):
    launcher = start(tmp_path, 1_000_000)
    try:
        assert wait_until((tmp_path / "trains").exists, 300)
        workers = [int(pathlib.Path(tmp_path, f"pid{index}").read_text()) for index in (0, 1)]
        launcher.send_signal(signal.Signals[name])
        output, error = launcher.communicate(timeout=300)
    finally:
        launcher.kill()
    assert launcher.returncode == 75, error
    assert f"received {name}; the workers have 120 seconds" in error
    assert not any(map(is_running, workers))
    _, epoch = first_step(output)
    again = start(tmp_path, epoch + 3)
    output, error = again.communicate(timeout=300)
    assert again.returncode == 0, error
    begun, _ = first_step(output)
    assert begun >= 8 * epoch >= 40  # nothing but the checkpoint of the signal was saved
    assert all(f"[{worker}] ended {8 * (epoch + 3)}" in output for worker in (0, 1))


class Worker:
    """A worker that answers each "pause" with a number of safepoints, if it has one."""

    def __init__(self, connections, answer):
        self._connection, self.received = connections.add(), []
        self._connection.sendall(b"connected\n")
        self._answer = answer
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self):
        with self._connection, self._connection.makefile("r") as lines:
            for line in lines:
                self.received.append(line.strip())
                if line.strip() == "pause" and self._answer is not None:
                    self._connection.sendall(f"safepoint {self._answer}\n".encode())


@pytest.mark.parametrize(
    ("answers", "stops", "last"),
    [((5, 7), True, "stop 8"), ((5, -1), False, "continue"), ((5, None), False, "continue")],
)
def test_launcher_agrees_with_all_workers_on_a_safepoint(monkeypatch, answers, stops, last):
    monkeypatch.setattr("podium.distribute.launcher._worker_connections.AGREE_SECONDS", 0.5)
    if None not in answers:
        monkeypatch.setattr("podium.distribute.launcher._worker_connections.AGREE_SECONDS", 60)
    connections = WorkerConnections()
    workers = [Worker(connections, answer) for answer in answers]
    assert wait_until(lambda: len(connections._safepoints) == 2)
    assert connections.stop_at_safepoint() == stops
    connections.close()
    for worker in workers:
        worker.thread.join(60)
        assert worker.received == ["pause", last]


def test_worker_that_has_ended_or_never_connected_gets_the_signal_itself():
    connections = WorkerConnections()
    assert not connections.stop_at_safepoint()
    connection = connections.add()
    assert isinstance(connection, socket.socket) and not connections.stop_at_safepoint()
    connection.sendall(b"connected\n")
    assert wait_until(lambda: len(connections._safepoints) == 1)
    connection.close()
    assert wait_until(lambda: not connections._safepoints)
    assert not connections.stop_at_safepoint()
    connections.close()
    assert find_safepoint_to_stop_at([]) is None
