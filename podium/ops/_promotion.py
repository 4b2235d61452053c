"""How operations choose dtypes: Keras's rules, whatever promotion mode JAX is in.

Keras's promotion table is JAX's standard one (the tests compare every pair). `_table.py` runs each
operation under it, with `podium.core.promote_dtypes`, even when the user asked JAX for strict promotion;
this file holds what else depends on dtypes.
"""

from typing import Any

import jax
import jax.numpy as jnp

from podium.core import floatx


def as_array(x: Any) -> Any:
    """A raw array from an array, scalar or (nested) list; `None` stays `None`. Python scalars stay
    weakly typed.
    """
    return x if x is None or isinstance(x, jax.Array) else jnp.asarray(x)


def result_type(*values: Any) -> str:
    """The dtype, by name, that an operation on `values` (arrays, dtypes, or `float` and `int` for
    weak scalars) gives.
    """
    with jax.numpy_dtype_promotion("standard"):
        dtype = jnp.result_type(*values)
    # Two weak scalars, or a bool with `float`, give the default float.
    return (
        floatx() if dtype == jnp.float32 and not any(_is_float32(v) for v in values) else dtype.name
    )


def _is_float32(value: Any) -> bool:
    return (
        value is not float
        and value is not int
        and jnp.dtype(getattr(value, "dtype", value)) == jnp.float32
    )


def to_float(x: jax.Array) -> jax.Array:
    """Cast integers and booleans to the default float; leave floats and complex numbers as they
    are.
    """
    return x if jnp.issubdtype(x.dtype, jnp.inexact) else x.astype(floatx())


def is_integer(x: jax.Array) -> bool:
    """Whether `x` counts (integer or boolean) rather than measures."""
    return not jnp.issubdtype(x.dtype, jnp.inexact)
