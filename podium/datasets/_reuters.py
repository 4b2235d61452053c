"""News of Reuters as lists of word indices: `reuters`."""

import json
from typing import Any

import numpy as np

from podium.datasets._loading import ORIGIN, Arrays, check_test_split, read_object_arrays
from podium.datasets._word_filter import WordFilter
from podium.utils import get_file

_HASH = "d6586e694ee56d7a4e65172e12b3e987c03096cb01eab99753921ef915959916"
_WORD_INDEX_HASH = "4d44cc38712099c9e383dc6e5f11a921"
_TOPICS = (
    "cocoa grain veg-oil earn acq wheat copper housing money-supply coffee sugar trade reserves "
    "ship cotton carcass crude nat-gas cpi money-fx interest gnp meal-feed alum oilseed gold tin "
    "strategic-metal livestock retail ipi iron-steel rubber heat jobs lei bop zinc orange pet-chem "
    "dlr gas silver wpi hog lead"
)


def load_data(
    path: str = "reuters.npz",
    num_words: int | None = None,
    skip_top: int = 0,
    maxlen: int | None = None,
    test_split: float = 0.2,
    seed: int = 113,
    start_char: int | None = 1,
    oov_char: int | None = 2,
    index_from: int = 3,
    **kwargs: Any,
) -> tuple[Arrays, Arrays]:
    """Load 11,228 news articles on 46 topics.

    The file is downloaded the first time. Word indices are frequency ranks: smaller indices are
    more frequent.

    Args:
        path: File name in the cache, `~/.keras/datasets`.
        num_words: Only words with a smaller index are kept.
        skip_top: The number of most frequent words to leave out.
        maxlen: Only shorter texts are kept.
        test_split: Fraction of the texts for testing.
        seed: Seed of the order before the split.
        start_char: Index at the start of each text; None for none.
        oov_char: Index that replaces words that are left out; None drops them.
        index_from: Added to the index of every word.
        **kwargs: Deprecated arguments of Keras; ignored.

    Returns:
        `(x_train, y_train), (x_test, y_test)`: arrays of lists, and of topics from 0 to 45.

    Example:
        >>> podium.datasets.reuters.load_data(test_split=-1)
        Traceback (most recent call last):
        ValueError: test_split=-1 was given; a fraction from 0 to (but not) 1 was expected.
    """
    check_test_split(test_split)
    x, y = read_object_arrays(get_file(path, f"{ORIGIN}reuters.npz", file_hash=_HASH), "x", "y")
    order = np.arange(len(x))
    np.random.RandomState(seed).shuffle(order)  # the same order as Keras
    word_filter = WordFilter(num_words, skip_top, maxlen, start_char, oov_char, index_from)
    texts, topics = word_filter.select(x[order], y[order])
    num_train = int(len(texts) * (1 - test_split))
    train, test = slice(num_train), slice(num_train, None)
    return (texts[train], topics[train]), (texts[test], topics[test])


def get_word_index(path: str = "reuters_word_index.json") -> dict[str, int]:
    """Load the index of every word, before `index_from` is added; downloaded the first time.

    Args:
        path: File name in the cache, `~/.keras/datasets`.

    Example:
        >>> callable(podium.datasets.reuters.get_word_index)  # get_word_index()["the"] is 1
        True
    """
    with open(
        get_file(path, f"{ORIGIN}reuters_word_index.json", file_hash=_WORD_INDEX_HASH)
    ) as file:
        word_index: dict[str, int] = json.load(file)
    return word_index


def get_label_names() -> tuple[str, ...]:
    """Return the names of the 46 topics, in the order of their indices.

    Example:
        >>> podium.datasets.reuters.get_label_names()[:4]
        ('cocoa', 'grain', 'veg-oil', 'earn')
    """
    return tuple(_TOPICS.split())
