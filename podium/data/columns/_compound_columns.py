"""Columns made of columns: some side by side are the features of a table, some one after the other
are its chunks.
"""

from __future__ import annotations

import numpy as np

from podium.data._value_checks import check_values
from podium.data.columns._column import Column, Index, row_count


class StackedColumn(Column):
    """One-dimensional columns of a table as one array of shape (rows, columns), in the type that
    holds them all.
    """

    fresh = True
    in_host = True

    def __init__(self, name: str, columns: list[Column]):
        dtype = np.result_type(*(column.dtype for column in columns))
        super().__init__(name, (len(columns[0]), len(columns)), dtype)
        self._columns = columns

    def read(self, index: Index) -> np.ndarray:
        """Return rows, of each column those that are asked for."""
        found = np.empty((row_count(index), len(self._columns)), self.dtype)
        for place, column in enumerate(self._columns):
            found[:, place] = column.read(index)
        return found


class Chained(Column):
    """Columns one after the other: the chunks in which a long one lies."""

    fresh = True
    in_host = True

    def __init__(self, name: str, chunks: list[Column]):
        self._chunks = chunks
        self._ends = np.cumsum([len(chunk) for chunk in chunks])
        super().__init__(name, (int(self._ends[-1]), *chunks[0].shape[1:]), chunks[0].dtype)

    def read(self, index: Index) -> np.ndarray:
        """Return rows, from each chunk those that it holds."""
        found = np.empty((row_count(index), *self.shape[1:]), self.dtype)
        if isinstance(index, slice):
            home, at = int(np.searchsorted(self._ends, index.start, side="right")), index.start
            while at < index.stop:
                end = int(self._ends[home])
                start, stop = end - len(self._chunks[home]), min(end, index.stop)
                found[at - index.start : stop - index.start] = self._chunks[home].read(
                    slice(at - start, stop - start)
                )
                home, at = home + 1, stop
            return found
        homes = np.searchsorted(self._ends, index, side="right")
        for home in np.unique(homes).tolist():
            here = np.flatnonzero(homes == home)
            start = int(self._ends[home]) - len(self._chunks[home])
            found[here] = self._chunks[home].read(index[here] - start)
        return found


def chained(name: str, chunks: list[Column]) -> Column:
    """Join chunks, unless there is but one."""
    return chunks[0] if len(chunks) == 1 else Chained(name, chunks)


def stack_columns(name: str, columns: list[Column]) -> np.ndarray | Column:
    """Join the columns of a table; one that lies in memory is seen as a table of one column.

    Integers in memory are checked here, column by column, so that a message names the column.
    """
    joined = StackedColumn(name, columns)
    if len(columns) == 1 and columns[0].in_memory is not None:
        return columns[0].in_memory[:, None]
    for column in columns:
        if column.in_memory is not None and joined.dtype.kind in "iu":
            check_values(column.in_memory, column.name)
    return joined
