"""News of Reuters as lists of word numbers: 11,228 texts on 46 topics."""

import json
from typing import Any

import numpy as np

from podium.datasets._reading import ORIGIN, read_object_arrays
from podium.datasets._tables import check_test_split
from podium.datasets._words import Texts, WordChoice
from podium.utils import get_file

_HASH = "d6586e694ee56d7a4e65172e12b3e987c03096cb01eab99753921ef915959916"
_WORDS_HASH = "4d44cc38712099c9e383dc6e5f11a921"
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
) -> tuple[Texts, Texts]:
    """Load the news, fetching them the first time. Word numbers are ranks: smaller ones are more
    frequent.

    Args:
        path: Name in the cache, `~/.keras/datasets`.
        num_words: Keep only words with numbers below it.
        skip_top: Leave out the most frequent words.
        maxlen: Keep only texts that are shorter.
        test_split: Fraction of the texts to test with.
        seed: Fixes the order before the split.
        start_char: Number that begins each text; None for none.
        oov_char: Number in the place of words that are left out; None drops them.
        index_from: Added to the number of every word.
        **kwargs: Old arguments of Keras, without effect.

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
    np.random.RandomState(seed).shuffle(
        order
    )  # Keras's way of mixing, so that one seed gives its order
    choice = WordChoice(num_words, skip_top, maxlen, start_char, oov_char, index_from)
    texts, topics = choice.texts(x[order], y[order])
    count = int(len(texts) * (1 - test_split))
    return (texts[:count], topics[:count]), (texts[count:], topics[count:])


def get_word_index(path: str = "reuters_word_index.json") -> dict[str, int]:
    """Load the number of every word (before `index_from` is added), fetching it the first time.

    Args:
        path: Name in the cache, `~/.keras/datasets`.

    Example:
        >>> callable(podium.datasets.reuters.get_word_index)  # get_word_index()["the"] is 1
        True
    """
    with open(get_file(path, f"{ORIGIN}reuters_word_index.json", file_hash=_WORDS_HASH)) as file:
        return json.load(file)


def get_label_names() -> tuple[str, ...]:
    """Return the names of the 46 topics, in the order of their numbers.

    Example:
        >>> podium.datasets.reuters.get_label_names()[:4]
        ('cocoa', 'grain', 'veg-oil', 'earn')
    """
    return tuple(_TOPICS.split())
