"""Columns made of other columns: the features of a table side by side, or its chunks one after the
other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.data._value_checks import check_values
from podium.data.columns._column import Column, Index, row_count


class StackedColumn(Column):
    """One-dimensional columns of a table as one array of shape (rows, columns), in their common
    dtype.
    """

    fresh = True
    in_host = True

    def __init__(self, name: str, columns: list[Column]):
        dtype = np.result_type(*(column.dtype for column in columns))
        super().__init__(name, (len(columns[0]), len(columns)), dtype)
        self._columns = columns

    def read(self, index: Index) -> NDArray[Any]:
        """Return rows."""
        rows = np.empty((row_count(index), len(self._columns)), self.dtype)
        for number, column in enumerate(self._columns):
            rows[:, number] = column.read(index)
        return rows


class ConcatenatedColumn(Column):
    """Columns one after the other: the chunks in which a long one is stored."""

    fresh = True
    in_host = True

    def __init__(self, name: str, chunks: list[Column]):
        self._chunks = chunks
        self._ends = np.cumsum([len(chunk) for chunk in chunks])
        super().__init__(name, (int(self._ends[-1]), *chunks[0].shape[1:]), chunks[0].dtype)

    def read(self, index: Index) -> NDArray[Any]:
        """Return rows, read chunk by chunk."""
        rows = np.empty((row_count(index), *self.shape[1:]), self.dtype)
        if isinstance(index, slice):
            number = int(np.searchsorted(self._ends, index.start, side="right"))
            position = index.start
            while position < index.stop:
                end = int(self._ends[number])
                start, stop = end - len(self._chunks[number]), min(end, index.stop)
                rows[position - index.start : stop - index.start] = self._chunks[number].read(
                    slice(position - start, stop - start)
                )
                number, position = number + 1, stop
            return rows
        numbers = np.searchsorted(self._ends, index, side="right")
        for number in np.unique(numbers).tolist():
            in_chunk = np.flatnonzero(numbers == number)
            start = int(self._ends[number]) - len(self._chunks[number])
            rows[in_chunk] = self._chunks[number].read(index[in_chunk] - start)
        return rows


def concatenate_columns(name: str, chunks: list[Column]) -> Column:
    """Return chunks as one column; a single chunk as it is."""
    return chunks[0] if len(chunks) == 1 else ConcatenatedColumn(name, chunks)


def stack_columns(name: str, columns: list[Column]) -> NDArray[Any] | Column:
    """Return the columns of a table as one; a single one in memory as an array of shape (rows, 1).

    Integers in memory are checked here, column by column, so that a message names the column.
    """
    stacked = StackedColumn(name, columns)
    if len(columns) == 1 and columns[0].in_memory is not None:
        return columns[0].in_memory[:, None]
    for column in columns:
        if column.in_memory is not None and stacked.dtype.kind in "iu":
            check_values(column.in_memory, column.name)
    return stacked
