"""Dtypes: their names, and dtype policies for mixed precision.

A `DTypePolicy` has the dtype in which a layer computes and the one in which it stores its weights.
This file owns the names and the global policy; `dispatch` and `Layer.__call__` do the casting.
"""

from __future__ import annotations

from typing import Self

import jax
import jax.numpy as jnp
import numpy as np

from podium._typing import Array, Config, DType, DTypeLike, Value
from podium.core._backend_settings import floatx
from podium.core._errors import unknown_choice
from podium.core._jax_config import jax_config

FLOAT_TYPES = ("float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2")
_32_BIT_DTYPES = {
    "int64": "int32",
    "uint64": "uint32",
    "float64": "float32",
    "complex128": "complex64",
}
_INTEGER_TYPES = ("uint8", "uint16", "uint32", "uint64", "int4", "int8", "int16", "int32", "int64")
ALLOWED_DTYPES = FLOAT_TYPES + _INTEGER_TYPES + ("bool", "complex64", "complex128")


class _Global:
    """The policy that `set_dtype_policy` set."""

    policy: DTypePolicy | None = None


def standardize_dtype(dtype: DTypeLike | None) -> DType:
    """Return the canonical name of a dtype.

    64-bit dtypes become 32-bit ones unless JAX runs in 64-bit mode, without a warning: they are
    NumPy's defaults, and arrays are converted in the same way.

    Args:
        dtype: A name, a NumPy dtype, a JAX dtype or a Python type; "int" and "float" mean int32
            and the default float dtype, as None does.

    Example:
        >>> podium.core.standardize_dtype(np.float32), podium.core.standardize_dtype("int64")
        ('float32', 'int32')
    """
    if dtype is None or dtype in (float, "float"):
        return floatx()
    if dtype in (int, "int"):
        return "int32"
    if dtype is bool:
        return "bool"
    if isinstance(dtype, str):
        name = "float16" if dtype == "half" else dtype
    else:
        name = (
            getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or np.dtype(dtype).name
        )
    if name not in ALLOWED_DTYPES:
        raise unknown_choice("dtype", name, ALLOWED_DTYPES)
    return name if jax_config.jax_enable_x64 else _32_BIT_DTYPES.get(name, name)


def is_float_dtype(dtype: DTypeLike) -> bool:
    """Return whether a dtype is a real floating-point dtype.

    Example:
        >>> podium.core.is_float_dtype("bfloat16"), podium.core.is_float_dtype("int32")
        (True, False)
    """
    return standardize_dtype(dtype) in FLOAT_TYPES


def is_differentiable(value: Value | Array) -> bool:
    """Return whether values of an array's dtype have gradients: floats and complex numbers do."""
    return jnp.issubdtype(value.dtype, jnp.inexact)


def conjugate(value: jax.Array) -> jax.Array:
    """Convert a complex gradient between JAX's convention and TensorFlow's."""
    return jnp.conj(value) if jnp.issubdtype(value.dtype, jnp.complexfloating) else value


class DTypePolicy:
    """The dtype in which a layer computes, and the one in which it stores its weights.

    `"float32"` does both in float32. `"mixed_bfloat16"` and `"mixed_float16"` compute in the
    16-bit dtype and store float32 weights, so that small updates are not lost.

    Args:
        name: The name of a dtype, `"mixed_float16"` or `"mixed_bfloat16"`. None means the default
            float dtype.

    Example:
        >>> policy = podium.DTypePolicy("mixed_bfloat16")
        >>> policy.compute_dtype, policy.variable_dtype
        ('bfloat16', 'float32')
    """

    def __init__(self, name: DTypeLike | None = None):
        if name is None:
            name = floatx()
        if not isinstance(name, str) or name in ("int", "float"):
            name = standardize_dtype(name)
        if name in ("mixed_float16", "mixed_bfloat16"):
            self._compute_dtype, self._variable_dtype = name.removeprefix("mixed_"), "float32"
        elif name in ALLOWED_DTYPES:
            self._compute_dtype = self._variable_dtype = name
        else:
            raise unknown_choice(
                "dtype policy", name, (*FLOAT_TYPES[:4], "int32", "mixed_float16", "mixed_bfloat16")
            )
        self._name = name

    @property
    def name(self) -> str:
        """The policy's name."""
        return self._name

    @property
    def compute_dtype(self) -> str:
        """The dtype to which inputs and weights are cast for the computation."""
        return self._compute_dtype

    @property
    def variable_dtype(self) -> str:
        """The dtype in which weights are stored."""
        return self._variable_dtype

    def get_config(self) -> Config:
        """Return the arguments that recreate this policy."""
        return {"name": self._name}

    @classmethod
    def from_config(cls, config: Config) -> Self:
        """Create a policy from the result of `get_config`."""
        return cls(**config)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DTypePolicy) and other.name == self.name

    def __hash__(self) -> int:
        return hash(("DTypePolicy", self._name))

    def __repr__(self) -> str:
        return f"<DTypePolicy {self._name!r}>"


def dtype_policy() -> DTypePolicy:
    """Return the policy of new layers that are created without one.

    Example:
        >>> podium.core.dtype_policy().name
        'float32'
    """
    return _Global.policy or DTypePolicy(floatx())


def set_dtype_policy(policy: str | DTypePolicy | None) -> None:
    """Set the policy of layers created from now on; None restores the default float dtype.

    Example:
        >>> podium.core.set_dtype_policy("mixed_bfloat16")
        >>> podium.layers.Dense(2).compute_dtype
        'bfloat16'
        >>> podium.core.set_dtype_policy(None)
    """
    _Global.policy = None if policy is None else get_dtype_policy(policy)


def get_dtype_policy(identifier: DTypeLike | DTypePolicy | Config | None) -> DTypePolicy:
    """Return the policy that a layer's `dtype` argument means.

    Args:
        identifier: None for the global policy, a name, a dtype, a policy or its config.

    Example:
        >>> podium.core.get_dtype_policy("float16").variable_dtype
        'float16'
    """
    if identifier is None:
        return dtype_policy()
    if isinstance(identifier, DTypePolicy):
        return identifier
    if isinstance(identifier, dict):
        return DTypePolicy.from_config(identifier.get("config", identifier))
    return DTypePolicy(identifier)
