"""Types and shapes of tensors: reading them, and casting."""

import jax.numpy as jnp
import ml_dtypes
import numpy as np

from podium.core import convert_to_tensor, standardize_dtype
from podium.ops._table import op


@op("x")
def cast(x, dtype):
    """Convert to another dtype.

    Args:
        x: Input tensor.
        dtype: The new dtype, by name.

    Example:
        >>> ops.cast([1.7, 2.2], "int32").numpy()
        array([1, 2], dtype=int32)
    """
    return x.astype(standardize_dtype(dtype))


def shape(x):
    """The shape, as a tuple; `None` where a symbolic tensor's size is not known.

    Args:
        x: A tensor, Variable, symbolic tensor, array or list.

    Example:
        >>> ops.shape([[1, 2, 3]])
        (1, 3)
    """
    return tuple(x.shape) if hasattr(x, "shape") else np.shape(x)


def dtype(x):
    """The dtype, by name.

    Args:
        x: A tensor, Variable, symbolic tensor or array.

    Example:
        >>> ops.dtype(ops.ones(2))
        'float32'
    """
    return standardize_dtype(x.dtype if hasattr(x, "dtype") else convert_to_tensor(x).dtype)


@op("x")
def saturate_cast(x, dtype):
    """Convert to another dtype; values that do not fit become the nearest that do.

    Args:
        x: Input tensor.
        dtype: The new dtype, by name.

    Example:
        >>> ops.saturate_cast([-5, 300], "uint8").numpy()
        array([  0, 255], dtype=uint8)
    """
    dtype = standardize_dtype(dtype)
    (in_low, in_high), (out_low, out_high) = _limits(x.dtype.name), _limits(dtype)
    x = x.astype("uint8") if x.dtype == jnp.bool_ else x
    # A limit that the input dtype rounds outwards must come one step back in.
    low = np.maximum(in_low, out_low).astype(x.dtype)
    high = np.minimum(in_high, out_high).astype(x.dtype)
    low = np.nextafter(low, np.zeros_like(low)) if low < out_low else low
    high = np.nextafter(high, np.zeros_like(high)) if high > out_high else high
    return jnp.clip(x, low, high).astype(dtype)


def _limits(dtype):
    if dtype == "bool":
        return 0, 1
    info = ml_dtypes.iinfo(dtype) if "int" in dtype else ml_dtypes.finfo(dtype)
    return info.min, info.max
