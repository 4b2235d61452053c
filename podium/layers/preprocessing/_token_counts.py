"""How a vocabulary is made: from counts of tokens, from a file, with weights of its tokens.

`TokenCounts` counts what `adapt` reads. Looking tokens up is done by `_vocabulary.py`.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium.layers.preprocessing._vocabulary import Token


class TokenCounts:
    """How often each token occurs in what `adapt` has read, and in how many documents."""

    def __init__(self) -> None:
        self.tokens: collections.Counter[Token] = collections.Counter()
        self.documents: collections.Counter[Token] = collections.Counter()
        self.num_documents = 0

    def add(self, documents: Iterable[Sequence[Token]]) -> None:
        """Count the tokens of documents."""
        for document in documents:
            self.tokens.update(document)
            self.documents.update(set(document))
            self.num_documents += 1

    def most_frequent(self, count: int | None, excluded: Sequence[Token | None]) -> list[Token]:
        """Return the most frequent tokens; of equally frequent ones the larger comes first."""
        candidates = [token for token in self.tokens if token not in excluded]
        counts = self.tokens
        ordered: list[Token] = sorted(
            candidates, key=lambda token: (counts[token], token), reverse=True
        )
        return ordered[:count]

    def idf_weights(self, tokens: Sequence[Token]) -> NDArray[np.float32]:
        """Return the inverse document frequency of each token."""
        counts = np.array([self.documents[token] for token in tokens], "float64")
        return np.log(1 + self.num_documents / (1 + counts)).astype("float32")


def read_vocabulary_file(path: str) -> list[str]:
    """Return the lines of a text file."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
            lines = file.read().split("\n")
    except FileNotFoundError:
        raise ValueError(
            f"Vocabulary file {path} does not exist. Pass the path of a text file with one token "
            "for each line, or a list of tokens."
        ) from None
    return [line.removesuffix("\r") for line in (lines[:-1] if lines[-1] == "" else lines)]


def write_vocabulary_file(path: str, tokens: Sequence[Token | None]) -> None:
    """Write tokens to a text file, one on each line.

    Raises:
        ValueError: A token has a line break. Nothing has been written.
    """
    lines = list(map(str, tokens))
    broken = [line for line in lines if "\n" in line or line.endswith("\r")]
    if broken:
        raise ValueError(
            f"The token {broken[0]!r} of a vocabulary has a line break, and a vocabulary file has "
            "one line for each token. Remove it, or pass the tokens as `vocabulary`: then the "
            "config has them."
        )
    with open(path, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
        file.write("\n".join(lines) + "\n")


def pad_idf_weights(
    idf_weights: ArrayLike, num_tokens: int, num_special: int, size: int | None
) -> NDArray[np.float32]:
    """Return weights of tokens with their mean for special tokens, and zeros up to a size.

    Args:
        idf_weights: The weights.
        num_tokens: The number of tokens that they must be for.
        num_special: The number of special tokens before these.
        size: The size of the result; None for that of all tokens.
    """
    weights = np.asarray(idf_weights, "float32")
    if weights.shape != (num_tokens,):
        raise ValueError(
            f"`idf_weights` has shape {weights.shape}, and `vocabulary` has {num_tokens} tokens: "
            "`idf_weights` must be the same length as vocabulary."
        )
    front = np.full(num_special, weights.mean() if weights.size else 0, "float32")
    num_back = 0 if size is None else size - num_special - num_tokens
    return np.concatenate([front, weights, np.zeros(num_back, "float32")])
