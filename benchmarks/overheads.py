"""Overhead of `fit`: the progress bar, the end of an epoch, import, compilation, and memory.

Results are the best of interleaved rounds.

Run: python benchmarks/overheads.py [bar epoch import first memory]
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import io
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import numpy as np
from libraries import environment_with_bytecode

ROUNDS = 7


def time_interleaved(
    runs: dict[str, Callable[[], object]], rounds: int = ROUNDS
) -> dict[str, list[float]]:
    """Return the seconds of each run in each round."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - start)
    return times


def make_model(width: int, inputs: int = 784, outputs: int = 10):
    """Return a compiled MLP of two hidden layers."""
    # Imported here, because this script also measures the import, in subprocesses.
    import podium

    hidden = [podium.layers.Dense(width, activation="relu") for _ in range(2)]
    model = podium.Sequential([podium.Input((inputs,)), *hidden, podium.layers.Dense(outputs)])
    loss = podium.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss=loss, metrics=["accuracy"])
    return model


def make_data(count: int, inputs: int = 784) -> tuple:
    """Return inputs and classes."""
    rng = np.random.default_rng(0)
    return rng.random((count, inputs), "float32"), rng.integers(0, 10, count)


class Terminal(io.StringIO):
    """An in-memory terminal: the progress bar is redrawn as on a real one."""

    def isatty(self) -> bool:
        """Return True."""
        return True


def measure_progress_bar() -> None:
    """`fit(verbose=1)` between two `fit(verbose=0)`, for steps over 100 us: the median of the
    ratios.

    The control is the ratio of the two `verbose=0` runs, which should be 1.
    """
    print(
        "| steps of | verbose=0, us | verbose=1, us | ratio | control |\n| --- | ---: | "
        "---: | ---: | ---: |"
    )
    for width, batch, steps in ((128, 32, 2000), (256, 128, 400), (512, 128, 150)):
        model, (x, y) = make_model(width), make_data(batch * steps)

        def fit(verbose: int, model=model, x=x, y=y, batch=batch) -> None:
            with contextlib.redirect_stdout(Terminal()):
                model.fit(x, y, batch_size=batch, verbose=verbose)

        for _ in range(3):
            fit(0), fit(1)
        runs = {
            "silent": lambda fit=fit: fit(0),
            "bar": lambda fit=fit: fit(1),
            "again": lambda fit=fit: fit(0),
        }
        times = time_interleaved(runs, 3 * ROUNDS)
        silent, shown, again = times.values()
        ratio = statistics.median(
            2 * b / (a + c) for a, b, c in zip(silent, shown, again, strict=True)
        )
        control = statistics.median(a / c for a, c in zip(silent, again, strict=True))
        cells = " | ".join(f"{min(t) / steps * 1e6:.0f}" for t in (silent, shown))
        print(
            f"| MLP of width {width}, batch {batch} | {cells} | {ratio:.3f} | {control:.3f} |",
            flush=True,
        )
    print()


def measure_epoch_end() -> None:
    """The end of an epoch without validation: the same steps in one epoch and in 20.

    Steps are short, so that their noise does not hide the end of an epoch.
    """
    print(
        "| batches | steps | one epoch, ms | 20 epochs, ms | an epoch's end, ms |\n| --- | "
        "---: | ---: | ---: | ---: |"
    )
    for label, width, batch, steps in (
        ("MLP of width 16, batch 32", 16, 32, 32),
        ("MLP of width 128, batch 32", 128, 32, 8),
    ):
        (x, y), (many_x, many_y) = make_data(batch * steps), make_data(batch * steps * 20)
        model = make_model(width)

        def fit_one_epoch(model=model, x=many_x, y=many_y, batch=batch) -> None:
            model.fit(x, y, batch_size=batch, verbose=0)

        def fit_twenty_epochs(model=model, x=x, y=y, batch=batch) -> None:
            model.fit(x, y, batch_size=batch, epochs=20, verbose=0)

        for _ in range(6):
            fit_one_epoch(), fit_twenty_epochs()
        times = time_interleaved({"one": fit_one_epoch, "twenty": fit_twenty_epochs}, 8 * ROUNDS)
        few, many = (min(times[name]) * 1e3 for name in ("one", "twenty"))
        print(
            f"| {label} | {20 * steps} | {few:.2f} | {many:.2f} | {(many - few) / 19:.3f} |",
            flush=True,
        )
    print()


def time_subprocess(code: str, **environment: str) -> tuple[float, float]:
    """Run code in a new process; return wall and user seconds."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime, time.perf_counter()
    subprocess.run(
        [sys.executable, "-c", code], check=True, env={**environment_with_bytecode(), **environment}
    )
    return time.perf_counter() - start, resource.getrusage(
        resource.RUSAGE_CHILDREN
    ).ru_utime - before


def measure_import() -> None:
    """Compare `import podium` with `import jax`, each in new processes."""
    times_by_package: dict[str, list[tuple[float, float]]] = {"jax": [], "podium": []}
    for _ in range(ROUNDS):
        for name, times in times_by_package.items():
            times.append(time_subprocess(f"import {name}"))
    wall, user = (
        {name: min(part[slot] for part in times) for name, times in times_by_package.items()}
        for slot in (0, 1)
    )
    print("| in a fresh process | wall, s | user, s |\n| --- | ---: | ---: |")
    for name in times_by_package:
        print(f"| import {name} | {wall[name]:.2f} | {user[name]:.2f} |")
    print(
        f"| ratio | {wall['podium'] / wall['jax']:.2f} | {user['podium'] / user['jax']:.2f} |\n",
        flush=True,
    )


FIRST_FIT_CODE = """
import dataclasses, json, sys, time
sys.path.insert(0, {folder!r})
from workloads import WORKLOADS
import podium
workload = dataclasses.replace(WORKLOADS[{name!r}], epochs=1)
data = workload.data()
start = time.perf_counter()
model = workload.build(podium)
workload.run(model, data)
print(json.dumps(time.perf_counter() - start))
"""


def measure_first_fit() -> None:
    """The first `fit` of a process, without and with the compilation cache of another one."""
    print("| first fit, s | cold | second process | ratio |\n| --- | ---: | ---: | ---: |")
    for name in ("dense", "mlp", "lstm", "residual"):
        times: dict[str, list[float]] = {"cold": [], "second": []}
        for _ in range(3):
            with tempfile.TemporaryDirectory() as cache:
                for durations in times.values():
                    code = FIRST_FIT_CODE.format(
                        folder=os.path.dirname(os.path.abspath(__file__)), name=name
                    )
                    command = [sys.executable, "-c", code]
                    process = subprocess.run(
                        command,
                        check=True,
                        capture_output=True,
                        env={**environment_with_bytecode(), "PODIUM_CACHE_DIR": cache},
                    )
                    durations.append(json.loads(process.stdout))
        cold, second = min(times["cold"]), min(times["second"])
        print(f"| {name} | {cold:.2f} | {second:.2f} | {second / cold:.2f} |", flush=True)
    print()


def current_memory_mib() -> float:
    """Return the current memory of this process in MiB, without memory that the allocator holds."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):  # another C library than glibc
        ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20


def measure_memory() -> None:
    """The memory after every 50 of 500 `fit` calls on one model, and of 200 models that are built,
    trained and dropped.
    """
    x, y = make_data(320, 32)
    model = make_model(64, 32)

    def fit() -> None:
        model.fit(x, y, batch_size=32, epochs=2, verbose=0)

    def fit_new_model() -> None:
        make_model(64, 32).fit(x, y, batch_size=32, verbose=0)

    for label, run, count in (
        ("`fit` on one model", fit, 500),
        ("models built and dropped", fit_new_model, 200),
    ):
        samples = []
        for number in range(1, count + 1):
            run()
            if number % 50 == 0:
                samples.append(current_memory_mib())
        steps = " | ".join(str(50 * (number + 1)) for number in range(len(samples)))
        print(f"| {label} | {steps} | growth after 50 |\n| --- |{' ---: |' * (len(samples) + 1)}")
        cells = " | ".join(f"{mib:.1f}" for mib in samples)
        print(f"| MiB | {cells} | {samples[-1] - samples[0]:+.1f} |\n", flush=True)


PARTS = {
    "bar": measure_progress_bar,
    "epoch": measure_epoch_end,
    "import": measure_import,
    "first": measure_first_fit,
    "memory": measure_memory,
}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
