"""Kills workers of parameter-server training with SIGKILL, and compares the end with that of an
undisturbed run.

Usage: python -m tests.distribute.parameter_server.kill_processes [--count n]; prints a line for
each run, and one for a lost server and a lost coordinator.
"""

import argparse
import atexit
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np

import podium
from podium.distribute.coordinator import ClusterCoordinator, ServerLostError
from tests.distribute.parameter_server.local_cluster import applied_steps, batches

ROOT = pathlib.Path(__file__).parents[3]
NUM_STEPS = 120
MARK = "PODIUM_TEST_RUN"  # an environment variable, which child processes inherit


def train(strategy, after_schedule=lambda step: None, steps=NUM_STEPS):
    """Train a small model, and return it."""
    coordinator = ClusterCoordinator(strategy)
    podium.utils.set_random_seed(1)
    with strategy.scope():
        model = podium.Sequential([podium.Input((8,)), podium.layers.Dense(1)])
        model.compile(podium.optimizers.SGD(0.02), "mse")
    x, y = map(np.concatenate, zip(*batches(NUM_STEPS), strict=True))
    data = podium.data.Dataset.from_tensor_slices((x, y)).batch(10).repeat()
    iterator = iter(coordinator.create_per_worker_dataset(data))
    step = podium.function(lambda it: model.train_step(next(it)))
    for index in range(steps):
        coordinator.schedule(step, args=(iterator,))
        after_schedule(index)
    coordinator.join()
    return model


def kill_random_worker(strategy, draw):
    """Kill a worker's process, if it has started."""
    index = draw.randrange(strategy.num_workers)
    pid = strategy._cluster.worker_pid(index, timeout=20)
    if pid is not None:
        os.kill(pid, signal.SIGKILL)
    return pid is not None


def kill_workers(seed, kills, staleness):
    """Train while random workers are killed; return the model and what the servers have applied."""
    draw = random.Random(seed)
    strategy = podium.distribute.ParameterServerStrategy(
        variable_partitioner=podium.distribute.FixedShardsPartitioner(2),
        num_workers=2,
        num_servers=2,
        staleness=staleness,
    )
    moments = sorted(draw.sample(range(5, NUM_STEPS - 5), kills))
    num_killed = 0

    def after_schedule(step):
        nonlocal num_killed
        while moments and moments[0] == step:
            moments.pop(0)
            num_killed += kill_random_worker(strategy, draw)
        time.sleep(draw.uniform(0, 0.02))

    model = train(strategy, after_schedule)
    applied = applied_steps(strategy)
    lost = ClusterCoordinator(strategy)._scheduler.num_lost_workers
    strategy.close()
    return model, applied, num_killed, lost


def lose_server():
    """Kill a server while it is used; return the seconds until the error, and its message."""
    strategy = podium.distribute.ParameterServerStrategy(num_workers=2, num_servers=2)
    killed = []

    def after_schedule(step):
        if step == 20:
            os.kill(strategy._cluster.server_pid(1), signal.SIGKILL)
            killed.append(time.monotonic())

    try:
        train(strategy, after_schedule, steps=10_000)
    except ServerLostError as error:
        return time.monotonic() - killed[0], str(error)
    finally:
        strategy.close()
    return None, "no error"


COORDINATOR = """
import pathlib
from tests.distribute.parameter_server.kill_processes import train
import podium
strategy = podium.distribute.ParameterServerStrategy(num_workers=2, num_servers=1)
pids = [*map(strategy._cluster.worker_pid, (0, 1)), strategy._cluster.server_pid(0)]
text = " ".join(map(str, pids))
train(strategy, lambda step: step == 50 and pathlib.Path({path!r}).write_text(text), 100_000)
"""


def lose_coordinator():
    """Kill the coordinator's process; return the processes and files that are left over."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "pids")
        command = COORDINATOR.format(path=str(path))
        process = subprocess.Popen(
            [sys.executable, "-c", command],
            cwd=ROOT,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        while not (path.exists() and path.read_text().count(" ") == 2):
            assert process.poll() is None, "the coordinator has ended"
            time.sleep(0.05)
        process.kill()
        process.wait()
        pids = [int(pid) for pid in path.read_text().split()]
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and any(is_running(pid) for pid in pids):
            time.sleep(0.1)
        return [pid for pid in pids if is_running(pid)]


def is_running(pid):
    stat = pathlib.Path(f"/proc/{pid}/stat")
    try:
        return stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def mark_processes():
    """Mark the processes that this one starts, and put their temporary files into a folder of
    their own: `ray_processes` and `folders` return no others. Return the folder.
    """
    folder = tempfile.mkdtemp(prefix="p-")  # short: Ray's sockets are in it
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ[MARK] = os.environ["TMPDIR"] = tempfile.tempdir = folder
    return folder


def ray_processes():
    """Return the processes of Ray that were started after `mark_processes`, by their commands."""
    mark = f"{MARK}={os.environ[MARK]}".encode()
    found = {}
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            is_marked = mark in path.with_name("environ").read_bytes().split(b"\0")
        except OSError:
            continue
        pid = int(path.parent.name)
        if is_marked and pid != os.getpid() and is_running(pid):
            found[pid] = command[:60]
    return found


def wait_until_no_process_is_left(seconds=120):
    deadline = time.monotonic() + seconds
    while (left := ray_processes()) and time.monotonic() < deadline:
        time.sleep(0.2)
    return left


def folders():
    return sorted(map(str, pathlib.Path(tempfile.gettempdir()).iterdir()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=50, help="workers to kill (50)")
    options = parser.parse_args()
    mark_processes()
    reference, *_ = kill_workers(0, 0, staleness=0)
    total, run = 0, 0
    while total < options.count:
        run += 1
        staleness = None if run % 2 else 0
        kills = min(5, options.count - total)
        model, applied, killed, lost = kill_workers(run, kills, staleness)
        total += killed
        difference = max(
            float(np.abs(a - b).max())
            for a, b in zip(model.get_weights(), reference.get_weights(), strict=True)
        )
        x, y = map(np.concatenate, zip(*batches(NUM_STEPS), strict=True))
        loss = float(np.mean((model.predict(x, verbose=0) - y) ** 2))
        print(
            f"run {run}: staleness {staleness}, {killed} killed, {lost} lost in a call, "
            f"applied {applied} of {NUM_STEPS}, loss {loss:.2e}, "
            f"difference from the undisturbed run {difference:.1e}",
            flush=True,
        )
        assert applied == [NUM_STEPS] * 2, "a step was lost, or applied twice"
        assert loss < 0.05, "training has not converged"
        assert staleness is None or difference < 1e-5, "other weights than the undisturbed run"
    seconds, message = lose_server()
    print(f"lost server: error after {seconds:.1f} s: {message}", flush=True)
    assert "has ended" in message
    left = lose_coordinator()
    print(f"lost coordinator: processes left over: {left}", flush=True)
    assert not left
    left, files = wait_until_no_process_is_left(), folders()
    print(
        f"{total} workers killed in {run} runs; left over: {left or 'no process'}, "
        f"{files or 'no file'}"
    )
    assert not left
    assert not files


if __name__ == "__main__":
    main()
