"""Operations that concatenate, stack and pad tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
from jax import Array

from podium._typing import TensorLike
from podium.core import Tensor
from podium.ops._operation import array_function, dispatch, operation
from podium.ops._promotion import as_array


@array_function("")
def _concatenate(xs: Sequence[Array], axis: int = 0) -> Array:
    xs = list(map(as_array, xs))
    try:
        return jnp.concatenate(xs, axis=axis)
    except (TypeError, ValueError) as error:
        shapes = ", ".join(str(x.shape) for x in xs)
        raise ValueError(
            f"shapes must agree in every axis but axis {axis}, and got "
            f"{shapes or 'an empty list'}. Use `ops.stack` to stack along a new axis."
        ) from error


@operation(_concatenate)
def concatenate(xs: Sequence[TensorLike], axis: int = 0) -> Tensor:
    """Concatenate tensors along an existing axis.

    Args:
        xs: List of tensors, of equal shape except along `axis`.
        axis: Axis to concatenate along.

    Example:
        >>> ops.concatenate([[[1, 2]], [[3, 4]]], axis=0).numpy()
        array([[1, 2],
               [3, 4]], dtype=int32)
    """
    return dispatch(_concatenate, xs, axis)


@array_function("")
def _stack(x: Sequence[Array], axis: int = 0) -> Array:
    arrays = [as_array(element) for element in x]
    if len({array.shape for array in arrays}) != 1:
        shapes = ", ".join(str(array.shape) for array in arrays)
        raise ValueError(
            f"all tensors must have the same shape, and got {shapes or 'an empty list'}."
        )
    return jnp.stack(arrays, axis=axis)


@operation(_stack)
def stack(x: Sequence[TensorLike], axis: int = 0) -> Tensor:
    """Stack tensors along a new axis.

    Args:
        x: List of tensors of equal shape.
        axis: Position of the new axis.

    Example:
        >>> ops.stack([[1, 2], [3, 4]], axis=1).numpy()
        array([[1, 3],
               [2, 4]], dtype=int32)
    """
    return dispatch(_stack, x, axis)


@array_function()
def _append(x1: Array, x2: Array, axis: int | None = None) -> Array:
    return jnp.append(x1, x2, axis)


@operation(_append)
def append(x1: TensorLike, x2: TensorLike, axis: int | None = None) -> Tensor:
    """Concatenate two tensors, flattened first if `axis` is `None`.

    Args:
        x1: First tensor.
        x2: Second tensor, broadcast against the first.
        axis: Axis to concatenate along. `None` flattens both tensors.

    Example:
        >>> ops.append([1, 2], [3]).numpy()
        array([1, 2, 3], dtype=int32)
    """
    return dispatch(_append, x1, x2, axis)


@array_function("")
def _hstack(xs: Sequence[Array]) -> Array:
    return jnp.hstack(list(map(as_array, xs)))


@operation(_hstack)
def hstack(xs: Sequence[TensorLike]) -> Tensor:
    """Concatenate along the second axis (the first for 1D tensors).

    Args:
        xs: List of tensors.

    Example:
        >>> ops.hstack([[1, 2], [3, 4]]).numpy()
        array([1, 2, 3, 4], dtype=int32)
    """
    return dispatch(_hstack, xs)


@array_function("")
def _vstack(xs: Sequence[Array]) -> Array:
    return jnp.vstack(list(map(as_array, xs)))


@operation(_vstack)
def vstack(xs: Sequence[TensorLike]) -> Tensor:
    """Concatenate along the first axis, as rows.

    Args:
        xs: List of tensors.

    Example:
        >>> ops.vstack([[1, 2], [3, 4]]).numpy()
        array([[1, 2],
               [3, 4]], dtype=int32)
    """
    return dispatch(_vstack, xs)


@array_function("")
def _dstack(xs: Sequence[Array]) -> Array:
    return jnp.dstack(list(map(as_array, xs)))


@operation(_dstack)
def dstack(xs: Sequence[TensorLike]) -> Tensor:
    """Concatenate along the third axis.

    Args:
        xs: List of tensors.

    Example:
        >>> ops.dstack([[1, 2], [3, 4]]).numpy()
        array([[[1, 3],
                [2, 4]]], dtype=int32)
    """
    return dispatch(_dstack, xs)


def _pad_widths(
    pad_width: int | Sequence[int] | Sequence[Sequence[int]],
) -> list[tuple[int, ...]]:
    """Return one pair for all axes, or one pair per axis."""
    if isinstance(pad_width, int):
        return [(pad_width, pad_width)]
    widths: Sequence[Any] = pad_width
    is_pair = isinstance(widths[0], int)
    pairs = [tuple(widths)] if is_pair else [tuple(pair) for pair in widths]
    return [pair * 2 if len(pair) == 1 else pair for pair in pairs]


@array_function("x constant_values")
def _pad(
    x: Array,
    pad_width: int | Sequence[int] | Sequence[Sequence[int]],
    mode: str = "constant",
    constant_values: Array | None = None,
) -> Array:
    if constant_values is not None and mode != "constant":
        raise ValueError(
            f"`constant_values` is valid with mode='constant' only, not with mode={mode!r}. Leave "
            "it out."
        )
    widths = _pad_widths(pad_width)
    if len(widths) not in (1, x.ndim):
        raise ValueError(
            f"`pad_width` has {len(widths)} pairs and `x` of shape {x.shape} has {x.ndim} axes. "
            "Pass one pair for each axis."
        )
    values = {} if constant_values is None else {"constant_values": constant_values}
    return jnp.pad(x, widths * x.ndim if len(widths) == 1 else widths, mode=mode, **values)


@operation(_pad)
def pad(
    x: TensorLike,
    pad_width: int | Sequence[int] | Sequence[Sequence[int]],
    mode: str = "constant",
    constant_values: TensorLike | None = None,
) -> Tensor:
    """Pad a tensor at its edges.

    Args:
        x: Input tensor.
        pad_width: Number of elements to add before and after: an int, a pair for all axes, or one
            pair per axis.
        mode: `constant`, `edge`, `reflect`, `symmetric`, `wrap`, or another mode of `numpy.pad`.
        constant_values: Value of the padding. Only for `mode="constant"`; defaults to 0.

    Example:
        >>> ops.pad([1, 2], (1, 2), constant_values=9).numpy()
        array([9, 1, 2, 9, 9], dtype=int32)
    """
    return dispatch(_pad, x, pad_width, mode, constant_values)
