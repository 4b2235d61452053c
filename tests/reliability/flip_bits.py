"""Flips single bits of saved files: loading raises an error or gives the same weights.

    python tests/reliability/flip_bits.py --count 1000

Prints the outcomes for each format; fails if a file loads other weights, or if an error does not
name the file.
"""

import argparse
import collections
import pathlib
import random
import sys
import tempfile

import numpy as np

import podium

NAMES = ("m.keras", "m.h5", "w.weights.h5", "w.h5", "w.safetensors")


def small_model():
    model = podium.Sequential(
        [podium.Input((4,)), podium.layers.Dense(6, name="d"), podium.layers.Dense(2, name="e")],
        name="small",
    )
    model.compile(podium.optimizers.Adam(0.01), "mse")
    return model


def save(model, path):
    (model.save if path.name.startswith("m.") else model.save_weights)(path)


def load(path):
    if path.name.startswith("m."):
        return podium.saving.load_model(path)
    model = small_model()
    model.set_weights([np.zeros_like(value) for value in model.get_weights()])
    model.load_weights(path)
    return model


def state_of(model):
    """Return the configs of the layers and the bytes of the weights."""
    layers = [layer.get_config() for layer in model.layers]
    return [layers, *(value.tobytes() for value in model.get_weights())]


def count_outcomes(name, count, directory, seed=0):
    """Flip `count` bits of a new file, one at a time; return the number of each outcome."""
    podium.utils.set_random_seed(3)
    model = small_model()
    path = directory / name
    save(model, path)
    content, expected = path.read_bytes(), state_of(model)
    generator, outcomes = random.Random(seed), collections.Counter()
    for _ in range(count):
        position, bit = generator.randrange(len(content)), generator.randrange(8)
        corrupt = bytearray(content)
        corrupt[position] ^= 1 << bit
        path.write_bytes(corrupt)
        try:
            same = state_of(load(path)) == expected
            outcome = "the same weights" if same else f"OTHER WEIGHTS, byte {position} bit {bit}"
        except (ValueError, OSError) as error:
            outcome = "error" if str(path) in str(error) else f"UNCLEAR: {error}"
        except Exception as error:
            outcome = f"{type(error).__name__.upper()}: {error}"
        outcomes[outcome] += 1
    return outcomes


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="bits of each format")
    count, passed = parser.parse_args().count, True
    with tempfile.TemporaryDirectory() as directory:
        for name in NAMES:
            outcomes = count_outcomes(name, count, pathlib.Path(directory))
            passed &= set(outcomes) <= {"error", "the same weights"}
            print(f"{name:16}", dict(outcomes), flush=True)
    sys.exit(not passed)


if __name__ == "__main__":
    main()
