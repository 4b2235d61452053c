"""pandas: a frame becomes one array of its columns, a series one column of shape (n, 1), as in
Keras. Memory is shared.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.data._value_checks import check_values
from podium.data.columns._arrow import arrow_column
from podium.data.columns._column import Column, MemoryColumn, SparseColumn
from podium.data.columns._compound_columns import stack_columns
from podium.data.columns._foreign_types import (
    ForeignObject,
    column_indices,
    describe_column,
    missing_values_error,
    not_numeric_error,
)


def from_pandas(
    value: ForeignObject, name: str, chosen: list[Any] | None = None
) -> NDArray[Any] | Column:
    """Return a frame (or some of its columns), series or index as an array or a Column.

    Raises:
        TypeError: A column does not hold numbers; the message names it.
    """
    if value.ndim == 1:
        return stack_columns(name, [_series_column(value, f"`{name}`", name, name)])
    indices = column_indices(list(value.columns), chosen)
    if not indices:
        raise ValueError(
            f"`{name}` is a DataFrame without columns (shape {value.shape}). Give one with "
            "columns of numbers."
        )
    dtypes = list(value.dtypes)
    if all(_is_sparse(dtypes[index]) and dtypes[index].fill_value == 0 for index in indices):
        return SparseColumn(name, value.iloc[:, indices].sparse.to_coo())
    one_dtype = len(set(dtypes)) == 1 and _is_numpy_dtype(dtypes[0])
    view = _view_columns(value, indices) if one_dtype else None
    if view is None:
        return stack_columns(name, [_frame_column(value, index, name) for index in indices])
    if view.dtype.kind in "iu":
        for index, column in zip(indices, view.T, strict=True):
            check_values(column, f"column {value.columns[index]!r} of {name}")
    return view


def _frame_column(frame: ForeignObject, index: int, name: str) -> Column:
    column = frame.columns[index]
    return _series_column(
        frame.iloc[:, index],
        describe_column(column, name),
        f"{name}[{column!r}]",
        f"column {column!r} of {name}",
    )


def _view_columns(frame: ForeignObject, indices: list[int]) -> NDArray[Any] | None:
    """Return neighboring columns as a view if pandas stores the frame in one block of memory,
    otherwise None.
    """
    if not len(frame) or indices != list(range(indices[0], indices[0] + len(indices))):
        return None
    # A row is a view of the first column's memory only if there is one block.
    if not np.may_share_memory(frame.iloc[:1].to_numpy(), frame.iloc[:, 0].to_numpy()):
        return None
    view: NDArray[Any] = frame.to_numpy()[:, indices[0] : indices[-1] + 1]
    return view


def _is_numpy_dtype(dtype: ForeignObject) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind in "fiubc"


def _is_sparse(dtype: ForeignObject) -> bool:
    return type(dtype).__name__ == "SparseDtype"


def _series_column(series: ForeignObject, column: str, expression: str, name: str) -> Column:
    """Return a series as a one-dimensional Column."""
    dtype = series.dtype
    if _is_numpy_dtype(dtype):
        return MemoryColumn(name, series.to_numpy())
    _refuse_other_types(dtype, column, expression)
    if _is_sparse(dtype):
        return MemoryColumn(name, series.to_numpy(dtype=dtype.subtype))
    count = int(series.isna().sum())
    if count:
        raise missing_values_error(
            column,
            count,
            len(series),
            f"`{expression}.fillna(0)`, or drop those rows with `dropna()`",
            dtype,
        )
    if type(dtype).__name__ == "ArrowDtype":
        return arrow_column(series.array.__arrow_array__(), column, expression, name)
    return MemoryColumn(name, series.to_numpy(dtype=dtype.numpy_dtype))


def _refuse_other_types(dtype: ForeignObject, column: str, expression: str) -> None:
    if str(dtype) == "category":
        raise not_numeric_error(
            column,
            "categories",
            dtype,
            f"Give their codes, `{expression}.cat.codes`, or a column for each, `pd.get_dummies`",
        )
    if dtype.kind in "Mm":
        raise not_numeric_error(
            column,
            "dates or times",
            dtype,
            f"Convert them to numbers, such as `{expression}.astype('int64') / 1e9` or `.dt.month`",
        )
    if dtype.kind == "O" and str(dtype) == "object":
        raise not_numeric_error(
            column,
            "Python objects",
            dtype,
            f"If they are numbers, give `{expression}.astype('float32')`; if they are text, "
            f"`pd.factorize({expression})[0]`",
        )
    if dtype.kind not in "fiub":
        content = "text" if "str" in str(dtype) else "values that are not numbers"
        raise not_numeric_error(
            column,
            content,
            dtype,
            f"Number the values, `pd.factorize({expression})[0]`, or use `pd.get_dummies`",
        )
