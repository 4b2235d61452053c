"""Indexing by position or by condition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from podium._typing import ShapeLike, TensorLike
from podium.core import Tensor
from podium.ops._operation import array_function, dispatch, operation
from podium.ops._promotion import as_array


@array_function()
def _take(x: Array, indices: Array, axis: int | None = None) -> Array:
    return jnp.take(x, indices, axis=axis)


@operation(_take)
def take(x: TensorLike, indices: TensorLike, axis: int | None = None) -> Tensor:
    """Take slices along an axis by index. For floats, indices out of bounds return NaN.

    Args:
        x: Input tensor.
        indices: Integer tensor of indices.
        axis: Axis to operate along. `None` operates on the flattened tensor.

    Example:
        >>> ops.take([[1, 2], [3, 4]], [1, 0], axis=0).numpy()
        array([[3, 4],
               [1, 2]], dtype=int32)
    """
    return dispatch(_take, x, indices, axis)


@array_function()
def _take_along_axis(x: Array, indices: Array, axis: int | None = None) -> Array:
    return jnp.take_along_axis(x, indices, axis=axis)


@operation(_take_along_axis)
def take_along_axis(x: TensorLike, indices: TensorLike, axis: int | None = None) -> Tensor:
    """Take elements along an axis by index, matching the other axes.

    Args:
        x: Input tensor.
        indices: Integer tensor of indices.
        axis: Axis to operate along. `None` operates on the flattened tensor.

    Example:
        >>> ops.take_along_axis([[1, 2], [3, 4]], [[1], [0]], axis=1).numpy()
        array([[2],
               [3]], dtype=int32)
    """
    return dispatch(_take_along_axis, x, indices, axis)


@array_function("condition x1 x2")
def _where(
    condition: Array, x1: Array | None = None, x2: Array | None = None
) -> Array | tuple[Array, ...]:
    if (x1 is None) != (x2 is None):
        raise ValueError("pass both `x1` and `x2`, or neither.")
    if x1 is None or x2 is None:
        return jnp.nonzero(condition)
    return jnp.where(condition, x1, x2)


@overload
def where(condition: TensorLike) -> tuple[Tensor, ...]: ...


@overload
def where(condition: TensorLike, x1: TensorLike, x2: TensorLike) -> Tensor: ...


@overload
def where(
    condition: TensorLike, x1: TensorLike | None, x2: TensorLike | None
) -> Tensor | tuple[Tensor, ...]: ...


@operation(_where)
def where(
    condition: TensorLike, x1: TensorLike | None = None, x2: TensorLike | None = None
) -> Tensor | tuple[Tensor, ...]:
    """Select elements from two tensors by a condition.

    With the condition alone, return the indices where it is true.

    Args:
        condition: Boolean tensor.
        x1: Values where the condition is true.
        x2: Values elsewhere.

    Example:
        >>> ops.where([True, False], [1, 2], 0).numpy()
        array([1, 0], dtype=int32)
    """
    return dispatch(_where, condition, x1, x2)


@array_function("default")
def _select(
    condlist: Sequence[Array], choicelist: Sequence[Array], default: ArrayLike = 0
) -> Array:
    if not isinstance(condlist, (list, tuple)) or not isinstance(choicelist, (list, tuple)):
        raise ValueError("`condlist` and `choicelist` must be lists.")
    if not condlist or not choicelist:
        raise ValueError("`condlist` and `choicelist` must not be empty.")
    return jnp.select(
        list(map(as_array, condlist)), list(map(as_array, choicelist)), default=default
    )


@operation(_select)
def select(
    condlist: Sequence[TensorLike], choicelist: Sequence[TensorLike], default: TensorLike = 0
) -> Tensor:
    """Select each element from the first choice whose condition is true.

    Args:
        condlist: List of boolean tensors.
        choicelist: List of tensors, one for each condition.
        default: Value where no condition is true.

    Example:
        >>> x = np.array([1, 5, 9])
        >>> ops.select([x < 3, x > 7], [x * 10, -x], default=0).numpy()
        array([10,  0, -9], dtype=int32)
    """
    return dispatch(_select, condlist, choicelist, default)


@array_function()
def _nonzero(x: Array) -> tuple[Array, ...]:
    return jnp.nonzero(x)


@operation(_nonzero)
def nonzero(x: TensorLike) -> tuple[Tensor, ...]:
    """Indices of the nonzero elements, one tensor per axis.

    Args:
        x: Input tensor.

    Returns:
        One integer tensor per axis.

    Example:
        >>> [i.numpy().tolist() for i in ops.nonzero([[0, 5], [6, 0]])]
        [[0, 1], [1, 0]]
    """
    return dispatch(_nonzero, x)


@array_function("indices")
def _unravel_index(indices: Array, shape: ShapeLike) -> tuple[Array, ...]:
    sizes: Any = shape
    return jnp.unravel_index(indices, sizes)


@operation(_unravel_index)
def unravel_index(indices: TensorLike, shape: ShapeLike) -> tuple[Tensor, ...]:
    """Convert indices into a flat tensor to indices into a tensor of shape `shape`.

    Args:
        indices: Integer tensor of indices.
        shape: Shape of the tensor.

    Returns:
        One integer tensor per axis.

    Example:
        >>> [i.numpy().tolist() for i in ops.unravel_index([1, 5], (2, 3))]
        [[0, 1], [1, 2]]
    """
    return dispatch(_unravel_index, indices, shape)


@array_function("x")
def _get_item(x: Array, key: Any) -> Array:
    return x[key]


@operation(_get_item)
def get_item(x: TensorLike, key: object) -> Tensor:
    """Index a tensor: `x[key]`, as a function.

    Args:
        x: Input tensor.
        key: The index: an int, slice, ellipsis, `None`, tensor, or a tuple of these.

    Example:
        >>> ops.get_item([[1, 2], [3, 4]], (0, slice(None))).numpy()
        array([1, 2], dtype=int32)
    """
    item: Tensor = dispatch(_get_item, x, tuple(key) if isinstance(key, list) else key)
    return item
