"""Operations that split tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from podium._typing import SymbolicShape, TensorLike
from podium.core import KerasTensor, Node, Tensor, lift
from podium.ops._operation import array_function, dispatch, operation


def _as_sections(indices_or_sections: int | Sequence[int]) -> int | np.ndarray[Any, Any]:
    """Return a number of sections, or the positions to split at as an array."""
    if isinstance(indices_or_sections, int):
        return indices_or_sections
    return np.asarray(indices_or_sections)


@array_function("x")
def _split(x: Array, indices_or_sections: int | Sequence[int], axis: int = 0) -> list[Array]:
    sections = indices_or_sections
    if isinstance(sections, int) and isinstance(x.shape[axis], int) and x.shape[axis] % sections:
        raise ValueError(
            f"axis {axis} of shape {x.shape} does not divide into {sections} equal pieces. "
            "Pass the positions to split at, or use `ops.array_split`."
        )
    return jnp.split(x, _as_sections(sections), axis=axis)


@operation(_split)
def split(x: TensorLike, indices_or_sections: int | Sequence[int], axis: int = 0) -> list[Tensor]:
    """Split a tensor into equal pieces, or at given positions.

    Args:
        x: Input tensor.
        indices_or_sections: Number of equal pieces, or the positions to split at.
        axis: Axis to split along.

    Returns:
        A list of tensors.

    Example:
        >>> [part.numpy().tolist() for part in ops.split([1, 2, 3, 4], [1, 3])]
        [[1], [2, 3], [4]]
    """
    return dispatch(_split, x, indices_or_sections, axis)


@array_function("x")
def _array_split(x: Array, indices_or_sections: int, axis: int = 0) -> list[Array]:
    if not isinstance(indices_or_sections, int):
        raise TypeError(
            f"`indices_or_sections` must be an int, not {type(indices_or_sections).__name__}. "
            "For positions, use `ops.split`."
        )
    if indices_or_sections <= 0:
        raise ValueError("`indices_or_sections` must be positive.")
    return jnp.array_split(x, indices_or_sections, axis=axis)


@operation(_array_split)
def array_split(x: TensorLike, indices_or_sections: int, axis: int = 0) -> list[Tensor]:
    """Split a tensor into pieces of nearly equal size.

    Args:
        x: Input tensor.
        indices_or_sections: Number of pieces.
        axis: Axis to split along.

    Returns:
        A list of tensors.

    Example:
        >>> [part.numpy().tolist() for part in ops.array_split([1, 2, 3], 2)]
        [[1, 2], [3]]
    """
    return dispatch(_array_split, x, indices_or_sections, axis)


@array_function("x")
def _hsplit(x: Array, indices_or_sections: int | Sequence[int]) -> list[Array]:
    return jnp.hsplit(x, _as_sections(indices_or_sections))


@operation(_hsplit)
def hsplit(x: TensorLike, indices_or_sections: int | Sequence[int]) -> list[Tensor]:
    """Split along the second axis (the first for 1D tensors).

    Args:
        x: Input tensor.
        indices_or_sections: Number of equal pieces, or the positions to split at.

    Returns:
        A list of tensors.

    Example:
        >>> [part.numpy().tolist() for part in ops.hsplit([[1, 2], [3, 4]], 2)]
        [[[1], [3]], [[2], [4]]]
    """
    return dispatch(_hsplit, x, indices_or_sections)


@array_function("x")
def _vsplit(x: Array, indices_or_sections: int | Sequence[int]) -> list[Array]:
    return jnp.vsplit(x, _as_sections(indices_or_sections))


@operation(_vsplit)
def vsplit(x: TensorLike, indices_or_sections: int | Sequence[int]) -> list[Tensor]:
    """Split along the first axis.

    Args:
        x: Input tensor.
        indices_or_sections: Number of equal pieces, or the positions to split at.

    Returns:
        A list of tensors.

    Example:
        >>> [part.numpy().tolist() for part in ops.vsplit([[1, 2], [3, 4]], 2)]
        [[[1, 2]], [[3, 4]]]
    """
    return dispatch(_vsplit, x, indices_or_sections)


@array_function("x")
def _dsplit(x: Array, indices_or_sections: int | Sequence[int]) -> list[Array]:
    return jnp.dsplit(x, _as_sections(indices_or_sections))


@operation(_dsplit)
def dsplit(x: TensorLike, indices_or_sections: int | Sequence[int]) -> list[Tensor]:
    """Split along the third axis.

    Args:
        x: Input tensor.
        indices_or_sections: Number of equal pieces, or the positions to split at.

    Returns:
        A list of tensors.

    Example:
        >>> [part.numpy().tolist() for part in ops.dsplit(np.arange(4).reshape(1, 2, 2), 2)]
        [[[[0], [2]]], [[[1], [3]]]]
    """
    return dispatch(_dsplit, x, indices_or_sections)


@array_function("x")
def _unstack(x: Array, num: int | None = None, axis: int = 0) -> list[Array]:
    size = x.shape[_check_axis(x.shape, axis)]
    if num is not None and num != size:
        raise ValueError(f"axis {axis} of shape {x.shape} has {size} slices; num={num} was given.")
    return [jax.lax.index_in_dim(x, i, axis, keepdims=False) for i in range(size)]


@operation(_unstack)
def unstack(x: TensorLike, num: int | None = None, axis: int = 0) -> list[Tensor]:
    """Split a tensor into slices along an axis, which is removed.

    Args:
        x: Input tensor.
        num: Number of slices; required if the size of the axis is not known. `None` means any.
        axis: Axis to split along.

    Returns:
        A list of tensors.

    Example:
        >>> [part.numpy().tolist() for part in ops.unstack([[1, 2], [3, 4]])]
        [[1, 2], [3, 4]]
    """
    if not isinstance(x, KerasTensor) or x.shape[_check_axis(x.shape, axis)] is not None:
        return dispatch(_unstack, x, num, axis)
    if num is None:
        raise ValueError(
            f"ops.unstack was given a symbolic value of shape {x.shape}; the size of axis {axis} "
            "is not known. Pass the number of slices: `ops.unstack(x, num=3, axis=...)`."
        )
    shape = list(x.shape)
    del shape[axis]
    outputs = [KerasTensor(shape, x.dtype) for _ in range(num)]
    Node(lift(_unstack), (x, num, axis), {}, outputs)
    return cast(list[Tensor], outputs)


def _check_axis(shape: SymbolicShape, axis: int) -> int:
    if not -len(shape) <= axis < len(shape):
        raise ValueError(
            f"axis={axis} was given for shape {tuple(shape)}; an int from {-len(shape)} to "
            f"{len(shape) - 1} was expected."
        )
    return axis
