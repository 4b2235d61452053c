"""Pipeline: elements that can be walked again and again, the inside of a Dataset.

Elements are nested structures of NumPy values. A pipeline whose elements are rows of arrays in
memory, in some order, says so through `table` and `rows`: what follows can then work on blocks of
row numbers instead of single elements.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from podium.core import TensorSpec
from podium.data._structure import leaves, map_leaves

INFINITE_CARDINALITY = -1
UNKNOWN_CARDINALITY = -2
_BLOCK = 4096  # rows in a block: enough to make the cost of a block small beside that of its rows

Rows = range | np.ndarray  # row numbers; a range can be sliced without copying


class Pipeline:
    """Base of all pipelines. A subclass defines `elements` and `size`, or `table`, `rows` and
    `size`.
    """

    table: Any = None  # a structure of arrays of which every element is a row, or None
    in_order = False  # whether the elements are all the rows of `table`, once, in order
    seekable = False  # whether a walk can begin at any element without reading those before it

    def size(self) -> int:
        """Return the number of elements, INFINITE_CARDINALITY or UNKNOWN_CARDINALITY."""
        raise NotImplementedError

    def rows(self, start: int = 0) -> Iterator[Rows]:
        """Walk the numbers of the rows of `table`, in blocks of any length, without the first
        `start` ones.
        """
        raise NotImplementedError

    def elements(self, start: int = 0) -> Iterator[Any]:
        """Walk the elements once, without the first `start` ones (other than 0 only if
        `seekable`).
        """
        for block in self.rows(start):
            for index in block if isinstance(block, range) else block.tolist():
                yield map_leaves(lambda array, at=index: select_row(array, at), self.table)

    def inputs(self) -> list[Pipeline]:
        """Return the pipelines that it reads from."""
        return []

    def skip_passes(self, passes: int) -> None:
        """Hear that a walk begins after so many complete ones that did not take place here."""
        for source in self.inputs():
            source.skip_passes(passes)

    def shuffles(self) -> bool:
        """Tell whether the order of the elements is random."""
        return any(source.shuffles() for source in self.inputs())

    def order(self) -> list:
        """Return what decides the order of the next walk: the state of every shuffle, as JSON can
        hold it.
        """
        return [state for source in self.inputs() for state in source.order()]

    def set_order(self, states: list) -> None:
        """Put back what `order` returned; takes its own states off the front of the list."""
        for source in self.inputs():
            source.set_order(states)

    def sample(self, batch: int) -> Any:
        """Return an element such as those that will come; unfinished batches hold `batch`
        elements.
        """
        for element in self.elements():
            return element
        raise ValueError("The dataset is empty, so its elements have no shapes and types to show.")

    def spec(self) -> Any:
        """Describe the elements. Dimensions that depend on the size of a batch are None."""
        return map_leaves(_merged_spec, self.sample(2), self.sample(3))


class SameSpecPipeline(Pipeline):
    """Base of pipelines that give elements of the same kind as the one they follow."""

    def __init__(self, source: Pipeline):
        self.source = source
        self.table = source.table
        self.seekable = source.seekable

    def inputs(self) -> list[Pipeline]:
        """Return the one it follows."""
        return [self.source]

    def size(self) -> int:
        """Return the size of the one it follows."""
        return self.source.size()

    def sample(self, batch: int) -> Any:
        """Return an element of the one it follows."""
        return self.source.sample(batch)

    def spec(self) -> Any:
        """Describe the elements as the one it follows does."""
        return self.source.spec()


class OneToOnePipeline(Pipeline):
    """Base of pipelines that give one element of their own for each of the one they follow."""

    def __init__(self, source: Pipeline):
        self.source = source
        self.seekable = source.seekable

    def inputs(self) -> list[Pipeline]:
        """Return the one it follows."""
        return [self.source]

    def size(self) -> int:
        """Return the size of the one it follows."""
        return self.source.size()


def select_row(array: np.ndarray, index: int) -> Any:
    """Return one row; text comes out as Python's own."""
    row = array[index]
    return row.item() if isinstance(row, (np.str_, np.bytes_)) else row


def select_rows(array: np.ndarray, rows: Rows) -> np.ndarray:
    """Return several rows: a view for a range, else a copy."""
    if isinstance(rows, range) and rows.step == 1:
        return array[rows.start : rows.stop]
    return array[np.asarray(rows)]


def regroup_rows(
    blocks: Iterable[Rows], length: int, drop_remainder: bool = False
) -> Iterator[Rows]:
    """Cut blocks of row numbers anew, into blocks of one length."""
    held: list[Rows] = []
    count = 0
    for block in blocks:
        while len(block):
            part, block = block[: length - count], block[length - count :]
            held.append(part)
            count += len(part)
            if count == length:
                yield _joined(held)
                held, count = [], 0
    if held and not drop_remainder:
        yield _joined(held)


def group_rows(numbers: Iterable[int]) -> Iterator[np.ndarray]:
    """Gather single row numbers into blocks."""
    held: list[int] = []
    for number in numbers:
        held.append(number)
        if len(held) == _BLOCK:
            yield np.array(held)
            held = []
    if held:
        yield np.array(held)


def iterate_rows(blocks: Iterable[Rows]) -> Iterator[int]:
    """Walk blocks of row numbers one number at a time."""
    for block in blocks:
        yield from block if isinstance(block, range) else block.tolist()


def first_length(structure: Any) -> int:
    """Return the length of the first dimension of the first leaf."""
    return len(leaves(structure)[0])


def spec_of(value: Any) -> Any:
    """Describe one leaf; text has no type that a model could take, and gets a spec of its own."""
    if isinstance(value, (str, bytes)) or np.asarray(value).dtype.kind in "OUS":
        return TextSpec(np.shape(value))
    return TensorSpec(np.shape(value), np.asarray(value).dtype)


class TextSpec:
    """The shape of text in a pipeline, before `map` turns it into numbers."""

    dtype = "string"

    def __init__(self, shape: Any):
        self.shape = tuple(shape)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TextSpec) and other.shape == self.shape

    def __hash__(self) -> int:
        return hash(("text", self.shape))

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self.shape}, dtype=string)"


def _joined(parts: list[Rows]) -> Rows:
    return parts[0] if len(parts) == 1 else np.concatenate([np.asarray(part) for part in parts])


def _merged_spec(a: Any, b: Any) -> Any:
    first, second = spec_of(a), spec_of(b)
    shape = [x if x == y else None for x, y in zip(first.shape, second.shape, strict=False)]
    return TextSpec(shape) if isinstance(first, TextSpec) else TensorSpec(shape, first.dtype)
