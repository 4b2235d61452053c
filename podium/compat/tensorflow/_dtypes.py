"""TensorFlow's dtypes: names such as `tf.float32`, accepted wherever Podium, NumPy or JAX take a
dtype.
"""

from __future__ import annotations

import builtins
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from podium._typing import DTypeLike
from podium.core import standardize_dtype


class DType(str):
    """A dtype: a string with TensorFlow's attributes.

    int64 and float64 mean 32 bits unless JAX runs in 64-bit mode, as everywhere in Podium.

    Args:
        name: The name, such as "float32".

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.float32.name, tf.float32.is_floating, tf.int32.max
        ('float32', True, 2147483647)
        >>> tf.zeros(2).dtype == tf.float32
        True
    """

    __slots__ = ()

    @property
    def name(self) -> str:
        """The plain name."""
        return str(self)

    @property
    def as_numpy_dtype(self) -> type[Any]:
        """The scalar type of NumPy; `object` for strings."""
        return object if self == "string" else jnp.dtype(str(self)).type

    @property
    def as_datatype_enum(self) -> str:
        """The plain name: there is no enumeration."""
        return str(self)

    @property
    def base_dtype(self) -> DType:
        """The dtype itself: there are no reference dtypes."""
        return self

    @property
    def is_floating(self) -> builtins.bool:
        """Whether it is a real floating-point dtype."""
        return "float" in self

    @property
    def is_integer(self) -> builtins.bool:
        """Whether it is an integer dtype."""
        return "int" in self

    @property
    def is_bool(self) -> builtins.bool:
        """Whether it is the boolean dtype."""
        return self == "bool"

    @property
    def is_complex(self) -> builtins.bool:
        """Whether it is a complex dtype."""
        return self.startswith("complex")

    @property
    def size(self) -> int:
        """The number of bytes of one value."""
        return jnp.dtype(str(self)).itemsize

    @property
    def min(self) -> int | float:
        """The smallest finite value."""
        limit = self._limits().min
        return float(limit) if self.is_floating else int(limit)

    @property
    def max(self) -> int | float:
        """The largest finite value."""
        limit = self._limits().max
        return float(limit) if self.is_floating else int(limit)

    def _limits(self) -> jnp.finfo | jnp.iinfo:
        return jnp.finfo(str(self)) if self.is_floating else jnp.iinfo(str(self))

    def __str__(self) -> str:
        return str.__str__(self)

    def __repr__(self) -> str:
        return f"tf.{str.__str__(self)}"

    def __eq__(self, other: object) -> builtins.bool:
        if isinstance(other, str) or other is None:
            return str.__eq__(self, other)
        try:
            return str.__eq__(self, np.dtype(other).name)  # type: ignore[call-overload]
        except TypeError:
            return False

    def __ne__(self, other: object) -> builtins.bool:
        return not self == other

    __hash__ = str.__hash__


def as_dtype(type_value: DTypeLike) -> DType:
    """Return the dtype for a name, a NumPy dtype or a Python type.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.as_dtype(np.float16)
        tf.float16
    """
    if isinstance(type_value, str):
        return DType(
            {"half": "float16", "double": "float64", "float": "float32", "int": "int32"}.get(
                type_value, type_value
            )
        )
    if type_value in (str, bytes, object):
        return DType("string")
    python_types = {float: "float32", int: "int32", builtins.bool: "bool", complex: "complex64"}
    known = python_types.get(type_value)  # type: ignore[arg-type]
    return DType(known or np.dtype(type_value).name)


def canonical_dtype(dtype: DTypeLike | None) -> str:
    """Return the name of the dtype that JAX uses: 32 bits for 64, unless in 64-bit mode.

    None is the default float dtype.
    """
    name: str = jax.dtypes.canonicalize_dtype(standardize_dtype(dtype)).name
    return name


def canonical_dtype_or_none(dtype: DTypeLike | None) -> str | None:
    """Return `canonical_dtype(dtype)`, or None for None: the operation chooses its own dtype."""
    return None if dtype is None else canonical_dtype(dtype)


float16 = half = DType("float16")
bfloat16 = DType("bfloat16")
float32 = DType("float32")
float64 = double = DType("float64")
int8 = DType("int8")
int16 = DType("int16")
int32 = DType("int32")
int64 = DType("int64")
uint8 = DType("uint8")
uint16 = DType("uint16")
uint32 = DType("uint32")
uint64 = DType("uint64")
bool = DType("bool")
complex64 = DType("complex64")
complex128 = DType("complex128")
string = DType("string")
