"""Converts one array-like of any library to a NumPy array or a Column: the table of all supported
libraries, by package.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from podium.core import Tensor, Variable, floatx, is_symbolic, warn_user
from podium.data._value_checks import check_values
from podium.data.columns._arrow import from_arrow
from podium.data.columns._column import Column, SparseColumn
from podium.data.columns._foreign_types import ForeignObject, is_instance_of, package_names
from podium.data.columns._framework_tensors import from_tensorflow, from_torch, is_tensorflow_array
from podium.data.columns._hugging_face import from_hugging_face_column, is_hugging_face_column
from podium.data.columns._lazy_columns import (
    HDF5Column,
    LazyColumn,
    MemoryMappedColumn,
    ZarrColumn,
    is_lazy,
    is_memory_mapped,
)
from podium.data.columns._pandas import from_pandas
from podium.data.columns._polars import from_polars

_NUMBERS = (bool, int, float, complex, np.generic)

# package: (whether an object of it is an array, how to convert it to a NumPy array or a Column)
_CONVERTERS: dict[
    str,
    tuple[Callable[[Any], bool], Callable[[Any, str], NDArray[Any] | Column]],
] = {
    "pandas": (lambda value: hasattr(value, "to_numpy"), from_pandas),
    "polars": (
        lambda value: is_instance_of(value, "polars", "DataFrame", "Series", "LazyFrame"),
        from_polars,
    ),
    "pyarrow": (
        lambda value: is_instance_of(
            value, "pyarrow", "Table", "RecordBatch", "Array", "ChunkedArray"
        ),
        from_arrow,
    ),
    "scipy": (lambda value: hasattr(value, "tocsr"), lambda value, name: SparseColumn(name, value)),
    "torch": (lambda value: is_instance_of(value, "torch", "Tensor"), from_torch),
    "tensorflow": (is_tensorflow_array, from_tensorflow),
    "h5py": (
        lambda value: is_instance_of(value, "h5py", "Dataset"),
        lambda value, name: HDF5Column(name, value),
    ),
    "zarr": (
        lambda value: is_instance_of(value, "zarr", "Array"),
        lambda value, name: ZarrColumn(name, value),
    ),
    "xarray": (
        lambda value: is_instance_of(value, "xarray", "DataArray"),
        lambda value, name: LazyColumn(name, value),
    ),
    "datasets": (is_hugging_face_column, from_hugging_face_column),
}


def is_array_like(value: object) -> bool:
    """Return whether `value` is one array: NumPy, JAX, a Tensor, a frame, a file, any object with
    `__array__`; not a scalar.
    """
    if isinstance(value, (np.ndarray, jax.Array, Tensor, Variable, Column)):
        return True
    if isinstance(value, (type, *_NUMBERS)):
        return False
    if any(_CONVERTERS[package][0](value) for package in _CONVERTERS.keys() & package_names(value)):
        return True
    return hasattr(value, "__array__") or hasattr(value, "to_numpy") or is_lazy(value)


def as_array_or_column(value: object, name: str) -> NDArray[Any] | Column:
    """Return one array-like as a NumPy array of numbers on the same memory, or as a Column that
    reads it batch by batch.
    """
    if is_symbolic(value):
        raise TypeError(
            f"`{name}` is {value!r}, a symbolic value from `Input` without numbers. Give arrays."
        )
    array = _convert(value, name)
    if not isinstance(array, Column):
        check_values(array, name)
    return array


def _convert(value: Any, name: str) -> NDArray[Any] | Column:
    if isinstance(value, np.ma.MaskedArray):
        if np.ma.is_masked(value):
            warn_user(
                f"`{name}` is a masked array; its mask is ignored and the values under it are "
                f"used. Fill them first, `{name}.filled(0)`, or give them a sample_weight of 0."
            )
        value = value.data
    if isinstance(value, np.ndarray):
        return MemoryMappedColumn(name, value) if value.ndim and is_memory_mapped(value) else value
    if isinstance(value, (Column, jax.Array, Tensor, Variable)):
        return value if isinstance(value, Column) else np.asarray(value)
    for package in _CONVERTERS.keys() & package_names(value):
        is_array, convert = _CONVERTERS[package]
        if is_array(value):
            return convert(value, name)
    if hasattr(value, "to_numpy"):
        return _from_frame(value)
    if is_lazy(value) and value.shape != ():
        return LazyColumn(name, value)
    return np.asarray(value)


def _from_frame(value: ForeignObject) -> NDArray[Any]:
    """Return a data frame or series of another library as an array; a series is one column."""
    array = np.asarray(value.to_numpy())
    if array.dtype.kind == "O" and array.ndim == 2:
        try:
            array = array.astype(floatx())  # columns of different dtypes, such as bool and float
        except (TypeError, ValueError):
            return array  # `check_values` raises the error
    return array[:, None] if array.ndim == 1 else array
