"""Shuffling with a buffer, as tf.data does it: random, repeatable after `set_random_seed`, new on
each pass.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from podium.core import seed_count
from podium.data.pipelines._pipeline import (
    Pipeline,
    Rows,
    SameSpecPipeline,
    group_rows,
    iterate_rows,
)

_DRAWS = 1024  # random numbers drawn at a time


def draw_seed() -> int:
    """Draw a seed from Python's generator, which `set_random_seed` fixes.

    It lives on the host: a Variable could not be read while a compiled step holds all state.
    """
    return random.randint(1, 10**9)


class ShufflePipeline(SameSpecPipeline):
    """The elements in random order: each is drawn from a buffer of the next `buffer_size` ones."""

    def __init__(self, source: Pipeline, buffer_size: int, seed: int | None, reshuffle: bool):
        super().__init__(source)
        self.seekable = (
            source.seekable and source.table is not None
        )  # else the buffer would have to be read again
        self._buffer_size = buffer_size
        self._given = seed
        self._seed = seed
        self._drawn = seed_count()  # how often seeds had been set when a seed was drawn
        self._reshuffle = reshuffle
        self._passes = 0

    def shuffles(self) -> bool:
        """Return True."""
        return True

    def order(self) -> list:
        """Return the states of the shuffles before it, and its own: the seed, and how many walks
        there have been.
        """
        return [*super().order(), [self._base(), self._passes]]

    def set_order(self, states: list) -> None:
        """Put back what `order` returned."""
        super().set_order(states)
        self._seed, self._passes = states.pop(0)
        self._drawn = seed_count()

    def skip_passes(self, passes: int) -> None:
        """Hear of walks that did not take place."""
        super().skip_passes(passes)
        self._base()
        self._passes += passes

    def rows(self, start: int = 0) -> Iterator[Rows]:
        """Walk the row numbers in random order."""
        generator = self._next_generator()
        if (
            start and not 0 <= self.source.size() <= self._buffer_size
        ):  # the draws are repeated, no row is read
            yield from group_rows(
                itertools.islice(
                    shuffled(iterate_rows(self.source.rows()), self._buffer_size, generator),
                    start,
                    None,
                )
            )
            return
        if (
            0 <= self.source.size() <= self._buffer_size
        ):  # all fit into the buffer: any order is as likely
            blocks = [np.asarray(block) for block in self.source.rows()]
            if blocks:
                yield generator.permutation(np.concatenate(blocks))[start:]
        else:
            yield from group_rows(
                shuffled(iterate_rows(self.source.rows()), self._buffer_size, generator)
            )

    def elements(self, start: int = 0) -> Iterator[Any]:
        """Walk the elements in random order."""
        if self.table is not None:
            return super().elements(start)
        return shuffled(self.source.elements(), self._buffer_size, self._next_generator())

    def _next_generator(self) -> np.random.Generator:
        seed = self._base()
        self._passes += 1
        return np.random.default_rng([seed % 2**32, self._passes if self._reshuffle else 0])

    def _base(self) -> int:
        """Return the seed; one that was not given is drawn, and drawn anew after
        `set_random_seed`.
        """
        if self._seed is None or (
            self._given is None and self._reshuffle and self._drawn != seed_count()
        ):
            self._seed, self._drawn, self._passes = draw_seed(), seed_count(), 0
        return self._seed


def shuffled(items: Iterable, buffer_size: int, generator: np.random.Generator) -> Iterator:
    """Fill a buffer, then give a random one of its items for every further item that is read."""
    items = iter(items)
    buffer: list = []
    draws: list[int] = []
    for item in items:
        if len(buffer) < buffer_size:
            buffer.append(item)
            continue
        if not draws:
            draws = generator.integers(0, buffer_size, _DRAWS).tolist()
        place = draws.pop()
        yield buffer[place]
        buffer[place] = item
    generator.shuffle(buffer)
    yield from buffer
