"""Kills processes during repeated saves with SIGKILL: the file always loads completely.

    python tests/reliability/kill_saves.py --count 200

Processes save models with known values to the same path, in each format in turn, and are killed at
a random time. Each time the file must load and contain exactly one of the saved models.
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

FILE_NAMES = ("m.keras", "w.weights.h5", "w.safetensors", "m.h5", "w.h5")
WIDTH = 400


def small_model():
    import podium

    layers = [
        podium.layers.Dense(WIDTH, kernel_initializer="zeros", name=name) for name in ("a", "b")
    ]
    return podium.Sequential([podium.Input((WIDTH,)), *layers], name="small")


def save_repeatedly(path):
    """Save models whose weights are all 0, all 1, ...; print when the first file exists."""
    model = small_model()
    save = model.save if path.name.startswith("m.") else model.save_weights
    for value in range(1_000_000):
        model.set_weights(
            [np.full(weight.shape, value, "float32") for weight in model.get_weights()]
        )
        save(path)
        if value == 0:
            print("started", flush=True)


def load_value(path, reader):
    """Load a file; return the value that all weights have."""
    import podium

    model = reader
    if path.name.startswith("m."):
        model = podium.saving.load_model(path)
    else:
        reader.load_weights(path)
    values = {value for weight in model.get_weights() for value in np.unique(weight).tolist()}
    if len(values) != 1:
        raise AssertionError(f"{path} holds parts of several models: {sorted(values)[:5]}")
    return values.pop()


def run_kills(count, directory, seed=0, max_delay=0.25, report=lambda text: None):
    """Kill `count` processes; return the number of files that loaded completely."""
    generator, reader, restorable = random.Random(seed), small_model(), 0
    for iteration in range(count):
        path = directory / FILE_NAMES[iteration % len(FILE_NAMES)]
        process = subprocess.Popen(
            [sys.executable, __file__, "--save", str(path)],
            stdout=subprocess.PIPE,
            env={**os.environ, "JAX_PLATFORMS": "cpu"},
        )
        try:
            assert process.stdout.readline() == b"started\n"
            time.sleep(generator.uniform(0, max_delay))
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
            process.stdout.close()
        value = load_value(path, reader)
        restorable += 1
        report(f"{iteration + 1:4} {path.name:14} killed, holds value {value:.0f}")
    return restorable


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--save", type=pathlib.Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.save:
        save_repeatedly(arguments.save)
    with tempfile.TemporaryDirectory() as directory:
        restorable = run_kills(arguments.count, pathlib.Path(directory), report=print)
    print(f"{restorable} of {arguments.count} restorable")


if __name__ == "__main__":
    main()
