"""Handwritten digits: 60,000 images to train on and 10,000 to test with, 28x28 grey."""

import numpy as np

from podium.datasets._reading import ORIGIN
from podium.utils import get_file

_HASH = "731c5ac602752760c8e48fbffcf8c3b850d9dc2a2aedcf2cc48468fc17b673d1"
Arrays = tuple[np.ndarray, np.ndarray]


def load_data(path: str = "mnist.npz") -> tuple[Arrays, Arrays]:
    """Load the digits, fetching them the first time.

    Args:
        path: Name in the cache, `~/.keras/datasets`.

    Returns:
        `(x_train, y_train), (x_test, y_test)`: images as uint8 `(samples, 28, 28)`, digits as
        uint8.

    Example:
        >>> callable(podium.datasets.mnist.load_data)  # (x_train, y_train), (x_test, y_test) = ...load_data()
        True
    """
    found = get_file(path, f"{ORIGIN}mnist.npz", file_hash=_HASH)
    with np.load(found, allow_pickle=False) as arrays:
        return (arrays["x_train"], arrays["y_train"]), (arrays["x_test"], arrays["y_test"])
