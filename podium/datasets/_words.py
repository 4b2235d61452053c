"""What the two datasets of word numbers have in common: which words are kept, and lists in NumPy
arrays.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

Texts = tuple[np.ndarray, np.ndarray]


@dataclasses.dataclass
class WordChoice:
    """The arguments of `load_data` that say which words and texts to keep; see there."""

    num_words: int | None
    skip_top: int
    maxlen: int | None
    start_char: int | None
    oov_char: int | None
    index_from: int

    def texts(self, x: Any, y: Any) -> Texts:
        """Return the texts that are short enough, with the words that are frequent enough."""
        first = [] if self.start_char is None else [self.start_char]
        shift = self.index_from or 0
        rows = [
            (first + [word + shift for word in text], label)
            for text, label in zip(x, y, strict=True)
        ]
        if self.maxlen:
            rows = [(words, label) for words, label in rows if len(words) < self.maxlen]
            if not rows:
                raise ValueError(
                    f"maxlen={self.maxlen} was given; no text is shorter than that. Give a "
                    "larger one."
                )
        lists = np.empty(len(rows), dtype=object)
        lists[:] = [self._kept(words) for words, _ in rows]
        return lists, np.array([label for _, label in rows])

    def _kept(self, words: list) -> list:
        stop = self.num_words or float("inf")
        if self.oov_char is None:
            return [word for word in words if self.skip_top <= word < stop]
        return [word if self.skip_top <= word < stop else self.oov_char for word in words]
