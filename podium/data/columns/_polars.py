"""Polars: a frame becomes one array of its columns, a series one column of shape (n, 1). Memory is
shared where possible.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.data.columns._column import Column, Index, MemoryColumn
from podium.data.columns._compound_columns import concatenate_columns, stack_columns
from podium.data.columns._foreign_types import (
    ForeignObject,
    column_indices,
    describe_column,
    is_instance_of,
    missing_values_error,
    not_numeric_error,
)


def from_polars(
    value: ForeignObject, name: str, chosen: list[Any] | None = None
) -> NDArray[Any] | Column:
    """Return a frame (or some of its columns) or series as an array or a Column.

    Raises:
        TypeError: A column does not hold numbers; the message names it.
    """
    if is_instance_of(value, "polars", "LazyFrame"):
        raise TypeError(
            f"`{name}` is a Polars LazyFrame, a query that has not been run; rows cannot be read "
            f"from it by index. Run it once: `{name}.collect()`."
        )
    if is_instance_of(value, "polars", "Series"):
        column = _series_column(value, f"`{name}`", name, name)
        return stack_columns(name, [column]) if column.ndim == 1 else column
    known, series = value.columns, value.get_columns()
    indices = column_indices(known, chosen)
    names = [known[index] for index in indices]
    if not names:
        raise ValueError(
            f"`{name}` is a DataFrame without columns (shape {value.shape}). Give one with "
            "columns of numbers."
        )
    columns = []
    for key, index in zip(names, indices, strict=True):
        column = _series_column(
            series[index],
            describe_column(key, name),
            f"{name}[{key!r}]",
            f"column {key!r} of {name}",
        )
        if column.ndim > 1:
            raise not_numeric_error(
                describe_column(key, name),
                "an array in each row",
                series[index].dtype,
                "Give a dictionary of the columns, `{column: "
                + name
                + "[column] for column in "
                + name
                + ".columns}`",
            )
        columns.append(column)
    stacked = stack_columns(name, columns)
    view = _view_frame(value) if names == known and len(names) > 1 else None
    return stacked if view is None else view


def _view_frame(frame: ForeignObject) -> NDArray[Any] | None:
    """Return a frame as a view, or None if its columns are not contiguous in memory."""
    try:
        return np.asarray(frame.to_numpy(allow_copy=False))
    except RuntimeError:
        return None


def _series_column(series: ForeignObject, column: str, expression: str, name: str) -> Column:
    """Return a series as a Column: one-dimensional, or of more dimensions if its rows are
    arrays.
    """
    dtype = series.dtype
    inner = dtype
    while is_instance_of(inner, "polars", "Array"):
        inner = inner.inner
    if str(inner).startswith("Decimal") or "Int128" in str(inner):
        raise not_numeric_error(
            column,
            "numbers of a dtype that JAX does not support",
            dtype,
            f"Give `{expression}.cast(pl.Float32)`",
        )
    if not (inner.is_numeric() or str(inner) == "Boolean"):
        raise not_numeric_error(
            column,
            _describe_content(inner),
            dtype,
            f"Convert them to numbers, such as `{expression}.{_conversion(inner)}`",
        )
    if series.null_count():
        raise missing_values_error(
            column,
            series.null_count(),
            len(series),
            f"`{expression}.fill_null(0)`, or drop those rows",
            dtype,
        )
    return concatenate_columns(name, [_chunk_column(chunk, name) for chunk in series.get_chunks()])


def _describe_content(dtype: ForeignObject) -> str:
    if dtype.is_temporal():
        return "dates or times"
    return {"String": "text", "Categorical": "categories", "Enum": "categories"}.get(
        type(dtype).__name__, "values that are not numbers"
    )


def _conversion(dtype: ForeignObject) -> str:
    if type(dtype).__name__ == "String":
        return "rank('dense') - 1"
    return "list.to_array(width)" if dtype.is_nested() else "to_physical()"


def _chunk_column(series: ForeignObject, name: str) -> Column:
    try:
        return MemoryColumn(name, series.to_numpy(allow_copy=False))
    except RuntimeError:  # booleans are stored as bits
        return PolarsColumn(name, series)


class PolarsColumn(Column):
    """A series that cannot be viewed as a NumPy array; the rows of a batch are converted."""

    def __init__(self, name: str, series: ForeignObject):
        sample = series.head(0).to_numpy()
        super().__init__(name, (len(series), *sample.shape[1:]), sample.dtype)
        self._series = series

    def read(self, index: Index) -> NDArray[Any]:
        """Return rows."""
        if isinstance(index, slice):
            rows = self._series.slice(index.start, index.stop - index.start)
        else:
            rows = self._series.gather(index)
        return np.asarray(rows.to_numpy())
