"""Operations on tensors as such: dtypes, conversion, slices and scatters."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np

from podium.core import convert_to_tensor, standardize_dtype
from podium.ops._table import op

_REDUCTIONS = {None: "set", "add": "add", "max": "max", "min": "min", "mul": "multiply"}


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


@op("inputs start_indices")
def slice(inputs, start_indices, shape):
    """A block of a tensor, from a start that may be computed.

    Args:
        inputs: Input tensor.
        start_indices: Where the block begins, one integer for each axis. The block is moved inwards if it would not fit.
        shape: Size of the block. -1 means to the end, for starts that are known.

    Example:
        >>> ops.slice(np.arange(9).reshape(3, 3), [1, 1], [2, 2]).numpy()
        array([[4, 5],
               [7, 8]], dtype=int32)
    """
    if len(shape) != inputs.ndim:
        raise ValueError(f"`shape` needs one entry for each axis of inputs of shape {inputs.shape}.")
    sizes = [inputs.shape[i] - int(start_indices[i]) if s == -1 else s for i, s in enumerate(shape)]
    return jax.lax.dynamic_slice(inputs, list(start_indices), sizes)


@op("inputs start_indices updates")
def slice_update(inputs, start_indices, updates):
    """A copy of a tensor with a block replaced.

    Args:
        inputs: Input tensor.
        start_indices: Where the block begins, one integer for each axis.
        updates: The new block.

    Example:
        >>> ops.slice_update(np.zeros((2, 2), "int32"), [0, 1], [[7], [8]]).numpy()
        array([[0, 7],
               [0, 8]], dtype=int32)
    """
    return jax.lax.dynamic_update_slice(inputs, updates.astype(inputs.dtype), list(start_indices))


@op("indices values")
def scatter(indices, values, shape):
    """Zeros with values added at positions.

    Args:
        indices: Integer tensor `(..., axes)`: positions in the first axes of the result.
        values: Values to add, `(..., *rest)`.
        shape: Shape of the result.

    Example:
        >>> ops.scatter([[0], [2], [2]], [1, 5, 6], (4,)).numpy()
        array([ 1,  0, 11,  0], dtype=int32)
    """
    return jnp.zeros(shape, values.dtype).at[tuple(jnp.moveaxis(indices, -1, 0))].add(values)


@op("inputs indices updates")
def scatter_update(inputs, indices, updates, reduction=None):
    """A copy of a tensor with values put at positions.

    Args:
        inputs: Input tensor.
        indices: Integer tensor `(count, axes)`: positions.
        updates: The values, `(count, *rest)`.
        reduction: How values meet those already there: `add`, `max`, `min`, `mul`, or `None` to replace them.

    Example:
        >>> ops.scatter_update(np.zeros(4, "int32"), [[1], [3]], [7, 8]).numpy()
        array([0, 7, 0, 8], dtype=int32)
    """
    reduction = reduction.lower() if isinstance(reduction, str) else reduction
    if reduction not in _REDUCTIONS:
        raise ValueError(f"unknown reduction {reduction!r}. Choices: None, 'add', 'max', 'min', 'mul'.")
    at = inputs.at[tuple(jnp.transpose(indices))]
    return getattr(at, _REDUCTIONS[reduction])(updates.astype(inputs.dtype))
