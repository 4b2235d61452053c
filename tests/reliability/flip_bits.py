"""Flip single bits of files that we wrote, and load them: each is refused, or gives the very same
weights.

    python tests/reliability/flip_bits.py --count 1000

Prints for each format how many were refused and how many loaded alike; fails if one loaded other
weights, or if an error is not one that names the file.
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
    made = podium.Sequential(
        [podium.Input((4,)), podium.layers.Dense(6, name="d"), podium.layers.Dense(2, name="e")],
        name="small",
    )
    made.compile(podium.optimizers.Adam(0.01), "mse")
    return made


def save(model, path):
    (model.save if path.name.startswith("m.") else model.save_weights)(path)


def load(path):
    if path.name.startswith("m."):
        return podium.saving.load_model(path)
    model = small_model()
    model.set_weights([np.zeros_like(value) for value in model.get_weights()])
    model.load_weights(path)
    return model


def bits_of(model):
    """All that counts: the weights, and what is done with them."""
    layers = [layer.get_config() for layer in model.layers]
    return [layers, *(value.tobytes() for value in model.get_weights())]


def check(name, count, folder, seed=0):
    """Flip `count` bits of a fresh file, one at a time; return how often what happened."""
    podium.utils.set_random_seed(3)
    model = small_model()
    path = folder / name
    save(model, path)
    content, wanted = path.read_bytes(), bits_of(model)
    draw, found = random.Random(seed), collections.Counter()
    for _ in range(count):
        place, bit = draw.randrange(len(content)), draw.randrange(8)
        damaged = bytearray(content)
        damaged[place] ^= 1 << bit
        path.write_bytes(damaged)
        try:
            same = bits_of(load(path)) == wanted
            found["the same weights" if same else f"OTHER WEIGHTS, byte {place} bit {bit}"] += 1
        except (ValueError, OSError) as error:
            found["refused" if str(path) in str(error) else f"UNCLEAR: {error}"] += 1
        except Exception as error:
            found[f"{type(error).__name__.upper()}: {error}"] += 1
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="bits of each format")
    count, good = parser.parse_args().count, True
    with tempfile.TemporaryDirectory() as folder:
        for name in NAMES:
            found = check(name, count, pathlib.Path(folder))
            good &= set(found) <= {"refused", "the same weights"}
            print(f"{name:16}", dict(found), flush=True)
    sys.exit(not good)


if __name__ == "__main__":
    main()
