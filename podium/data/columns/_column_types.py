"""Which kind of column an object is: the one table of all kinds, by the package that the object
comes from.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from podium.core import Tensor, Variable, floatx, is_symbolic, warn_user
from podium.data._value_checks import check_values
from podium.data.columns._arrow import from_arrow
from podium.data.columns._column import Column, SparseColumn
from podium.data.columns._foreign_types import is_instance_of, origin
from podium.data.columns._framework_tensors import from_tensorflow, from_torch, is_tensorflow_array
from podium.data.columns._hugging_face import column_of_hugging_face, is_hugging_face_column
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

# package: (whether an object of it is an array, how it becomes a NumPy array or a Column)
_KINDS: dict[str, tuple[Any, Any]] = {
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
    "datasets": (is_hugging_face_column, column_of_hugging_face),
}


def is_array_like(value: Any) -> bool:
    """Tell whether `value` is one array: NumPy, JAX, a Tensor, a frame, a file, anything with
    `__array__`; no scalar.
    """
    if isinstance(value, (np.ndarray, jax.Array, Tensor, Variable, Column)):
        return True
    if isinstance(value, (type, *_NUMBERS)):
        return False
    if any(_KINDS[package][0](value) for package in _KINDS.keys() & origin(value)):
        return True
    return hasattr(value, "__array__") or hasattr(value, "to_numpy") or is_lazy(value)


def as_array_or_column(value: Any, name: str) -> Any:
    """Return one array-like as a NumPy array of numbers on the same memory, or as a Column that
    reads it by batches.
    """
    if is_symbolic(value):
        raise TypeError(
            f"`{name}` is {value!r}, a symbolic value from `Input` that holds no numbers. Give "
            "arrays."
        )
    found = _converted(value, name)
    if isinstance(found, Column):
        return found
    check_values(found, name)
    return found


def _converted(value: Any, name: str) -> Any:
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
    for package in _KINDS.keys() & origin(value):
        belongs, convert = _KINDS[package]
        if belongs(value):
            return convert(value, name)
    if hasattr(value, "to_numpy"):
        return _from_frame(value)
    if is_lazy(value) and value.shape != ():
        return LazyColumn(name, value)
    return np.asarray(value)


def _from_frame(value: Any) -> np.ndarray:
    """Take the numbers out of a data frame or series of another library; a series is one column."""
    array = np.asarray(value.to_numpy())
    if array.dtype.kind == "O" and array.ndim == 2:
        try:
            array = array.astype(floatx())  # columns of different types, such as bool beside float
        except (TypeError, ValueError):
            return array  # `check_values` says what is wrong with it
    return array[:, None] if array.ndim == 1 else array
