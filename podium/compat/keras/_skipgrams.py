"""Skip-gram pairs of words, for training word embeddings."""

import random
from collections.abc import Sequence
from typing import Any

import numpy as np


def make_sampling_table(size: int, sampling_factor: float = 1e-5) -> np.ndarray[Any, Any]:
    """Return the probability of keeping each word, by its frequency rank.

    Assumes Zipf's law; frequent words are kept less often.

    Example:
        >>> from podium.compat import keras
        >>> keras.preprocessing.sequence.make_sampling_table(3).round(4)
        array([0.0032, 0.0032, 0.0055])
    """
    gamma = 0.577
    rank = np.arange(size)
    rank[0] = 1
    inverse = rank * (np.log(rank) + gamma) + 0.5 - 1.0 / (12.0 * rank)
    frequency = sampling_factor * inverse
    probability: np.ndarray[Any, Any] = np.minimum(1.0, frequency / np.sqrt(frequency))
    return probability


def skipgrams(
    sequence: Sequence[int],
    vocabulary_size: int,
    window_size: int = 4,
    negative_samples: float = 1.0,
    shuffle: bool = True,
    categorical: bool = False,
    sampling_table: Sequence[float] | np.ndarray[Any, Any] | None = None,
    seed: int | None = None,
) -> tuple[list[list[int]], list[Any]]:
    """Return pairs of a word and a neighbor (label 1), and of a word and a random one (label 0).

    Args:
        sequence: Word indices; 0 is padding.
        vocabulary_size: The number of words; indices are smaller.
        window_size: The maximum distance between the words of a pair.
        negative_samples: The number of random pairs for each real pair.
        shuffle: Whether to shuffle the pairs.
        categorical: Whether labels are `[0, 1]` and `[1, 0]`.
        sampling_table: The probability of keeping each word.
        seed: The seed of the order and of the random words.

    Returns:
        The pairs and their labels.

    Example:
        >>> from podium.compat import keras
        >>> pairs, labels = keras.preprocessing.sequence.skipgrams(
        ...     [1, 2], 5, window_size=1, negative_samples=0.0, shuffle=False
        ... )
        >>> pairs, labels
        ([[1, 2], [2, 1]], [1, 1])
    """
    generator: Any = random.Random(seed) if seed is not None else random
    pairs: list[list[int]] = []
    labels: list[Any] = []
    for position, word in enumerate(sequence):
        if not word or (sampling_table is not None and sampling_table[word] < generator.random()):
            continue
        start = max(0, position - window_size)
        for neighbor in range(start, min(len(sequence), position + window_size + 1)):
            if neighbor != position and sequence[neighbor]:
                pairs.append([word, sequence[neighbor]])
                labels.append([0, 1] if categorical else 1)
    words = [pair[0] for pair in pairs]
    generator.shuffle(words)
    count = int(len(words) * negative_samples)
    pairs += [
        [words[i % len(words)], generator.randint(1, vocabulary_size - 1)] for i in range(count)
    ]
    labels += [[1, 0] if categorical else 0] * count
    if shuffle:
        order = list(range(len(pairs)))
        generator.shuffle(order)
        pairs, labels = [pairs[i] for i in order], [labels[i] for i in order]
    return pairs, labels
