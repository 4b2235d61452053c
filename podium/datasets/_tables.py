"""What the datasets of rows have in common: arrays x and y, mixed by a seed and cut in two."""

from __future__ import annotations

from typing import Any

import numpy as np

Arrays = tuple[np.ndarray, np.ndarray]


def check_test_split(test_split: Any) -> None:
    """Refuse what is no fraction, before anything is fetched."""
    if not 0 <= test_split < 1:
        raise ValueError(
            f"test_split={test_split!r} was given; a fraction from 0 to (but not) 1 was expected."
        )


def split(
    x: np.ndarray, y: np.ndarray, test_split: float, seed: int | None
) -> tuple[Arrays, Arrays]:
    """Mix the rows in Keras's way, so that one seed gives its order, and cut off the last ones for
    testing.
    """
    order = np.arange(len(x))
    np.random.RandomState(seed).shuffle(order)
    count = int(len(x) * (1 - test_split))
    return (x[order[:count]], y[order[:count]]), (x[order[count:]], y[order[count:]])


def read_table(path: str) -> Arrays:
    """Read x and y from an npz file."""
    with np.load(path, allow_pickle=False) as arrays:
        return arrays["x"], arrays["y"]
