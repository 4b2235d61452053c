"""Prices of houses around Boston in the 1970s: 506 places with 13 numbers each."""

from podium.datasets._reading import ORIGIN
from podium.datasets._tables import Arrays, check_test_split, read_table, split
from podium.utils import get_file

_HASH = "f553886a1f8d56431e820c5b82552d9d95cfcb96d1e678153f8839538947dff5"


def load_data(
    path: str = "boston_housing.npz", test_split: float = 0.2, seed: int = 113
) -> tuple[Arrays, Arrays]:
    """Load the prices, fetching them the first time.

    One of the 13 numbers is built on the assumption that people of one skin colour want to live
    among themselves: use it to show how such things enter data, and `california_housing` for
    everything else.

    Args:
        path: Name in the cache, `~/.keras/datasets`.
        test_split: Fraction of the places to test with.
        seed: Fixes the order before the split.

    Returns:
        `(x_train, y_train), (x_test, y_test)`: float64 `(places, 13)`, and median prices in
        thousands of dollars.

    Example:
        >>> podium.datasets.boston_housing.load_data(test_split=1.5)
        Traceback (most recent call last):
        ValueError: test_split=1.5 was given; a fraction from 0 to (but not) 1 was expected.
    """
    check_test_split(test_split)
    return split(
        *read_table(get_file(path, f"{ORIGIN}boston_housing.npz", file_hash=_HASH)),
        test_split,
        seed,
    )
