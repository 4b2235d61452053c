"""Pipelines that select, repeat, combine and cache elements without changing them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from podium._typing import Tree
from podium.data._copy_values import copy_array
from podium.data._structure import leaves, map_leaves
from podium.data.pipelines._pipeline import (
    INFINITE_CARDINALITY,
    UNKNOWN_CARDINALITY,
    Pipeline,
    Rows,
    SameSpecPipeline,
    select_rows,
)
from podium.data.pipelines._sources import SlicesPipeline


class TakePipeline(SameSpecPipeline):
    """The first elements; all of them if `count` is negative."""

    def __init__(self, source: Pipeline, count: int):
        super().__init__(source)
        self._count = count

    def size(self) -> int:
        """Return the smaller of both counts."""
        size = self.source.size()
        if self._count < 0 or size == UNKNOWN_CARDINALITY:
            return 0 if self._count == 0 else size
        return self._count if size == INFINITE_CARDINALITY else min(self._count, size)

    def rows(self, start: int = 0) -> Iterator[Rows]:
        """Iterate over the first row indices."""
        if self._count < 0:
            yield from self.source.rows(start)
            return
        remaining = max(0, self._count - start)
        # The source is read even if no row remains: a shuffle counts its iterations.
        for block in self.source.rows(start) if self._count else ():
            yield block[:remaining]
            remaining -= len(block)
            if remaining <= 0:
                return

    def elements(self, start: int = 0) -> Iterator[Tree]:
        """Iterate over the first elements."""
        if self.table is not None:
            return super().elements(start)
        if start and start >= self._count >= 0:
            for _ in itertools.islice(self.source.elements(start), 1):
                pass  # a shuffle counts its iterations
            return iter(())
        return itertools.islice(
            self.source.elements(start), None if self._count < 0 else self._count - start
        )


class SkipPipeline(SameSpecPipeline):
    """All but the first elements; none of them if `count` is negative."""

    def __init__(self, source: Pipeline, count: int):
        super().__init__(source)
        self._count = count

    def size(self) -> int:
        """Return the number of elements that remain."""
        size = self.source.size()
        if self._count < 0:
            return 0
        return size if size < 0 else max(0, size - self._count)

    def rows(self, start: int = 0) -> Iterator[Rows]:
        """Iterate over the later row indices."""
        return iter(()) if self._count < 0 else self.source.rows(self._count + start)

    def elements(self, start: int = 0) -> Iterator[Tree]:
        """Iterate over the later elements."""
        if self.table is not None:
            return super().elements(start)
        if self._count < 0:
            return iter(())
        if self.seekable:
            return self.source.elements(self._count + start)
        return itertools.islice(self.source.elements(), self._count, None)


class ShardPipeline(SameSpecPipeline):
    """Every `count`-th element, starting with the one at `index`."""

    def __init__(self, source: Pipeline, count: int, index: int):
        super().__init__(source)
        self._count, self._index = count, index

    def size(self) -> int:
        """Return the number of elements of the shard."""
        size = self.source.size()
        return size if size < 0 else max(0, -(-(size - self._index) // self._count))

    def rows(self, start: int = 0) -> Iterator[Rows]:
        """Iterate over the row indices of the shard."""
        first = 0
        for block in self.source.rows(self._index + start * self._count):
            yield block[first :: self._count]
            first = (first - len(block)) % self._count if first < len(block) else first - len(block)

    def elements(self, start: int = 0) -> Iterator[Tree]:
        """Iterate over the elements of the shard."""
        if self.table is not None:
            return super().elements(start)
        first = self._index + start * self._count
        if self.seekable:
            return itertools.islice(self.source.elements(first), 0, None, self._count)
        return itertools.islice(self.source.elements(), first, None, self._count)


class RepeatPipeline(SameSpecPipeline):
    """The elements `count` times; infinitely often if `count` is negative."""

    def __init__(self, source: Pipeline, count: int):
        super().__init__(source)
        self.seekable = source.seekable and source.size() >= 0
        self._count = count

    def size(self) -> int:
        """Return the multiple."""
        size = self.source.size()
        if size == 0 or self._count == 0:
            return 0
        if self._count < 0 or size == INFINITE_CARDINALITY:
            return INFINITE_CARDINALITY
        return size if size == UNKNOWN_CARDINALITY else size * self._count

    def rows(self, start: int = 0) -> Iterator[Rows]:
        """Iterate over the row indices repeatedly."""
        return self._repeat(
            lambda first: (block for block in self.source.rows(first) if len(block)), start
        )

    def elements(self, start: int = 0) -> Iterator[Tree]:
        """Iterate over the elements repeatedly."""
        return (
            super().elements(start)
            if self.table is not None
            else self._repeat(self.source.elements, start)
        )

    def skip_passes(self, passes: int) -> None:
        """Count iterations that did not take place; each is `count` iterations of the source."""
        super().skip_passes(passes * max(0, self._count))

    def _repeat(self, iterate: Callable[[int], Iterator[Any]], start: int) -> Iterator[Tree]:
        done, first = divmod(start, self.source.size()) if start else (0, 0)
        if done:
            self.source.skip_passes(done)
        for _ in itertools.count() if self._count < 0 else range(done, self._count):
            is_empty = True
            for item in iterate(first):
                is_empty = False
                yield item
            if is_empty:
                return  # nothing to repeat: do not loop forever
            first = 0


class CachePipeline(SameSpecPipeline):
    """The elements of the first complete iteration, cached in memory for all later ones."""

    def __init__(self, source: Pipeline):
        super().__init__(source)
        # The order of a shuffled first iteration cannot be restored in another process.
        self.seekable = source.seekable and not source.shuffles()
        self._cached: list[Any] | None = None

    def rows(self, start: int = 0) -> Iterator[Rows]:
        """Iterate over the row indices in the order of the first iteration."""
        return self._cache(self.source.rows, start)

    def elements(self, start: int = 0) -> Iterator[Tree]:
        """Iterate over the elements of the first iteration."""
        return (
            super().elements(start)
            if self.table is not None
            else self._cache(self.source.elements, start)
        )

    def _cache(self, iterate: Callable[[int], Iterator[Any]], start: int) -> Iterator[Any]:
        if start:  # not a complete iteration: it is not cached
            yield from iterate(start)
            return
        if self._cached is not None:
            yield from self._cached
            return
        items = []
        for item in iterate(0):
            items.append(item)
            yield item
        self._cached = items


class ConcatenatePipeline(SameSpecPipeline):
    """The elements of one pipeline, then those of another."""

    def __init__(self, source: Pipeline, other: Pipeline):
        super().__init__(source)
        self.table = None
        self.seekable = source.seekable and other.seekable and source.size() >= 0
        self._other = other

    def inputs(self) -> list[Pipeline]:
        """Return both sources."""
        return [self.source, self._other]

    def size(self) -> int:
        """Return the sum of the sizes."""
        sizes = (self.source.size(), self._other.size())
        if INFINITE_CARDINALITY in sizes:
            return INFINITE_CARDINALITY
        return UNKNOWN_CARDINALITY if UNKNOWN_CARDINALITY in sizes else sum(sizes)

    def elements(self, start: int = 0) -> Iterator[Tree]:
        """Iterate over both, one after the other."""
        if not start:
            return itertools.chain(self.source.elements(), self._other.elements())
        remaining = start - self.source.size()
        if remaining < 0:
            return itertools.chain(self.source.elements(start), self._other.elements())
        self.source.skip_passes(1)
        return self._other.elements(remaining)


class ZipPipeline(Pipeline):
    """Elements of several pipelines side by side, until the shortest one ends."""

    def __init__(self, structure: Tree):
        self._structure = structure
        self._parts: list[Pipeline] = leaves(structure)
        self.seekable = all(part.seekable for part in self._parts)

    def inputs(self) -> list[Pipeline]:
        """Return all sources."""
        return self._parts

    def size(self) -> int:
        """Return the smallest size."""
        sizes = [part.size() for part in self._parts]
        if UNKNOWN_CARDINALITY in sizes:
            return UNKNOWN_CARDINALITY
        return min(
            (size for size in sizes if size != INFINITE_CARDINALITY), default=INFINITE_CARDINALITY
        )

    def elements(self, start: int = 0) -> Iterator[Tree]:
        """Iterate over all sources together."""
        for row in zip(*(part.elements(start) for part in self._parts), strict=False):
            parts = iter(row)
            yield map_leaves(lambda _, parts=parts: next(parts), self._structure)

    def sample(self, batch: int) -> Tree:
        """Return samples side by side."""
        return map_leaves(lambda part: part.sample(batch), self._structure)


def zip_pipelines(structure: Tree) -> Pipeline:
    """Return pipelines side by side. Complete arrays in order stay arrays, so that later pipelines
    can work on blocks.
    """
    parts = leaves(structure)
    if not all(part.in_order for part in parts):
        return ZipPipeline(structure)
    count = min(part.size() for part in parts)
    return SlicesPipeline(
        map_leaves(
            lambda part: map_leaves(lambda a: select_rows(a, range(count)), part.table), structure
        ),
        count,
    )


class RangePipeline(Pipeline):
    """Integers from `start` in steps of `step`, up to `stop` (infinitely many if it is None)."""

    seekable = True

    def __init__(self, start: int, stop: int | None, step: int):
        self._start, self._stop, self._step = start, stop, step

    def size(self) -> int:
        """Return the number of integers."""
        return (
            INFINITE_CARDINALITY
            if self._stop is None
            else len(range(self._start, self._stop, self._step))
        )

    def elements(self, start: int = 0) -> Iterator[Tree]:
        """Iterate over the integers."""
        first = self._start + start * self._step
        if self._stop is None:
            return map(np.int32, itertools.count(first, self._step))
        return map(np.int32, range(first, self._stop, self._step))


def range_pipeline(start: int, stop: int | None, step: int = 1) -> Pipeline:
    """Return the pipeline of a range of integers: an array in memory unless it would be large."""
    if stop is not None and len(range(start, stop, step)) <= 2**20:
        return SlicesPipeline(copy_array(np.arange(start, stop, step, dtype=np.int64), "range"))
    return RangePipeline(start, stop, step)
