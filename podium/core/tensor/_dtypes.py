"""Dtypes: their names, and dtype policies for mixed precision.

A `DTypePolicy` has the dtype in which a layer computes and the one in which it stores its weights;
`dispatch` and `Layer.__call__` do the casting. Policies of quantized layers are in
`_quantized_policies.py`, the global policy in `_policy_registry.py`.
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


def is_int_dtype(dtype: DTypeLike) -> bool:
    """Return whether a dtype is an integer dtype, signed or unsigned.

    Example:
        >>> podium.core.is_int_dtype("uint8"), podium.core.is_int_dtype("bool")
        (True, False)
    """
    return standardize_dtype(dtype) in _INTEGER_TYPES


def is_differentiable(value: Value | Array) -> bool:
    """Return whether values of an array's dtype have gradients: floats and complex numbers do."""
    return jnp.issubdtype(value.dtype, jnp.inexact)


def conjugate(value: jax.Array) -> jax.Array:
    """Convert a complex gradient between JAX's convention and TensorFlow's."""
    return jnp.conj(value) if jnp.issubdtype(value.dtype, jnp.complexfloating) else value


class GlobalPolicy:
    """The policy of layers that are created without one; None for the default float dtype."""

    policy: DTypePolicy | None = None


class DTypePolicy:
    """The dtype in which a layer computes, and the one in which it stores its weights.

    `"float32"` does both in float32. `"mixed_bfloat16"` and `"mixed_float16"` compute in the
    16-bit dtype and store float32 weights, so that small updates are not lost.

    Args:
        name: The name of a dtype, `"mixed_float16"` or `"mixed_bfloat16"`. None means that
            of the global policy.

    Example:
        >>> policy = podium.DTypePolicy("mixed_bfloat16")
        >>> policy.compute_dtype, policy.variable_dtype
        ('bfloat16', 'float32')
    """

    def __init__(self, name: DTypeLike | None = None):
        if name is None:
            name = floatx() if GlobalPolicy.policy is None else GlobalPolicy.policy.name
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
    def quantization_mode(self) -> str | None:
        """How weights are quantized, such as "int8"; None if they are not."""
        return None

    def for_path(self, path: str) -> DTypePolicy:
        """Return the policy of the layer of this path: this one for every layer."""
        return self

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
        return type(other) is type(self) and other.get_config() == self.get_config()

    def __hash__(self) -> int:
        return hash((type(self).__name__, self.name))

    def __repr__(self) -> str:
        return f'<{type(self).__name__} "{self.name}">'
