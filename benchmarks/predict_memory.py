"""Memory of `predict` in addition to its outputs, and of `predict_iter`.

Each row is measured in a separate process. It predicts a little first, so that programs are
compiled, then all samples, while a thread reads the private memory of the process (RssAnon). Growth
is the peak minus the value before. Linux only. Run: python benchmarks/predict_memory.py
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import podium

SAMPLES, INPUTS, OUTPUTS, BATCH = 1_000_000, 4, 100, 256
SIZE = SAMPLES * OUTPUTS * 4  # bytes of the outputs
WARM_UP = 500  # batches: enough to autotune the steps per execution
PREDICT_ITER_ROUNDS = 10  # passes over the samples for `predict_iter`
# Growth relative to the size of the outputs.
DEFAULT_LIMIT = 1.2
LIMITS = {"predict_iter, 10 times the samples": 0.1}


def private_memory() -> int:
    """Return the bytes of private memory of this process, without files and shared pages."""
    with open("/proc/self/status", encoding="ascii") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon:"))


def measure_peak(work: Callable[[], Any]) -> tuple[int, float]:
    """Return the maximum growth of memory in bytes during a call, and its duration in seconds."""
    before, peak, done = private_memory(), [0], threading.Event()

    def watch() -> None:
        while not done.wait(0.002):
            peak[0] = max(peak[0], private_memory())

    watcher = threading.Thread(target=watch)
    watcher.start()
    start = time.perf_counter()
    result = work()
    seconds = time.perf_counter() - start
    peak[0] = max(peak[0], private_memory())
    done.set()
    watcher.join()
    del result
    return peak[0] - before, seconds


def make_model(k: int | str) -> podium.Model:
    """Return a small model of a hundred outputs."""
    model = podium.Sequential([podium.Input((INPUTS,)), podium.layers.Dense(OUTPUTS)])
    model.compile(steps_per_execution=k)
    return model


def batches(x: np.ndarray, rounds: int = 1) -> Iterator[tuple]:
    """Yield batches; their number is unknown."""
    for _ in range(rounds):
        for start in range(0, len(x), BATCH):
            yield (x[start : start + BATCH],)


def read_all(outputs: Iterator[Any]) -> float:
    """Read every batch once and keep none."""
    return sum(float(batch[0, 0]) for batch in outputs)


def cases(x: np.ndarray, folder: str) -> dict[str, tuple[int | str, Callable]]:
    """Return for each row the steps per execution, and a function of a model and samples."""

    def predict_into_file(model: podium.Model, x: np.ndarray) -> Any:
        rows = np.memmap(f"{folder}/outputs", "float32", "w+", shape=(len(x), OUTPUTS))
        return model.predict(x, BATCH, verbose=0, out=rows)

    def predict_arrays(model: podium.Model, x: np.ndarray) -> Any:
        return model.predict(x, BATCH, verbose=0)

    def predict_generator(model: podium.Model, x: np.ndarray) -> Any:
        return model.predict(batches(x), verbose=0)

    def iterate_predictions(model: podium.Model, x: np.ndarray) -> Any:
        return read_all(model.predict_iter(batches(x, PREDICT_ITER_ROUNDS)))

    return {
        "predict, arrays, single steps": (1, predict_arrays),
        "predict, arrays, 16 steps fused": (16, predict_arrays),
        "predict, arrays, auto": ("auto", predict_arrays),
        "predict, generator of unknown length": ("auto", predict_generator),
        "predict, out= a memmap": ("auto", predict_into_file),
        "predict_iter, 10 times the samples": ("auto", iterate_predictions),
    }


def measure(name: str) -> None:
    """Measure one row in this process and print the results."""
    x = np.random.default_rng(0).normal(size=(SAMPLES, INPUTS)).astype("float32")
    with tempfile.TemporaryDirectory() as folder:
        k, work = cases(x, folder)[name]
        model = make_model(k)
        for _ in range(3):
            work(model, x[: WARM_UP * BATCH + SAMPLES % BATCH])
        growth, seconds = measure_peak(lambda: work(model, x))
    print(growth, seconds)


def main() -> int:
    """Print the table; return the number of rows above their limits."""
    print(
        f"| {SAMPLES:,} x {OUTPUTS} float32 outputs: {SIZE / 1e6:.0f} MB | growth, MB | "
        "growth / outputs | seconds |"
    )
    print("| --- | ---: | ---: | ---: |")
    num_above = 0
    for name in cases(np.empty((0, INPUTS)), ""):
        process = subprocess.run(
            [sys.executable, __file__, name], capture_output=True, text=True, check=False
        )
        if process.returncode:
            raise RuntimeError(process.stderr)
        growth, seconds = map(float, process.stdout.split())
        num_above += growth > LIMITS.get(name, DEFAULT_LIMIT) * SIZE
        print(f"| {name} | {growth / 1e6:.1f} | {growth / SIZE:.3f} | {seconds:.1f} |", flush=True)
    return num_above


if __name__ == "__main__":
    measure(sys.argv[1]) if len(sys.argv) > 1 else sys.exit(main())
