"""Pipelines that pick, repeat, join and keep elements without looking into them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from podium.data._copy_values import owned
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
        """Return the smaller one of both counts."""
        size = self.source.size()
        if self._count < 0 or size == UNKNOWN_CARDINALITY:
            return 0 if self._count == 0 else size
        return self._count if size == INFINITE_CARDINALITY else min(self._count, size)

    def rows(self, start: int = 0) -> Iterator[Rows]:
        """Walk the first row numbers."""
        left = self._count
        if left < 0:
            yield from self.source.rows(start)
            return
        left = max(0, left - start)
        for block in (
            self.source.rows(start) if self._count else ()
        ):  # also if none is left: a shuffle counts its walks
            yield block[:left]
            left -= len(block)
            if left <= 0:
                return

    def elements(self, start: int = 0) -> Iterator[Any]:
        """Walk the first elements."""
        if self.table is not None:
            return super().elements(start)
        if start and start >= self._count >= 0:
            for _ in itertools.islice(self.source.elements(start), 1):  # a shuffle counts its walks
                pass
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
        """Return what is left."""
        size = self.source.size()
        if self._count < 0:
            return 0
        return size if size < 0 else max(0, size - self._count)

    def rows(self, start: int = 0) -> Iterator[Rows]:
        """Walk the later row numbers."""
        return iter(()) if self._count < 0 else self.source.rows(self._count + start)

    def elements(self, start: int = 0) -> Iterator[Any]:
        """Walk the later elements."""
        if self.table is not None:
            return super().elements(start)
        if self._count < 0:
            return iter(())
        if self.seekable:
            return self.source.elements(self._count + start)
        return itertools.islice(self.source.elements(), self._count, None)


class ShardPipeline(SameSpecPipeline):
    """Every `count`-th element, from number `index` on."""

    def __init__(self, source: Pipeline, count: int, index: int):
        super().__init__(source)
        self._count, self._index = count, index

    def size(self) -> int:
        """Return how many of the elements are its own."""
        size = self.source.size()
        return size if size < 0 else max(0, -(-(size - self._index) // self._count))

    def rows(self, start: int = 0) -> Iterator[Rows]:
        """Walk its own row numbers."""
        first = 0
        for block in self.source.rows(self._index + start * self._count):
            yield block[first :: self._count]
            first = (first - len(block)) % self._count if first < len(block) else first - len(block)

    def elements(self, start: int = 0) -> Iterator[Any]:
        """Walk its own elements."""
        if self.table is not None:
            return super().elements(start)
        first = self._index + start * self._count
        if self.seekable:
            return itertools.islice(self.source.elements(first), 0, None, self._count)
        return itertools.islice(self.source.elements(), first, None, self._count)


class RepeatPipeline(SameSpecPipeline):
    """The elements several times over; for ever if `count` is negative."""

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
        """Walk the row numbers again and again."""
        return self._again(
            lambda first: (block for block in self.source.rows(first) if len(block)), start
        )

    def elements(self, start: int = 0) -> Iterator[Any]:
        """Walk the elements again and again."""
        return (
            super().elements(start)
            if self.table is not None
            else self._again(self.source.elements, start)
        )

    def skip_passes(self, passes: int) -> None:
        """Hear of walks that did not take place; each is `count` walks of the source."""
        super().skip_passes(passes * max(0, self._count))

    def _again(self, walk: Any, start: int) -> Iterator[Any]:
        done, first = divmod(start, self.source.size()) if start else (0, 0)
        if done:
            self.source.skip_passes(done)
        for _ in itertools.count() if self._count < 0 else range(done, self._count):
            met = False
            for item in walk(first):
                met = True
                yield item
            if not met:
                return  # nothing to repeat: do not turn for ever
            first = 0


class CachePipeline(SameSpecPipeline):
    """The elements of the first complete pass, kept in memory for all later ones."""

    def __init__(self, source: Pipeline):
        super().__init__(source)
        self.seekable = (
            source.seekable and not source.shuffles()
        )  # the order of the first pass is not known elsewhere
        self._kept: list | None = None

    def rows(self, start: int = 0) -> Iterator[Rows]:
        """Walk the row numbers in the order of the first pass."""
        return self._keep(self.source.rows, start)

    def elements(self, start: int = 0) -> Iterator[Any]:
        """Walk the elements of the first pass."""
        return (
            super().elements(start)
            if self.table is not None
            else self._keep(self.source.elements, start)
        )

    def _keep(self, walk: Any, start: int) -> Iterator[Any]:
        if start:  # not a complete pass: nothing to keep
            yield from walk(start)
            return
        if self._kept is not None:
            yield from self._kept
            return
        kept = []
        for item in walk():
            kept.append(item)
            yield item
        self._kept = kept


class Chained(SameSpecPipeline):
    """The elements of one pipeline, then those of another."""

    def __init__(self, source: Pipeline, then: Pipeline):
        super().__init__(source)
        self.table = None
        self.seekable = source.seekable and then.seekable and source.size() >= 0
        self._then = then

    def inputs(self) -> list[Pipeline]:
        """Return both."""
        return [self.source, self._then]

    def size(self) -> int:
        """Return the sum."""
        sizes = (self.source.size(), self._then.size())
        if INFINITE_CARDINALITY in sizes:
            return INFINITE_CARDINALITY
        return UNKNOWN_CARDINALITY if UNKNOWN_CARDINALITY in sizes else sum(sizes)

    def elements(self, start: int = 0) -> Iterator[Any]:
        """Walk both."""
        if not start:
            return itertools.chain(self.source.elements(), self._then.elements())
        later = start - self.source.size()
        if later < 0:
            return itertools.chain(self.source.elements(start), self._then.elements())
        self.source.skip_passes(1)
        return self._then.elements(later)


class ZipPipeline(Pipeline):
    """Elements of several pipelines side by side, until the shortest one ends."""

    def __init__(self, structure: Any):
        self._structure = structure
        self._parts: list[Pipeline] = leaves(structure)
        self.seekable = all(part.seekable for part in self._parts)

    def inputs(self) -> list[Pipeline]:
        """Return all of them."""
        return self._parts

    def size(self) -> int:
        """Return the smallest size."""
        sizes = [part.size() for part in self._parts]
        if UNKNOWN_CARDINALITY in sizes:
            return UNKNOWN_CARDINALITY
        return min(
            (size for size in sizes if size != INFINITE_CARDINALITY), default=INFINITE_CARDINALITY
        )

    def elements(self, start: int = 0) -> Iterator[Any]:
        """Walk all of them together."""
        for row in zip(*(part.elements(start) for part in self._parts), strict=False):
            found = iter(row)
            yield map_leaves(lambda _, found=found: next(found), self._structure)

    def sample(self, batch: int) -> Any:
        """Return samples side by side."""
        return map_leaves(lambda part: part.sample(batch), self._structure)


def zipped(structure: Any) -> Pipeline:
    """Put pipelines side by side. Whole arrays in order stay arrays, so that later steps can work
    on blocks.
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
    """Whole numbers from `start` on, in steps, up to `stop` (for ever if that is None)."""

    seekable = True

    def __init__(self, start: int, stop: int | None, step: int):
        self._start, self._stop, self._step = start, stop, step

    def size(self) -> int:
        """Return how many there are."""
        return (
            INFINITE_CARDINALITY
            if self._stop is None
            else len(range(self._start, self._stop, self._step))
        )

    def elements(self, start: int = 0) -> Iterator[Any]:
        """Walk the numbers."""
        first = self._start + start * self._step
        if self._stop is None:
            return map(np.int32, itertools.count(first, self._step))
        return map(np.int32, range(first, self._stop, self._step))


def counted(start: int, stop: int | None, step: int = 1) -> Pipeline:
    """Return the pipeline of a range of numbers: an array in memory unless that would be large."""
    if stop is not None and len(range(start, stop, step)) <= 2**20:
        return SlicesPipeline(owned(np.arange(start, stop, step, dtype=np.int64), "range"))
    return RangePipeline(start, stop, step)
