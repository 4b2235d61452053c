"""Several real processes on this machine, started by `podium launch`: what one process gives, and what happens when one dies."""

import os
import pathlib
import subprocess
import sys
import time

import numpy as np
import pytest

HERE = pathlib.Path(__file__).parent
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": str(HERE.parents[1]),
    "XLA_FLAGS": os.environ.get("XLA_FLAGS", ""),
    "JAX_COMPILATION_CACHE_DIR": str(HERE.parents[1] / ".cache" / "xla"),
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
}


def python(*arguments, timeout=240):
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=timeout, check=False)


def launch(workers, *arguments, heartbeat=5):
    return python("-m", "podium", "launch", "--workers", workers, "--heartbeat", heartbeat, HERE / "worker.py", *arguments)


def results(output):
    """Return the figures that each worker printed."""
    lines = [line.split("result ")[1] for line in output.splitlines() if "result " in line]
    return np.array([[float(word) for word in line.split()] for line in lines])


@pytest.fixture(scope="module")
def alone():
    done = python(HERE / "worker.py", "--alone")
    assert done.returncode == 0, done.stderr
    return results(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [2, 4])
def test_workers_give_what_one_process_gives(workers, alone):
    done = launch(workers)
    assert done.returncode == 0, done.stdout + done.stderr
    found = results(done.stdout)
    assert found.shape == (workers, alone.shape[1])
    assert (found == found[0]).all()
    np.testing.assert_allclose(found[0], alone[0], rtol=1e-5)
    told = [line for line in done.stdout.splitlines() if "told of epoch" in line]
    assert told == [f"[0] told of epoch {epoch}" for epoch in range(3)]  # once, by the chief
    assert done.stdout.count("Epoch 3/3") == 1


@pytest.mark.slow
def test_a_killed_worker_is_named_and_a_restart_resumes(tmp_path):
    start = time.monotonic()
    done = launch(2, "--folder", tmp_path, "--epochs", 6, "--die", "1:2", heartbeat=20)
    assert done.returncode == 128 + 9, done.stdout + done.stderr
    assert "podium launch: worker 1 was ended by signal 9; all workers are stopped." in done.stderr
    assert "[0] podium: worker 1 (process " in done.stderr and "was lost: its connection was closed" in done.stderr
    assert "it goes on from its last checkpoint" in done.stderr and "result" not in done.stdout
    assert time.monotonic() - start < 240
    again = launch(2, "--folder", tmp_path, "--epochs", 6)
    assert again.returncode == 0, again.stdout + again.stderr
    told = [line for line in again.stdout.splitlines() if "told of epoch" in line]
    assert told == [f"[0] told of epoch {epoch}" for epoch in (2, 3, 4)]  # the chief's callback stopped all of them then
    found, whole = results(again.stdout), python(HERE / "worker.py", "--alone", "--epochs", 6)
    assert found.shape[0] == 2 and (found[0] == found[1]).all()
    np.testing.assert_allclose(found[0], results(whole.stdout)[0], rtol=1e-5)  # as if nothing had happened


@pytest.mark.slow
def test_a_killed_chief_and_a_failing_worker_are_named():
    done = launch(2, "--die", "0:1", heartbeat=20)
    assert done.returncode == 128 + 9, done.stdout + done.stderr
    assert "[1] podium: worker 0 (the chief, on 127.0.0.1) was lost" in done.stderr
    done = launch(2, "--fail", 1, heartbeat=20)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "[1] ValueError: a mistake of this worker" in done.stderr
    assert "failed: ValueError: a mistake of this worker. Worker 0 stops" in done.stderr
