"""Several processes on this machine: they compute what one process computes, and report a worker
that is lost.
"""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from forked_engine import train

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


def run_python(*arguments, timeout=240):
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(
        command, env=ENVIRONMENT, capture_output=True, text=True, timeout=timeout, check=False
    )


def launch(workers, *arguments, heartbeat=20, script="worker.py"):
    return run_python(
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


def start_workers(*environments, arguments=(), heartbeat=20):
    """Start workers with the environment variables of a job system."""
    command = [sys.executable, "-u", str(HERE / "worker.py"), *map(str, arguments)]
    return [
        subprocess.Popen(
            command,
            env={**ENVIRONMENT, "PODIUM_HEARTBEAT": str(heartbeat), **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for environment in environments
    ]


def wait_for_output(process):
    try:
        return process.communicate(timeout=240)
    finally:
        process.kill()


def slurm_environment(task):
    """Return what srun sets for a task of a job of two, on the first of its nodes."""
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


def open_mpi_environment(rank):
    """Return what mpirun of Open MPI 5 sets when it is called from a batch script of Slurm."""
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


def parse_results(output):
    """Return the numbers that each worker printed."""
    lines = [line.split("result ")[1] for line in output.splitlines() if "result " in line]
    return np.array([[float(word) for word in line.split()] for line in lines])


def epoch_ends(output):
    """Return the lines that callbacks printed at the end of epochs."""
    return [line for line in output.splitlines() if "end of epoch" in line]


@pytest.fixture(scope="module")
def alone():
    done = run_python(HERE / "worker.py", "--alone")
    assert done.returncode == 0, done.stderr
    return parse_results(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [2, 4])
def test_several_workers_equal_one_process(workers, alone):
    done = launch(workers)
    assert done.returncode == 0, done.stdout + done.stderr
    results = parse_results(done.stdout)
    assert results.shape == (workers, alone.shape[1])
    assert (results == results[0]).all()
    np.testing.assert_allclose(results[0], alone[0], rtol=1e-5)
    # Called once, by the chief.
    assert epoch_ends(done.stdout) == [f"[0] end of epoch {epoch}" for epoch in range(3)]
    assert done.stdout.count("Epoch 3/3") == 1


@pytest.mark.slow
def test_tasks_of_slurm_find_each_other(alone):
    workers = start_workers(slurm_environment(0), slurm_environment(1))
    outputs = [wait_for_output(worker) for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0], outputs
    for stdout, _ in outputs:
        np.testing.assert_allclose(parse_results(stdout)[0], alone[0], rtol=1e-5)


@pytest.mark.slow
def test_stopped_worker_is_named_and_ends_when_it_continues():
    chief, other = start_workers(
        open_mpi_environment(0),
        open_mpi_environment(1),
        arguments=("--stop", "1:1"),
        heartbeat=10,
    )
    try:
        # The chief waits in a collective for a worker whose connections stay open.
        stdout, stderr = wait_for_output(chief)
        assert chief.returncode == 75, stdout + stderr
        assert epoch_ends(stdout) == ["end of epoch 0"]
        assert f"podium: worker 1 (process {other.pid} on " in stderr
        assert "was lost: it has not responded for" in stderr
        assert other.poll() is None
        other.send_signal(signal.SIGCONT)
        _, stderr = wait_for_output(other)
        assert other.returncode == 75, stderr
        assert "(this worker, 1, had itself been suspended for" in stderr
    finally:
        other.kill()


@pytest.mark.slow
def test_forked_engine_runs_unchanged_on_two_workers():
    done = launch(2, script="forked_engine.py", heartbeat=20)
    assert done.returncode == 0, done.stdout + done.stderr
    model, logs, data = train(distribute.get_strategy())
    expected = [
        *model.dense.kernel.numpy().ravel(),
        logs["mean_absolute_error"],
        *model.evaluate(data).values(),
    ]
    results = parse_results(done.stdout)
    assert results.shape[0] == 2 and (results[0] == results[1]).all()
    expected += model.predict(data).numpy().ravel().tolist()
    np.testing.assert_allclose(results[0], expected, rtol=1e-5)
    assert epoch_ends(done.stdout) == ["[0] end of epoch 0", "[0] end of epoch 1"]


@pytest.mark.slow
def test_killed_worker_is_named_and_a_restart_resumes(tmp_path):
    start = time.monotonic()
    done = launch(2, "--folder", tmp_path, "--epochs", 6, "--die", "1:2", heartbeat=20)
    assert done.returncode == 128 + 9, done.stdout + done.stderr
    assert "podium launch: worker 1 was ended by signal 9; all workers are stopped." in done.stderr
    assert (
        "[0] podium: worker 1 (process " in done.stderr
        and "was lost: its connection was closed" in done.stderr
    )
    assert "it continues from its last checkpoint" in done.stderr and "result" not in done.stdout
    assert time.monotonic() - start < 240
    again = launch(2, "--folder", tmp_path, "--epochs", 6)
    assert again.returncode == 0, again.stdout + again.stderr
    ends = epoch_ends(again.stdout)
    # The chief's callback stopped all workers after epoch 4.
    assert ends[-3:] == [f"[0] end of epoch {epoch}" for epoch in (2, 3, 4)]
    # The chief may have been ended while it saved epoch 1.
    assert ends[:-3] in ([], ["[0] end of epoch 1"])
    results = parse_results(again.stdout)
    uninterrupted = run_python(HERE / "worker.py", "--alone", "--epochs", 6)
    assert results.shape[0] == 2 and (results[0] == results[1]).all()
    np.testing.assert_allclose(results[0], parse_results(uninterrupted.stdout)[0], rtol=1e-5)


@pytest.mark.slow
def test_killed_chief_and_failing_worker_are_named():
    done = launch(2, "--die", "0:1", heartbeat=20)
    assert done.returncode == 128 + 9, done.stdout + done.stderr
    assert "[1] podium: worker 0 (the chief, on 127.0.0.1) was lost" in done.stderr
    done = launch(2, "--fail", 1, heartbeat=20)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "[1] ValueError: a mistake of this worker" in done.stderr
    assert "failed: ValueError: a mistake of this worker. Worker 0 stops" in done.stderr


def test_workers_of_unequal_speed_resume_from_the_chiefs_checkpoint_on_separate_disks(tmp_path):
    expected = launch(2, tmp_path / "a", 0, script="separate_disks.py")
    assert expected.returncode == 0, expected.stderr[-3000:]
    assert "[1] BackupAndRestore: verified that a run can be resumed" in expected.stdout
    killed = launch(2, tmp_path / "b", 7, script="separate_disks.py")
    assert killed.returncode != 0 and "the machine is gone" in killed.stdout + killed.stderr
    assert sorted(os.listdir(tmp_path / "b" / "disk 0"))[-1].startswith("checkpoint-")
    assert os.listdir(tmp_path / "b" / "disk 1") == []
    # A worker that is killed before its first save leaves its copies, and may leave half of one.
    killed = launch(2, tmp_path / "b", 7, 0.1, "killed", script="separate_disks.py")
    assert killed.returncode != 0
    assert "[1] BackupAndRestore: resuming from checkpoint 3" in killed.stdout
    left = ["checkpoint-00000002", "checkpoint-00000003"]
    assert sorted(os.listdir(tmp_path / "b" / "disk 1")) == left
    (tmp_path / "b" / "disk 1" / ".checkpoint-00000001.copy1.tmp").mkdir()
    shutil.rmtree(tmp_path / "b" / "disk 0" / "checkpoint-00000002")
    resumed = launch(2, tmp_path / "b", 0, script="separate_disks.py")
    assert resumed.returncode == 0, resumed.stderr[-3000:]
    assert "[1] BackupAndRestore: resuming from checkpoint 3" in resumed.stdout

    def weights(result):
        return sorted(line for line in result.stdout.splitlines() if "weights" in line)

    assert weights(resumed) == weights(expected) and len(weights(resumed)) == 2
    assert os.listdir(tmp_path / "b" / "disk 1") == []  # the copies are deleted
