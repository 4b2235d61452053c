"""Tables, record batches and arrays of PyArrow as Columns that share their memory."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.data.columns._column import Column, Index, MemoryColumn
from podium.data.columns._compound_columns import concatenate_columns, stack_columns
from podium.data.columns._foreign_types import (
    ForeignObject,
    column_indices,
    describe_column,
    missing_values_error,
    not_numeric_error,
)


def from_arrow(
    value: ForeignObject, name: str, chosen: list[Any] | None = None
) -> NDArray[Any] | Column:
    """Return a table (or some of its columns) or array as an array or a Column.

    Raises:
        TypeError: A column does not hold numbers; the message names it.
    """
    if not hasattr(value, "column_names"):
        column = arrow_column(value, f"`{name}`", name, name)
        return stack_columns(name, [column]) if column.ndim == 1 else column
    known = value.column_names
    indices = column_indices(known, chosen)
    if not indices:
        raise ValueError(
            f"`{name}` is a table without columns (shape {value.shape}). Give one with columns "
            "of numbers."
        )
    columns = []
    for index in indices:
        key = known[index]
        column = arrow_column(
            value.column(index),
            describe_column(key, name),
            f"{name}[{key!r}]",
            f"column {key!r} of {name}",
        )
        if column.ndim > 1:
            raise not_numeric_error(
                describe_column(key, name),
                "an array in each row",
                value.column(index).type,
                "Give a dictionary of the columns, `{column: "
                + name
                + "[column] for column in "
                + name
                + ".column_names}`",
            )
        columns.append(column)
    return stack_columns(name, columns)


def arrow_column(array: ForeignObject, column: str, expression: str, name: str) -> Column:
    """Return an Array or ChunkedArray as a Column: one-dimensional, or of more dimensions if its
    rows are arrays.

    Args:
        array: The array.
        column: Its description, for messages.
        expression: How the user would write it, for messages.
        name: The name of the Column.
    """
    _refuse_other_types(array.type, column, expression)
    if array.null_count:
        raise missing_values_error(
            column,
            array.null_count,
            len(array),
            f"`{expression}.fill_null(0)`, or drop those rows",
            array.type,
        )
    chunks = [chunk for chunk in getattr(array, "chunks", [array]) if len(chunk)]
    if not chunks:
        return MemoryColumn(name, np.empty((0,), "float32"))
    return concatenate_columns(
        name, [_chunk_column(chunk, column, expression, name) for chunk in chunks]
    )


def _refuse_other_types(dtype: ForeignObject, column: str, expression: str) -> None:
    types = sys.modules["pyarrow"].types
    if str(dtype).startswith("extension<arrow.fixed_shape_tensor"):
        dtype = dtype.value_type
    while types.is_fixed_size_list(dtype):
        dtype = dtype.value_type
    if types.is_integer(dtype) or types.is_floating(dtype) or types.is_boolean(dtype):
        return
    if types.is_dictionary(dtype):
        raise not_numeric_error(
            column,
            "categories",
            dtype,
            f"Give their indices, the `indices` of the chunks of `{expression}`",
        )
    if types.is_temporal(dtype):
        raise not_numeric_error(
            column, "dates or times", dtype, f"Give their numbers, `{expression}.cast('int64')`"
        )
    if types.is_decimal(dtype):
        raise not_numeric_error(
            column,
            "decimal numbers, which JAX does not support",
            dtype,
            f"Give `{expression}.cast('float32')`",
        )
    if types.is_list(dtype) or types.is_large_list(dtype):
        raise not_numeric_error(
            column,
            "lists of variable length",
            dtype,
            "If they are of one length, cast them to `pa.list_(pa.float32(), length)`; else pad "
            "them",
        )
    if types.is_null(dtype):
        raise not_numeric_error(column, "missing values only", dtype, "Fill it with numbers")
    content = "text" if "string" in str(dtype) else "values that are not numbers"
    raise not_numeric_error(
        column,
        content,
        dtype,
        f"Number the values, `{expression}.dictionary_encode()`, and give the indices",
    )


def _chunk_column(chunk: ForeignObject, column: str, expression: str, name: str) -> Column:
    types = sys.modules["pyarrow"].types
    if str(chunk.type).startswith("extension<"):
        return MemoryColumn(name, chunk.to_numpy_ndarray())
    if types.is_fixed_size_list(chunk.type):
        inner = arrow_column(chunk.flatten(), f"the lists of {column}", expression, name)
        if inner.in_memory is None:
            raise not_numeric_error(
                column,
                "lists of booleans",
                chunk.type,
                f"Give `{expression}.cast(pa.list_(pa.uint8(), length))`",
            )
        width = chunk.type.list_size
        return MemoryColumn(name, inner.in_memory.reshape(len(chunk), width, *inner.shape[1:]))
    if types.is_boolean(chunk.type):
        return BooleanColumn(name, chunk)
    return MemoryColumn(name, chunk.to_numpy(zero_copy_only=True))


class BooleanColumn(Column):
    """Booleans, which Arrow stores as bits; those of a batch are unpacked."""

    def __init__(self, name: str, chunk: ForeignObject):
        super().__init__(name, (len(chunk),), bool)
        self._chunk = chunk

    def read(self, index: Index) -> NDArray[Any]:
        """Return rows."""
        rows = (
            self._chunk.slice(index.start, index.stop - index.start)
            if isinstance(index, slice)
            else self._chunk.take(index)
        )
        return np.asarray(rows.to_numpy(zero_copy_only=False))
