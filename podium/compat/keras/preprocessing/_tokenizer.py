"""`Tokenizer`: texts as indices of words, with a vocabulary that is counted on texts."""

from __future__ import annotations

import collections
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from podium.compat.keras.preprocessing._words import FILTERS, text_to_word_sequence
from podium.core import check_choice, warn_user
from podium.core.internal import PublicRepr

_MODES = ("binary", "count", "tfidf", "freq")
_INDICES_BY_WORD = ("word_counts", "word_docs", "word_index")
_WORDS_BY_INDEX = ("index_docs", "index_word")


class Tokenizer(PublicRepr):
    """Turns texts into sequences of word indices, or into rows of a matrix.

    The most frequent word has the index 1; no word has 0. `layers.TextVectorization` does the same
    as a layer.

    Args:
        num_words: Only words with an index below this are kept; None for all.
        filters: Characters that are replaced by `split`.
        lower: Whether to convert texts to lower case.
        split: What separates words.
        char_level: Whether every character is a word.
        oov_token: What stands for unknown words, with the index 1; None to leave them out.
        analyzer: A function that splits a text into words.
        **kwargs: `document_count`, the number of texts that were counted.

    Attributes:
        word_index: The index of each word.
        index_word: The word of each index.
        word_counts: How often each word was found.
        word_docs: In how many texts each word was found; `index_docs` has the same by index.
        document_count: The number of texts that were counted.

    Example:
        >>> from podium.compat import keras
        >>> tokenizer = keras.preprocessing.text.Tokenizer(oov_token="?")
        >>> tokenizer.fit_on_texts(["the cat and the dog"])
        >>> tokenizer.texts_to_sequences(["the bird and the dog"])
        [[2, 1, 4, 2, 5]]
    """

    def __init__(
        self,
        num_words: int | None = None,
        filters: str | Sequence[str] = FILTERS,
        lower: bool = True,
        split: str = " ",
        char_level: bool = False,
        oov_token: str | None = None,
        analyzer: Callable[[str], Sequence[str]] | None = None,
        **kwargs: Any,
    ):
        if "nb_words" in kwargs:
            warn_user("Tokenizer was given `nb_words`, the old name of `num_words`.")
            num_words = kwargs.pop("nb_words")
        self.document_count: int = kwargs.pop("document_count", 0)
        if kwargs:
            raise TypeError(f"Tokenizer was given the unknown arguments {sorted(kwargs)}.")
        self.num_words = num_words
        self.filters = filters
        self.lower = lower
        self.split = split
        self.char_level = char_level
        self.oov_token = oov_token
        self.analyzer = analyzer
        self.word_counts: dict[str, int] = collections.OrderedDict()
        self.word_docs: dict[str, int] = collections.defaultdict(int)
        self.index_docs: dict[int, int] = collections.defaultdict(int)
        self.word_index: dict[str, int] = {}
        self.index_word: dict[int, str] = {}

    def fit_on_texts(self, texts: Iterable[str | list[str]]) -> None:
        """Count the words of texts, or of lists of words, and give them their indices."""
        for text in texts:
            self.document_count += 1
            words = self._split_text(text)
            for word in words:
                self.word_counts[word] = self.word_counts.get(word, 0) + 1
            for word in set(words):
                self.word_docs[word] = self.word_docs.get(word, 0) + 1
        by_frequency = sorted(self.word_counts, key=lambda word: -self.word_counts[word])
        vocabulary = ([] if self.oov_token is None else [self.oov_token]) + by_frequency
        self.word_index = {word: index for index, word in enumerate(vocabulary, 1)}
        self.index_word = {index: word for word, index in self.word_index.items()}
        for word, count in self.word_docs.items():
            self.index_docs[self.word_index[word]] = count

    def fit_on_sequences(self, sequences: Sequence[Sequence[int]]) -> None:
        """Count in how many sequences each index is, for the mode "tfidf"."""
        self.document_count += len(sequences)
        for sequence in sequences:
            for index in set(sequence):
                self.index_docs[index] = self.index_docs.get(index, 0) + 1

    def texts_to_sequences(self, texts: Iterable[str | list[str]]) -> list[list[int]]:
        """Return the indices of the words of each text."""
        return list(self.texts_to_sequences_generator(texts))

    def texts_to_sequences_generator(self, texts: Iterable[str | list[str]]) -> Iterator[list[int]]:
        """Return an iterator of the indices of the words of each text."""
        unknown = None if self.oov_token is None else self.word_index.get(self.oov_token)
        for text in texts:
            found = (self._keep_index(self.word_index.get(w)) for w in self._split_text(text))
            yield [index for index in (unknown if i is None else i for i in found) if index]

    def sequences_to_texts(self, sequences: Iterable[Sequence[int]]) -> list[str]:
        """Return the words of each sequence, joined by spaces."""
        return list(self.sequences_to_texts_generator(sequences))

    def sequences_to_texts_generator(self, sequences: Iterable[Sequence[int]]) -> Iterator[str]:
        """Return an iterator of the words of each sequence, joined by spaces."""
        for sequence in sequences:
            kept = (self._keep_index(i if i in self.index_word else None) for i in sequence)
            words = (self.oov_token if i is None else self.index_word[i] for i in kept)
            yield " ".join(word for word in words if word is not None)

    def texts_to_matrix(
        self, texts: Iterable[str | list[str]], mode: str = "binary"
    ) -> np.ndarray[Any, Any]:
        """Return a row for each text; `sequences_to_matrix` has the modes."""
        return self.sequences_to_matrix(self.texts_to_sequences(texts), mode)

    def sequences_to_matrix(
        self, sequences: Sequence[Sequence[int]], mode: str = "binary"
    ) -> np.ndarray[Any, Any]:
        """Return a matrix with a row for each sequence and a column for each index.

        Args:
            sequences: Indices of words.
            mode: "binary" for whether a word is in the sequence, "count" for how often, "freq" for
                its fraction of the words, "tfidf" for a count that is lower for words of many
                texts.
        """
        check_choice("mode", mode, _MODES)
        if not self.num_words and not self.word_index:
            raise ValueError(
                "The width of the matrix is unknown. Pass `num_words` to Tokenizer, or call "
                "`fit_on_texts` first."
            )
        if mode == "tfidf" and not self.document_count:
            raise ValueError('mode="tfidf" needs counts. Call `fit_on_texts` first.')
        width = self.num_words or len(self.word_index) + 1
        matrix = np.zeros((len(sequences), width))
        for row, sequence in zip(matrix, sequences, strict=True):
            counts = collections.Counter(index for index in sequence if index < width)
            for index, count in counts.items():
                row[index] = self._weigh_word(index, count, len(sequence), mode)
        return matrix

    def get_config(self) -> dict[str, Any]:
        """Return the arguments and the counts; the dictionaries as JSON."""
        names = (*_INDICES_BY_WORD, *_WORDS_BY_INDEX)
        arguments = ("num_words", "filters", "lower", "split", "char_level", "oov_token")
        return {
            **{name: getattr(self, name) for name in (*arguments, "document_count")},
            **{name: json.dumps(getattr(self, name)) for name in names},
        }

    def to_json(self, **kwargs: Any) -> str:
        """Return the config as JSON, for `tokenizer_from_json`.

        Args:
            **kwargs: Arguments of `json.dumps`.
        """
        config = {"class_name": type(self).__name__, "config": self.get_config()}
        return json.dumps(config, **kwargs)

    def _split_text(self, text: str | list[str]) -> Sequence[str]:
        if isinstance(text, list):
            return [word.lower() for word in text] if self.lower else text
        if self.char_level:
            return text.lower() if self.lower else text
        if self.analyzer is not None:
            return self.analyzer(text)
        return text_to_word_sequence(text, self.filters, self.lower, self.split)

    def _keep_index(self, index: int | None) -> int | None:
        """Return an index, or None for unknown words and those that `num_words` leaves out."""
        is_left_out = index is not None and self.num_words and index >= self.num_words
        return None if is_left_out else index

    def _weigh_word(self, index: int, count: int, length: int, mode: str) -> float:
        if mode == "binary":
            return 1.0
        if mode == "count":
            return float(count)
        if mode == "freq":
            return count / length
        rarity = np.log(1 + self.document_count / (1 + self.index_docs.get(index, 0)))
        return float((1 + np.log(count)) * rarity)


def tokenizer_from_json(json_string: str) -> Tokenizer:
    """Return the Tokenizer that `Tokenizer.to_json` has written.

    Example:
        >>> from podium.compat import keras
        >>> tokenizer = keras.preprocessing.text.Tokenizer()
        >>> tokenizer.fit_on_texts(["a b a"])
        >>> keras.preprocessing.text.tokenizer_from_json(tokenizer.to_json()).word_index
        {'a': 1, 'b': 2}
    """
    try:
        config = dict(json.loads(json_string)["config"])
        by_word = {name: json.loads(config.pop(name)) for name in _INDICES_BY_WORD}
        by_index = {
            name: {int(index): value for index, value in json.loads(config.pop(name)).items()}
            for name in _WORDS_BY_INDEX
        }
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"tokenizer_from_json was given {json_string[:80]!r}; the result of "
            "`Tokenizer.to_json` was expected."
        ) from error
    tokenizer = Tokenizer(**config)
    for name, value in {**by_word, **by_index}.items():
        getattr(tokenizer, name).update(value)
    return tokenizer
