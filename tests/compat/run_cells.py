"""Runs the cells of a document in one namespace, as a notebook does.

Usage: `python -m podium run_cells.py a b ...`. The only difference from the document is that MNIST
is replaced by a few random images.
"""

import pathlib
import sys

import keras  # Podium, under `python -m podium`
import numpy as np


def load_random_digits():
    rng = np.random.default_rng(0)
    return tuple(
        (rng.integers(0, 256, (n, 28, 28), "uint8"), rng.integers(0, 10, n, "uint8"))
        for n in (96, 32)
    )


keras.datasets.mnist.load_data = load_random_digits
for _path in sys.argv[1:]:
    exec(compile(pathlib.Path(_path).read_text(), _path, "exec"), globals())
    print(f"\nran {pathlib.Path(_path).stem}", flush=True)
