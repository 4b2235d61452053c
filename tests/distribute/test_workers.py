"""Several real processes on this machine, started by `podium launch`: what one process gives, and
what happens when one dies.
"""

import os
import pathlib
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from forked import trained

from podium import distribute

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
    return subprocess.run(
        command, env=ENVIRONMENT, capture_output=True, text=True, timeout=timeout, check=False
    )


def launch(workers, *arguments, heartbeat=5, script="worker.py"):
    return python(
        "-m",
        "podium",
        "launch",
        "--workers",
        workers,
        "--heartbeat",
        heartbeat,
        HERE / script,
        *arguments,
    )


def by_hand(*places, arguments=(), heartbeat=20):
    """Start workers whose environments say what their places are, as job systems do."""
    command = [sys.executable, "-u", str(HERE / "worker.py"), *map(str, arguments)]
    started = [
        subprocess.Popen(
            command,
            env={**ENVIRONMENT, "PODIUM_HEARTBEAT": str(heartbeat), **place},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for place in places
    ]
    return started


def output_of(process):
    try:
        return process.communicate(timeout=240)
    finally:
        process.kill()


def of_slurm(task):
    """What srun sets for a task of a job of two, on the first of its nodes."""
    return {
        "SLURM_JOB_ID": str(os.getpid()),
        "SLURM_JOB_NODELIST": "localhost,node[001-003,007]",
        "SLURM_STEP_ID": "1",
        "SLURM_STEP_NODELIST": "localhost",
        "SLURM_STEP_NUM_TASKS": "2",
        "SLURM_NTASKS": "2",
        "SLURM_PROCID": str(task),
        "SLURM_LOCALID": str(task),
    }


def of_open_mpi(rank):
    """What mpirun of Open MPI 5 sets, in an allocation of Slurm whose batch script it was called
    from.
    """
    return {
        "SLURM_JOB_ID": "77",
        "SLURM_JOB_NODELIST": "node[001-002]",
        "SLURM_NTASKS": "2",
        "SLURM_PROCID": "0",
        "OMPI_COMM_WORLD_RANK": str(rank),
        "OMPI_COMM_WORLD_SIZE": "2",
        "OMPI_COMM_WORLD_LOCAL_RANK": str(rank),
        "OMPI_COMM_WORLD_LOCAL_SIZE": "2",
        "PMIX_NAMESPACE": f"prterun-node001-{os.getpid()}@1",
        "PMIX_SERVER_URI41": f"prterun-node001-{os.getpid()}@0.0;tcp4://127.0.0.1:35979",
    }


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
def test_tasks_of_slurm_find_each_other(alone):
    workers = by_hand(of_slurm(0), of_slurm(1))
    outputs = [output_of(worker) for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0], outputs
    for said, _ in outputs:
        np.testing.assert_allclose(results(said)[0], alone[0], rtol=1e-5)


@pytest.mark.slow
def test_a_stopped_worker_is_named_and_ends_when_it_goes_on():
    chief, other = by_hand(of_open_mpi(0), of_open_mpi(1), arguments=("--stop", "1:1"), heartbeat=5)
    try:
        told, said = output_of(
            chief
        )  # which waits in a collective, of a worker whose connections stay open
        assert chief.returncode == 75, told + said
        assert "told of epoch 0" in told and "told of epoch 1" not in told
        assert (
            f"podium: worker 1 (process {other.pid} on " in said
            and "was lost: it has not been heard of for" in said
        )
        assert other.poll() is None
        other.send_signal(signal.SIGCONT)
        _, said = output_of(other)
        assert other.returncode == 75, said
        assert "(this worker, 1, had itself been stopped for" in said
    finally:
        other.kill()


@pytest.mark.slow
def test_a_forked_engine_is_unchanged_on_two_workers():
    done = launch(2, script="forked.py", heartbeat=20)
    assert done.returncode == 0, done.stdout + done.stderr
    model, logs, data = trained(distribute.get_strategy())
    wanted = [
        *model.dense.kernel.numpy().ravel(),
        logs["mean_absolute_error"],
        *model.evaluate(data).values(),
    ]
    found = results(done.stdout)
    assert found.shape[0] == 2 and (found[0] == found[1]).all()
    np.testing.assert_allclose(found[0], [*wanted, *model.predict(data).numpy().ravel()], rtol=1e-5)
    told = [line for line in done.stdout.splitlines() if "told of epoch" in line]
    assert told == ["[0] told of epoch 0", "[0] told of epoch 1"]


@pytest.mark.slow
def test_a_killed_worker_is_named_and_a_restart_resumes(tmp_path):
    start = time.monotonic()
    done = launch(2, "--folder", tmp_path, "--epochs", 6, "--die", "1:2", heartbeat=20)
    assert done.returncode == 128 + 9, done.stdout + done.stderr
    assert "podium launch: worker 1 was ended by signal 9; all workers are stopped." in done.stderr
    assert (
        "[0] podium: worker 1 (process " in done.stderr
        and "was lost: its connection was closed" in done.stderr
    )
    assert "it goes on from its last checkpoint" in done.stderr and "result" not in done.stdout
    assert time.monotonic() - start < 240
    again = launch(2, "--folder", tmp_path, "--epochs", 6)
    assert again.returncode == 0, again.stdout + again.stderr
    told = [line for line in again.stdout.splitlines() if "told of epoch" in line]
    assert told[-3:] == [
        f"[0] told of epoch {epoch}" for epoch in (2, 3, 4)
    ]  # the chief's callback stopped all of them then
    assert told[:-3] in (
        [],
        ["[0] told of epoch 1"],
    )  # the chief may have been ended while it saved that epoch
    found, whole = results(again.stdout), python(HERE / "worker.py", "--alone", "--epochs", 6)
    assert found.shape[0] == 2 and (found[0] == found[1]).all()
    np.testing.assert_allclose(
        found[0], results(whole.stdout)[0], rtol=1e-5
    )  # as if nothing had happened


@pytest.mark.slow
def test_a_killed_chief_and_a_failing_worker_are_named():
    done = launch(2, "--die", "0:1", heartbeat=20)
    assert done.returncode == 128 + 9, done.stdout + done.stderr
    assert "[1] podium: worker 0 (the chief, on 127.0.0.1) was lost" in done.stderr
    done = launch(2, "--fail", 1, heartbeat=20)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "[1] ValueError: a mistake of this worker" in done.stderr
    assert "failed: ValueError: a mistake of this worker. Worker 0 stops" in done.stderr
