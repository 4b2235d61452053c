"""Where the rows of one output of `predict` are stored: in a new array, or in one that the user
passed as `out`.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from podium._typing import DTypeLike, Shape

# Bytes of a chunk, if the number of rows is not known. Memory of that size is returned to the
# system when it is freed.
_CHUNK_BYTES = 2**26
_COPY_BYTES = 2**22  # copied at a time at the end


class NewRows:
    """The rows of one output in a new array.

    If their number is known, they are written to their final position. If not, they are stored in
    chunks, each as long as all before it up to a limit; at the end they are copied to one array,
    and what has been copied is freed: that takes little more memory than the array.

    Args:
        row_shape: The shape of one row.
        dtype: Their dtype.
        count: The expected number of rows, or None.
        exact: Whether that number is exact; otherwise it is an estimate.
    """

    def __init__(
        self, row_shape: Shape, dtype: DTypeLike, count: int | None = None, exact: bool = False
    ):
        self._row_shape = tuple(row_shape)
        self._dtype = np.dtype(dtype)
        self._chunks: list[NDArray[Any]] = []
        self._filled = 0  # rows of the last chunk
        self._total = 0
        if count is not None:
            try:
                self._chunks.append(np.empty((count, *self._row_shape), self._dtype))
            except (MemoryError, ValueError):  # more memory than available, or than possible
                if exact:
                    raise

    @property
    def num_bytes(self) -> int:
        """The size of the rows that were added."""
        return self._total * math.prod(self._row_shape) * int(self._dtype.itemsize)

    def add(self, rows: NDArray[Any]) -> None:
        """Append rows."""
        if rows.shape[1:] != self._row_shape:
            raise ValueError(
                f"`predict_step` returned rows of shape {rows.shape[1:]} after rows of shape "
                f"{self._row_shape}. All dimensions of an output but the first must match exactly, "
                "so that the batches can be put together. Pad the batches to one shape, or process "
                "the outputs one by one: `for outputs in model.predict_iter(x)`."
            )
        if rows.dtype != self._dtype:
            self._promote(np.promote_types(rows.dtype, self._dtype))
        self._total += len(rows)
        while len(rows):
            if not self._chunks or self._filled == len(self._chunks[-1]):
                self._add_chunk(len(rows))
            free = self._chunks[-1][self._filled :]
            count = min(len(free), len(rows))
            free[:count] = rows[:count]
            rows = rows[count:]
            self._filled += count

    def result(self) -> NDArray[Any]:
        """Return all rows in one array, and keep nothing."""
        if len(self._chunks) == 1:
            array = self._chunks.pop()
            if self._filled < len(array):  # shrinks in place: there are no other references
                array.resize((self._filled, *self._row_shape), refcheck=False)
            return array
        array = np.empty((self._total, *self._row_shape), self._dtype)
        end, filled, max_count = self._total, self._filled, self._num_rows(_COPY_BYTES)
        while self._chunks:
            chunk = self._chunks.pop()
            while filled:  # from the end of a chunk, whose memory is freed step by step
                count = min(filled, max_count)
                array[end - count : end] = chunk[filled - count : filled]
                end, filled = end - count, filled - count
                chunk.resize((filled, *self._row_shape), refcheck=False)
            filled = len(self._chunks[-1]) if self._chunks else 0
        return array

    def _add_chunk(self, min_count: int) -> None:
        count = max(min_count, min(self._total, self._num_rows(_CHUNK_BYTES)))
        self._chunks.append(np.empty((count, *self._row_shape), self._dtype))
        self._filled = 0

    def _num_rows(self, num_bytes: int) -> int:
        """Return how many rows fit in a number of bytes, at least one."""
        return max(1, num_bytes // max(1, math.prod(self._row_shape) * int(self._dtype.itemsize)))

    def _promote(self, dtype: np.dtype[Any]) -> None:
        """Change to a dtype that holds both, as concatenating the batches would."""
        if dtype != self._dtype:
            self._dtype = dtype
            self._chunks = [chunk.astype(dtype) for chunk in self._chunks]


class OutRows:
    """The rows of one output in what the user passed as `out`: an array, a memmap, a dataset in a
    file.

    Args:
        out: Anything with `shape` and `dtype` that supports `out[a:b] = rows`.
        row_shape: The shape of one row.
        dtype: The dtype of the rows.
        count: The number of rows, if it is known.
    """

    def __init__(self, out: Any, row_shape: Shape, dtype: DTypeLike, count: int | None = None):
        if not all(hasattr(out, name) for name in ("shape", "dtype", "__setitem__")) or isinstance(
            out, jax.Array
        ):
            raise TypeError(
                f"`out` is a {type(out).__name__}; an object to fill was expected, with a `shape` "
                "and a `dtype`, that supports `out[a:b] = rows`: a NumPy array, an np.memmap, a "
                "dataset of h5py or zarr. Pass one for each output."
            )
        dtype = np.dtype(dtype)
        length, *sizes = out.shape or (0,)
        too_short = not out.shape or (count is not None and length < count)
        if tuple(sizes) != tuple(row_shape) or too_short:
            expected = "one row per sample" if count is None else f"at least {count:,} rows"
            raise ValueError(
                f"`out` has the shape {tuple(out.shape)}, and the output has rows of shape "
                f"{tuple(row_shape)}; {expected} of that shape were expected. Use "
                f"`np.empty({(count or length, *row_shape)}, {str(dtype)!r})`."
            )
        self._dtype = _numpy_dtype(out.dtype)
        if self._dtype is not None and not np.can_cast(dtype, self._dtype, "safe"):
            raise ValueError(
                f"`out` has the dtype {self._dtype}, and the output {dtype}, which it cannot hold "
                f"without loss. Use the dtype {str(dtype)!r}, or let `predict_step` return "
                f"{self._dtype}."
            )
        if isinstance(out, np.ndarray) and not out.flags.writeable:
            raise ValueError(
                "`out` is an array that cannot be written to. Open a memmap with mode='r+' or "
                "'w+'; copy any other array."
            )
        self._out = out
        self._item_size = int((self._dtype or dtype).itemsize)
        self._row_shape = tuple(row_shape)
        self._length = length
        self._total = 0

    @property
    def num_bytes(self) -> int:
        """The size of the rows that were written."""
        return self._total * math.prod(self._row_shape) * self._item_size

    def add(self, rows: NDArray[Any]) -> None:
        """Write rows after those that have been added."""
        end = self._total + len(rows)
        if rows.shape[1:] != self._row_shape or end > self._length:
            raise ValueError(
                f"`out` has {self._length:,} rows of shape {self._row_shape}, and `predict_step` "
                f"returned an output of shape {rows.shape} after {self._total:,} rows. Pass a "
                "larger one, or fewer `steps`."
            )
        self._out[self._total : end] = (
            rows if self._dtype is None else rows.astype(self._dtype, copy=False)
        )
        self._total = end

    def result(self) -> Any:
        """Return `out`."""
        return self._out


def _numpy_dtype(dtype: Any) -> np.dtype[Any] | None:
    """Return a dtype as NumPy's, or None if NumPy has no such dtype."""
    try:
        numpy_dtype: np.dtype[Any] = np.dtype(dtype)
    except TypeError:
        return None
    return numpy_dtype
