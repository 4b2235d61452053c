"""Time of saving and loading a large model, compared with writing and reading the same bytes.

    python benchmarks/saving.py [--megabytes 1024] [--rounds 3]

Prints the ratios of the best of several rounds. Writing ends with a flush to the disk, like a save.
Files are read both from the disk (`cold`: dropped from the page cache) and from the page cache
(`warm`).
"""

import argparse
import gc
import os
import pathlib
import tempfile
import time

import numpy as np

import podium

NAMES = ("m.keras", "m.h5", "w.weights.h5", "w.h5", "w.safetensors")


def make_large_model(size_mib, layers=8):
    width = int((size_mib * 2**20 / 4 / layers) ** 0.5)
    dense_layers = [
        podium.layers.Dense(width, kernel_initializer="zeros", name=f"d{index}")
        for index in range(layers)
    ]
    return podium.Sequential([podium.Input((width,)), *dense_layers], name="large")


def touch_memory(num_bytes):
    """Use and free memory: a virtual machine may receive it from its host, slowly, at first use."""
    np.empty(num_bytes, "u1")[::4096] = 1


def time_action(action, num_bytes):
    gc.collect()  # frees models that were loaded before
    # Each action then finds the same memory ready: for the page cache, and twice for the process.
    touch_memory(3 * num_bytes)
    start = time.perf_counter()
    result = action()
    return time.perf_counter() - start, result


def write_bytes(path, content):
    with open(path, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def read_bytes(path):
    with open(path, "rb") as file:
        return len(file.read())


def drop_from_page_cache(path):
    read_bytes(path)  # so that the state before does not matter
    descriptor = os.open(path, os.O_RDONLY)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)


def measure(num_rounds, path, raw_path, content, save, load):
    """Return the shortest time of each step, in seconds."""
    steps = {
        "write": lambda: write_bytes(raw_path, content),
        "save": lambda: save(path),
        "read cold": lambda: read_bytes(raw_path),
        "load cold": lambda: load(path),
        "read warm": lambda: read_bytes(raw_path),
        "load warm": lambda: load(path),
    }
    times = dict.fromkeys(steps, np.inf)
    for _ in range(num_rounds):
        for step, action in steps.items():
            if step.endswith("cold"):
                drop_from_page_cache(raw_path if step.startswith("read") else path)
            times[step] = min(times[step], time_action(action, len(content))[0])
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=NAMES)
    options = parser.parse_args()
    model = make_large_model(options.megabytes)
    rng = np.random.default_rng(0)
    for layer in model.layers:
        layer.set_weights(
            [rng.standard_normal(weight.shape, "float32") for weight in layer.get_weights()]
        )
    target = make_large_model(options.megabytes)
    content = (
        np.concatenate([np.asarray(weight.value).reshape(-1) for weight in model.weights])
        .view("u1")
        .data
    )
    print(
        f"{len(content) / 2**20:.0f} MiB; ratios to writing and reading the same bytes, best "
        f"of {options.rounds}"
    )
    with tempfile.TemporaryDirectory(dir=".") as folder:
        raw_path = pathlib.Path(folder) / "raw"
        for name in options.only:
            path = pathlib.Path(folder) / name
            is_model = name.startswith("m.")
            save = model.save if is_model else model.save_weights
            load = podium.saving.load_model if is_model else target.load_weights
            times = measure(options.rounds, path, raw_path, content, save, load)
            ratios = {
                "save": times["save"] / times["write"],
                "load cold": times["load cold"] / times["read cold"],
                "load warm": times["load warm"] / times["read warm"],
            }
            print(
                f"{name:15}",
                "  ".join(f"{step} {ratio:.2f}x" for step, ratio in ratios.items()),
                end="   ",
            )
            print("  ".join(f"{step} {value:.2f} s" for step, value in times.items()), flush=True)
            path.unlink()


if __name__ == "__main__":
    main()
