"""Number types: their names, the default float type, and dtype policies for mixed precision.

A `DTypePolicy` says in which type a layer computes and in which it keeps its weights. This file
owns the names and the global policy; casting itself happens in `dispatch` and in `Layer.__call__`.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from podium.core._backend_settings import floatx
from podium.core._errors import unknown_choice

FLOAT_TYPES = ("float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2")
_NARROWED = {"int64": "int32", "uint64": "uint32", "float64": "float32", "complex128": "complex64"}
_INTEGER_TYPES = ("uint8", "uint16", "uint32", "uint64", "int4", "int8", "int16", "int32", "int64")
ALLOWED_DTYPES = FLOAT_TYPES + _INTEGER_TYPES + ("bool", "complex64", "complex128")

_global: dict[str, Any] = {"policy": None}


def standardize_dtype(dtype: Any) -> str:
    """Return the plain name of a dtype given as a string, NumPy type, JAX type or Python type.

    `None` means the default float type. 64-bit types become 32-bit ones unless JAX runs in 64-bit
    mode, without a warning: NumPy makes them everywhere, and arrays are narrowed the same way when
    they enter.

    Example:
        >>> podium.core.standardize_dtype(np.float32), podium.core.standardize_dtype("int64")
        ('float32', 'int32')
    """
    if dtype is None:
        return floatx()
    if dtype is float:
        return floatx()
    if dtype is int:
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
    return name if jax.config.jax_enable_x64 else _NARROWED.get(name, name)  # type: ignore[attr-defined]


def is_float_dtype(dtype: Any) -> bool:
    """Tell whether a dtype is one of the real floating types.

    Example:
        >>> podium.core.is_float_dtype("bfloat16"), podium.core.is_float_dtype("int32")
        (True, False)
    """
    return standardize_dtype(dtype) in FLOAT_TYPES


def is_differentiable(value: Any) -> bool:
    """Tell whether an array's type can carry a gradient (floats and complex numbers can)."""
    return jnp.issubdtype(value.dtype, jnp.inexact)


def conjugate(value: Any) -> Any:
    """Turn a complex gradient from JAX's convention into TensorFlow's, where it points uphill, or
    back.
    """
    return jnp.conj(value) if jnp.issubdtype(value.dtype, jnp.complexfloating) else value


class DTypePolicy:
    """Which type a layer computes in, and which it stores its weights in.

    `"float32"` does both in float32. `"mixed_bfloat16"` and `"mixed_float16"` compute in the short
    type and keep float32 weights, so that small updates are not lost.

    Args:
        name: A dtype name, or `"mixed_float16"` / `"mixed_bfloat16"`. None means the default float
            type.

    Example:
        >>> policy = podium.DTypePolicy("mixed_bfloat16")
        >>> policy.compute_dtype, policy.variable_dtype
        ('bfloat16', 'float32')
    """

    def __init__(self, name: str | None = None):
        if name is None:
            name = floatx()
        if not isinstance(name, str):
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
        """The type that inputs and weights are cast to for the computation."""
        return self._compute_dtype

    @property
    def variable_dtype(self) -> str:
        """The type that weights are stored in."""
        return self._variable_dtype

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this policy again."""
        return {"name": self._name}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> DTypePolicy:
        """Make a policy from `get_config`'s result."""
        return cls(**config)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DTypePolicy) and other.name == self.name

    def __hash__(self) -> int:
        return hash(("DTypePolicy", self._name))

    def __repr__(self) -> str:
        return f"<DTypePolicy {self._name!r}>"


def dtype_policy() -> DTypePolicy:
    """Return the policy that new layers get when none is given.

    Example:
        >>> podium.core.dtype_policy().name
        'float32'
    """
    return _global["policy"] or DTypePolicy(floatx())


def set_dtype_policy(policy: str | DTypePolicy | None) -> None:
    """Set the policy for layers made from now on. None returns to the default float type.

    Example:
        >>> podium.core.set_dtype_policy("mixed_bfloat16")
        >>> podium.layers.Dense(2).compute_dtype
        'bfloat16'
        >>> podium.core.set_dtype_policy(None)
    """
    _global["policy"] = None if policy is None else get_dtype_policy(policy)


def get_dtype_policy(identifier: Any) -> DTypePolicy:
    """Resolve what a layer's `dtype` argument may be: None, a name, a dtype, a policy or its
    config.

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
