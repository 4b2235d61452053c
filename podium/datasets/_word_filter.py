"""The filter of word indices that the text datasets `imdb` and `reuters` share."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import numpy as np

from podium.datasets._loading import Arrays


@dataclasses.dataclass
class WordFilter:
    """Selects words and texts by the arguments of `load_data`, which documents them."""

    num_words: int | None
    skip_top: int
    maxlen: int | None
    start_char: int | None
    oov_char: int | None
    index_from: int

    def select(self, texts: Iterable[list[int]], labels: Iterable[Any]) -> Arrays:
        """Return the texts that are short enough, with the words that are frequent enough."""
        start = [] if self.start_char is None else [self.start_char]
        offset = self.index_from or 0
        samples = [
            (start + [word + offset for word in text], label)
            for text, label in zip(texts, labels, strict=True)
        ]
        if self.maxlen:
            samples = [(words, label) for words, label in samples if len(words) < self.maxlen]
            if not samples:
                raise ValueError(
                    f"maxlen={self.maxlen} was given; no text is shorter. Pass a larger maxlen."
                )
        selected = np.empty(len(samples), dtype=object)
        selected[:] = [self._filter_words(words) for words, _ in samples]
        return selected, np.array([label for _, label in samples])

    def _filter_words(self, words: list[int]) -> list[int]:
        stop = self.num_words or float("inf")
        if self.oov_char is None:
            return [word for word in words if self.skip_top <= word < stop]
        return [word if self.skip_top <= word < stop else self.oov_char for word in words]
