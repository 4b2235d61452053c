"""Shuffling with a buffer, as tf.data does it: random, repeatable after `set_random_seed`, in a new
order in each iteration.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from podium._typing import T, Tree
from podium.core import seed_count
from podium.data.pipelines._pipeline import (
    Pipeline,
    Rows,
    SameSpecPipeline,
    group_rows,
    iterate_rows,
)

_DRAWS = 1024  # random numbers drawn at a time


def draw_shuffle_seed() -> int:
    """Draw a seed from Python's generator, which `set_random_seed` seeds.

    It is kept on the host: a Variable could not be read while a compiled step holds all state.
    """
    return random.randint(1, 10**9)


class ShufflePipeline(SameSpecPipeline):
    """The elements in random order: each is drawn from a buffer of the next `buffer_size` ones."""

    def __init__(self, source: Pipeline, buffer_size: int, seed: int | None, reshuffle: bool):
        super().__init__(source)
        # Without a table, the buffer would have to be read again.
        self.seekable = source.seekable and source.table is not None
        self._buffer_size = buffer_size
        self._seed_argument = seed
        self._seed = seed
        self._seed_count = seed_count()  # how often seeds had been set when this seed was drawn
        self._reshuffle = reshuffle
        self._passes = 0

    def shuffles(self) -> bool:
        """Return True."""
        return True

    def order(self) -> list[Any]:
        """Return the states of the shuffles before this one, and its own: the seed and the number
        of iterations.
        """
        return [*super().order(), [self._current_seed(), self._passes]]

    def set_order(self, states: list[Any]) -> None:
        """Restore what `order` returned."""
        super().set_order(states)
        self._seed, self._passes = states.pop(0)
        self._seed_count = seed_count()

    def skip_passes(self, passes: int) -> None:
        """Count iterations that did not take place."""
        super().skip_passes(passes)
        self._current_seed()
        self._passes += passes

    def rows(self, start: int = 0) -> Iterator[Rows]:
        """Iterate over the row indices in random order."""
        generator = self._next_generator()
        if 0 <= self.source.size() <= self._buffer_size:
            # All fit into the buffer: every order is equally likely.
            blocks = [np.asarray(block) for block in self.source.rows()]
            if blocks:
                yield generator.permutation(np.concatenate(blocks))[start:]
            return
        # The draws before `start` are repeated; no row is read.
        indices = shuffle_in_buffer(iterate_rows(self.source.rows()), self._buffer_size, generator)
        yield from group_rows(itertools.islice(indices, start, None))

    def elements(self, start: int = 0) -> Iterator[Tree]:
        """Iterate over the elements in random order."""
        if self.table is not None:
            return super().elements(start)
        return shuffle_in_buffer(self.source.elements(), self._buffer_size, self._next_generator())

    def _next_generator(self) -> np.random.Generator:
        seed = self._current_seed()
        self._passes += 1
        return np.random.default_rng([seed % 2**32, self._passes if self._reshuffle else 0])

    def _current_seed(self) -> int:
        """Return the seed. Without one from the user a seed is drawn, and drawn again after
        `set_random_seed`.
        """
        if self._seed is None or (
            self._seed_argument is None and self._reshuffle and self._seed_count != seed_count()
        ):
            self._seed, self._seed_count, self._passes = draw_shuffle_seed(), seed_count(), 0
        return self._seed


def shuffle_in_buffer(
    items: Iterable[T], buffer_size: int, generator: np.random.Generator
) -> Iterator[T]:
    """Fill a buffer, then yield a random one of its items for every further item that is read."""
    buffer: list[T] = []
    draws: list[int] = []
    for item in items:
        if len(buffer) < buffer_size:
            buffer.append(item)
            continue
        if not draws:
            draws = generator.integers(0, buffer_size, _DRAWS).tolist()
        index = draws.pop()
        yield buffer[index]
        buffer[index] = item
    generator.shuffle(buffer)
    yield from buffer
