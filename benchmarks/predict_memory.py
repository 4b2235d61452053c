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
WARM_UP = 500  # batches: enough to find how many steps to fuse
ROUNDS_OF_ITER = 10  # how many times as many samples `predict_iter` gets
LIMITS = {
    "predict_iter, 10 times the samples": 0.1
}  # growth as a part of the outputs' size; 1.2 for all others


def own_memory() -> int:
    """Return the bytes of memory that are this process's own: no files, no pages shared with
    others.
    """
    with open("/proc/self/status", encoding="ascii") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon:"))


def peak_while(work: Callable[[], Any]) -> tuple[int, float]:
    """Return by how many bytes memory grew at most while something was done, and how many seconds
    it took.
    """
    before, peak, done = own_memory(), [0], threading.Event()

    def watch() -> None:
        while not done.wait(0.002):
            peak[0] = max(peak[0], own_memory())

    watcher = threading.Thread(target=watch)
    watcher.start()
    start = time.perf_counter()
    result = work()
    seconds = time.perf_counter() - start
    peak[0] = max(peak[0], own_memory())
    done.set()
    watcher.join()
    del result
    return peak[0] - before, seconds


def network(k: int | str) -> podium.Model:
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
    """Return for each row: the steps per execution, and what to do with a model and samples."""

    def into_file(model: podium.Model, x: np.ndarray) -> Any:
        rows = np.memmap(f"{folder}/outputs", "float32", "w+", shape=(len(x), OUTPUTS))
        return model.predict(x, BATCH, verbose=0, out=rows)

    def arrays(model: podium.Model, x: np.ndarray) -> Any:
        return model.predict(x, BATCH, verbose=0)

    def unknown(model: podium.Model, x: np.ndarray) -> Any:
        return model.predict(batches(x), verbose=0)

    def long(model: podium.Model, x: np.ndarray) -> Any:
        return read_all(model.predict_iter(batches(x, ROUNDS_OF_ITER)))

    return {
        "predict, arrays, single steps": (1, arrays),
        "predict, arrays, 16 steps fused": (16, arrays),
        "predict, arrays, auto": ("auto", arrays),
        "predict, generator of unknown length": ("auto", unknown),
        "predict, out= a memmap": ("auto", into_file),
        "predict_iter, 10 times the samples": ("auto", long),
    }


def measure(name: str) -> None:
    """Measure one row in this process and print the results."""
    x = np.random.default_rng(0).normal(size=(SAMPLES, INPUTS)).astype("float32")
    with tempfile.TemporaryDirectory() as folder:
        k, work = cases(x, folder)[name]
        model = network(k)
        for _ in range(3):
            work(model, x[: WARM_UP * BATCH + SAMPLES % BATCH])
        growth, seconds = peak_while(lambda: work(model, x))
    print(growth, seconds)


def main() -> int:
    """Print the table; return how many rows are above their limits."""
    print(
        f"| {SAMPLES:,} x {OUTPUTS} float32 outputs: {SIZE / 1e6:.0f} MB | growth, MB | "
        "growth / outputs | seconds |"
    )
    print("| --- | ---: | ---: | ---: |")
    above = 0
    for name in cases(np.empty((0, INPUTS)), ""):
        done = subprocess.run(
            [sys.executable, __file__, name], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(done.stderr)
        growth, seconds = map(float, done.stdout.split())
        above += growth > LIMITS.get(name, 1.2) * SIZE
        print(f"| {name} | {growth / 1e6:.1f} | {growth / SIZE:.3f} | {seconds:.1f} |", flush=True)
    return above


if __name__ == "__main__":
    measure(sys.argv[1]) if len(sys.argv) > 1 else sys.exit(main())
