"""Kill a process with SIGKILL in the middle of back-to-back saves, many times: the file always
loads, whole.

    python tests/reliability/kill_saves.py --count 200

One process after another saves models of known numbers to the same path, with each writer in turn,
and is killed at a random instant. Each time the file must load, and hold one of the saved models in
all of its parts.
"""

import argparse
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np

WRITERS = ("m.keras", "w.weights.h5", "w.safetensors", "m.h5", "w.h5")
WIDTH = 400


def small_model():
    import podium

    layers = [
        podium.layers.Dense(WIDTH, kernel_initializer="zeros", name=name) for name in ("a", "b")
    ]
    return podium.Sequential([podium.Input((WIDTH,)), *layers], name="small")


def save_for_ever(path):
    """Save models whose numbers are all 0, all 1, ... one after the other; tell when the first file
    is there.
    """
    model = small_model()
    save = model.save if path.name.startswith("m.") else model.save_weights
    for number in range(1_000_000):
        model.set_weights(
            [np.full(value.shape, number, "float32") for value in model.get_weights()]
        )
        save(path)
        if number == 0:
            print("started", flush=True)


def number_in(path, reader):
    """Load a file; return the number that all weights have."""
    import podium

    model = reader
    if path.name.startswith("m."):
        model = podium.saving.load_model(path)
    else:
        reader.load_weights(path)
    found = {number for value in model.get_weights() for number in np.unique(value).tolist()}
    if len(found) != 1:
        raise AssertionError(f"{path} holds parts of several models: {sorted(found)[:5]}")
    return found.pop()


def run(count, folder, seed=0, longest_seconds=0.25, say=lambda text: None):
    """Kill `count` times; return how many files loaded whole. A process is started anew after each
    kill.
    """
    draw, reader, restorable = random.Random(seed), small_model(), 0
    for turn in range(count):
        path = folder / WRITERS[turn % len(WRITERS)]
        process = subprocess.Popen(
            [sys.executable, __file__, "--save", str(path)],
            stdout=subprocess.PIPE,
            env={**os.environ, "JAX_PLATFORMS": "cpu"},
        )
        try:
            assert process.stdout.readline() == b"started\n"
            time.sleep(draw.uniform(0, longest_seconds))
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
            process.stdout.close()
        number = number_in(path, reader)
        restorable += 1
        say(f"{turn + 1:4} {path.name:14} killed, holds number {number:.0f}")
    return restorable


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--save", type=pathlib.Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.save:
        save_for_ever(given.save)
    with tempfile.TemporaryDirectory() as folder:
        restorable = run(given.count, pathlib.Path(folder), say=print)
    print(f"{restorable} of {given.count} restorable")


if __name__ == "__main__":
    main()
