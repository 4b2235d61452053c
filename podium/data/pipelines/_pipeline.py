"""Pipeline: elements that can be iterated repeatedly, the implementation of a Dataset.

Elements are nested structures of NumPy values. A pipeline whose elements are rows of arrays in
memory, in some order, has a `table` and `rows`: later pipelines can then work on blocks of row
indices instead of single elements.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium._typing import Tree
from podium.core import TensorSpec
from podium.data._structure import leaves, map_leaves

INFINITE_CARDINALITY = -1
UNKNOWN_CARDINALITY = -2
_BLOCK_SIZE = 4096  # rows in a block: the cost of a block is small compared to that of its rows

Rows = range | NDArray[Any]  # row indices; a range can be sliced without copying


class Pipeline:
    """Base of all pipelines. A subclass defines `elements` and `size`, or `table`, `rows` and
    `size`.
    """

    table: Tree = None  # a structure of arrays of which every element is a row, or None
    in_order = False  # whether the elements are all the rows of `table`, once, in order
    seekable = False  # whether an iteration can start at any element without reading those before

    def size(self) -> int:
        """Return the number of elements, INFINITE_CARDINALITY or UNKNOWN_CARDINALITY."""
        raise NotImplementedError

    def rows(self, start: int = 0) -> Iterator[Rows]:
        """Iterate over the row indices of `table` from the position `start` on, in blocks of any
        length.
        """
        raise NotImplementedError

    def elements(self, start: int = 0) -> Iterator[Tree]:
        """Iterate over the elements once, from the position `start` on (other than 0 only if
        `seekable`).
        """
        for block in self.rows(start):
            for index in block if isinstance(block, range) else block.tolist():
                yield map_leaves(lambda array, index=index: select_row(array, index), self.table)

    def inputs(self) -> list[Pipeline]:
        """Return the pipelines that this one reads from."""
        return []

    def skip_passes(self, passes: int) -> None:
        """Advance the shuffles as if `passes` complete iterations had taken place."""
        for source in self.inputs():
            source.skip_passes(passes)

    def shuffles(self) -> bool:
        """Return whether the order of the elements is random."""
        return any(source.shuffles() for source in self.inputs())

    def order(self) -> list[Any]:
        """Return what determines the order of the next iteration: the state of every shuffle, as
        JSON-compatible values.
        """
        return [state for source in self.inputs() for state in source.order()]

    def set_order(self, states: list[Any]) -> None:
        """Restore what `order` returned; removes its own states from the front of the list."""
        for source in self.inputs():
            source.set_order(states)

    def sample(self, batch: int) -> Tree:
        """Return an example of an element; a batch of unknown size holds `batch` elements."""
        for element in self.elements():
            return element
        raise ValueError("The dataset is empty, so its elements have no shapes and dtypes.")

    def spec(self) -> Tree:
        """Return the specs of the elements. Dimensions that depend on the batch size are None."""
        return map_leaves(_merge_specs, self.sample(2), self.sample(3))


class SameSpecPipeline(Pipeline):
    """Base of pipelines whose elements have the same spec as those of their source."""

    def __init__(self, source: Pipeline):
        self.source = source
        self.table = source.table
        self.seekable = source.seekable

    def inputs(self) -> list[Pipeline]:
        """Return the source."""
        return [self.source]

    def size(self) -> int:
        """Return the size of the source."""
        return self.source.size()

    def sample(self, batch: int) -> Tree:
        """Return an example of an element of the source."""
        return self.source.sample(batch)

    def spec(self) -> Tree:
        """Return the specs of the source's elements."""
        return self.source.spec()


class OneToOnePipeline(Pipeline):
    """Base of pipelines that make one element of each element of their source."""

    def __init__(self, source: Pipeline):
        self.source = source
        self.seekable = source.seekable

    def inputs(self) -> list[Pipeline]:
        """Return the source."""
        return [self.source]

    def size(self) -> int:
        """Return the size of the source."""
        return self.source.size()


def select_row(array: NDArray[Any], index: int) -> Any:
    """Return one row; text is returned as Python's `str` or `bytes`."""
    row = array[index]
    return row.item() if isinstance(row, (np.str_, np.bytes_)) else row


def select_rows(array: NDArray[Any], rows: Rows) -> NDArray[Any]:
    """Return several rows: a view for a range, otherwise a copy."""
    selected: NDArray[Any] = (
        array[rows.start : rows.stop]
        if isinstance(rows, range) and rows.step == 1
        else array[np.asarray(rows)]
    )
    return selected


def regroup_rows(
    blocks: Iterable[Rows], length: int, drop_remainder: bool = False
) -> Iterator[Rows]:
    """Divide blocks of row indices into blocks of one length."""
    parts: list[Rows] = []
    count = 0
    for block in blocks:
        while len(block):
            part, block = block[: length - count], block[length - count :]
            parts.append(part)
            count += len(part)
            if count == length:
                yield _concatenate_rows(parts)
                parts, count = [], 0
    if parts and not drop_remainder:
        yield _concatenate_rows(parts)


def group_rows(indices: Iterable[int]) -> Iterator[NDArray[Any]]:
    """Collect single row indices into blocks."""
    block: list[int] = []
    for index in indices:
        block.append(index)
        if len(block) == _BLOCK_SIZE:
            yield np.array(block)
            block = []
    if block:
        yield np.array(block)


def iterate_rows(blocks: Iterable[Rows]) -> Iterator[int]:
    """Iterate over the single row indices of blocks."""
    for block in blocks:
        yield from block if isinstance(block, range) else block.tolist()


def first_length(structure: Tree) -> int:
    """Return the length of the first dimension of the first leaf."""
    return len(leaves(structure)[0])


def spec_of(value: Any) -> TensorSpec | TextSpec:
    """Return the spec of one leaf; text has no dtype that a model accepts, and gets a TextSpec."""
    if isinstance(value, (str, bytes)) or np.asarray(value).dtype.kind in "OUS":
        return TextSpec(np.shape(value))
    return TensorSpec(np.shape(value), np.asarray(value).dtype)


class TextSpec:
    """The shape of text in a pipeline, before `map` turns it into numbers."""

    dtype = "string"

    def __init__(self, shape: Iterable[int | str | None]):
        self.shape = tuple(shape)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TextSpec) and other.shape == self.shape

    def __hash__(self) -> int:
        return hash(("text", self.shape))

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self.shape}, dtype=string)"


def _concatenate_rows(parts: list[Rows]) -> Rows:
    return parts[0] if len(parts) == 1 else np.concatenate([np.asarray(part) for part in parts])


def _merge_specs(a: object, b: object) -> TensorSpec | TextSpec:
    first, second = spec_of(a), spec_of(b)
    shape = [x if x == y else None for x, y in zip(first.shape, second.shape, strict=False)]
    return TextSpec(shape) if isinstance(first, TextSpec) else TensorSpec(shape, first.dtype)
