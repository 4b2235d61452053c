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


def large_model(megabytes, layers=8):
    width = int((megabytes * 2**20 / 4 / layers) ** 0.5)
    made = [
        podium.layers.Dense(width, kernel_initializer="zeros", name=f"d{place}")
        for place in range(layers)
    ]
    return podium.Sequential([podium.Input((width,)), *made], name="large")


def touch(num_bytes):
    """Use and free memory. Virtual machines get theirs from the host when it is first used, slowly,
    and may lose it again.
    """
    np.empty(num_bytes, "u1")[::4096] = 1


def timed(action, num_bytes):
    gc.collect()  # models that were loaded before: their memory is wanted again
    touch(
        3 * num_bytes
        # so that no step pays for what others find ready: the file in the kernel's memory, and
        # twice in ours
    )
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


def forget(path):
    read_bytes(path)  # whether it was in the kernel's memory before, or not
    descriptor = os.open(path, os.O_RDONLY)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)


def rounds(count, path, plain, content, save, load):
    """Return the shortest time of each step, in seconds."""
    steps = {
        "write": lambda: write_bytes(plain, content),
        "save": lambda: save(path),
        "read cold": lambda: read_bytes(plain),
        "load cold": lambda: load(path),
        "read warm": lambda: read_bytes(plain),
        "load warm": lambda: load(path),
    }
    times = dict.fromkeys(steps, np.inf)
    for _ in range(count):
        for step, action in steps.items():
            if step.endswith("cold"):
                forget(plain if step.startswith("read") else path)
            times[step] = min(times[step], timed(action, len(content))[0])
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=NAMES)
    given = parser.parse_args()
    model = large_model(given.megabytes)
    draw = np.random.default_rng(0)
    for layer in model.layers:
        layer.set_weights(
            [draw.standard_normal(weight.shape, "float32") for weight in layer.get_weights()]
        )
    other = large_model(given.megabytes)
    content = (
        np.concatenate([np.asarray(weight.value).reshape(-1) for weight in model.weights])
        .view("u1")
        .data
    )
    print(
        f"{len(content) / 2**20:.0f} MiB; ratios to writing and reading the same bytes, best "
        f"of {given.rounds}"
    )
    with tempfile.TemporaryDirectory(dir=".") as folder:
        plain = pathlib.Path(folder) / "plain"
        for name in given.only:
            path = pathlib.Path(folder) / name
            whole = name.startswith("m.")
            save = model.save if whole else model.save_weights
            load = podium.saving.load_model if whole else other.load_weights
            times = rounds(given.rounds, path, plain, content, save, load)
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
