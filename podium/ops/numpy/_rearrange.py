"""Operations that reorder or repeat elements along axes."""

from __future__ import annotations

import re
from collections.abc import Sequence

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from podium._typing import Axis, TensorLike
from podium.core import Tensor
from podium.ops._operation import array_function, dispatch, operation


def _axis_groups(side: str) -> list[str]:
    """Return the axes of one side of a pattern: `["b", "h w"]` for `"b (h w)"`."""
    return [match.strip("()") for match in re.findall(r"\([^)]*\)|\w+", side)]


@array_function()
def _flip(x: Array, axis: Axis = None) -> Array:
    return jnp.flip(x, axis)


@operation(_flip)
def flip(x: TensorLike, axis: Axis = None) -> Tensor:
    """Reverse the order of elements along axes.

    Args:
        x: Input tensor.
        axis: Axis or axes to reverse. `None` reverses all.

    Example:
        >>> ops.flip([1, 2, 3]).numpy()
        array([3, 2, 1], dtype=int32)
    """
    return dispatch(_flip, x, axis)


@array_function()
def _fliplr(x: Array) -> Array:
    return jnp.fliplr(x)


@operation(_fliplr)
def fliplr(x: TensorLike) -> Tensor:
    """Reverse the order of columns.

    Args:
        x: Input tensor.

    Example:
        >>> ops.fliplr([[1, 2], [3, 4]]).numpy()
        array([[2, 1],
               [4, 3]], dtype=int32)
    """
    return dispatch(_fliplr, x)


@array_function()
def _flipud(x: Array) -> Array:
    return jnp.flipud(x)


@operation(_flipud)
def flipud(x: TensorLike) -> Tensor:
    """Reverse the order of rows.

    Args:
        x: Input tensor.

    Example:
        >>> ops.flipud([[1, 2], [3, 4]]).numpy()
        array([[3, 4],
               [1, 2]], dtype=int32)
    """
    return dispatch(_flipud, x)


@array_function("x")
def _roll(x: Array, shift: int | Sequence[int], axis: Axis = None) -> Array:
    return jnp.roll(x, shift, axis)


@operation(_roll)
def roll(x: TensorLike, shift: int | Sequence[int], axis: Axis = None) -> Tensor:
    """Shift elements along an axis; elements shifted past the end reappear at the start.

    Args:
        x: Input tensor.
        shift: Number of positions to shift by.
        axis: Axis or axes to shift along. `None` shifts the flattened tensor.

    Example:
        >>> ops.roll([1, 2, 3], 1).numpy()
        array([3, 1, 2], dtype=int32)
    """
    return dispatch(_roll, x, shift, axis)


@array_function()
def _rot90(array: Array, k: int = 1, axes: Sequence[int] = (0, 1)) -> Array:
    if array.ndim < 2:
        raise ValueError(f"expected at least two axes and got shape {array.shape}.")
    if len(axes) != 2 or axes[0] == axes[1]:
        raise ValueError("`axes` must be a pair of different axes.")
    return jnp.rot90(array, k=k, axes=(axes[0], axes[1]))


@operation(_rot90)
def rot90(array: TensorLike, k: int = 1, axes: Sequence[int] = (0, 1)) -> Tensor:
    """Rotate by multiples of 90 degrees in the plane of two axes.

    Args:
        array: Input tensor with at least two axes.
        k: Number of rotations by 90 degrees.
        axes: The plane, as a pair of axes.

    Example:
        >>> ops.rot90(np.array([[1, 2], [3, 4]])).numpy()
        array([[2, 4],
               [1, 3]], dtype=int32)
    """
    return dispatch(_rot90, array, k, axes)


@array_function("x")
def _repeat(x: Array, repeats: ArrayLike, axis: int | None = None) -> Array:
    return jnp.repeat(x, repeats, axis=axis)


@operation(_repeat)
def repeat(x: TensorLike, repeats: TensorLike, axis: int | None = None) -> Tensor:
    """Repeat each element.

    Args:
        x: Input tensor.
        repeats: Number of repetitions of each element, an int or one per element.
        axis: Axis to operate along. `None` operates on the flattened tensor.

    Example:
        >>> ops.repeat([1, 2], 2).numpy()
        array([1, 1, 2, 2], dtype=int32)
    """
    return dispatch(_repeat, x, repeats, axis)


@array_function("x")
def _tile(x: Array, repeats: int | Sequence[int]) -> Array:
    return jnp.tile(x, repeats)


@operation(_tile)
def tile(x: TensorLike, repeats: int | Sequence[int]) -> Tensor:
    """Repeat a tensor along its axes.

    Args:
        x: Input tensor.
        repeats: Number of repetitions, an int or one per axis.

    Example:
        >>> ops.tile([1, 2], 2).numpy()
        array([1, 2, 1, 2], dtype=int32)
    """
    return dispatch(_tile, x, repeats)


@array_function("tensor")
def _rearrange(tensor: Array, pattern: str, **axes_lengths: int) -> Array:
    if pattern.count("->") != 1:
        raise ValueError("`pattern` must name the axes before and after: 'b h w -> b (h w)'.")
    before, after = ([g.split() for g in _axis_groups(side)] for side in pattern.split("->"))
    names = [name for group in before for name in group]
    if len(before) != tensor.ndim or sorted(names) != sorted(n for g in after for n in g):
        raise ValueError(
            f"the left side names {len(before)} axes for a tensor of shape {tensor.shape}; both "
            "sides must name the same axes, once each."
        )
    sizes = dict(axes_lengths)
    for group, size in zip(before, tensor.shape, strict=True):
        unknown = [name for name in group if name not in sizes]
        if len(unknown) > 1:
            raise ValueError(
                f"the sizes of {unknown} cannot be computed from {size}. Pass all but one, as "
                f"{unknown[0]}=..."
            )
        for name in unknown:
            known = 1
            for member in group:
                known *= sizes.get(member, 1)
            sizes[name] = size // known
    x = jnp.reshape(tensor, [sizes[name] for name in names])
    x = jnp.transpose(x, [names.index(n) for g in after for n in g])
    merged, position = [], 0
    for group in after:
        size = 1
        for axis in range(position, position + len(group)):
            size *= x.shape[axis]
        merged.append(size)
        position += len(group)
    return jnp.reshape(x, merged)


@operation(_rearrange)
def rearrange(tensor: TensorLike, pattern: str, **axes_lengths: int) -> Tensor:
    """Permute, split and merge axes, described by names (as in `einops.rearrange`).

    Args:
        tensor: Input tensor.
        pattern: Names of the axes before and after: `"b (h w) c -> b c h w"`. Brackets group axes
            that form one.
        **axes_lengths: Sizes of grouped axes that cannot be computed.

    Example:
        >>> ops.rearrange(np.arange(6), "(h w) -> w h", h=2).numpy()
        array([[0, 3],
               [1, 4],
               [2, 5]], dtype=int32)
    """
    return dispatch(_rearrange, tensor, pattern, **axes_lengths)
