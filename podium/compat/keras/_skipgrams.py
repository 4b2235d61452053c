"""Pairs of words and their neighbours, for training word vectors."""

import random
from collections.abc import Sequence
from typing import Any

import numpy as np


def make_sampling_table(size: int, sampling_factor: float = 1e-5) -> np.ndarray:
    """The chance to keep a word, by its rank in frequency (Zipf's law is assumed): frequent words
    are kept less.

    Example:
        >>> from podium.compat import keras
        >>> keras.preprocessing.sequence.make_sampling_table(3).round(4)
        array([0.0032, 0.0032, 0.0055])
    """
    gamma = 0.577
    rank = np.arange(size)
    rank[0] = 1
    inverse = rank * (np.log(rank) + gamma) + 0.5 - 1.0 / (12.0 * rank)
    part = sampling_factor * inverse
    return np.minimum(1.0, part / np.sqrt(part))


def skipgrams(
    sequence: Sequence[int],
    vocabulary_size: int,
    window_size: int = 4,
    negative_samples: float = 1.0,
    shuffle: bool = True,
    categorical: bool = False,
    sampling_table: Any = None,
    seed: int | None = None,
) -> tuple[list, list]:
    """Make pairs of a word and one near it (label 1), and of a word and a random one (label 0).

    Args:
        sequence: Numbers of words; 0 stands for no word.
        vocabulary_size: Numbers are below it.
        window_size: How far apart the words of a pair may be.
        negative_samples: How many random pairs for each real one.
        shuffle: Whether to mix the pairs.
        categorical: Whether labels are `[0, 1]` and `[1, 0]`.
        sampling_table: The chance to keep each word.
        seed: A number that fixes the order and the random words.

    Returns:
        The pairs and their labels.

    Example:
        >>> from podium.compat import keras
        >>> pairs, labels = keras.preprocessing.sequence.skipgrams([1, 2], 5, window_size=1, negative_samples=0.0, shuffle=False)
        >>> pairs, labels
        ([[1, 2], [2, 1]], [1, 1])
    """
    dice = random.Random(seed) if seed is not None else random
    pairs, labels = [], []
    for place, word in enumerate(sequence):
        if not word or (sampling_table is not None and sampling_table[word] < dice.random()):
            continue
        for other in range(
            max(0, place - window_size), min(len(sequence), place + window_size + 1)
        ):
            if other != place and sequence[other]:
                pairs.append([word, sequence[other]])
                labels.append([0, 1] if categorical else 1)
    words = [pair[0] for pair in pairs]
    dice.shuffle(words)
    count = int(len(words) * negative_samples)
    pairs += [[words[i % len(words)], dice.randint(1, vocabulary_size - 1)] for i in range(count)]
    labels += [[1, 0] if categorical else 0] * count
    if shuffle:
        order = list(range(len(pairs)))
        dice.shuffle(order)
        pairs, labels = [pairs[i] for i in order], [labels[i] for i in order]
    return pairs, labels
