"""Slices and scatters: reading and writing blocks of a tensor."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax import Array

from podium._typing import TensorLike
from podium.core import Tensor
from podium.ops._operation import array_function, dispatch, operation

_REDUCTIONS = {None: "set", "add": "add", "max": "max", "min": "min", "mul": "multiply"}


@array_function("inputs start_indices")
def _slice(inputs: Array, start_indices: Array, shape: Sequence[int]) -> Array:
    if len(shape) != inputs.ndim:
        raise ValueError(
            f"`shape` needs one entry for each axis of inputs of shape {inputs.shape}."
        )
    sizes = [inputs.shape[i] - int(start_indices[i]) if s == -1 else s for i, s in enumerate(shape)]
    return jax.lax.dynamic_slice(inputs, list(start_indices), sizes)


@operation(_slice)
def slice(inputs: TensorLike, start_indices: TensorLike, shape: Sequence[int]) -> Tensor:
    """Extract a block of a tensor, at a start that may be computed.

    Args:
        inputs: Input tensor.
        start_indices: Start of the block, one integer for each axis. The block is moved inwards
            if it does not fit.
        shape: Size of the block. -1 means up to the end, if the start is known.

    Example:
        >>> ops.slice(np.arange(9).reshape(3, 3), [1, 1], [2, 2]).numpy()
        array([[4, 5],
               [7, 8]], dtype=int32)
    """
    return dispatch(_slice, inputs, start_indices, shape)


@array_function("inputs start_indices updates")
def _slice_update(inputs: Array, start_indices: Array, updates: Array) -> Array:
    return jax.lax.dynamic_update_slice(inputs, updates.astype(inputs.dtype), list(start_indices))


@operation(_slice_update)
def slice_update(inputs: TensorLike, start_indices: TensorLike, updates: TensorLike) -> Tensor:
    """Return a copy of a tensor with a block replaced.

    Args:
        inputs: Input tensor.
        start_indices: Start of the block, one integer for each axis.
        updates: The new block.

    Example:
        >>> ops.slice_update(np.zeros((2, 2), "int32"), [0, 1], [[7], [8]]).numpy()
        array([[0, 7],
               [0, 8]], dtype=int32)
    """
    return dispatch(_slice_update, inputs, start_indices, updates)


@array_function("indices values")
def _scatter(indices: Array, values: Array, shape: Sequence[int]) -> Array:
    return jnp.zeros(shape, values.dtype).at[tuple(jnp.moveaxis(indices, -1, 0))].add(values)


@operation(_scatter)
def scatter(indices: TensorLike, values: TensorLike, shape: Sequence[int]) -> Tensor:
    """Create a tensor of zeros with values added at indices.

    Args:
        indices: Integer tensor `(..., axes)`: positions in the first axes of the result.
        values: Values to add, `(..., *rest)`.
        shape: Shape of the result.

    Example:
        >>> ops.scatter([[0], [2], [2]], [1, 5, 6], (4,)).numpy()
        array([ 1,  0, 11,  0], dtype=int32)
    """
    return dispatch(_scatter, indices, values, shape)


@array_function("inputs indices updates")
def _scatter_update(
    inputs: Array, indices: Array, updates: Array, reduction: str | None = None
) -> Array:
    reduction = reduction.lower() if isinstance(reduction, str) else reduction
    if reduction not in _REDUCTIONS:
        raise ValueError(
            f"unknown reduction {reduction!r}. Choices: None, 'add', 'max', 'min', 'mul'."
        )
    at = inputs.at[tuple(jnp.transpose(indices))]
    updated: Array = getattr(at, _REDUCTIONS[reduction])(updates.astype(inputs.dtype))
    return updated


@operation(_scatter_update)
def scatter_update(
    inputs: TensorLike, indices: TensorLike, updates: TensorLike, reduction: str | None = None
) -> Tensor:
    """Return a copy of a tensor with values written at indices.

    Args:
        inputs: Input tensor.
        indices: Integer tensor `(count, axes)`: positions.
        updates: The values, `(count, *rest)`.
        reduction: How to combine updates with the values of `inputs`: `add`, `max`, `min`, `mul`,
            or `None` to replace them.

    Example:
        >>> ops.scatter_update(np.zeros(4, "int32"), [[1], [3]], [7, 8]).numpy()
        array([0, 7, 0, 8], dtype=int32)
    """
    return dispatch(_scatter_update, inputs, indices, updates, reduction)
