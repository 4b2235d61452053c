"""Tables of Hugging Face's `datasets` as Columns, read by row index, in the format that the user
has set. Streams are read by `_hugging_face_adapter.py`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from podium._typing import Tree
from podium.data._value_checks import check_values, short_repr
from podium.data.columns._column import Column, Index, row_count
from podium.data.columns._foreign_types import (
    ForeignObject,
    describe_column,
    is_instance_of,
    missing_values_error,
    not_numeric_error,
    package_names,
)
from podium.data.columns._framework_tensors import from_torch

# Formats that return arrays; tables in other formats are read as NumPy.
_ARRAY_FORMATS = ("numpy", "torch", "jax", "tensorflow", "custom")


def is_hugging_face_table(value: object) -> bool:
    """Return whether an object is a `datasets.Dataset`, and not a stream or a class of a user's own
    `datasets.py`.
    """
    return (
        is_instance_of(value, "datasets", "Dataset")
        and hasattr(value, "column_names")
        and hasattr(value, "with_format")
    )


def is_hugging_face_column(value: object) -> bool:
    """Return whether an object is a column of a table, which is read when it is indexed."""
    return (
        is_instance_of(value, "datasets", "Column")
        and hasattr(value, "column_name")
        and hasattr(value, "source")
    )


def refuse_splits(value: object, name: str) -> None:
    """Raise an error for a `DatasetDict`, a dictionary of splits instead of inputs."""
    if is_instance_of(value, "datasets", "DatasetDict", "IterableDatasetDict"):
        splits = list(cast(Iterable[Any], value))
        raise TypeError(
            f"`{name}` is a {type(value).__name__} with the splits {splits}; one of them was "
            f"expected: `{name}[{splits[0]!r}]`."
        )


def from_hugging_face(
    dataset: ForeignObject,
    name: str,
    chosen: list[Any] | None = None,
    rows: _CachedRows | None = None,
) -> Tree:
    """Return the columns of a dataset, or some of them, in a dictionary by name; a single column as
    it is.
    """
    rows = rows or _CachedRows(_with_array_format(dataset, chosen))
    exact = not _has_array_format(dataset)
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
        return HuggingFaceColumn(name, rows, names[0], describe_column(names[0], name), exact)
    return {
        key: HuggingFaceColumn(f"{name}[{key!r}]", rows, key, describe_column(key, name), exact)
        for key in names
    }


def hugging_face_columns(dataset: ForeignObject) -> Callable[..., Tree]:
    """Return a function that returns columns by name; each batch is read once for all of them."""
    rows = _CachedRows(_with_array_format(dataset, None))
    return functools.partial(from_hugging_face, dataset, rows=rows)


def from_hugging_face_column(column: ForeignObject, name: str) -> Column:
    """Return a column that `dataset["name"]` returned as a Column."""
    dataset, key = column.source, column.column_name
    if is_hugging_face_table(dataset):
        rows = _CachedRows(_with_array_format(dataset, [key]))
        return HuggingFaceColumn(name, rows, key, f"`{name}`", not _has_array_format(dataset))
    # A field of a column of records.
    return HuggingFaceColumn(name, _CachedRows(column, key), key, f"`{name}`")


def table_names(dataset: ForeignObject) -> list[str]:
    """Return the names of the columns of a dataset, after its transform."""
    if dataset.format["type"] == "custom" and len(dataset):
        return list(dataset[0:1])
    return list(dataset.format["columns"] or dataset.column_names)


def _with_array_format(dataset: ForeignObject, chosen: list[Any] | None) -> ForeignObject:
    """Return the dataset in a format that returns arrays, with only the chosen columns if
    possible.
    """
    form = dataset.format
    if form["type"] == "custom":
        return dataset  # a transform may need all columns
    columns = [column for column in form["columns"] if chosen is None or column in chosen]
    if form["type"] in _ARRAY_FORMATS:
        return dataset.with_format(form["type"], columns=columns, **form["format_kwargs"])
    return dataset.with_format("numpy", columns=columns)


def _has_array_format(dataset: ForeignObject) -> bool:
    return dataset.format["type"] in _ARRAY_FORMATS


def _integer_dtype(feature: ForeignObject) -> np.dtype[Any] | None:
    """Return the dtype of a feature of (nested lists of) integers or booleans; None for others."""
    while isinstance(feature, list) or hasattr(feature, "feature"):
        feature = feature[0] if isinstance(feature, list) else feature.feature
    name = str(getattr(feature, "dtype", ""))
    return np.dtype(name) if name == "bool" or name.startswith(("int", "uint")) else None


class _CachedRows:
    """The rows of a dataset. The last batch is cached, so that it is read once for all columns."""

    def __init__(self, source: ForeignObject, key: str | None = None):
        self.source = source
        self._key = key
        self._last: tuple[Index, dict[str, Any]] | None = None

    def __len__(self) -> int:
        return len(self.source)

    def read(self, index: Index) -> dict[str, Any]:
        """Return the columns of a batch by name."""
        last = self._last
        if last is not None and _equal_indices(last[0], index):
            return last[1]
        batch = self.source[index if isinstance(index, slice) else index.tolist()]
        columns: dict[str, Any] = batch if self._key is None else {self._key: batch}
        self._last = index, columns
        return columns


def _equal_indices(first: Index, second: Index) -> bool:
    if isinstance(first, slice) or isinstance(second, slice):
        return isinstance(first, slice) and isinstance(second, slice) and first == second
    return np.array_equal(first, second)


class HuggingFaceColumn(Column):
    """A column of a dataset. Lists in its rows become arrays if all are of one length.

    Args:
        name: How the user would write it.
        rows: The rows of the dataset.
        key: The name of the column.
        description: The description of the column, for messages.
        exact: Whether integers are converted to the dtype of the dataset's features, because the
            user has not set a format that returns arrays.
    """

    def __init__(
        self, name: str, rows: _CachedRows, key: str, description: str, exact: bool = False
    ):
        self._rows, self._key, self._description, self._exact = rows, key, description, exact
        features = rows.source.features if is_hugging_face_table(rows.source) else {}
        self._integer_dtype = _integer_dtype(features.get(key))
        if not len(rows):
            raise ValueError(
                f"{description} is empty: its dataset has 0 rows. Expect x to be a non-empty array "
                "or dataset."
            )
        first = self._as_array(rows.read(slice(0, 1))[key])
        super().__init__(name, (len(rows), *first.shape[1:]), first.dtype)
        check_values(self, name)

    def read(self, index: Index) -> NDArray[Any]:
        """Return rows."""
        rows = self._as_array(self._rows.read(index)[self._key])
        if rows.shape != (row_count(index), *self.shape[1:]):
            raise ValueError(
                f"{self._description} holds arrays of different shapes: {self.shape[1:]} in its "
                f"first row, {rows.shape[1:]} in others. Pad or resize them to one shape."
            )
        return rows

    def _as_array(self, values: Any) -> NDArray[Any]:
        if isinstance(values, list) and values and "torch" in package_names(values[0]):
            values = [from_torch(value, self._description) for value in values]
        if "torch" in package_names(values):
            values = from_torch(values, self._description)
        if isinstance(values, Column):
            values = values.read(slice(0, len(values)))
        try:
            array = np.asarray(values)
        except ValueError as error:
            raise self._ragged_error(values) from error
        if array.dtype.kind in "OUST":
            raise self._not_numeric_error(array)
        if self._integer_dtype is None:
            return array
        if array.dtype.kind == "f" and np.isnan(array).any():
            raise self._missing_values_error(int(np.isnan(array).sum()), len(array))
        # The NumPy format of `datasets` returns all integers as int64.
        return array.astype(self._integer_dtype, copy=False) if self._exact else array

    def _not_numeric_error(self, array: NDArray[Any]) -> Exception:
        first = next((value for value in array.flat if value is not None), None)
        if isinstance(first, (str, bytes)):
            return not_numeric_error(
                self._description,
                f"text, such as {short_repr(first)}",
                array.dtype,
                "Convert it to numbers with `map` (a tokenizer), or `class_encode_column`",
            )
        if any(value is None for value in array.flat):
            return self._missing_values_error(
                sum(value is None for value in array.flat), array.size
            )
        if isinstance(first, (list, np.ndarray)):
            return self._ragged_error(array)
        return not_numeric_error(
            self._description,
            f"{type(first).__name__} objects",
            array.dtype,
            "Convert them to numbers with `map`",
        )

    def _missing_values_error(self, count: int, rows: int) -> ValueError:
        return missing_values_error(
            self._description, count, f"{rows} read", "`map` the column, or `filter` those rows out"
        )

    def _ragged_error(self, values: Iterable[Any]) -> ValueError:
        lengths = sorted({len(value) for value in values if hasattr(value, "__len__")})
        return ValueError(
            f"{self._description} holds lists of unequal length "
            f"({', '.join(map(str, lengths[:5]))}), which have no shape as an array. Pad them to "
            "one length with `map`, for example by `tokenizer(..., padding='max_length')`."
        )
