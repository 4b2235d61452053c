"""Throughput of data sources: samples per second into a step, compared with a bare loop.

The step does nothing. Results are ratios from interleaved runs in one process, best of several. The
last table is the peak memory while training on a file ten times as large as the budget for arrays
on the device. Sources whose packages are not installed are skipped with a note. Run: make
bench-data
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

import podium
from podium.data import Dataset

SAMPLES, WIDTH, BATCH = 65_536, 64, 128
ROUNDS = 5
X = np.random.default_rng(0).normal(size=(SAMPLES, WIDTH)).astype("float32")
Y = X.sum(-1)
STARTS = range(0, SAMPLES, BATCH)


class Idle(podium.Model):
    """A model whose step only touches its batch."""

    def train_step(self, data: Any) -> dict[str, Any]:
        x, y = data
        return {"first": x[0, 0] + y[0]}


def iterate_batches(x: Any, y: Any) -> Iterable:
    """Iterate over slices of arrays."""
    return ((np.array(x[at : at + BATCH]), np.array(y[at : at + BATCH])) for at in STARTS)


class IndexedBatches(podium.utils.PyDataset):
    """Batches by index."""

    def __len__(self) -> int:
        return len(STARTS)

    def __getitem__(self, index: int) -> Any:
        at = index * BATCH
        return X[at : at + BATCH], Y[at : at + BATCH]


def make_sources(folder: Path) -> dict[str, tuple[Callable[[], dict], Callable[[], Iterable]]]:
    """Return for each kind: the arguments of `fit`, and a bare loop over the same source."""
    arrays = {"batch_size": BATCH, "shuffle": False}
    by_name: dict[str, tuple[Callable[[], dict], Callable[[], Iterable]]] = {}
    by_name["NumPy arrays"] = (lambda: {"x": X, "y": Y, **arrays}, lambda: iterate_batches(X, Y))

    order = np.random.default_rng(0).permutation(SAMPLES)
    by_name["NumPy arrays, shuffled"] = (
        lambda: {"x": X, "y": Y, "batch_size": BATCH},
        lambda: ((X[order[at : at + BATCH]], Y[order[at : at + BATCH]]) for at in STARTS),
    )
    np.save(folder / "x.npy", X)
    mapped = np.load(folder / "x.npy", mmap_mode="r")
    by_name["np.memmap"] = (
        lambda: {"x": mapped, "y": Y, **arrays},
        lambda: iterate_batches(mapped, Y),
    )

    import h5py

    file = h5py.File(folder / "x.h5", "w")
    stored = file.create_dataset("x", data=X)
    by_name["HDF5"] = (lambda: {"x": stored, "y": Y, **arrays}, lambda: iterate_batches(stored, Y))

    import scipy.sparse

    sparse = scipy.sparse.random(SAMPLES, WIDTH, 0.05, "csr", dtype="float32", random_state=0)
    by_name["SciPy sparse"] = (
        lambda: {"x": sparse, "y": Y, **arrays},
        lambda: ((sparse[at : at + BATCH].toarray(), Y[at : at + BATCH]) for at in STARTS),
    )
    slices = Dataset.from_tensor_slices((X, Y)).batch(BATCH)
    by_name["Dataset of arrays"] = (lambda: {"x": slices}, lambda: slices.as_numpy_iterator())
    doubled = slices.map(lambda x, y: (x * 2.0, y))
    by_name["Dataset with map"] = (lambda: {"x": doubled}, lambda: doubled.as_numpy_iterator())
    by_name["generator"] = (lambda: {"x": iterate_batches(X, Y)}, lambda: iterate_batches(X, Y))
    indexed = IndexedBatches()
    by_name["PyDataset"] = (
        lambda: {"x": indexed, "shuffle": False},
        lambda: (indexed[i] for i in range(len(indexed))),
    )
    if is_installed("pandas"):
        import pandas

        frame = pandas.DataFrame(X)
        by_name["pandas"] = (
            lambda: {"x": frame, "y": Y, **arrays},
            lambda: ((frame.iloc[at : at + BATCH].to_numpy(), Y[at : at + BATCH]) for at in STARTS),
        )
    if is_installed("torch"):
        import torch
        from torch.utils.data import DataLoader, TensorDataset

        loader = DataLoader(
            TensorDataset(torch.from_numpy(X), torch.from_numpy(Y)), batch_size=BATCH
        )
        by_name["torch DataLoader"] = (lambda: {"x": loader}, lambda: loader)
    if is_installed("tensorflow"):
        import tensorflow

        pipeline = tensorflow.data.Dataset.from_tensor_slices((X, Y)).batch(BATCH)
        by_name["tf.data"] = (lambda: {"x": pipeline}, lambda: pipeline.as_numpy_iterator())
    if is_installed("grain"):
        import grain

        grains = grain.MapDataset.source(list(zip(X, Y, strict=True))).batch(BATCH)
        by_name["Grain"] = (lambda: {"x": grains}, lambda: (grains[i] for i in range(len(grains))))
    return by_name


def is_installed(package: str) -> bool:
    """Return whether a package is installed, without importing it."""
    return importlib.util.find_spec(package) is not None


def print_throughput(folder: Path) -> None:
    """Print samples per second for each source."""
    print(
        f"## Samples per second into a step that does nothing ({SAMPLES} x {WIDTH} float32, "
        f"batches of {BATCH}, two epochs)\n"
    )
    print(
        "| source | bare loop | `fit` | ratio | `fit`, k=16 | ratio |\n| --- | ---: | ---: "
        "| ---: | ---: | ---: |"
    )
    for name, (arguments, bare) in make_sources(folder).items():
        models = {}
        for k in (1, 16):
            models[k] = Idle()
            models[k].compile(steps_per_execution=k)
        epochs = 1 if name == "generator" else 2
        runs: dict[str, Callable] = {
            "bare": lambda bare=bare, epochs=epochs: [exhaust(bare()) for _ in range(epochs)]
        }
        for k, model in models.items():
            runs[f"k={k}"] = lambda m=model, a=arguments, epochs=epochs: m.fit(
                **a(), epochs=epochs, verbose=0
            )
        best = dict.fromkeys(runs, float("inf"))
        for round_ in range(ROUNDS + 1):
            for run, call in runs.items():
                start = time.perf_counter()
                call()
                if round_:  # the first one compiles
                    best[run] = min(best[run], time.perf_counter() - start)
        bare_rate, fit, fused = (SAMPLES * epochs / seconds for seconds in best.values())
        ratios = f"{fit:,.0f} | {fit / bare_rate:.2f} | {fused:,.0f} | {fused / bare_rate:.2f}"
        print(f"| {name} | {bare_rate:,.0f} | {ratios} |", flush=True)
    missing = [
        package
        for package in ("pandas", "torch", "tensorflow", "grain")
        if not is_installed(package)
    ]
    if missing:
        print(f"\nNot installed here, so not measured: {', '.join(missing)}.")


def exhaust(batches: Iterable) -> None:
    """Read a source to its end."""
    for _ in batches:
        pass


_TRAIN_ON_A_FILE = """
import sys, threading, time
import numpy as np, podium
def private_bytes():
    lines = open("/proc/self/status")
    return int(next(line for line in lines if line.startswith("RssAnon")).split()[1]) * 1024
budget = int(sys.argv[2])
podium.data.set_device_budget(budget)
x = np.load(sys.argv[1], mmap_mode="r")
model = podium.Sequential([podium.Input((x.shape[1],)), podium.layers.Dense(1)])
model.compile("sgd", "mse")
y = np.zeros((len(x), 1), "float32")
model.fit(x[:512], y[:512], batch_size=256, verbose=0)
before, peak, done = private_bytes(), [0], threading.Event()
def watch():
    while not done.wait(0.005):
        peak[0] = max(peak[0], private_bytes())
watcher = threading.Thread(target=watch); watcher.start()
model.fit(x, y, batch_size=256, epochs=2, verbose=0)
done.set(); watcher.join()
print(x.nbytes, peak[0] - before)
"""


def print_memory(folder: Path) -> None:
    """Print the peak memory while training on a file ten times as large as the budget."""
    budget = 32 * 2**20
    rows = 10 * budget // (256 * 4)
    file = np.lib.format.open_memmap(folder / "large.npy", "w+", "float32", (rows, 256))
    for at in range(0, rows, 4096):
        file[at : at + 4096] = np.random.default_rng(at).normal(
            size=(len(file[at : at + 4096]), 256)
        )
    del file
    command = [sys.executable, "-c", _TRAIN_ON_A_FILE, str(folder / "large.npy"), str(budget)]
    size, growth = map(
        int, subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    )
    print("\n## Memory while training on a memory-mapped file, shuffled, two epochs\n")
    print(
        "| file | budget for the device | growth of the process's private memory |\n| ---: | "
        "---: | ---: |"
    )
    print(f"| {size / 2**20:.0f} MiB | {budget / 2**20:.0f} MiB | {growth / 2**20:.1f} MiB |")


if __name__ == "__main__":
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(KeyboardInterrupt):
        print_throughput(Path(folder))
        print_memory(Path(folder))
