"""TensorSpec: the shape and dtype of an argument of a compiled function, and the same for JAX."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from podium._typing import Array, DTypeLike
from podium.core.tensor._dtypes import standardize_dtype
from podium.core.tensor._tensor import Tensor


class TensorSpec:
    """The shape and dtype of an argument of a compiled function.

    Args:
        shape: The sizes; None (or a name such as "batch") for any size.
        dtype: The dtype, float32 by default.
        name: A name for messages.

    Example:
        >>> podium.TensorSpec((None, 3), "float32")
        TensorSpec(shape=(None, 3), dtype=float32)
    """

    def __init__(
        self,
        shape: Sequence[int | str | None],
        dtype: DTypeLike | None = "float32",
        name: str | None = None,
    ):
        self.shape = tuple(shape)
        self.dtype: np.dtype[Any] = jnp.dtype(standardize_dtype(dtype))
        self.name = name

    def accepts(self, value: Tensor | Array) -> bool:
        """Return whether an array has a matching shape and dtype."""
        if value.dtype != self.dtype or len(value.shape) != len(self.shape):
            return False
        return all(
            not isinstance(expected, int) or expected == size
            for expected, size in zip(self.shape, value.shape, strict=True)
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorSpec) and (self.shape, self.dtype) == (
            other.shape,
            other.dtype,
        )

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self.shape}, dtype={self.dtype.name})"


def symbolic_spec(
    spec: TensorSpec, index: int, symbols: jax.export.SymbolicScope
) -> jax.ShapeDtypeStruct:
    """Return a spec with symbolic dimensions for unknown sizes.

    Args:
        spec: The spec.
        index: The position of the argument, for the names of dimensions.
        symbols: The scope in which equal names mean equal sizes.
    """
    names = []
    for axis, size in enumerate(spec.shape):
        default_name = "batch" if axis == 0 else f"d{index}_{axis}"
        names.append(str(default_name if size is None else size))
    shape = jax.export.symbolic_shape(",".join(names), scope=symbols) if names else ()
    return jax.ShapeDtypeStruct(shape, spec.dtype)
