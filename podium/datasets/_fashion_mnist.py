"""Pieces of clothing: 60,000 images to train on and 10,000 to test with, 28x28 grey, ten
classes.
"""

import gzip

import numpy as np

from podium.datasets._reading import ORIGIN
from podium.utils import get_file

Arrays = tuple[np.ndarray, np.ndarray]


def load_data() -> tuple[Arrays, Arrays]:
    """Load the images, fetching them the first time.

    Returns:
        `(x_train, y_train), (x_test, y_test)`: images as uint8 `(samples, 28, 28)`, classes as
        uint8.

    Example:
        >>> callable(podium.datasets.fashion_mnist.load_data)  # (x_train, y_train), (x_test, y_test) = ...load_data()
        True
    """
    return _part("train"), _part("t10k")


def _part(name: str) -> Arrays:
    labels = _read(f"{name}-labels-idx1-ubyte.gz", offset=8)
    return _read(f"{name}-images-idx3-ubyte.gz", offset=16).reshape(len(labels), 28, 28), labels


def _read(name: str, offset: int) -> np.ndarray:
    with gzip.open(get_file(name, ORIGIN + name, cache_subdir="datasets/fashion-mnist")) as file:
        return np.frombuffer(file.read(), np.uint8, offset=offset)
