"""From texts to tokens: standardization, splitting, n-grams, and padding rows of tokens.

All of it works on Python strings and gives what TensorFlow's operations give: only ASCII letters
become lowercase, and only ASCII spaces separate words.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Tokens: TypeAlias = list[str]
TextFunction: TypeAlias = Callable[[NDArray[Any]], Any]

STANDARDIZATIONS = ("lower_and_strip_punctuation", "lower", "strip_punctuation")
SPLITS = ("whitespace", "character")

_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_TABLES = {
    "lower": _LOWER,
    "strip_punctuation": _NO_PUNCTUATION,
    "lower_and_strip_punctuation": _LOWER | _NO_PUNCTUATION,
}
_WORD = re.compile(r"[^ \t\n\v\f\r]+")


def standardize_texts(texts: NDArray[Any], method: str | None) -> NDArray[Any]:
    """Return texts in lowercase, or without punctuation, or both; as they are for None."""
    if method is None:
        return texts
    table = _TABLES[method]
    result = np.empty_like(texts)
    result.reshape(-1)[:] = [text.translate(table) for text in texts.reshape(-1)]
    return result


def split_text(text: str, method: str) -> Tokens:
    """Return the words of a text, or its characters."""
    return _WORD.findall(text) if method == "whitespace" else list(text)


def join_ngrams(tokens: Sequence[str], widths: Iterable[int]) -> Tokens:
    """Return the n-grams of tokens for each width, joined by spaces."""
    return [
        " ".join(tokens[start : start + width])
        for width in widths
        for start in range(len(tokens) - width + 1)
    ]


def as_token_rows(rows: Any, num_rows: int) -> list[Tokens]:
    """Return what a function that splits texts has returned as lists of strings.

    Raises:
        TypeError: It is not one row of strings for each text.
    """
    to_list = getattr(rows, "to_list", None) or getattr(rows, "tolist", None)
    rows = list(rows if to_list is None else to_list())
    rows = [row.tolist() if isinstance(row, np.ndarray) else row for row in rows]
    is_valid = len(rows) == num_rows and all(isinstance(row, (list, tuple)) for row in rows)
    if not is_valid or not all(isinstance(token, (str, bytes)) for row in rows for token in row):
        raise TypeError(
            f"The function `split` of a TextVectorization layer returned {str(rows)[:80]} for "
            f"{num_rows} texts; a list of lists of strings was expected, one for each text."
        )
    return [
        [token.decode("utf-8") if isinstance(token, bytes) else token for token in row]
        for row in rows
    ]


def pad_rows(
    values: NDArray[np.int64], lengths: NDArray[np.int64], length: int | None, padding: int
) -> NDArray[np.int64]:
    """Return the values of rows of different lengths as a matrix.

    Args:
        values: The values of all rows, one after the other.
        lengths: The length of each row.
        length: The length to which rows are padded and truncated; None for that of the longest.
        padding: The value of the padding.
    """
    longest = int(lengths.max(initial=0))
    columns = np.arange(longest)
    matrix = np.full((len(lengths), longest), padding, "int64")
    matrix[columns < lengths[:, None]] = values
    return matrix if length is None else fit_length(matrix, length, padding)


def fit_length(matrix: NDArray[np.int64], length: int, padding: int) -> NDArray[np.int64]:
    """Return an array with its last axis padded or truncated to a length."""
    matrix = matrix[..., :length]
    widths = [(0, 0)] * (matrix.ndim - 1) + [(0, length - matrix.shape[-1])]
    return np.pad(matrix, widths, constant_values=padding)
