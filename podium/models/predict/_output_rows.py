"""Where the rows of one output of `predict` go: into an array of ours, made at once if it is known
how long, or a given sink.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import numpy as np

_CHUNK = (
    2**26
    # bytes: what is added when the length is not known. Memory of that size goes back to the system
    # when freed
)
_PIECE = 2**22  # bytes: what is copied at a time at the end


class NewRows:
    """The rows of one output in memory of ours.

    If their number is known, they are written where they stay. If not, they wait in chunks, each as
    long as all before it up to a limit; at the end they are copied together, and what has been
    copied is freed: little more memory than for them once.

    Args:
        row: The shape of one row.
        dtype: Their type.
        count: How many there will be, or None.
        sure: Whether that is known; otherwise it is a guess.
    """

    def __init__(
        self, row: tuple[int, ...], dtype: Any, count: int | None = None, sure: bool = False
    ):
        self._row = tuple(row)
        self._dtype = np.dtype(dtype)
        self._chunks: list[np.ndarray] = []
        self._filled = 0  # rows of the last chunk
        self._total = 0
        if count is not None:
            try:
                self._chunks.append(np.empty((count, *self._row), self._dtype))
            except (MemoryError, ValueError):  # more than there is, or than can be
                if sure:
                    raise

    def add(self, rows: np.ndarray) -> None:
        """Copy rows behind those that are there."""
        if rows.shape[1:] != self._row:
            raise ValueError(
                f"`predict_step` returned rows of shape {rows.shape[1:]} after rows of shape "
                f"{self._row}. All dimensions of an output but the first must match exactly, so "
                "that the batches can be put together. Pad the batches to one shape, or take the "
                "outputs one by one: `for outputs in model.predict_iter(x)`."
            )
        if rows.dtype != self._dtype:
            self._promote(np.promote_types(rows.dtype, self._dtype))
        self._total += len(rows)
        while len(rows):
            if not self._chunks or self._filled == len(self._chunks[-1]):
                self._add_chunk(len(rows))
            last = self._chunks[-1][self._filled :]
            count = min(len(last), len(rows))
            last[:count] = rows[:count]
            rows = rows[count:]
            self._filled += count

    def result(self) -> np.ndarray:
        """Return all rows in one array, and keep nothing."""
        if len(self._chunks) == 1:
            whole = self._chunks.pop()
            if self._filled < len(whole):
                whole.resize(
                    (self._filled, *self._row), refcheck=False
                )  # shrinks where it is; nobody else has seen it
            return whole
        whole = np.empty((self._total, *self._row), self._dtype)
        end, filled, piece = self._total, self._filled, self._rows_in(_PIECE)
        while self._chunks:
            chunk = self._chunks.pop()
            while filled:  # from the end of a chunk, which gives its memory back piece by piece
                count = min(filled, piece)
                whole[end - count : end] = chunk[filled - count : filled]
                end, filled = end - count, filled - count
                chunk.resize((filled, *self._row), refcheck=False)
            filled = len(self._chunks[-1]) if self._chunks else 0
        return whole

    def _add_chunk(self, least: int) -> None:
        count = max(least, min(self._total, self._rows_in(_CHUNK)))
        self._chunks.append(np.empty((count, *self._row), self._dtype))
        self._filled = 0

    def _rows_in(self, size: int) -> int:
        """Return how many rows so many bytes hold, at least one."""
        return max(1, size // max(1, math.prod(self._row) * self._dtype.itemsize))

    def _promote(self, dtype: np.dtype) -> None:
        """Go over to a type that holds both, as joining the batches would."""
        if dtype != self._dtype:
            self._dtype = dtype
            self._chunks = [chunk.astype(dtype) for chunk in self._chunks]


class GivenRows:
    """The rows of one output in a sink of the user's: an array, a memmap, a dataset in a file.

    Args:
        sink: Anything with `shape` and `dtype` that takes `sink[a:b] = rows`.
        row: The shape of one row.
        dtype: The type of the rows.
        count: How many there will be, if that is known.
    """

    def __init__(self, sink: Any, row: tuple[int, ...], dtype: Any, count: int | None = None):
        if not all(hasattr(sink, name) for name in ("shape", "dtype", "__setitem__")) or isinstance(
            sink, jax.Array
        ):
            raise TypeError(
                f"`out` is a {type(sink).__name__}; something to fill was expected, with a `shape` "
                "and a `dtype`, that takes `out[a:b] = rows`: a NumPy array, an np.memmap, a "
                "dataset of h5py or zarr. Give such a one for each output."
            )
        dtype = np.dtype(dtype)
        length, *others = sink.shape or (0,)
        if tuple(others) != tuple(row) or not sink.shape or (count is not None and length < count):
            least = (
                "as many rows as there are samples" if count is None else f"at least {count:,} rows"
            )
            raise ValueError(
                f"`out` has the shape {tuple(sink.shape)}, and the output has rows of shape "
                f"{tuple(row)}; {least} of that shape were expected. Make it so: "
                f"`np.empty({(count or length, *row)}, {str(dtype)!r})`."
            )
        self._dtype = _number_type(sink.dtype)
        if self._dtype is not None and not np.can_cast(dtype, self._dtype, "safe"):
            raise ValueError(
                f"`out` has the dtype {self._dtype}, and the output {dtype}, which it cannot hold "
                f"without loss. Make it of dtype {str(dtype)!r}, or let `predict_step` return "
                f"{self._dtype}."
            )
        if isinstance(sink, np.ndarray) and not sink.flags.writeable:
            raise ValueError(
                "`out` is an array that cannot be written to. Open a memmap with mode='r+' or "
                "'w+'; copy any other array."
            )
        self._sink = sink
        self._row = tuple(row)
        self._length = length
        self._total = 0

    def add(self, rows: np.ndarray) -> None:
        """Write rows behind those that are there."""
        end = self._total + len(rows)
        if rows.shape[1:] != self._row or end > self._length:
            raise ValueError(
                f"`out` has {self._length:,} rows of shape {self._row}, and `predict_step` "
                f"returned an output of shape {rows.shape} after {self._total:,} rows. Give a "
                "larger one, or fewer `steps`."
            )
        self._sink[self._total : end] = (
            rows if self._dtype is None else rows.astype(self._dtype, copy=False)
        )
        self._total = end

    def result(self) -> Any:
        """Return the sink."""
        return self._sink


def _number_type(dtype: Any) -> np.dtype | None:
    """Return a sink's type as NumPy's, or None for a library that has types of its own."""
    try:
        return np.dtype(dtype)
    except TypeError:
        return None
