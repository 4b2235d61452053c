"""Lazy arrays: anything with a shape, a dtype and rows by slice. What is asked for is read, and
never more.
"""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np

from podium.data._value_checks import check_values
from podium.data.columns._column import Column, Index, row_count


def is_lazy(value: Any) -> bool:
    """Tell whether an object looks like an array that is read by indexing: `shape`, `dtype` and
    `[rows]`.
    """
    return not isinstance(value, type) and all(
        hasattr(value, part) for part in ("shape", "dtype", "__getitem__")
    )


class LazyColumn(Column):
    """An array that lies elsewhere. Rows in any order are read as runs of neighbours, in increasing
    order.

    A subclass whose source can read scattered rows at once defines `scattered`.

    Args:
        name: How the user wrote it.
        source: The array-like; it stays the user's, who closes its file.
    """

    def __init__(self, name: str, source: Any):
        super().__init__(name, _shape_of(source, name), _dtype_of(source, name))
        check_values(self, name)
        self.source = source

    def read(self, index: Index) -> np.ndarray:
        """Return rows; each is read once."""
        if isinstance(index, slice):
            return self._whole_rows(self.between(index.start, index.stop), row_count(index))
        wanted, places = np.unique(index, return_inverse=True)
        if len(wanted) and wanted[-1] - wanted[0] + 1 == len(wanted):
            found = self.between(int(wanted[0]), int(wanted[-1]) + 1)
        else:
            found = self.scattered(wanted)
        return self._whole_rows(found, len(wanted))[places]

    def between(self, start: int, stop: int) -> np.ndarray:
        """Return neighbouring rows."""
        found = self.source[start:stop]
        return np.asarray(
            found.todense() if hasattr(found, "todense") else found
        )  # sparse arrays of other libraries

    def scattered(self, wanted: np.ndarray) -> np.ndarray:
        """Return the rows of increasing, different numbers."""
        runs = np.split(wanted, np.flatnonzero(np.diff(wanted) > 1) + 1)
        return np.concatenate([self.between(int(run[0]), int(run[-1]) + 1) for run in runs])

    def _whole_rows(self, found: np.ndarray, count: int) -> np.ndarray:
        if found.shape != (count, *self.shape[1:]):
            raise ValueError(
                f"`{self.name}` ({type(self.source).__name__}) gave an array of shape "
                f"{found.shape} when asked for {count} "
                f"rows; {(count, *self.shape[1:])} was expected, from its shape {self.shape}. "
                "Has the file changed meanwhile?"
            )
        return found


def is_memory_mapped(array: np.ndarray) -> bool:
    """Tell whether an array, or what it is a view of, lies in a mapped file."""
    owner: Any = array
    while owner is not None and not isinstance(owner, (np.memmap, mmap.mmap)):
        owner = getattr(owner, "base", None)
    return owner is not None


class MemoryMappedColumn(LazyColumn):
    """A mapped file. The system reads what a batch touches, and forgets it again."""

    def read(self, index: Index) -> np.ndarray:
        """Return rows: a view of neighbours, a copy of others, read in the order of the file."""
        if isinstance(index, slice):
            return np.asarray(self.source[index])
        order = np.argsort(index)
        found = np.empty((len(index), *self.shape[1:]), self.dtype)
        found[order] = self.source[index[order]]
        return found


class HDF5Column(LazyColumn):
    """A dataset of a file. HDF5 reads scattered rows in increasing order only."""

    fresh = True

    def __init__(self, name: str, source: Any):
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

    def scattered(self, wanted: np.ndarray) -> np.ndarray:
        """Return rows by one selection, about twice as fast as one read for each."""
        return self.source[wanted]


class ZarrColumn(LazyColumn):
    """A Zarr array. Scattered rows are selected at once, so that each chunk is opened once for a
    batch.

    A chunk is decompressed whole, for however few of its rows: `shuffle="batch"` with batches of
    the size of a chunk reads each once in an epoch.
    """

    fresh = True

    def scattered(self, wanted: np.ndarray) -> np.ndarray:
        """Return rows by orthogonal selection."""
        return np.asarray(self.source.oindex[wanted])


def _shape_of(source: Any, name: str) -> tuple[int, ...]:
    try:
        return tuple(int(length) for length in source.shape)
    except (TypeError, ValueError):
        raise ValueError(
            f"`{name}` ({type(source).__name__}) has the shape {source.shape}; an array whose "
            "lengths are all known was expected. Compute them first; a Dask array does with "
            "`compute_chunk_sizes()`."
        ) from None


def _dtype_of(source: Any, name: str) -> np.dtype:
    dtype = getattr(source.dtype, "numpy_dtype", source.dtype)  # TensorStore has types of its own
    try:
        return np.dtype(dtype)
    except TypeError:
        raise TypeError(
            f"`{name}` ({type(source).__name__}) has the dtype {dtype!r}, which NumPy does not "
            "know. Give an array of numbers or booleans."
        ) from None
