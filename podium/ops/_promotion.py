"""Dtype rules of operations: those of Keras, in any promotion mode of JAX.

Keras's promotion table is the standard one of JAX (the tests compare every pair). `_operation.py`
runs each operation under it, also when the user set strict promotion; this file owns the
conversions that depend on dtypes.
"""

from __future__ import annotations

from typing import Any, overload

import jax
import jax.numpy as jnp
from jax import Array

from podium._typing import DType
from podium.core import floatx


@overload
def as_array(x: None) -> None: ...


@overload
def as_array(x: object) -> Array: ...


def as_array(x: object) -> Array | None:
    """Return an array, scalar or nested list as a JAX array; `None` stays `None`.

    Python scalars stay weakly typed.
    """
    return x if x is None or isinstance(x, Array) else jnp.asarray(x)


def result_type(*values: object) -> DType:
    """Return the name of the dtype of an operation on `values`.

    Args:
        *values: Arrays, dtypes, or `float` and `int` for weakly typed scalars.
    """
    with jax.numpy_dtype_promotion("standard"):
        dtype = jnp.result_type(*values)
    # Two weak scalars, or a bool with `float`, have the default float dtype.
    if dtype == jnp.float32 and not any(_is_float32(value) for value in values):
        return floatx()
    return dtype.name


def _is_float32(value: Any) -> bool:
    if value is float or value is int:
        return False
    return bool(jnp.dtype(getattr(value, "dtype", value)) == jnp.float32)


def to_float(x: Array) -> Array:
    """Cast integers and booleans to the default float dtype; floats and complex numbers stay."""
    return x if jnp.issubdtype(x.dtype, jnp.inexact) else x.astype(floatx())


def to_common_float(x1: Array, x2: Array) -> tuple[Array, Array]:
    """Cast two arrays to their common float dtype."""
    dtype = result_type(x1.dtype, x2.dtype, float)
    return x1.astype(dtype), x2.astype(dtype)


def is_integer(x: Array) -> bool:
    """Return whether the dtype of `x` is an integer or boolean one."""
    return not jnp.issubdtype(x.dtype, jnp.inexact)
