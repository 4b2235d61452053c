"""Converts structures of array-likes to NumPy arrays or Columns, with messages that name the leaf.

Nothing is copied here, and nothing is read that is not in memory; batches are cut by
`ArrayAdapter`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import jax
import numpy as np
from numpy.typing import NDArray

from podium._typing import Tree
from podium.core import Tensor
from podium.data._copy_values import array_from_list, is_number_list, record_to_dict
from podium.data._structure import named_leaves, rebuild_sequence
from podium.data._value_checks import check_values, short_repr
from podium.data.columns._column import Column
from podium.data.columns._column_types import as_array_or_column, is_array_like
from podium.data.columns._hugging_face import (
    from_hugging_face,
    is_hugging_face_table,
    refuse_splits,
)

_SCALARS = (bool, int, float, complex, np.generic)

ArrayT = TypeVar("ArrayT", bound="NDArray[Any] | jax.Array | Tensor | Column")


def is_array_source(value: object) -> bool:
    """Return whether a source is arrays: one array-like, numbers, a table, or a structure whose
    first leaf is one of those.
    """
    while not is_array_like(value):
        value = value if isinstance(value, Mapping) else record_to_dict(value)
        if not isinstance(value, (Mapping, list, tuple)) or not value:
            break
        parts = list(value.values()) if isinstance(value, Mapping) else value
        value = next((part for part in parts if part is not None), None)
    if isinstance(value, (Mapping, list, tuple, range, str, bytes, *_SCALARS)):
        return True
    return is_array_like(value) or is_hugging_face_table(value)


def convert_arrays(
    value: Tree, name: str, keep_tensors: bool = False, optional: bool = True
) -> Tree:
    """Convert a structure of array-likes to one of NumPy arrays and Columns.

    Nothing is read that is not in memory, and nothing is copied that is. A dataclass becomes a
    dictionary by the names of its fields, and a Hugging Face table one by the names of its columns.

    Args:
        value: Arrays, frames, files, lists of numbers, and dictionaries, lists, tuples and
            dataclasses of those.
        name: The argument's name, for messages.
        keep_tensors: Whether JAX arrays and Tensors are returned as they are.
        optional: Whether None is accepted for all of it. None inside a structure always is, and
            stays None: the value of an `Input(optional=True)`.

    Raises:
        TypeError: A leaf is not an array of numbers; the message names it.
        ValueError: A leaf is empty or has no samples; the message names it.
    """
    if value is None:
        if not optional:
            raise ValueError(f"`{name}` is None; an array was expected.")
        return None
    value = record_to_dict(value)
    if is_hugging_face_table(value):
        return from_hugging_face(value, name)
    # SciPy has a sparse matrix that is a dictionary.
    if isinstance(value, dict) and not is_array_like(value):
        _refuse_empty(value, name)
        refuse_splits(value, name)
        return {
            key: convert_arrays(part, f"{name}[{key!r}]", keep_tensors)
            for key, part in value.items()
        }
    if isinstance(value, (list, tuple)):
        _refuse_empty(value, name)
        if is_number_list(value):
            return _check_samples(array_from_list(value, name), name)
        parts = [
            convert_arrays(part, f"{name}[{index}]", keep_tensors)
            for index, part in enumerate(value)
        ]
        return rebuild_sequence(value, parts)
    if isinstance(value, range):
        return np.asarray(value)
    if isinstance(value, _SCALARS):
        return _check_samples(np.asarray(value), name)
    if not is_array_like(value):
        raise TypeError(
            f"`{name}` is of type {type(value).__name__}: {short_repr(value)}. An array was "
            "expected, or a dictionary, list or tuple of arrays."
        )
    if keep_tensors and isinstance(value, (jax.Array, Tensor)):
        check_values(value, name)
        return _check_samples(value, name)
    return _check_samples(as_array_or_column(value, name), name)


def check_lengths(parts: Mapping[str, Tree], location: str = "", hint: str = "") -> int:
    """Return the number of samples that all arrays share.

    Raises:
        ValueError: The arrays have different lengths; the message names them.
    """
    lengths = {
        path: leaf.shape[0]
        for name, part in parts.items()
        for path, leaf in named_leaves(part, name)
        if leaf.ndim
    }
    if len(set(lengths.values())) > 1:
        actual = ", ".join(f"`{path}` has {length}" for path, length in lengths.items())
        names = " and ".join(name for name, part in parts.items() if part is not None)
        raise ValueError(
            f"{names} must hold the same number of samples (the length of the first "
            f"dimension){location}, but {actual}. Row i of "
            f"every array belongs to sample i.{hint}"
        )
    return next(iter(lengths.values()), 0)


def _check_samples(array: ArrayT, name: str) -> ArrayT:
    """Return an array that has at least one sample."""
    if array.ndim == 0:
        number = "" if isinstance(array, Column) else f" {short_repr(array[()])}"
        raise ValueError(
            f"`{name}` is the single number{number} of shape (). An array with at least one "
            f"dimension, that of the samples, was expected: `np.array([{name}])`."
        )
    if array.shape[0] == 0:
        raise ValueError(
            f"`{name}` is empty: its shape is {tuple(array.shape)}, so there are 0 samples. Expect "
            "x to be a non-empty array or dataset."
        )
    return array


def _refuse_empty(value: Tree, name: str) -> None:
    if not value:
        raise ValueError(
            f"`{name}` is empty: {value!r} holds no arrays. Expect x to be a non-empty array or "
            "dataset."
        )
