"""From anything to a Tensor: `convert_to_tensor`, `is_tensor`, `convert_to_numpy`."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from podium.core._context import context
from podium.core._dispatch import dispatch
from podium.core._tree import tree_leaves
from podium.core._validation import as_number_array, check_int_range
from podium.core.tensor._dtypes import standardize_dtype
from podium.core.tensor._symbolic import KerasTensor
from podium.core.tensor._tensor import Tensor, wrap
from podium.core.tensor._variable import Variable


def convert_to_tensor(
    x: Any, dtype: Any = None, sparse: bool | None = None, ragged: bool | None = None
) -> Any:
    """Return `x` as a Tensor: numbers, lists, NumPy and JAX arrays, Variables.

    Float64 becomes float32 and int64 becomes int32 (unless JAX runs in 64-bit mode). NumPy arrays
    are copied. Symbolic values stay symbolic.

    Args:
        x: What to convert; lists may hold Tensors.
        dtype: The wanted type; by default the type of `x`, floats as float32.
        sparse: Accepted for Keras's signature; there are dense Tensors only.
        ragged: Accepted for Keras's signature; there are dense Tensors only.

    Example:
        >>> podium.convert_to_tensor([[1, 2], [3, 4]], dtype="float32").shape
        (2, 2)
        >>> podium.convert_to_tensor("text")
        Traceback (most recent call last):
        TypeError: `x` is an array of strings (dtype <U4). Podium computes with numbers and booleans
            only. \
Turn the strings into numbers first, for example with `np.unique(x, return_inverse=True)`.
    """
    dtype = None if dtype is None else standardize_dtype(dtype)
    if isinstance(x, (Tensor, KerasTensor)):
        return x if dtype is None or x.dtype == jnp.dtype(dtype) else dispatch(_astype, x, dtype)
    if isinstance(x, Variable):
        return dispatch(_astype, x, dtype or x.dtype)
    if isinstance(x, jax.Array):
        raw = x if dtype is None else x.astype(dtype)
        return raw if context.bare_arrays else wrap(raw)
    if isinstance(x, (list, tuple)) and any(
        isinstance(leaf, (Tensor, Variable, KerasTensor, jax.Array)) for leaf in tree_leaves(x)
    ):
        return dispatch(lambda parts: _astype(_stack(parts), dtype), x)
    array = as_number_array(x, "x")
    if dtype is None and array.dtype == np.float64:
        dtype = standardize_dtype(None)
    raw = jnp.array(
        check_int_range(array), dtype=dtype, copy=True
    )  # JAX may share memory with NumPy otherwise
    return raw if context.bare_arrays else wrap(raw)


def _astype(x: Any, dtype: Any) -> Any:
    return jnp.asarray(x) if dtype is None else jnp.asarray(x).astype(dtype)


def _stack(parts: Any) -> Any:
    if isinstance(parts, (list, tuple)):
        with jax.numpy_dtype_promotion("standard"):
            return jnp.stack([_stack(part) for part in parts])
    return jnp.asarray(parts)


def is_tensor(x: Any) -> bool:
    """Tell whether `x` is a Tensor, a symbolic KerasTensor or a jax.Array.

    Example:
        >>> podium.is_tensor(podium.ops.ones(2)), podium.is_tensor([1.0])
        (True, False)
    """
    return isinstance(x, (Tensor, KerasTensor, jax.Array))


def convert_to_numpy(x: Any) -> np.ndarray:
    """Return `x` as a NumPy array; waits until it has been computed.

    Example:
        >>> podium.core.convert_to_numpy(podium.ops.ones(2))
        array([1., 1.], dtype=float32)
    """
    return np.array(x)
