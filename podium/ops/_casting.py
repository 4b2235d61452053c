"""Dtypes and shapes of tensors: reading them, and casting."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import Array

from podium._typing import DType, DTypeLike, Shape, TensorLike
from podium.core import Tensor, convert_to_tensor, standardize_dtype
from podium.ops._operation import array_function, dispatch, operation


def _limits(dtype: DType) -> tuple[int | np.floating[Any], int | np.floating[Any]]:
    """Return the lowest and the highest value of a dtype."""
    if dtype == "bool":
        return 0, 1
    info = ml_dtypes.iinfo(dtype) if "int" in dtype else ml_dtypes.finfo(dtype)
    return info.min, info.max


@array_function("x")
def _cast(x: Array, dtype: DTypeLike) -> Array:
    return x.astype(standardize_dtype(dtype))


@operation(_cast)
def cast(x: TensorLike, dtype: DTypeLike) -> Tensor:
    """Convert to another dtype.

    Args:
        x: Input tensor.
        dtype: The new dtype, by name.

    Example:
        >>> ops.cast([1.7, 2.2], "int32").numpy()
        array([1, 2], dtype=int32)
    """
    if isinstance(x, Tensor) and x.dtype == standardize_dtype(dtype):
        return x  # with its mask, and the logits behind it
    return dispatch(_cast, x, dtype)


@array_function("x")
def _saturate_cast(x: Array, dtype: DTypeLike) -> Array:
    dtype = standardize_dtype(dtype)
    (in_low, in_high), (out_low, out_high) = _limits(x.dtype.name), _limits(dtype)
    x = x.astype("uint8") if x.dtype == jnp.bool_ else x
    # A limit that the input dtype rounds outwards is moved inwards by one representable value.
    low = np.maximum(in_low, out_low).astype(x.dtype)
    high = np.minimum(in_high, out_high).astype(x.dtype)
    low = np.nextafter(low, np.zeros_like(low)) if low < out_low else low
    high = np.nextafter(high, np.zeros_like(high)) if high > out_high else high
    return jnp.clip(x, low, high).astype(dtype)


@operation(_saturate_cast)
def saturate_cast(x: TensorLike, dtype: DTypeLike) -> Tensor:
    """Convert to another dtype, clipping values to the range of that dtype.

    Args:
        x: Input tensor.
        dtype: The new dtype, by name.

    Example:
        >>> ops.saturate_cast([-5, 300], "uint8").numpy()
        array([  0, 255], dtype=uint8)
    """
    return dispatch(_saturate_cast, x, dtype)


def shape(x: TensorLike) -> Shape:
    """Return the shape as a tuple; unknown sizes of a symbolic tensor are `None`.

    Args:
        x: A tensor, Variable, symbolic tensor, array or list.

    Example:
        >>> ops.shape([[1, 2, 3]])
        (1, 3)
    """
    sizes: Any = x.shape if hasattr(x, "shape") else np.shape(x)
    return tuple(sizes)


def dtype(x: TensorLike) -> DType:
    """Return the name of the dtype.

    Args:
        x: A tensor, Variable, symbolic tensor or array.

    Example:
        >>> ops.dtype(ops.ones(2))
        'float32'
    """
    return standardize_dtype(x.dtype if hasattr(x, "dtype") else convert_to_tensor(x).dtype)
