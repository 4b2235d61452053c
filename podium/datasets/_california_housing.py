"""Prices of houses in California in 1990: 20,640 districts with 8 numbers each."""

from podium.core import check_choice
from podium.datasets._reading import ORIGIN
from podium.datasets._tables import Arrays, check_test_split, read_table, split
from podium.utils import get_file

_HASH = "1a2e3a52e0398de6463aebe6f4a8da34fb21fbb6b934cf88c3425e766f2a1a6f"
_SMALL = 600


def load_data(
    version: str = "large",
    path: str = "california_housing.npz",
    test_split: float = 0.2,
    seed: int = 113,
) -> tuple[Arrays, Arrays]:
    """Load the prices, fetching them the first time.

    The 8 numbers are: median income, median age of the houses, rooms and bedrooms per household,
    people, people per household, latitude and longitude.

    Args:
        version: "large" for all districts, "small" for the first 600.
        path: Name in the cache, `~/.keras/datasets`.
        test_split: Fraction of the districts to test with.
        seed: Fixes the order before the split.

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
    x, y = read_table(get_file(path, f"{ORIGIN}california_housing.npz", file_hash=_HASH))
    count = _SMALL if version == "small" else len(x)
    return split(x[:count], y[:count], test_split, seed)
