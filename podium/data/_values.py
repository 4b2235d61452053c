"""From what users hand over to NumPy arrays that Podium owns: types checked, 64 bits brought down to 32.

JAX on CPU may share memory with NumPy, so whatever leaves the user's hands is copied here, once.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from podium.core import Tensor, Variable, check_numeric, convert_to_tensor, floatx, is_symbolic, warn_user
from podium.data._structure import rebuilt

_NUMBERS = (bool, int, float, complex, np.generic)


def arriving_dtype(dtype: np.dtype) -> np.dtype:
    """Return the type in which numbers of `dtype` reach a model: float64 as float32, int64 as int32."""
    if dtype.kind == "f" and dtype.itemsize > 4:
        return np.dtype(floatx())
    if dtype in (np.int64, np.uint64) and not jax.config.jax_enable_x64:  # type: ignore[attr-defined]
        return np.dtype("int32" if dtype == np.int64 else "uint32")
    return dtype


def check_values(array: Any, name: str) -> None:
    """Refuse what is no number, and integers that 32 bits cannot hold."""
    check_numeric(array, name)
    dtype = array.dtype
    if dtype.kind == "V" and dtype.type is np.void:
        raise TypeError(
            f"`{name}` is a structured array (dtype {dtype}). Podium computes with numbers and booleans only: give each "
            f"field as an array of its own, `{{field: {name}[field] for field in {name}.dtype.names}}`."
        )
    if dtype.kind == "c":
        raise TypeError(
            f"`{name}` holds complex numbers (dtype {dtype}). Data are real: give the parts apart, "
            f"`np.stack([{name}.real, {name}.imag], axis=-1)`."
        )
    if isinstance(array, np.ndarray) and arriving_dtype(dtype) != dtype and dtype.kind in "iu" and array.size:
        bounds = np.iinfo(arriving_dtype(dtype))
        low, high = array.min(), array.max()
        if low < bounds.min or high > bounds.max:
            raise OverflowError(
                f"`{name}` holds integers from {low} to {high}, beyond the 32 bits that JAX keeps. Map them to smaller "
                "numbers, or call `jax.config.update('jax_enable_x64', True)` at the start."
            )


def is_array_like(value: Any) -> bool:
    """Tell whether `value` is one array: NumPy, JAX, a Tensor, a frame, anything with `__array__`; no scalar."""
    if isinstance(value, (np.ndarray, jax.Array, Tensor, Variable)):
        return True
    if isinstance(value, (type, *_NUMBERS)):
        return False
    return hasattr(value, "__array__") or hasattr(value, "to_numpy")


def as_numpy(value: Any, name: str) -> np.ndarray:
    """Return one array-like as a NumPy array of numbers, without a copy where that is possible."""
    if is_symbolic(value):
        raise TypeError(f"`{name}` is {value!r}, a symbolic value from `Input` that holds no numbers. Give arrays.")
    if isinstance(value, np.ma.MaskedArray):
        if np.ma.is_masked(value):
            warn_user(
                f"`{name}` is a masked array; its mask is ignored and the values under it are used. Fill them first, "
                f"`{name}.filled(0)`, or give them a sample_weight of 0."
            )
        array = value.data
    elif not isinstance(value, np.ndarray) and hasattr(value, "to_numpy"):
        array = _from_frame(value)
    else:
        array = np.asarray(value)
    check_values(array, name)
    return array


def owned(value: Any, name: str) -> Any:
    """Return one leaf of a batch as an array that nobody else can change: a NumPy copy, or the JAX array itself."""
    if isinstance(value, (Tensor, Variable)):
        value = convert_to_tensor(value).value
    if isinstance(value, jax.Array):
        check_values(value, name)
        return value
    if isinstance(value, (str, bytes)) or not (isinstance(value, _NUMBERS) or is_array_like(value)):
        raise TypeError(
            f"`{name}` is of type {type(value).__name__}: {shortened(value)}. An array, a Tensor or a number was expected."
        )
    array = as_numpy(value, name)
    with np.errstate(over="ignore"):  # a float64 beyond float32 becomes inf, which the loss will show
        return np.array(array, dtype=arriving_dtype(array.dtype), order="C")


def from_numbers(value: Any, name: str) -> np.ndarray:
    """Return (nested) lists of numbers as an array."""
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ValueError(
            f"`{name}` is a list of lists of unequal length, which has no shape as an array ({error}). Pad the shorter "
            "rows to one length, or give a list of arrays, one for each input of the model."
        ) from error
    check_values(array, name)
    return array


def holds_numbers(value: Any) -> bool:
    """Tell whether a list (of lists, ...) begins with a plain number or text: it then stands for one array."""
    while isinstance(value, (list, tuple)) and value:
        value = value[0]
    return isinstance(value, (str, bytes, *_NUMBERS))


def own_structure(structure: Any, name: str) -> Any:
    """Own every leaf of a batch; lists of numbers become arrays, other lists stay lists."""
    if isinstance(structure, dict):
        return {key: own_structure(value, f"{name}[{key!r}]") for key, value in structure.items()}
    if isinstance(structure, (tuple, list)):
        if isinstance(structure, list) and holds_numbers(structure):
            return owned(from_numbers(structure, name), name)
        return rebuilt(structure, [own_structure(value, f"{name}[{i}]") for i, value in enumerate(structure)])
    return None if structure is None else owned(structure, name)


def shortened(value: Any) -> str:
    """Write a value for a message, cut to a line."""
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _from_frame(value: Any) -> np.ndarray:
    """Take the numbers out of a data frame or series; a series is one column, as in Keras."""
    array = np.asarray(value.to_numpy())
    if array.dtype.kind == "O" and array.ndim == 2:
        try:
            array = array.astype(floatx())  # columns of different types, such as bool beside float
        except (TypeError, ValueError):
            return array  # `check_values` says what is wrong with it
    return array[:, None] if array.ndim == 1 else array
