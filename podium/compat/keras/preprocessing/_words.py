"""Texts as lists of words and of hashed indices: the functions of `keras.preprocessing.text`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

FILTERS = '!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~\t\n'


def text_to_word_sequence(
    input_text: str,
    filters: str | Sequence[str] = FILTERS,
    lower: bool = True,
    split: str = " ",
) -> list[str]:
    """Split a text into words.

    Args:
        input_text: The text.
        filters: Characters that are replaced by `split`; by default punctuation, tabs and newlines.
        lower: Whether to convert the text to lower case.
        split: What separates words.

    Example:
        >>> from podium.compat import keras
        >>> keras.preprocessing.text.text_to_word_sequence("Hello, big world!")
        ['hello', 'big', 'world']
    """
    text = input_text.lower() if lower else input_text
    replaced: dict[str, str | int | None] = dict.fromkeys(filters, split)
    text = text.translate(str.maketrans(replaced))
    return [word for word in text.split(split) if word]


def hashing_trick(
    text: str,
    n: int,
    hash_function: str | Callable[[str], int] | None = None,
    filters: str | Sequence[str] = FILTERS,
    lower: bool = True,
    split: str = " ",
    analyzer: Callable[[str], Sequence[str]] | None = None,
) -> list[int]:
    """Return a hash from 1 to n - 1 of each word of a text; several words may share one.

    Args:
        text: The text.
        n: The number of indices, with 0, which no word has.
        hash_function: A function from words to ints, or "md5". None is Python's `hash`, whose
            values differ between runs.
        filters: Characters that are replaced by `split`.
        lower: Whether to convert the text to lower case.
        split: What separates words.
        analyzer: A function that splits the text, instead of the three arguments before.

    Example:
        >>> from podium.compat import keras
        >>> keras.preprocessing.text.hashing_trick("a big big world", 100, hash_function="md5")
        [92, 62, 62, 45]
    """
    if n < 2:
        raise ValueError(f"hashing_trick was given n={n}; a number of at least 2 was expected.")
    if hash_function is None:
        hash_word: Callable[[str], int] = hash
    elif callable(hash_function):
        hash_word = hash_function
    elif hash_function == "md5":
        hash_word = _md5
    else:
        raise ValueError(
            f"hashing_trick was given hash_function={hash_function!r}; 'md5', a function or None "
            "was expected."
        )
    words = analyzer(text) if analyzer else text_to_word_sequence(text, filters, lower, split)
    return [hash_word(word) % (n - 1) + 1 for word in words]


def _md5(word: str) -> int:
    return int(hashlib.md5(word.encode(), usedforsecurity=False).hexdigest(), 16)


def one_hot(
    input_text: str,
    n: int,
    filters: str | Sequence[str] = FILTERS,
    lower: bool = True,
    split: str = " ",
    analyzer: Callable[[str], Sequence[str]] | None = None,
) -> list[int]:
    """Return a hash of each word of a text, by Python's `hash`: not a one-hot encoding.

    Args:
        input_text: The text.
        n: The number of indices, with 0, which no word has.
        filters: Characters that are replaced by `split`.
        lower: Whether to convert the text to lower case.
        split: What separates words.
        analyzer: A function that splits the text, instead of the three arguments before.

    Example:
        >>> from podium.compat import keras
        >>> indices = keras.preprocessing.text.one_hot("big big world", 100)
        >>> indices[0] == indices[1], min(indices) > 0
        (True, True)
    """
    return hashing_trick(input_text, n, hash, filters, lower, split, analyzer)
