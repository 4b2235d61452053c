"""Copies what users pass into arrays that Podium owns, with dtypes checked and 64 bits reduced
to 32.

JAX on CPU may share memory with NumPy, so every value that a user could still change is copied
here, once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from podium._typing import Array, Tree
from podium.core import Tensor, Variable, convert_to_tensor
from podium.data._structure import rebuild_sequence
from podium.data._value_checks import check_values, device_dtype, short_repr
from podium.data.columns._column import Column
from podium.data.columns._column_types import as_array_or_column, is_array_like
from podium.data.columns._foreign_types import is_instance_of

_NUMBERS = (bool, int, float, complex, np.generic)


def as_numpy(value: object, name: str) -> NDArray[Any]:
    """Return all of one array-like as a NumPy array of numbers, without a copy if possible."""
    array = as_array_or_column(value, name)
    if isinstance(array, Column):
        array = array.read(slice(0, len(array)))
        check_values(array, name)
    return array


def copy_array(value: object, name: str) -> Array:
    """Return one leaf of a batch as an array that no other code can change: a NumPy copy, or the
    JAX array itself.
    """
    if isinstance(value, (Tensor, Variable)):
        value = convert_to_tensor(value).value
    if isinstance(value, jax.Array):
        check_values(value, name)
        return value
    if isinstance(value, (str, bytes)) or not (isinstance(value, _NUMBERS) or is_array_like(value)):
        raise TypeError(
            f"`{name}` is of type {type(value).__name__}: {short_repr(value)}. An array, a Tensor "
            "or a number was expected."
        )
    array = as_numpy(value, name)
    with np.errstate(over="ignore"):  # a float64 beyond float32 becomes inf, which the loss shows
        return np.array(array, dtype=device_dtype(array.dtype), order="C")


def copy_unless_fresh(value: object, name: str, fresh: bool) -> Array:
    """Return one leaf of a batch, of any library, as an array that no other code can change.

    Args:
        value: An array, a tensor or a number.
        name: What it is, for messages.
        fresh: Whether it was made for this batch alone, so that it need not be copied.
    """
    fresh = fresh or is_instance_of(value, "tensorflow", "EagerTensor")  # which is immutable
    if not fresh or isinstance(value, (jax.Array, Tensor, Variable)) or not is_array_like(value):
        return copy_array(value, name)
    array = as_numpy(value, name)
    with np.errstate(over="ignore"):  # a float64 beyond float32 becomes inf, which the loss shows
        return np.asarray(array, dtype=device_dtype(array.dtype), order="C")


def array_from_list(value: object, name: str) -> NDArray[Any]:
    """Return a nested list of numbers as an array."""
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ValueError(
            f"`{name}` is a list of lists of unequal length, which has no shape as an array "
            f"({error}). Pad the shorter rows to one length, or give a list of arrays, one for "
            "each input of the model."
        ) from error
    check_values(array, name)
    return array


def is_number_list(value: object) -> bool:
    """Return whether a nested list begins with a plain number or text: it then stands for one
    array.
    """
    while isinstance(value, (list, tuple)) and value:
        value = value[0]
    return isinstance(value, (str, bytes, *_NUMBERS))


def record_to_dict(value: Tree) -> Tree:
    """Return an instance of a dataclass, or a mapping, as a dictionary by name; any other value as
    it is.

    JAX does not flatten a dataclass unless it is registered, so records reach a step as
    dictionaries.
    """
    if (
        dataclasses.is_dataclass(value)
        and not isinstance(value, type)
        and not hasattr(value, "__iter__")
    ):
        if is_array_like(value) or hasattr(value, "__getitem__"):
            return value  # an array or a source of batches that happens to be a dataclass
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping) and not isinstance(value, dict):
        return dict(value)  # such as a group of an HDF5 file
    return value


def copy_structure(
    structure: Tree, name: str, copy_leaf: Callable[[Any, str], Any] = copy_array
) -> Tree:
    """Copy every leaf of a batch by `copy_leaf(leaf, name)`.

    Lists of numbers become arrays, other lists stay lists, and an instance of a dataclass becomes a
    dictionary.
    """
    structure = record_to_dict(structure)
    if isinstance(structure, dict) and not is_array_like(structure):
        return {
            key: copy_structure(value, f"{name}[{key!r}]", copy_leaf)
            for key, value in structure.items()
        }
    if isinstance(structure, (tuple, list)):
        if isinstance(structure, list) and is_number_list(structure):
            return copy_leaf(array_from_list(structure, name), name)
        parts = [
            copy_structure(value, f"{name}[{i}]", copy_leaf) for i, value in enumerate(structure)
        ]
        return rebuild_sequence(structure, parts)
    return None if structure is None else copy_leaf(structure, name)
