"""House prices: `boston_housing` and `california_housing`."""

import numpy as np

from podium.core import check_choice
from podium.datasets._loading import ORIGIN, Arrays, check_test_split, shuffle_and_split
from podium.utils import get_file

_BOSTON_HASH = "f553886a1f8d56431e820c5b82552d9d95cfcb96d1e678153f8839538947dff5"
_CALIFORNIA_HASH = "1a2e3a52e0398de6463aebe6f4a8da34fb21fbb6b934cf88c3425e766f2a1a6f"
_NUM_SMALL = 600


def load_boston_housing(
    path: str = "boston_housing.npz", test_split: float = 0.2, seed: int = 113
) -> tuple[Arrays, Arrays]:
    """Load house prices of 506 Boston suburbs in the 1970s, with 13 features each.

    The file is downloaded the first time. One of the features assumes that people of one skin
    color prefer to live among themselves: use the dataset to show how such assumptions enter data,
    and `california_housing` for everything else.

    Args:
        path: File name in the cache, `~/.keras/datasets`.
        test_split: Fraction of the samples for testing.
        seed: Seed of the order before the split.

    Returns:
        `(x_train, y_train), (x_test, y_test)`: float64 `(samples, 13)`, and median prices in
        thousands of dollars.

    Example:
        >>> podium.datasets.boston_housing.load_data(test_split=1.5)
        Traceback (most recent call last):
        ValueError: test_split=1.5 was given; a fraction from 0 to (but not) 1 was expected.
    """
    check_test_split(test_split)
    x, y = _read_npz(get_file(path, f"{ORIGIN}boston_housing.npz", file_hash=_BOSTON_HASH))
    return shuffle_and_split(x, y, test_split, seed)


def load_california_housing(
    version: str = "large",
    path: str = "california_housing.npz",
    test_split: float = 0.2,
    seed: int = 113,
) -> tuple[Arrays, Arrays]:
    """Load house prices of 20,640 districts in California in 1990, with 8 features each.

    The file is downloaded the first time. The features are: median income, median age of the
    houses, rooms and bedrooms per household, people, people per household, latitude and longitude.

    Args:
        version: "large" for all districts, "small" for the first 600.
        path: File name in the cache, `~/.keras/datasets`.
        test_split: Fraction of the districts for testing.
        seed: Seed of the order before the split.

    Returns:
        `(x_train, y_train), (x_test, y_test)`: floats `(districts, 8)`, and median prices in
        dollars.

    Example:
        >>> podium.datasets.california_housing.load_data("tiny")
        Traceback (most recent call last):
        ValueError: Unknown version 'tiny'. Choices: 'large', 'small'.
    """
    check_choice("version", version, ("large", "small"))
    check_test_split(test_split)
    x, y = _read_npz(get_file(path, f"{ORIGIN}california_housing.npz", file_hash=_CALIFORNIA_HASH))
    num_samples = _NUM_SMALL if version == "small" else len(x)
    return shuffle_and_split(x[:num_samples], y[:num_samples], test_split, seed)


def _read_npz(path: str) -> Arrays:
    with np.load(path, allow_pickle=False) as arrays:
        return arrays["x"], arrays["y"]
