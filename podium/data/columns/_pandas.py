"""pandas: a frame is one array of its columns, a series one column of shape (n, 1), as in Keras.
Memory is shared.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from podium.data._value_checks import check_values
from podium.data.columns._arrow import arrow_column
from podium.data.columns._column import Column, MemoryColumn, SparseColumn
from podium.data.columns._compound_columns import stack_columns
from podium.data.columns._foreign_types import column_indices, missing, not_numeric_error, place


def from_pandas(value: Any, name: str, chosen: list[Any] | None = None) -> np.ndarray | Column:
    """Return a frame (or some of its columns), series or index as an array or a Column, or name the
    column that is none.
    """
    if value.ndim == 1:
        return stack_columns(name, [_column(value, f"`{name}`", name, name)])
    places = column_indices(list(value.columns), chosen)
    if not places:
        raise ValueError(
            f"`{name}` is a DataFrame without columns (shape {value.shape}). Give one with "
            "columns of numbers."
        )
    dtypes = list(value.dtypes)
    if all(_is_sparse(dtypes[at]) and dtypes[at].fill_value == 0 for at in places):
        return SparseColumn(name, value.iloc[:, places].sparse.to_coo())
    whole = _seen_as_one(value, places) if len(set(dtypes)) == 1 and _is_plain(dtypes[0]) else None
    if whole is None:
        return stack_columns(name, [_of_frame(value, at, name) for at in places])
    if whole.dtype.kind in "iu":
        for at, column in zip(places, whole.T, strict=True):
            check_values(column, f"column {value.columns[at]!r} of {name}")
    return whole


def _of_frame(frame: Any, at: int, name: str) -> Column:
    column = frame.columns[at]
    return _column(
        frame.iloc[:, at],
        place(column, name),
        f"{name}[{column!r}]",
        f"column {column!r} of {name}",
    )


def _seen_as_one(frame: Any, places: list[int]) -> np.ndarray | None:
    """Return neighbouring columns as a view, if pandas keeps the frame in one piece of memory; else
    None.
    """
    if not len(frame) or places != list(range(places[0], places[0] + len(places))):
        return None
    if not np.may_share_memory(
        frame.iloc[:1].to_numpy(), frame.iloc[:, 0].to_numpy()
    ):  # looking at a row shows it
        return None
    return frame.to_numpy()[:, places[0] : places[-1] + 1]


def _is_plain(dtype: Any) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind in "fiubc"


def _is_sparse(dtype: Any) -> bool:
    return type(dtype).__name__ == "SparseDtype"


def _column(series: Any, where: str, written: str, name: str) -> Column:
    """Return a series as a one-dimensional Column."""
    dtype = series.dtype
    if _is_plain(dtype):
        return MemoryColumn(name, series.to_numpy())
    _refuse_others(dtype, where, written)
    if _is_sparse(dtype):
        return MemoryColumn(name, series.to_numpy(dtype=dtype.subtype))
    count = int(series.isna().sum())
    if count:
        raise missing(
            where,
            count,
            len(series),
            f"`{written}.fillna(0)`, or drop those rows with `dropna()`",
            dtype,
        )
    if type(dtype).__name__ == "ArrowDtype":
        return arrow_column(series.array.__arrow_array__(), where, written, name)
    return MemoryColumn(name, series.to_numpy(dtype=dtype.numpy_dtype))


def _refuse_others(dtype: Any, where: str, written: str) -> None:
    if str(dtype) == "category":
        raise not_numeric_error(
            where,
            "categories",
            dtype,
            f"Give their numbers, `{written}.cat.codes`, or a column for each, `pd.get_dummies`",
        )
    if dtype.kind in "Mm":
        raise not_numeric_error(
            where,
            "dates or times",
            dtype,
            f"Give numbers made of them, such as `{written}.astype('int64') / 1e9` or `.dt.month`",
        )
    if dtype.kind == "O" and str(dtype) == "object":
        raise not_numeric_error(
            where,
            "Python objects",
            dtype,
            f"If they are numbers, give `{written}.astype('float32')`; if they are text, "
            f"`pd.factorize({written})[0]`",
        )
    if dtype.kind not in "fiub":
        kind = "text" if "str" in str(dtype) else "no numbers"
        raise not_numeric_error(
            where,
            kind,
            dtype,
            f"Number the values, `pd.factorize({written})[0]`, or use `pd.get_dummies`",
        )
