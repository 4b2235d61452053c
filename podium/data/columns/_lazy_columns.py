"""Columns whose values are stored elsewhere: memory-mapped files, HDF5, Zarr, and any object with a
shape, a dtype and rows by slice. Only the rows of a batch are read.
"""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium._typing import Shape
from podium.data._value_checks import check_values
from podium.data.columns._column import Column, Index, row_count
from podium.data.columns._foreign_types import ForeignObject


def is_lazy(value: object) -> bool:
    """Return whether an object looks like an array that is read by indexing: it has `shape`,
    `dtype` and `[rows]`.
    """
    return not isinstance(value, type) and all(
        hasattr(value, part) for part in ("shape", "dtype", "__getitem__")
    )


class LazyColumn(Column):
    """An array that is not in memory. Rows in any order are read as runs of neighbors, in
    increasing order.

    A subclass whose source can read scattered rows at once overrides `read_scattered`.

    Args:
        name: How the user wrote it.
        source: The array-like; the user opens and closes its file.
    """

    def __init__(self, name: str, source: ForeignObject):
        super().__init__(name, _shape_of(source, name), _dtype_of(source, name))
        check_values(self, name)
        self.source = source

    def read(self, index: Index) -> NDArray[Any]:
        """Return rows; each is read once."""
        if isinstance(index, slice):
            return self._check_shape(self.read_range(index.start, index.stop), row_count(index))
        wanted, positions = np.unique(index, return_inverse=True)
        if len(wanted) and wanted[-1] - wanted[0] + 1 == len(wanted):
            rows = self.read_range(int(wanted[0]), int(wanted[-1]) + 1)
        else:
            rows = self.read_scattered(wanted)
        return self._check_shape(rows, len(wanted))[positions]

    def read_range(self, start: int, stop: int) -> NDArray[Any]:
        """Return neighboring rows."""
        rows = self.source[start:stop]
        # Sparse arrays of other libraries have `todense`.
        return np.asarray(rows.todense() if hasattr(rows, "todense") else rows)

    def read_scattered(self, wanted: NDArray[Any]) -> NDArray[Any]:
        """Return the rows of increasing, distinct indices."""
        runs = np.split(wanted, np.flatnonzero(np.diff(wanted) > 1) + 1)
        return np.concatenate([self.read_range(int(run[0]), int(run[-1]) + 1) for run in runs])

    def _check_shape(self, rows: NDArray[Any], count: int) -> NDArray[Any]:
        if rows.shape != (count, *self.shape[1:]):
            raise ValueError(
                f"`{self.name}` ({type(self.source).__name__}) returned an array of shape "
                f"{rows.shape} for {count} rows; {(count, *self.shape[1:])} was expected, from its "
                f"shape {self.shape}. Check whether the file has changed."
            )
        return rows


def is_memory_mapped(array: NDArray[Any]) -> bool:
    """Return whether an array, or the array it is a view of, is a memory-mapped file."""
    owner: Any = array
    while owner is not None and not isinstance(owner, (np.memmap, mmap.mmap)):
        owner = getattr(owner, "base", None)
    return owner is not None


class MemoryMappedColumn(LazyColumn):
    """A memory-mapped file, as `np.memmap` and `np.load(mmap_mode="r")` return it."""

    def read(self, index: Index) -> NDArray[Any]:
        """Return rows: a view of neighbors, a copy of others, read in the order of the file."""
        if isinstance(index, slice):
            return np.asarray(self.source[index])
        order = np.argsort(index)
        rows = np.empty((len(index), *self.shape[1:]), self.dtype)
        rows[order] = self.source[index[order]]
        return rows


class HDF5Column(LazyColumn):
    """A `h5py.Dataset`. HDF5 reads scattered rows in increasing order only."""

    fresh = True

    def __init__(self, name: str, source: ForeignObject):
        if not source:
            raise ValueError(
                f"`{name}` is a dataset of an HDF5 file that has been closed. Keep the file open "
                "while the model reads it: call `fit` inside `with h5py.File(...) as file:`."
            )
        if source.shape is None:
            raise ValueError(
                f"`{name}` is an empty HDF5 dataset (h5py.Empty) without a shape; an array was "
                "expected."
            )
        super().__init__(name, source)

    def read_scattered(self, wanted: NDArray[Any]) -> NDArray[Any]:
        """Return rows by one selection, about twice as fast as one read for each."""
        rows: NDArray[Any] = self.source[wanted]
        return rows


class ZarrColumn(LazyColumn):
    """A Zarr array. Scattered rows are selected at once, so that each chunk is opened once per
    batch.

    All rows of a chunk are decompressed to read any of them: with `shuffle="batch"` and batches of
    the size of a chunk, each chunk is read once per epoch.
    """

    fresh = True

    def read_scattered(self, wanted: NDArray[Any]) -> NDArray[Any]:
        """Return rows by orthogonal selection."""
        return np.asarray(self.source.oindex[wanted])


def _shape_of(source: ForeignObject, name: str) -> Shape:
    try:
        return tuple(int(length) for length in source.shape)
    except (TypeError, ValueError):
        raise ValueError(
            f"`{name}` ({type(source).__name__}) has the shape {source.shape}; an array whose "
            "lengths are all known was expected. Compute them first; a Dask array does with "
            "`compute_chunk_sizes()`."
        ) from None


def _dtype_of(source: ForeignObject, name: str) -> np.dtype[Any]:
    dtype = getattr(source.dtype, "numpy_dtype", source.dtype)  # TensorStore has its own dtypes
    try:
        converted: np.dtype[Any] = np.dtype(dtype)
    except TypeError:
        raise TypeError(
            f"`{name}` ({type(source).__name__}) has the dtype {dtype!r}, which NumPy does not "
            "know. Give an array of numbers or booleans."
        ) from None
    return converted
