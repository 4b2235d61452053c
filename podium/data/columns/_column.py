"""Column: one array of samples, of which batches of rows are read. Where the numbers lie is each
kind's own business.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from podium.data._value_checks import check_values, device_dtype

Index = slice | np.ndarray  # rows: a slice with step 1, or row numbers in any order


class Column:
    """Rows of numbers that are read by batches. A subclass defines `read`.

    Args:
        name: How the user wrote it, for messages.
        shape: The shape, samples first.
        dtype: The type in which the numbers lie.
    """

    in_memory: Any = (
        None  # all of it as a dense array, if it is one; it may then be moved to the device whole
    )
    # whether all of it lies in memory, though not as one array: it may be put together as one
    in_host: bool = False
    fresh: bool = (
        False  # whether `read` makes a new array each time, which need not be copied again
    )

    def __init__(self, name: str, shape: tuple[int, ...], dtype: Any):
        self.name = name
        self.shape = tuple(shape)
        self.dtype = np.dtype(dtype)

    @property
    def ndim(self) -> int:
        """The number of dimensions, that of the samples among them."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """How many numbers it holds."""
        return int(np.prod(self.shape))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: slice) -> Column:
        """Return a part of the rows as a Column; nothing is read."""
        start, stop, step = index.indices(len(self))
        if step != 1:
            raise ValueError(f"A column is cut in steps of 1; the step {step} was given.")
        return ColumnSlice(self, start, stop)

    def read(self, index: Index) -> np.ndarray:
        """Return rows as a NumPy array in any type."""
        raise NotImplementedError

    def rows(self, index: Index) -> np.ndarray:
        """Return a batch: rows as an array that nobody else can change, in the type that reaches
        the model.
        """
        found = self.read(index)
        check_values(found, self.name)
        with np.errstate(
            over="ignore"
        ):  # a float64 beyond float32 becomes inf, which the loss will show
            return found.astype(
                device_dtype(found.dtype), order="C", subok=False, copy=not self.fresh
            )


class ColumnSlice(Column):
    """Neighbouring rows of another column."""

    def __init__(self, whole: Column, start: int, stop: int):
        super().__init__(whole.name, (max(0, stop - start), *whole.shape[1:]), whole.dtype)
        self.fresh = whole.fresh
        self._whole = whole
        self._start = start

    def read(self, index: Index) -> np.ndarray:
        """Return rows of the part."""
        if isinstance(index, slice):
            start, stop, _ = index.indices(len(self))
            return self._whole.read(slice(start + self._start, stop + self._start))
        return self._whole.read(index.astype(np.int64) + self._start)


class MemoryColumn(Column):
    """A dense array in memory, whose values have been checked as a whole."""

    def __init__(self, name: str, array: np.ndarray):
        super().__init__(name, array.shape, array.dtype)
        self.in_memory = array
        self._device_dtype = device_dtype(array.dtype)

    def read(self, index: Index) -> np.ndarray:
        """Return rows."""
        return self.in_memory[index]

    def rows(self, index: Index) -> np.ndarray:
        """Return a batch: copied once, by the index if it is numbers, else here."""
        with np.errstate(over="ignore"):
            found = self.in_memory[index]
            return found.astype(
                self._device_dtype, order="C", subok=False, copy=isinstance(index, slice)
            )


class SparseColumn(Column):
    """A sparse matrix or array of any format. It is kept by rows (CSR), into which other formats
    are converted once.
    """

    fresh = True

    def __init__(self, name: str, matrix: Any):
        if len(matrix.shape) > 2:
            raise ValueError(
                f"`{name}` is a sparse array of shape {matrix.shape}; one or two dimensions were "
                "expected. Reshape it to `(samples, features)`, or make it dense, "
                f"`{name}.toarray()`."
            )
        super().__init__(name, matrix.shape, matrix.dtype)
        check_values(self, name)
        by_rows = matrix.reshape(-1, 1) if self.ndim == 1 else matrix
        self._matrix = by_rows.tocsr()
        check_values(np.asarray(self._matrix.data), name)

    def read(self, index: Index) -> np.ndarray:
        """Return dense rows."""
        found = self._matrix[index].toarray()
        return found[:, 0] if self.ndim == 1 else found


def as_column(array: Any, name: str) -> Column:
    """Return what `prepared` made of an array as a Column."""
    return array if isinstance(array, Column) else MemoryColumn(name, array)


def row_count(index: Index) -> int:
    """Return how many rows an index stands for; a slice must have its ends within the data."""
    return index.stop - index.start if isinstance(index, slice) else len(index)
