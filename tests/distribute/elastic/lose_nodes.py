"""Trains on a Ray cluster of several local nodes, of which some are killed and some are added, and
compares the weights with those of an undisturbed run in one process.

Usage: python -m tests.distribute.elastic.lose_nodes [--workers n] [--runs n]; prints a line for
each event, and the difference for each run.
"""

import argparse
import itertools
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

from tests.distribute.elastic.ray_nodes import ROOT, Job, RayNodes
from tests.distribute.parameter_server.kill_processes import (
    folders,
    mark_processes,
    wait_until_no_process_is_left,
)

SCRIPT = ROOT / "tests" / "distribute" / "elastic" / "train.py"
EPOCHS_PER_GROUP = 3


def print_event(text, began):
    print(f"  {time.monotonic() - began:5.1f} s: {text}", flush=True)


def parse_weights(lines):
    """Return the number of epochs and the weights that each worker printed."""
    results = [line.partition("result ")[2].split() for line in lines if "result " in line]
    return [(int(count), np.frombuffer(bytes.fromhex(text), "f4")) for count, text in results]


def train_undisturbed(num_epochs):
    """Return the weights of a run in one process."""
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.run(
            [sys.executable, str(SCRIPT), folder, str(num_epochs), "--alone"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
    ((epochs, weights),) = parse_weights(process.stdout.splitlines())
    assert epochs == num_epochs
    return weights


def train_while_nodes_are_lost(num_workers, losses):
    """Lose nodes one after another, the last time that of the chief; then add one.

    Returns:
        The weights of each worker, and the number of workers in each epoch.
    """
    began = time.monotonic()
    sizes = [*range(num_workers, num_workers - losses - 1, -1), num_workers - losses + 1]
    num_epochs = EPOCHS_PER_GROUP * len(sizes)
    gates = [EPOCHS_PER_GROUP * (index + 1) - 1 for index in range(len(sizes) - 1)]
    with RayNodes(num_workers) as nodes, tempfile.TemporaryDirectory() as folder:
        options = ("--address", nodes.address, "--workers", f"1:{num_workers}")
        gate_list = ",".join(map(str, gates))
        with Job(*options, SCRIPT, folder, num_epochs, gate_list) as job:
            for index, (size, gate) in enumerate(zip(sizes[:-1], gates, strict=True)):
                raylets = job.wait_for_workers(size)
                job.wait_for(rf"epoch {gate} with {size} workers")
                if index < losses:
                    lost = 0 if index == losses - 1 else size - 1
                    nodes.kill(raylets[lost])
                    print_event(f"epoch {gate}: killed the node of worker {lost} of {size}", began)
                else:
                    nodes.add()
                    print_event(f"epoch {gate}: added a node to {size}", began)
                    job.wait_for("there is capacity for more workers")
                pathlib.Path(folder, f"open-{gate}").touch()
            job.wait_for_workers(sizes[-1])
            print_event(f"{sizes[-1]} workers run", began)
            status = job.wait()
            print_event(f"the job has ended with status {status}", began)
            print(*(f"  {line}" for line in job.lines if "podium launch:" in line), sep="\n")
            assert status == 0, "\n".join(job.lines)
            assert not list(pathlib.Path(folder, "backup").glob("*"))  # deleted by the last group
        epochs = [line.split()[2::2] for line in job.lines if "] epoch " in line]
    words = [line.split() for line in job.lines if "] epoch " in line]
    epochs = [(int(word[2]), int(word[4])) for word in words]
    assert [size for size, _ in itertools.groupby(size for _, size in epochs)] == sizes, epochs
    results = parse_weights(job.lines)
    assert [count for count, _ in results] == [num_epochs] * sizes[-1]
    return [weights for _, weights in results], epochs


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=4, help="workers at the beginning (4)")
    parser.add_argument("--runs", type=int, default=2, help="runs (2)")
    options = parser.parse_args()
    mark_processes()
    losses = min(2, options.workers - 1)
    expected = train_undisturbed(EPOCHS_PER_GROUP * (losses + 2))
    for run in range(options.runs):
        print(f"run {run + 1}: {options.workers} workers, {losses} lost, 1 gained", flush=True)
        all_weights, epochs = train_while_nodes_are_lost(options.workers, losses)
        difference = max(float(np.abs(weights - expected).max()) for weights in all_weights)
        print(f"run {run + 1}: epochs and workers {epochs}", flush=True)
        print(f"run {run + 1}: difference from the undisturbed run {difference:.1e}", flush=True)
        assert difference < 1e-5, "other weights than the undisturbed run"
    left, files = wait_until_no_process_is_left(), folders()
    print(f"left over: {left or 'no process'}, {files or 'no file'}", flush=True)
    assert not left


if __name__ == "__main__":
    main()
