"""From what users hand over to NumPy arrays that Podium owns: types checked, 64 bits brought down
to 32.

JAX on CPU may share memory with NumPy, so whatever leaves the user's hands is copied here, once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np

from podium.core import Tensor, Variable, convert_to_tensor
from podium.data._structure import rebuild_sequence
from podium.data._value_checks import check_values, device_dtype, short_repr
from podium.data.columns._column import Column
from podium.data.columns._column_types import as_array_or_column, is_array_like
from podium.data.columns._foreign_types import is_instance_of

_NUMBERS = (bool, int, float, complex, np.generic)


def as_numpy(value: Any, name: str) -> np.ndarray:
    """Return one array-like, all of it, as a NumPy array of numbers; without a copy where that is
    possible.
    """
    found = as_array_or_column(value, name)
    if isinstance(found, Column):
        found = found.read(slice(0, len(found)))
        check_values(found, name)
    return found


def owned(value: Any, name: str) -> Any:
    """Return one leaf of a batch as an array that nobody else can change: a NumPy copy, or the JAX
    array itself.
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
    with np.errstate(
        over="ignore"
    ):  # a float64 beyond float32 becomes inf, which the loss will show
        return np.array(array, dtype=device_dtype(array.dtype), order="C")


def copy_unless_fresh(value: Any, name: str, fresh: bool) -> Any:
    """Return one leaf of a batch, of whatever library, as an array that nobody else can change.

    Args:
        value: An array, a tensor or a number.
        name: What it is, for messages.
        fresh: Whether it was made for this batch, and nobody else holds it: it need not be copied.
    """
    fresh = fresh or is_instance_of(value, "tensorflow", "EagerTensor")  # which nobody can change
    if not fresh or isinstance(value, (jax.Array, Tensor, Variable)) or not is_array_like(value):
        return owned(value, name)
    array = as_numpy(value, name)
    with np.errstate(
        over="ignore"
    ):  # a float64 beyond float32 becomes inf, which the loss will show
        return np.asarray(array, dtype=device_dtype(array.dtype), order="C")


def array_from_list(value: Any, name: str) -> np.ndarray:
    """Return (nested) lists of numbers as an array."""
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


def is_number_list(value: Any) -> bool:
    """Tell whether a list (of lists, ...) begins with a plain number or text: it then stands for
    one array.
    """
    while isinstance(value, (list, tuple)) and value:
        value = value[0]
    return isinstance(value, (str, bytes, *_NUMBERS))


def record_to_dict(value: Any) -> Any:
    """Return a record (an instance of a dataclass) or mapping as a dictionary by name; anything
    else as it is.

    JAX takes no dataclass apart unless it has been registered, so records reach a step as
    dictionaries.
    """
    if (
        dataclasses.is_dataclass(value)
        and not isinstance(value, type)
        and not hasattr(value, "__iter__")
    ):
        if is_array_like(value) or hasattr(value, "__getitem__"):
            return (
                value  # an array or a source of batches that happens to be written as a dataclass
            )
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return (
        dict(value) if isinstance(value, Mapping) and not isinstance(value, dict) else value
    )  # such as a group of a file


def copy_structure(structure: Any, name: str, own: Callable[[Any, str], Any] = owned) -> Any:
    """Own every leaf of a batch, by `own(leaf, name)`; lists of numbers become arrays, other lists
    stay lists.

    A record, an instance of a dataclass, becomes a dictionary.
    """
    structure = record_to_dict(structure)
    if isinstance(structure, dict) and not is_array_like(structure):
        return {
            key: copy_structure(value, f"{name}[{key!r}]", own) for key, value in structure.items()
        }
    if isinstance(structure, (tuple, list)):
        if isinstance(structure, list) and is_number_list(structure):
            return own(array_from_list(structure, name), name)
        return rebuild_sequence(
            structure,
            [copy_structure(value, f"{name}[{i}]", own) for i, value in enumerate(structure)],
        )
    return None if structure is None else own(structure, name)
