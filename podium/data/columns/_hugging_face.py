"""Hugging Face datasets: rows of an Arrow file by number, each column an array, in the format that
the user has set.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from podium.data._value_checks import check_values, short_repr
from podium.data.columns._column import Column, Index, row_count
from podium.data.columns._foreign_types import (
    is_instance_of,
    missing,
    not_numeric_error,
    origin,
    place,
)
from podium.data.columns._framework_tensors import from_torch

_KEPT = (
    "numpy",
    "torch",
    "jax",
    "tensorflow",
    "custom",
)  # formats that make arrays; others are read as NumPy


def is_hugging_face_table(value: Any) -> bool:
    """Tell whether an object is a `datasets.Dataset`: one that streams is none, nor is one of a
    user's own `datasets.py`.
    """
    return (
        is_instance_of(value, "datasets", "Dataset")
        and hasattr(value, "column_names")
        and hasattr(value, "with_format")
    )


def is_hugging_face_column(value: Any) -> bool:
    """Tell whether an object is a column of one, which is read when its rows are asked for."""
    return (
        is_instance_of(value, "datasets", "Column")
        and hasattr(value, "column_name")
        and hasattr(value, "source")
    )


def refuse_splits(value: Any, name: str) -> None:
    """Refuse a `DatasetDict`, which is a dictionary of splits and no structure of inputs."""
    if is_instance_of(value, "datasets", "DatasetDict", "IterableDatasetDict"):
        splits = list(value)
        raise TypeError(
            f"`{name}` is a {type(value).__name__} with the splits {splits}; one of them was "
            f"expected: `{name}[{splits[0]!r}]`."
        )


def from_hugging_face(
    dataset: Any, name: str, chosen: list[Any] | None = None, rows: _Rows | None = None
) -> Any:
    """Return the columns of a dataset, or some of them, in a dictionary by name; one column stands
    for itself.
    """
    rows, exact = rows or _Rows(_in_arrays(dataset, chosen)), _unformatted(dataset)
    known = (
        rows.read(slice(0, 1))
        if len(dataset) and dataset.format["type"] == "custom"
        else table_names(dataset)
    )
    names = [column for column in known if chosen is None or column in chosen]
    if not names or not len(dataset):
        raise ValueError(
            f"`{name}` is empty: a dataset with {len(dataset)} rows and the columns {names}. "
            "Expect x to be a non-empty array or dataset."
        )
    if len(names) == 1:
        return HuggingFaceColumn(name, rows, names[0], place(names[0], name), exact)
    return {
        key: HuggingFaceColumn(f"{name}[{key!r}]", rows, key, place(key, name), exact)
        for key in names
    }


def opened(dataset: Any) -> Any:
    """Return a function that gives columns by name, all of which come from one reading of a
    batch.
    """
    return functools.partial(from_hugging_face, dataset, rows=_Rows(_in_arrays(dataset, None)))


def column_of_hugging_face(column: Any, name: str) -> Column:
    """Return what `dataset["name"]` gives."""
    dataset, key = column.source, column.column_name
    if is_hugging_face_table(dataset):
        return HuggingFaceColumn(
            name, _Rows(_in_arrays(dataset, [key])), key, f"`{name}`", _unformatted(dataset)
        )
    return HuggingFaceColumn(
        name, _Rows(column, key), key, f"`{name}`"
    )  # a field of a column of records


def table_names(dataset: Any) -> list[str]:
    """Return the names of the columns of a dataset; a transform may make others."""
    if dataset.format["type"] == "custom" and len(dataset):
        return list(dataset[0:1])
    return list(dataset.format["columns"] or dataset.column_names)


def _in_arrays(dataset: Any, chosen: list[Any] | None) -> Any:
    """Return the dataset so that its rows come as arrays, of the chosen columns if they can be read
    alone.
    """
    form = dataset.format
    if form["type"] == "custom":
        return dataset  # a transform may need all columns
    columns = [column for column in form["columns"] if chosen is None or column in chosen]
    if form["type"] in _KEPT:
        return dataset.with_format(form["type"], columns=columns, **form["format_kwargs"])
    return dataset.with_format("numpy", columns=columns)


def _unformatted(dataset: Any) -> bool:
    return dataset.format["type"] not in _KEPT


def _integers(feature: Any) -> np.dtype | None:
    """Return the type of integers or booleans that a feature holds, at whatever depth; None for
    others.
    """
    while isinstance(feature, list) or hasattr(feature, "feature"):
        feature = feature[0] if isinstance(feature, list) else feature.feature
    kind = str(getattr(feature, "dtype", ""))
    return np.dtype(kind) if kind == "bool" or kind.startswith(("int", "uint")) else None


class _Rows:
    """The rows of a dataset. The last batch is kept, so that its columns come from one reading."""

    def __init__(self, source: Any, key: str | None = None):
        self.source = source
        self._key = key
        self._last: tuple[Index, Any] | None = None

    def __len__(self) -> int:
        return len(self.source)

    def read(self, index: Index) -> Any:
        """Return the columns of a batch by name."""
        last = self._last
        if last is not None and _same(last[0], index):
            return last[1]
        found = self.source[index if isinstance(index, slice) else index.tolist()]
        if self._key is not None:
            found = {self._key: found}
        self._last = index, found
        return found


def _same(first: Index, second: Index) -> bool:
    if isinstance(first, slice) or isinstance(second, slice):
        return isinstance(first, slice) and isinstance(second, slice) and first == second
    return np.array_equal(first, second)


class HuggingFaceColumn(Column):
    """A column of a dataset. Lists in its rows become arrays if all are of one length.

    Args:
        name: How the user would write it.
        rows: The rows of the dataset.
        key: The name of the column.
        where: The column in messages.
        exact: Whether integers come in the type that the dataset's features name; the user has set
            no format of arrays.
    """

    def __init__(self, name: str, rows: _Rows, key: str, where: str, exact: bool = False):
        self._rows, self._key, self._where, self._exact = rows, key, where, exact
        features = rows.source.features if is_hugging_face_table(rows.source) else {}
        self._integers = _integers(features.get(key))
        if not len(rows):
            raise ValueError(
                f"{where} is empty: its dataset has 0 rows. Expect x to be a non-empty array or "
                "dataset."
            )
        first = self._array(rows.read(slice(0, 1))[key])
        super().__init__(name, (len(rows), *first.shape[1:]), first.dtype)
        check_values(self, name)

    def read(self, index: Index) -> np.ndarray:
        """Return rows."""
        found = self._array(self._rows.read(index)[self._key])
        if found.shape != (row_count(index), *self.shape[1:]):
            raise ValueError(
                f"{self._where} holds arrays of different shapes: {self.shape[1:]} in its first "
                f"row, {found.shape[1:]} in others. Pad or resize them to one shape."
            )
        return found

    def _array(self, values: Any) -> np.ndarray:
        if isinstance(values, list) and values and "torch" in origin(values[0]):
            values = [from_torch(value, self._where) for value in values]
        if "torch" in origin(values):
            values = from_torch(values, self._where)
        if isinstance(values, Column):
            values = values.read(slice(0, len(values)))
        try:
            array = np.asarray(values)
        except ValueError as error:
            raise self._ragged(values) from error
        if array.dtype.kind in "OUST":
            raise self._refusal(array)
        if self._integers is None:
            return array
        if array.dtype.kind == "f" and np.isnan(array).any():
            raise self._missing(int(np.isnan(array).sum()), len(array))
        return (
            array.astype(self._integers, copy=False) if self._exact else array
        )  # its NumPy format makes all int64

    def _refusal(self, array: np.ndarray) -> Exception:
        first = next((value for value in array.flat if value is not None), None)
        if isinstance(first, (str, bytes)):
            return not_numeric_error(
                self._where,
                f"text, such as {short_repr(first)}",
                array.dtype,
                "Turn it into numbers with `map` (a tokenizer), or `class_encode_column`",
            )
        if any(value is None for value in array.flat):
            return self._missing(sum(value is None for value in array.flat), array.size)
        if isinstance(first, (list, np.ndarray)):
            return self._ragged(array)
        return not_numeric_error(
            self._where,
            f"{type(first).__name__} objects",
            array.dtype,
            "Turn them into numbers with `map`",
        )

    def _missing(self, count: int, rows: int) -> ValueError:
        return missing(
            self._where, count, f"{rows} read", "`map` the column, or `filter` those rows out"
        )

    def _ragged(self, values: Any) -> ValueError:
        lengths = sorted({len(value) for value in values if hasattr(value, "__len__")})
        return ValueError(
            f"{self._where} holds lists of unequal length ({', '.join(map(str, lengths[:5]))}), "
            "which have no shape as an array. Pad them to one length with `map`, for example by "
            "`tokenizer(..., padding='max_length')`."
        )
