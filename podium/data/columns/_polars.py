"""Polars: a frame is one array of its columns, a series one column of shape (n, 1). Memory is
shared where it can be.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from podium.data.columns._column import Column, Index, MemoryColumn
from podium.data.columns._compound_columns import chained, stack_columns
from podium.data.columns._foreign_types import (
    column_indices,
    is_instance_of,
    missing,
    not_numeric_error,
    place,
)


def from_polars(value: Any, name: str, chosen: list[Any] | None = None) -> np.ndarray | Column:
    """Return a frame (or some of its columns) or series as an array or a Column, or name the column
    that is none.
    """
    if is_instance_of(value, "polars", "LazyFrame"):
        raise TypeError(
            f"`{name}` is a Polars LazyFrame, a query that has not been run; rows cannot be read "
            f"from it by number. Run it once: `{name}.collect()`."
        )
    if is_instance_of(value, "polars", "Series"):
        return _as_rows(_column(value, f"`{name}`", name, name), name)
    known, series = value.columns, value.get_columns()
    places = column_indices(known, chosen)
    names = [known[at] for at in places]
    if not names:
        raise ValueError(
            f"`{name}` is a DataFrame without columns (shape {value.shape}). Give one with "
            "columns of numbers."
        )
    columns = []
    for key, at in zip(names, places, strict=True):
        column = _column(
            series[at], place(key, name), f"{name}[{key!r}]", f"column {key!r} of {name}"
        )
        if column.ndim > 1:
            raise not_numeric_error(
                place(key, name),
                "an array in each row",
                series[at].dtype,
                "Give a dictionary of the columns, `{column: "
                + name
                + "[column] for column in "
                + name
                + ".columns}`",
            )
        columns.append(column)
    joined = stack_columns(name, columns)
    whole = _seen_as_one(value) if names == known and len(names) > 1 else None
    return joined if whole is None else whole


def _seen_as_one(frame: Any) -> np.ndarray | None:
    try:
        return frame.to_numpy(allow_copy=False)
    except RuntimeError:  # its columns do not lie one behind the other
        return None


def _as_rows(column: Column, name: str) -> np.ndarray | Column:
    return stack_columns(name, [column]) if column.ndim == 1 else column


def _column(series: Any, where: str, written: str, name: str) -> Column:
    """Return a series as a Column: one-dimensional, or of more dimensions if its rows are
    arrays.
    """
    dtype = series.dtype
    inner = dtype
    while is_instance_of(inner, "polars", "Array"):
        inner = inner.inner
    if str(inner).startswith("Decimal") or "Int128" in str(inner):
        raise not_numeric_error(
            where,
            "numbers of a type that JAX does not know",
            dtype,
            f"Give `{written}.cast(pl.Float32)`",
        )
    if not (inner.is_numeric() or str(inner) == "Boolean"):
        raise not_numeric_error(
            where, _word(inner), dtype, f"Give their numbers, such as `{written}.{_number(inner)}`"
        )
    if series.null_count():
        raise missing(
            where,
            series.null_count(),
            len(series),
            f"`{written}.fill_null(0)`, or drop those rows",
            dtype,
        )
    return chained(name, [_chunk(chunk, name) for chunk in series.get_chunks()])


def _word(dtype: Any) -> str:
    if dtype.is_temporal():
        return "dates or times"
    return {"String": "text", "Categorical": "categories", "Enum": "categories"}.get(
        type(dtype).__name__, "no numbers"
    )


def _number(dtype: Any) -> str:
    if type(dtype).__name__ == "String":
        return "rank('dense') - 1"
    return "list.to_array(width)" if dtype.is_nested() else "to_physical()"


def _chunk(series: Any, name: str) -> Column:
    try:
        return MemoryColumn(name, series.to_numpy(allow_copy=False))
    except RuntimeError:  # booleans lie as bits
        return PolarsColumn(name, series)


class PolarsColumn(Column):
    """A series that NumPy cannot see as it lies; the rows of a batch are converted."""

    def __init__(self, name: str, series: Any):
        sample = series.head(0).to_numpy()
        super().__init__(name, (len(series), *sample.shape[1:]), sample.dtype)
        self._series = series

    def read(self, index: Index) -> np.ndarray:
        """Return rows."""
        if isinstance(index, slice):
            return self._series.slice(index.start, index.stop - index.start).to_numpy()
        return self._series.gather(index).to_numpy()
