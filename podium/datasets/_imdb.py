"""Reviews of films as lists of word numbers, 25,000 to train on and 25,000 to test with; 1 means
the writer liked the film.
"""

import json
from typing import Any

import numpy as np

from podium.datasets._reading import ORIGIN, read_object_arrays
from podium.datasets._words import Texts, WordChoice
from podium.utils import get_file

_HASH = "69664113be75683a8fe16e3ed0ab59fda8886cb3cd7ada244f7d9544e4676b9f"


def load_data(
    path: str = "imdb.npz",
    num_words: int | None = None,
    skip_top: int = 0,
    maxlen: int | None = None,
    seed: int = 113,
    start_char: int | None = 1,
    oov_char: int | None = 2,
    index_from: int = 3,
    **kwargs: Any,
) -> tuple[Texts, Texts]:
    """Load the reviews, fetching them the first time. Word numbers are ranks: smaller ones are more
    frequent.

    Args:
        path: Name in the cache, `~/.keras/datasets`.
        num_words: Keep only words with numbers below it.
        skip_top: Leave out the most frequent words.
        maxlen: Keep only reviews that are shorter.
        seed: Fixes the order.
        start_char: Number that begins each review; None for none.
        oov_char: Number in the place of words that are left out; None drops them.
        index_from: Added to the number of every word.
        **kwargs: Old arguments of Keras, without effect.

    Returns:
        `(x_train, y_train), (x_test, y_test)`: arrays of lists, and of 0 or 1.

    Example:
        >>> callable(podium.datasets.imdb.load_data)  # (x_train, y_train), (x_test, y_test) = ...load_data(num_words=10000)
        True
    """
    found = get_file(path, f"{ORIGIN}imdb.npz", file_hash=_HASH)
    x_train, y_train, x_test, y_test = read_object_arrays(
        found, "x_train", "y_train", "x_test", "y_test"
    )
    dice = np.random.RandomState(seed)  # Keras's way of mixing, so that one seed gives its order
    choice = WordChoice(num_words, skip_top, maxlen, start_char, oov_char, index_from)
    parts = []
    for x, y in ((x_train, y_train), (x_test, y_test)):
        order = np.arange(len(x))
        dice.shuffle(order)
        parts.append(choice.texts(x[order], y[order]))
    return parts[0], parts[1]


def get_word_index(path: str = "imdb_word_index.json") -> dict[str, int]:
    """Load the number of every word (before `index_from` is added), fetching it the first time.

    Example:
        >>> callable(podium.datasets.imdb.get_word_index)  # get_word_index()["film"] is 19
        True
    """
    found = get_file(
        path, f"{ORIGIN}imdb_word_index.json", file_hash="bfafd718b763782e994055a2d397834f"
    )
    with open(found) as file:
        return json.load(file)
