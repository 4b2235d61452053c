"""Pipelines that pick, repeat, join and keep elements without looking into them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from podium.data._pipeline import (
    INFINITE_CARDINALITY,
    UNKNOWN_CARDINALITY,
    Following,
    Pipeline,
    Rows,
    take_rows,
)
from podium.data._sources import Slices
from podium.data._structure import leaves, map_leaves
from podium.data._values import owned


class Taken(Following):
    """The first elements; all of them if `count` is negative."""

    def __init__(self, source: Pipeline, count: int):
        super().__init__(source)
        self._count = count

    def size(self) -> int:
        """Return the smaller one of both counts."""
        size = self.source.size()
        if self._count < 0 or size == UNKNOWN_CARDINALITY:
            return 0 if self._count == 0 else size
        return self._count if size == INFINITE_CARDINALITY else min(self._count, size)

    def rows(self) -> Iterator[Rows]:
        """Walk the first row numbers."""
        left = self._count
        if left < 0:
            yield from self.source.rows()
            return
        for block in self.source.rows() if left else ():
            yield block[:left]
            left -= len(block)
            if left <= 0:
                return

    def elements(self) -> Iterator[Any]:
        """Walk the first elements."""
        if self.table is not None:
            return super().elements()
        return itertools.islice(self.source.elements(), None if self._count < 0 else self._count)


class Skipped(Following):
    """All but the first elements; none of them if `count` is negative."""

    def __init__(self, source: Pipeline, count: int):
        super().__init__(source)
        self._count = count

    def size(self) -> int:
        """Return what is left."""
        size = self.source.size()
        if self._count < 0:
            return 0
        return size if size < 0 else max(0, size - self._count)

    def rows(self) -> Iterator[Rows]:
        """Walk the later row numbers."""
        if self._count < 0:
            return
        left = self._count
        for block in self.source.rows():
            yield block[left:]
            left = max(0, left - len(block))

    def elements(self) -> Iterator[Any]:
        """Walk the later elements."""
        if self.table is not None:
            return super().elements()
        return iter(()) if self._count < 0 else itertools.islice(self.source.elements(), self._count, None)


class Sharded(Following):
    """Every `count`-th element, from number `index` on."""

    def __init__(self, source: Pipeline, count: int, index: int):
        super().__init__(source)
        self._count, self._index = count, index

    def size(self) -> int:
        """Return how many of the elements are its own."""
        size = self.source.size()
        return size if size < 0 else max(0, -(-(size - self._index) // self._count))

    def rows(self) -> Iterator[Rows]:
        """Walk its own row numbers."""
        first = self._index
        for block in self.source.rows():
            yield block[first :: self._count]
            first = (first - len(block)) % self._count if first < len(block) else first - len(block)

    def elements(self) -> Iterator[Any]:
        """Walk its own elements."""
        if self.table is not None:
            return super().elements()
        return itertools.islice(self.source.elements(), self._index, None, self._count)


class Repeated(Following):
    """The elements several times over; for ever if `count` is negative."""

    def __init__(self, source: Pipeline, count: int):
        super().__init__(source)
        self._count = count

    def size(self) -> int:
        """Return the multiple."""
        size = self.source.size()
        if size == 0 or self._count == 0:
            return 0
        if self._count < 0 or size == INFINITE_CARDINALITY:
            return INFINITE_CARDINALITY
        return size if size == UNKNOWN_CARDINALITY else size * self._count

    def rows(self) -> Iterator[Rows]:
        """Walk the row numbers again and again."""
        return self._again(lambda: (block for block in self.source.rows() if len(block)))

    def elements(self) -> Iterator[Any]:
        """Walk the elements again and again."""
        return super().elements() if self.table is not None else self._again(self.source.elements)

    def _again(self, walk: Any) -> Iterator[Any]:
        for _ in itertools.count() if self._count < 0 else range(self._count):
            met = False
            for item in walk():
                met = True
                yield item
            if not met:
                return  # nothing to repeat: do not turn for ever


class Cached(Following):
    """The elements of the first complete pass, kept in memory for all later ones."""

    def __init__(self, source: Pipeline):
        super().__init__(source)
        self._kept: list | None = None

    def rows(self) -> Iterator[Rows]:
        """Walk the row numbers in the order of the first pass."""
        return self._keep(self.source.rows)

    def elements(self) -> Iterator[Any]:
        """Walk the elements of the first pass."""
        return super().elements() if self.table is not None else self._keep(self.source.elements)

    def _keep(self, walk: Any) -> Iterator[Any]:
        if self._kept is not None:
            yield from self._kept
            return
        kept = []
        for item in walk():
            kept.append(item)
            yield item
        self._kept = kept


class Chained(Following):
    """The elements of one pipeline, then those of another."""

    def __init__(self, source: Pipeline, then: Pipeline):
        super().__init__(source)
        self.table = None
        self._then = then

    def size(self) -> int:
        """Return the sum."""
        sizes = (self.source.size(), self._then.size())
        if INFINITE_CARDINALITY in sizes:
            return INFINITE_CARDINALITY
        return UNKNOWN_CARDINALITY if UNKNOWN_CARDINALITY in sizes else sum(sizes)

    def elements(self) -> Iterator[Any]:
        """Walk both."""
        return itertools.chain(self.source.elements(), self._then.elements())


class Zipped(Pipeline):
    """Elements of several pipelines side by side, until the shortest one ends."""

    def __init__(self, structure: Any):
        self._structure = structure
        self._parts: list[Pipeline] = leaves(structure)

    def size(self) -> int:
        """Return the smallest size."""
        sizes = [part.size() for part in self._parts]
        if UNKNOWN_CARDINALITY in sizes:
            return UNKNOWN_CARDINALITY
        return min((size for size in sizes if size != INFINITE_CARDINALITY), default=INFINITE_CARDINALITY)

    def elements(self) -> Iterator[Any]:
        """Walk all of them together."""
        for row in zip(*(part.elements() for part in self._parts), strict=False):
            found = iter(row)
            yield map_leaves(lambda _, found=found: next(found), self._structure)

    def sample(self, batch: int) -> Any:
        """Return samples side by side."""
        return map_leaves(lambda part: part.sample(batch), self._structure)


def zipped(structure: Any) -> Pipeline:
    """Put pipelines side by side. Whole arrays in order stay arrays, so that later steps can work on blocks."""
    parts = leaves(structure)
    if not all(part.in_order for part in parts):
        return Zipped(structure)
    count = min(part.size() for part in parts)
    return Slices(map_leaves(lambda part: map_leaves(lambda a: take_rows(a, range(count)), part.table), structure), count)


class Counting(Pipeline):
    """Whole numbers from `start` on, in steps, up to `stop` (for ever if that is None)."""

    def __init__(self, start: int, stop: int | None, step: int):
        self._start, self._stop, self._step = start, stop, step

    def size(self) -> int:
        """Return how many there are."""
        return INFINITE_CARDINALITY if self._stop is None else len(range(self._start, self._stop, self._step))

    def elements(self) -> Iterator[Any]:
        """Walk the numbers."""
        if self._stop is None:
            return map(np.int32, itertools.count(self._start, self._step))
        return map(np.int32, range(self._start, self._stop, self._step))


def counted(start: int, stop: int | None, step: int = 1) -> Pipeline:
    """Return the pipeline of a range of numbers: an array in memory unless that would be large."""
    if stop is not None and len(range(start, stop, step)) <= 2**20:
        return Slices(owned(np.arange(start, stop, step, dtype=np.int64), "range"))
    return Counting(start, stop, step)
