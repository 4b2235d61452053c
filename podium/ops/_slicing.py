"""Slices and scatters: reading and writing parts of a tensor."""

import jax
import jax.numpy as jnp

from podium.ops._table import op

_REDUCTIONS = {None: "set", "add": "add", "max": "max", "min": "min", "mul": "multiply"}


@op("inputs start_indices")
def slice(inputs, start_indices, shape):
    """A block of a tensor, from a start that may be computed.

    Args:
        inputs: Input tensor.
        start_indices: Where the block begins, one integer for each axis. The block is moved inwards
            if it would not fit.
        shape: Size of the block. -1 means to the end, for starts that are known.

    Example:
        >>> ops.slice(np.arange(9).reshape(3, 3), [1, 1], [2, 2]).numpy()
        array([[4, 5],
               [7, 8]], dtype=int32)
    """
    if len(shape) != inputs.ndim:
        raise ValueError(
            f"`shape` needs one entry for each axis of inputs of shape {inputs.shape}."
        )
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
        reduction: How values meet those already there: `add`, `max`, `min`, `mul`, or `None` to
            replace them.

    Example:
        >>> ops.scatter_update(np.zeros(4, "int32"), [[1], [3]], [7, 8]).numpy()
        array([0, 7, 0, 8], dtype=int32)
    """
    reduction = reduction.lower() if isinstance(reduction, str) else reduction
    if reduction not in _REDUCTIONS:
        raise ValueError(
            f"unknown reduction {reduction!r}. Choices: None, 'add', 'max', 'min', 'mul'."
        )
    at = inputs.at[tuple(jnp.transpose(indices))]
    return getattr(at, _REDUCTIONS[reduction])(updates.astype(inputs.dtype))
