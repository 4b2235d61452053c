"""Arrow: tables, record batches and arrays of PyArrow, chunk by chunk on the memory where they
lie.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from podium.data.columns._column import Column, Index, MemoryColumn
from podium.data.columns._compound_columns import chained, stack_columns
from podium.data.columns._foreign_types import column_indices, missing, not_numeric_error, place


def from_arrow(value: Any, name: str, chosen: list[Any] | None = None) -> np.ndarray | Column:
    """Return a table (or some of its columns) or array as an array or a Column, or name the column
    that is none.
    """
    if not hasattr(value, "column_names"):
        column = arrow_column(value, f"`{name}`", name, name)
        return stack_columns(name, [column]) if column.ndim == 1 else column
    known = value.column_names
    places = column_indices(known, chosen)
    if not places:
        raise ValueError(
            f"`{name}` is a table without columns (shape {value.shape}). Give one with columns "
            "of numbers."
        )
    columns = []
    for at in places:
        key = known[at]
        column = arrow_column(
            value.column(at), place(key, name), f"{name}[{key!r}]", f"column {key!r} of {name}"
        )
        if column.ndim > 1:
            raise not_numeric_error(
                place(key, name),
                "an array in each row",
                value.column(at).type,
                "Give a dictionary of the columns, `{column: "
                + name
                + "[column] for column in "
                + name
                + ".column_names}`",
            )
        columns.append(column)
    return stack_columns(name, columns)


def arrow_column(array: Any, where: str, written: str, name: str) -> Column:
    """Return an Array or ChunkedArray as a Column: one-dimensional, or of more dimensions if its
    rows are arrays.
    """
    _refuse_others(array.type, where, written)
    if array.null_count:
        raise missing(
            where,
            array.null_count,
            len(array),
            f"`{written}.fill_null(0)`, or drop those rows",
            array.type,
        )
    chunks = [chunk for chunk in getattr(array, "chunks", [array]) if len(chunk)]
    if not chunks:
        return MemoryColumn(name, np.empty((0,), "float32"))
    return chained(name, [_chunk(chunk, where, written, name) for chunk in chunks])


def _refuse_others(kind: Any, where: str, written: str) -> None:
    types = sys.modules["pyarrow"].types
    if str(kind).startswith("extension<arrow.fixed_shape_tensor"):
        kind = kind.value_type
    while types.is_fixed_size_list(kind):
        kind = kind.value_type
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
        return
    if types.is_dictionary(kind):
        raise not_numeric_error(
            where,
            "categories",
            kind,
            f"Give their numbers, the `indices` of the chunks of `{written}`",
        )
    if types.is_temporal(kind):
        raise not_numeric_error(
            where, "dates or times", kind, f"Give their numbers, `{written}.cast('int64')`"
        )
    if types.is_decimal(kind):
        raise not_numeric_error(
            where,
            "decimal numbers, which JAX does not know",
            kind,
            f"Give `{written}.cast('float32')`",
        )
    if types.is_list(kind) or types.is_large_list(kind):
        raise not_numeric_error(
            where,
            "lists of any length",
            kind,
            "If they are of one length, cast them to `pa.list_(pa.float32(), length)`; else pad "
            "them",
        )
    if types.is_null(kind):
        raise not_numeric_error(where, "missing values only", kind, "Fill it with numbers")
    word = "text" if "string" in str(kind) else "no numbers"
    raise not_numeric_error(
        where,
        word,
        kind,
        f"Number the values, `{written}.dictionary_encode()`, and give the indices",
    )


def _chunk(chunk: Any, where: str, written: str, name: str) -> Column:
    types = sys.modules["pyarrow"].types
    if str(chunk.type).startswith("extension<"):
        return MemoryColumn(name, chunk.to_numpy_ndarray())
    if types.is_fixed_size_list(chunk.type):
        inner = arrow_column(chunk.flatten(), f"the lists of {where}", written, name)
        if inner.in_memory is None:
            raise not_numeric_error(
                where,
                "lists of booleans",
                chunk.type,
                f"Give `{written}.cast(pa.list_(pa.uint8(), length))`",
            )
        width = chunk.type.list_size
        return MemoryColumn(name, inner.in_memory.reshape(len(chunk), width, *inner.shape[1:]))
    if types.is_boolean(chunk.type):
        return BitsColumn(name, chunk)
    return MemoryColumn(name, chunk.to_numpy(zero_copy_only=True))


class BitsColumn(Column):
    """Booleans, which Arrow keeps as bits; those of a batch are unpacked."""

    def __init__(self, name: str, chunk: Any):
        super().__init__(name, (len(chunk),), bool)
        self._chunk = chunk

    def read(self, index: Index) -> np.ndarray:
        """Return rows."""
        found = (
            self._chunk.slice(index.start, index.stop - index.start)
            if isinstance(index, slice)
            else self._chunk.take(index)
        )
        return found.to_numpy(zero_copy_only=False)
