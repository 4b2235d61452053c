"""What numbers may be: the types that reach a model, and the refusal of everything that is no
number.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from podium.core import check_numeric, floatx


def device_dtype(dtype: np.dtype) -> np.dtype:
    """Return the type in which numbers of `dtype` reach a model: float64 as float32, int64 as
    int32.
    """
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
            f"`{name}` is a structured array (dtype {dtype}). Podium computes with numbers and "
            f"booleans only: give each field as an array of its own, `{{field: {name}[field] for "
            f"field in {name}.dtype.names}}`."
        )
    if dtype.kind == "c":
        raise TypeError(
            f"`{name}` holds complex numbers (dtype {dtype}). Data are real: give the parts apart, "
            f"`np.stack([{name}.real, {name}.imag], axis=-1)`."
        )
    if dtype.kind == "T":
        raise TypeError(
            f"`{name}` is an array of strings (dtype {dtype}). Podium computes with numbers and "
            "booleans only. Turn the strings into numbers first, for example with "
            f"`np.unique({name}, return_inverse=True)`."
        )
    if (
        isinstance(array, np.ndarray)
        and device_dtype(dtype) != dtype
        and dtype.kind in "iu"
        and array.size
    ):
        bounds = np.iinfo(device_dtype(dtype))
        low, high = array.min(), array.max()
        if low < bounds.min or high > bounds.max:
            raise OverflowError(
                f"`{name}` holds integers from {low} to {high}, beyond the 32 bits that JAX keeps. "
                "Map them to smaller numbers, or call `jax.config.update('jax_enable_x64', True)` "
                "at the start."
            )


def short_repr(value: Any) -> str:
    """Write a value for a message, cut to a line."""
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
