"""Pipelines that put elements together into batches, and take batches apart."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from podium.data._structure import leaves, map_leaves
from podium.data.pipelines._pipeline import (
    INFINITE_CARDINALITY,
    UNKNOWN_CARDINALITY,
    Pipeline,
    Rows,
    first_length,
    regroup_rows,
    select_row,
    select_rows,
)
from podium.data.pipelines._sources import SingleElementPipeline


class BatchPipeline(Pipeline):
    """Elements stacked in groups of `count`. Rows of arrays are cut out in blocks, without touching
    single ones.
    """

    def __init__(self, source: Pipeline, count: int, drop_remainder: bool):
        self.source = source
        self.count = count
        self.drop_remainder = drop_remainder
        self.seekable = source.seekable

    def inputs(self) -> list[Pipeline]:
        """Return the one whose elements it stacks."""
        return [self.source]

    def size(self) -> int:
        """Return the number of batches."""
        size = self.source.size()
        if size < 0:
            return size
        return size // self.count if self.drop_remainder else -(-size // self.count)

    def elements(self, start: int = 0) -> Iterator[Any]:
        """Walk the batches."""
        if self.source.table is None:
            yield from map(self.stacked, self._groups(start))
            return
        for rows in self.batches_of_rows(start):
            yield map_leaves(lambda array, rows=rows: select_rows(array, rows), self.source.table)

    def batches_of_rows(self, start: int = 0) -> Iterator[Rows]:
        """Walk the row numbers of each batch of a table."""
        return regroup_rows(self.source.rows(start * self.count), self.count, self.drop_remainder)

    def sample(self, batch: int) -> Any:
        """Return a batch of copies of one sample."""
        return self.stacked(
            [self.source.sample(batch)] * (self.count if self.drop_remainder else batch)
        )

    def stacked(self, elements: list) -> Any:
        """Make one batch of several elements."""
        return map_leaves(_stacked, *elements)

    def _groups(self, start: int) -> Iterator[list]:
        elements = iter(self.source.elements(start * self.count))
        while group := list(itertools.islice(elements, self.count)):
            if len(group) == self.count or not self.drop_remainder:
                yield group


class PaddedBatchPipeline(BatchPipeline):
    """Elements of unequal shapes, filled up to one shape and stacked."""

    def __init__(
        self, source: Pipeline, count: int, shapes: Any, values: Any, drop_remainder: bool
    ):
        super().__init__(source, count, drop_remainder)
        self._shapes = shapes
        self._values = values

    def elements(self, start: int = 0) -> Iterator[Any]:
        """Walk the batches."""
        return map(self.stacked, self._groups(start))

    def stacked(self, elements: list) -> Any:
        """Make one batch, each leaf filled up to the longest of its kind or to the shape that was
        asked for.
        """
        first = elements[0]
        shapes, values = _spread(self._shapes, first), _spread(self._values, first)
        places = iter(range(len(leaves(first))))
        columns = [leaves(element) for element in elements]

        def pad(_: Any) -> np.ndarray:
            place = next(places)
            return _padded([row[place] for row in columns], shapes[place], values[place])

        return map_leaves(pad, first)


class UnbatchPipeline(Pipeline):
    """The rows of every element, one after the other."""

    def __init__(self, source: Pipeline):
        self._source = source

    def size(self) -> int:
        """Return the number of rows where it follows from how the batches were made, else that
        nobody knows.
        """
        source = self._source
        if isinstance(source, SingleElementPipeline):
            return first_length(next(source.elements()))
        if isinstance(source, BatchPipeline) and not source.drop_remainder:
            return source.source.size()
        if isinstance(source, BatchPipeline) and source.size() >= 0:
            return source.size() * source.count
        return (
            INFINITE_CARDINALITY if source.size() == INFINITE_CARDINALITY else UNKNOWN_CARDINALITY
        )

    def inputs(self) -> list[Pipeline]:
        """Return the one whose elements it takes apart."""
        return [self._source]

    def elements(self, start: int = 0) -> Iterator[Any]:
        """Walk the rows."""
        for element in self._source.elements():
            for index in range(first_length(element)):
                yield map_leaves(lambda array, at=index: select_row(array, at), element)

    def sample(self, batch: int) -> Any:
        """Return the first row of a sample."""
        return map_leaves(lambda array: select_row(array, 0), self._source.sample(batch))


def _stacked(*values: Any) -> np.ndarray:
    shapes = {np.shape(value) for value in values}
    if len(shapes) > 1:
        raise ValueError(
            f"Elements of the shapes {', '.join(map(str, sorted(shapes)))} cannot be stacked into "
            "one batch. Bring them to one shape with `map`, or use `padded_batch`."
        )
    return np.stack(values)


def _spread(setting: Any, element: Any) -> list:
    """Give each leaf of an element its own part of a setting; one value serves all leaves."""
    count = len(leaves(element))
    if setting is None or np.isscalar(setting) or not isinstance(element, (tuple, dict)):
        return [setting] * count
    if isinstance(element, dict):
        return [part for key, value in element.items() for part in _spread(setting[key], value)]
    return [
        part for own, value in zip(setting, element, strict=True) for part in _spread(own, value)
    ]


def _padded(values: list, shape: Any, fill: Any) -> np.ndarray:
    arrays = [np.asarray(value) for value in values]
    longest = (
        np.max([array.shape for array in arrays], axis=0).astype(int).tolist()
        if arrays[0].ndim
        else []
    )
    wanted = [None] * len(longest) if shape is None else list(shape)
    target = [
        most if want in (None, -1) else want for want, most in zip(wanted, longest, strict=True)
    ]
    if any(most > length for most, length in zip(longest, target, strict=True)):
        raise ValueError(
            f"padded_shapes asks for {tuple(wanted)}, but an element has the shape "
            f"{tuple(longest)}, which is larger."
        )
    text = arrays[0].dtype.kind in "OUS"
    default = "" if text else 0
    batch = np.full(
        (len(arrays), *target),
        default if fill is None else fill,
        dtype=object if text else arrays[0].dtype,
    )
    for row, array in zip(batch, arrays, strict=True) if target else ():
        row[tuple(slice(0, length) for length in array.shape)] = array
    return batch if target else np.stack(arrays)
