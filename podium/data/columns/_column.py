"""Column: one array of samples, from which batches of rows are read. Where the values are stored is
up to each subclass; those for memory and sparse matrices are here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium._typing import DTypeLike, Shape
from podium.data._value_checks import check_values, device_dtype
from podium.data.columns._foreign_types import ForeignObject

Index = slice | NDArray[Any]  # rows: a slice with step 1, or row indices in any order


class Column:
    """Rows of numbers that are read batch by batch. A subclass defines `read`.

    Args:
        name: How the user wrote it, for messages.
        shape: The shape, samples first.
        dtype: The dtype in which the values are stored.

    Attributes:
        in_memory: All values as a dense array, if they are stored as one; it may then be copied to
            the device.
        in_host: Whether all values are in memory, though not as one array.
        fresh: Whether `read` makes a new array each time, which need not be copied again.
    """

    in_memory: NDArray[Any] | None = None
    in_host: bool = False
    fresh: bool = False

    def __init__(self, name: str, shape: Shape, dtype: DTypeLike):
        self.name = name
        self.shape = tuple(shape)
        self.dtype: np.dtype[Any] = np.dtype(dtype)

    @property
    def ndim(self) -> int:
        """The number of dimensions, including that of the samples."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of values."""
        return int(np.prod(self.shape))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: slice) -> Column:
        """Return some of the rows as a Column, without reading them."""
        start, stop, step = index.indices(len(self))
        if step != 1:
            raise ValueError(f"A Column was sliced with the step {step}; a step of 1 was expected.")
        return ColumnSlice(self, start, stop)

    def read(self, index: Index) -> NDArray[Any]:
        """Return rows as a NumPy array of any dtype."""
        raise NotImplementedError

    def rows(self, index: Index) -> NDArray[Any]:
        """Return a batch: rows as an array that no other code can change, in the dtype that reaches
        the model.
        """
        rows = self.read(index)
        check_values(rows, self.name)
        with np.errstate(over="ignore"):  # a float64 beyond float32 becomes inf
            return rows.astype(
                device_dtype(rows.dtype), order="C", subok=False, copy=not self.fresh
            )


class ColumnSlice(Column):
    """Neighboring rows of another column."""

    def __init__(self, source: Column, start: int, stop: int):
        super().__init__(source.name, (max(0, stop - start), *source.shape[1:]), source.dtype)
        self.fresh = source.fresh
        self._source = source
        self._start = start

    def read(self, index: Index) -> NDArray[Any]:
        """Return rows of the slice."""
        if isinstance(index, slice):
            start, stop, _ = index.indices(len(self))
            return self._source.read(slice(start + self._start, stop + self._start))
        return self._source.read(index.astype(np.int64) + self._start)


class MemoryColumn(Column):
    """A dense array in memory, whose values have already been checked."""

    in_memory: NDArray[Any]

    def __init__(self, name: str, array: NDArray[Any]):
        super().__init__(name, array.shape, array.dtype)
        self.in_memory = array
        self._device_dtype = device_dtype(array.dtype)

    def read(self, index: Index) -> NDArray[Any]:
        """Return rows."""
        return self.in_memory[index]

    def rows(self, index: Index) -> NDArray[Any]:
        """Return a batch. It is copied once: by the indexing with an array, or here."""
        with np.errstate(over="ignore"):
            rows = self.in_memory[index]
            return rows.astype(
                self._device_dtype, order="C", subok=False, copy=isinstance(index, slice)
            )


class SparseColumn(Column):
    """A SciPy sparse matrix or array of any format. The rows of a batch are made dense, the matrix
    never is.

    It is kept by rows (CSR); other formats are converted once.
    """

    fresh = True

    def __init__(self, name: str, matrix: ForeignObject):
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

    def read(self, index: Index) -> NDArray[Any]:
        """Return dense rows."""
        rows: NDArray[Any] = self._matrix[index].toarray()
        return rows[:, 0] if self.ndim == 1 else rows


def as_column(array: NDArray[Any] | Column, name: str) -> Column:
    """Return an array or Column that `convert_arrays` has returned as a Column."""
    return array if isinstance(array, Column) else MemoryColumn(name, array)


def row_count(index: Index) -> int:
    """Return the number of rows of an index; a slice must have a start and a stop."""
    if isinstance(index, slice):
        count: int = index.stop - index.start
        return count
    return len(index)
