"""Movie reviews as lists of word indices: `imdb`."""

import json
from typing import Any

import numpy as np

from podium.datasets._loading import ORIGIN, Arrays, read_object_arrays
from podium.datasets._word_filter import WordFilter
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
) -> tuple[Arrays, Arrays]:
    """Load 25,000 movie reviews for training and 25,000 for testing, labeled 0 or 1 (positive).

    The file is downloaded the first time. Word indices are frequency ranks: smaller indices are
    more frequent.

    Args:
        path: File name in the cache, `~/.keras/datasets`.
        num_words: Only words with a smaller index are kept.
        skip_top: The number of most frequent words to leave out.
        maxlen: Only shorter reviews are kept.
        seed: Seed of the order.
        start_char: Index at the start of each review; None for none.
        oov_char: Index that replaces words that are left out; None drops them.
        index_from: Added to the index of every word.
        **kwargs: Deprecated arguments of Keras; ignored.

    Returns:
        `(x_train, y_train), (x_test, y_test)`: arrays of lists, and of 0 or 1.

    Example:
        >>> load_data = podium.datasets.imdb.load_data
        >>> callable(load_data)  # (x_train, y_train), (x_test, y_test) = load_data(num_words=10000)
        True
    """
    cached = get_file(path, f"{ORIGIN}imdb.npz", file_hash=_HASH)
    x_train, y_train, x_test, y_test = read_object_arrays(
        cached, "x_train", "y_train", "x_test", "y_test"
    )
    generator = np.random.RandomState(seed)  # shuffles in the same order as Keras
    word_filter = WordFilter(num_words, skip_top, maxlen, start_char, oov_char, index_from)
    parts = []
    for x, y in ((x_train, y_train), (x_test, y_test)):
        order = np.arange(len(x))
        generator.shuffle(order)
        parts.append(word_filter.select(x[order], y[order]))
    return parts[0], parts[1]


def get_word_index(path: str = "imdb_word_index.json") -> dict[str, int]:
    """Load the index of every word, before `index_from` is added; downloaded the first time.

    Example:
        >>> callable(podium.datasets.imdb.get_word_index)  # get_word_index()["film"] is 19
        True
    """
    cached = get_file(
        path, f"{ORIGIN}imdb_word_index.json", file_hash="bfafd718b763782e994055a2d397834f"
    )
    with open(cached) as file:
        word_index: dict[str, int] = json.load(file)
    return word_index
