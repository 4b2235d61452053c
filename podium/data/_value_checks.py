"""Which values may reach a model: the dtypes that data are converted to, and errors for values that
are not numbers. Does not convert anything; see `_copy_values.py` and `_convert_arrays.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from podium.core import check_numeric, floatx
from podium.core.internal import jax_config

if TYPE_CHECKING:
    from podium._typing import Array
    from podium.core import Tensor
    from podium.data.columns._column import Column


def device_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype in which values of `dtype` reach a model: float64 becomes float32, int64
    becomes int32, and the byte order is the machine's.
    """
    dtype = dtype if dtype.isnative else dtype.newbyteorder("=")
    if dtype.kind == "f" and dtype.itemsize > 4:
        return np.dtype(floatx())
    if dtype in (np.int64, np.uint64) and not jax_config.jax_enable_x64:
        return np.dtype("int32" if dtype == np.int64 else "uint32")
    return dtype


def check_values(array: Array | Tensor | Column, name: str) -> None:
    """Raise an error for dtypes that are not numeric, and for integers that need more than 32
    bits.
    """
    check_numeric(array, name)
    dtype = array.dtype
    if dtype.kind == "V" and dtype.type is np.void:
        raise TypeError(
            f"`{name}` is a structured array (dtype {dtype}). Podium computes with numbers and "
            f"booleans only: pass each field as an array, `{{field: {name}[field] for field in "
            f"{name}.dtype.names}}`."
        )
    if dtype.kind == "c":
        raise TypeError(
            f"`{name}` holds complex numbers (dtype {dtype}); real numbers were expected. Pass the "
            f"real and imaginary parts, `np.stack([{name}.real, {name}.imag], axis=-1)`."
        )
    if dtype.kind == "T":
        raise TypeError(
            f"`{name}` is an array of strings (dtype {dtype}). Podium computes with numbers and "
            "booleans only. Convert the strings to numbers first, for example with "
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
                f"`{name}` holds integers from {low} to {high}, beyond the 32 bits that "
                "JAX uses. Map them to smaller numbers, or call "
                "`jax.config.update('jax_enable_x64', True)` at the start."
            )


def short_repr(value: object) -> str:
    """Return the `repr` of a value for a message, cut to 80 characters."""
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
