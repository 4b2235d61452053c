"""Pipelines that stack elements into batches, and take batches apart."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium._typing import Tree
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
    """Elements stacked in groups of `count`. Rows of arrays are selected in blocks, without
    handling single ones.
    """

    def __init__(self, source: Pipeline, count: int, drop_remainder: bool):
        self.source = source
        self.count = count
        self.drop_remainder = drop_remainder
        self.seekable = source.seekable

    def inputs(self) -> list[Pipeline]:
        """Return the source."""
        return [self.source]

    def size(self) -> int:
        """Return the number of batches."""
        size = self.source.size()
        if size < 0:
            return size
        return size // self.count if self.drop_remainder else -(-size // self.count)

    def elements(self, start: int = 0) -> Iterator[Tree]:
        """Iterate over the batches."""
        if self.source.table is None:
            yield from map(self.stack, self._groups(start))
            return
        for rows in self.batches_of_rows(start):
            yield map_leaves(lambda array, rows=rows: select_rows(array, rows), self.source.table)

    def batches_of_rows(self, start: int = 0) -> Iterator[Rows]:
        """Iterate over the row indices of each batch of a table."""
        return regroup_rows(self.source.rows(start * self.count), self.count, self.drop_remainder)

    def sample(self, batch: int) -> Tree:
        """Return a batch of copies of one sample."""
        return self.stack(
            [self.source.sample(batch)] * (self.count if self.drop_remainder else batch)
        )

    def stack(self, elements: list[Tree]) -> Tree:
        """Return several elements as one batch."""
        return map_leaves(_stack_arrays, *elements)

    def _groups(self, start: int) -> Iterator[list[Tree]]:
        elements = iter(self.source.elements(start * self.count))
        while group := list(itertools.islice(elements, self.count)):
            if len(group) == self.count or not self.drop_remainder:
                yield group


class PaddedBatchPipeline(BatchPipeline):
    """Elements of unequal shapes, padded to one shape and stacked."""

    def __init__(
        self, source: Pipeline, count: int, shapes: Tree, values: Tree, drop_remainder: bool
    ):
        super().__init__(source, count, drop_remainder)
        self._shapes = shapes
        self._values = values

    def elements(self, start: int = 0) -> Iterator[Tree]:
        """Iterate over the batches."""
        return map(self.stack, self._groups(start))

    def stack(self, elements: list[Tree]) -> Tree:
        """Return one batch, each leaf padded to the longest of the batch or to the requested
        shape.
        """
        first = elements[0]
        shapes, values = (
            _broadcast_setting(self._shapes, first),
            _broadcast_setting(self._values, first),
        )
        indices = iter(range(len(leaves(first))))
        rows = [leaves(element) for element in elements]

        def pad(_: object) -> NDArray[Any]:
            index = next(indices)
            return _pad_and_stack([row[index] for row in rows], shapes[index], values[index])

        return map_leaves(pad, first)


class UnbatchPipeline(Pipeline):
    """The rows of every element, one after the other."""

    def __init__(self, source: Pipeline):
        self._source = source

    def size(self) -> int:
        """Return the number of rows if it follows from how the batches were made."""
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
        """Return the source."""
        return [self._source]

    def elements(self, start: int = 0) -> Iterator[Tree]:
        """Iterate over the rows."""
        for element in self._source.elements():
            for index in range(first_length(element)):
                yield map_leaves(lambda array, index=index: select_row(array, index), element)

    def sample(self, batch: int) -> Tree:
        """Return the first row of a sample."""
        return map_leaves(lambda array: select_row(array, 0), self._source.sample(batch))


def _stack_arrays(*values: Any) -> NDArray[Any]:
    shapes = {np.shape(value) for value in values}
    if len(shapes) > 1:
        raise ValueError(
            f"Elements of the shapes {', '.join(map(str, sorted(shapes)))} cannot be stacked into "
            "one batch. Bring them to one shape with `map`, or use `padded_batch`."
        )
    return np.stack(values)


def _broadcast_setting(setting: Tree, element: Tree) -> list[Any]:
    """Return the part of a setting for each leaf of an element; one value serves all leaves."""
    count = len(leaves(element))
    if setting is None or np.isscalar(setting) or not isinstance(element, (tuple, dict)):
        return [setting] * count
    if isinstance(element, dict):
        pairs = [(setting[key], value) for key, value in element.items()]
    else:
        pairs = list(zip(setting, element, strict=True))
    return [part for value, leaf in pairs for part in _broadcast_setting(value, leaf)]


def _pad_and_stack(
    values: list[Any], shape: Sequence[int | None] | None, fill: object
) -> NDArray[Any]:
    arrays = [np.asarray(value) for value in values]
    longest = (
        np.max([array.shape for array in arrays], axis=0).astype(int).tolist()
        if arrays[0].ndim
        else []
    )
    requested = [None] * len(longest) if shape is None else list(shape)
    padded = [
        length if size in (None, -1) else size
        for size, length in zip(requested, longest, strict=True)
    ]
    if any(length > size for length, size in zip(longest, padded, strict=True)):
        raise ValueError(
            f"padded_shapes={tuple(requested)} was given, but an element has the shape "
            f"{tuple(longest)}, which is larger."
        )
    is_text = arrays[0].dtype.kind in "OUS"
    default = "" if is_text else 0
    batch = np.full(
        (len(arrays), *padded),
        default if fill is None else fill,
        dtype=object if is_text else arrays[0].dtype,
    )
    for row, array in zip(batch, arrays, strict=True) if padded else ():
        row[tuple(slice(0, length) for length in array.shape)] = array
    return batch if padded else np.stack(arrays)
