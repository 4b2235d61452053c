"""Conversion to Tensors and to NumPy: `convert_to_tensor`, `is_tensor`, `convert_to_numpy`."""

from __future__ import annotations

from typing import Any, cast, overload

import jax
import jax.numpy as jnp
import numpy as np

from podium._typing import DTypeLike, TensorLike
from podium.core._context import context
from podium.core._dispatch import dispatch
from podium.core._tree import tree_leaves
from podium.core._validation import as_number_array, check_int_range
from podium.core.tensor._dtypes import standardize_dtype
from podium.core.tensor._symbolic import KerasTensor
from podium.core.tensor._tensor import Tensor, wrap
from podium.core.tensor._variable import Variable


@overload
def convert_to_tensor(  # type: ignore[overload-overlap]
    x: KerasTensor,
    dtype: DTypeLike | None = None,
    sparse: bool | None = None,
    ragged: bool | None = None,
) -> KerasTensor: ...


@overload
def convert_to_tensor(
    x: TensorLike,
    dtype: DTypeLike | None = None,
    sparse: bool | None = None,
    ragged: bool | None = None,
) -> Tensor: ...


def convert_to_tensor(
    x: TensorLike,
    dtype: DTypeLike | None = None,
    sparse: bool | None = None,
    ragged: bool | None = None,
) -> Any:
    """Return numbers, lists, NumPy arrays, JAX arrays or Variables as a Tensor.

    Float64 becomes float32 and int64 becomes int32 (unless JAX runs in 64-bit mode). NumPy arrays
    are copied. Symbolic values are returned as symbolic values.

    Args:
        x: The value to convert; lists may contain Tensors.
        dtype: The dtype of the result; by default that of `x`, and float32 for Python floats.
        sparse: Accepted for Keras's signature; only dense Tensors are supported.
        ragged: Accepted for Keras's signature; only dense Tensors are supported.

    Example:
        >>> podium.convert_to_tensor([[1, 2], [3, 4]], dtype="float32").shape
        (2, 2)
        >>> podium.convert_to_tensor("text")
        Traceback (most recent call last):
        TypeError: `x` is an array of strings (dtype <U4). Podium computes with numbers and \
booleans only. Convert the strings to numbers first, for example with \
`np.unique(x, return_inverse=True)`.
    """
    dtype = None if dtype is None else standardize_dtype(dtype)
    if isinstance(x, (Tensor, KerasTensor)):
        return x if dtype is None or x.dtype == jnp.dtype(dtype) else dispatch(_astype, x, dtype)
    if isinstance(x, Variable):
        return dispatch(_astype, x, dtype or x.dtype)
    if isinstance(x, jax.Array):
        return _wrap_unless_bare(x if dtype is None else x.astype(dtype))
    if isinstance(x, (list, tuple)) and any(
        isinstance(leaf, (Tensor, Variable, KerasTensor, jax.Array)) for leaf in tree_leaves(x)
    ):
        return dispatch(lambda parts: _astype(_stack(parts), dtype), x)
    if hasattr(type(x), "__jax_array__"):
        return convert_to_tensor(cast(Any, x).__jax_array__(), dtype)
    array = as_number_array(x, "x")
    if dtype is None and array.dtype == np.float64:
        dtype = standardize_dtype(None)
    # A copy: JAX may share memory with NumPy otherwise.
    return _wrap_unless_bare(jnp.array(check_int_range(array), dtype=dtype, copy=True))


def _wrap_unless_bare(array: jax.Array) -> Any:
    """Return a Tensor, or the array inside a layer that computes with bare arrays."""
    return array if context.bare_arrays else wrap(array)


def _astype(x: Any, dtype: DTypeLike | None) -> jax.Array:
    return jnp.asarray(x) if dtype is None else jnp.asarray(x).astype(dtype)


def _stack(parts: Any) -> jax.Array:
    if isinstance(parts, (list, tuple)):
        with jax.numpy_dtype_promotion("standard"):
            return jnp.stack([_stack(part) for part in parts])
    return jnp.asarray(parts)


def is_tensor(x: object) -> bool:
    """Return whether `x` is a Tensor, a symbolic KerasTensor or a jax.Array.

    Example:
        >>> podium.is_tensor(podium.ops.ones(2)), podium.is_tensor([1.0])
        (True, False)
    """
    return isinstance(x, (Tensor, KerasTensor, jax.Array))


def convert_to_numpy(x: TensorLike) -> np.ndarray[Any, Any]:
    """Return `x` as a NumPy array; waits until it has been computed.

    Example:
        >>> podium.core.convert_to_numpy(podium.ops.ones(2))
        array([1., 1.], dtype=float32)
    """
    return np.array(x)
