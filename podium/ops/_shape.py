"""Operations that rearrange elements: shapes, axes, diagonals, orders."""

import re
from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np

from podium.ops._table import op, row

broadcast_to = row(
    "broadcast_to(x, shape)",
    jnp.broadcast_to,
    "Repeat along axes of size 1 until a shape is reached.",
    "ops.broadcast_to([1, 2], (2, 2))",
    """array([[1, 2],
       [1, 2]], dtype=int32)""",
    "x",
)
diag = row(
    "diag(x, k=0)",
    jnp.diag,
    "The diagonal of a matrix, or a matrix with that diagonal.",
    "ops.diag([1, 2])",
    """array([[1, 0],
       [0, 2]], dtype=int32)""",
)
diagflat = row(
    "diagflat(x, k=0)",
    jnp.diagflat,
    "A matrix with the flattened input on a diagonal.",
    "ops.diagflat([[1], [2]])",
    """array([[1, 0],
       [0, 2]], dtype=int32)""",
)
expand_dims = row(
    "expand_dims(x, axis)",
    lambda x, axis: jnp.expand_dims(x, tuple(axis) if isinstance(axis, list) else axis),
    "Insert axes of size 1.",
    "ops.expand_dims([1, 2], axis=-1)",
    """array([[1],
       [2]], dtype=int32)""",
    "x",
    axis="Where the new axis, or axes, will be.",
)
flip = row(
    "flip(x, axis=None)",
    jnp.flip,
    "Reverse the order along axes.",
    "ops.flip([1, 2, 3])",
    "array([3, 2, 1], dtype=int32)",
)
fliplr = row(
    "fliplr(x)",
    jnp.fliplr,
    "Reverse the columns.",
    "ops.fliplr([[1, 2], [3, 4]])",
    """array([[2, 1],
       [4, 3]], dtype=int32)""",
)
flipud = row(
    "flipud(x)",
    jnp.flipud,
    "Reverse the rows.",
    "ops.flipud([[1, 2], [3, 4]])",
    """array([[3, 4],
       [1, 2]], dtype=int32)""",
)
moveaxis = row(
    "moveaxis(x, source, destination)",
    jnp.moveaxis,
    "Move axes to other positions.",
    "tuple(ops.moveaxis(ops.zeros((2, 3, 4)), 0, -1).shape)",
    "(3, 4, 2)",
    "x",
)
ravel = row(
    "ravel(x)",
    jnp.ravel,
    "Flatten to one axis.",
    "ops.ravel([[1, 2], [3, 4]])",
    "array([1, 2, 3, 4], dtype=int32)",
)
repeat = row(
    "repeat(x, repeats, axis=None)",
    lambda x, repeats, axis: jnp.repeat(x, repeats, axis=axis),
    "Repeat each element.",
    "ops.repeat([1, 2], 2)",
    "array([1, 1, 2, 2], dtype=int32)",
    "x",
)
roll = row(
    "roll(x, shift, axis=None)",
    jnp.roll,
    "Move elements round in a circle.",
    "ops.roll([1, 2, 3], 1)",
    "array([3, 1, 2], dtype=int32)",
    "x",
)
swapaxes = row(
    "swapaxes(x, axis1, axis2)",
    jnp.swapaxes,
    "Exchange two axes.",
    "tuple(ops.swapaxes(ops.zeros((2, 3, 4)), 0, 2).shape)",
    "(4, 3, 2)",
    "x",
)
tile = row(
    "tile(x, repeats)",
    jnp.tile,
    "Repeat the whole tensor.",
    "ops.tile([1, 2], 2)",
    "array([1, 2, 1, 2], dtype=int32)",
    "x",
)
trace = row(
    "trace(x, offset=0, axis1=0, axis2=1)",
    lambda x, offset, axis1, axis2: jnp.trace(x, offset, axis1, axis2),
    "Sum of a diagonal.",
    "ops.trace([[1, 2], [3, 4]])",
    "array(5, dtype=int32)",
)
transpose = row(
    "transpose(x, axes=None)",
    jnp.transpose,
    "Permute the axes; by default reverse them.",
    "ops.transpose([[1, 2], [3, 4]])",
    """array([[1, 3],
       [2, 4]], dtype=int32)""",
    axes="The new order of the axes. `None` reverses it.",
)
tril = row(
    "tril(x, k=0)",
    jnp.tril,
    "Zero everything above a diagonal.",
    "ops.tril([[1, 2], [3, 4]])",
    """array([[1, 0],
       [3, 4]], dtype=int32)""",
)
triu = row(
    "triu(x, k=0)",
    jnp.triu,
    "Zero everything below a diagonal.",
    "ops.triu([[1, 2], [3, 4]])",
    """array([[1, 2],
       [0, 4]], dtype=int32)""",
)

diagonal = row(
    "diagonal(x, offset=0, axis1=0, axis2=1)",
    lambda x, offset, axis1, axis2: jnp.diagonal(x, offset, axis1, axis2),
    "The elements of a diagonal.",
    "ops.diagonal([[1, 2], [3, 4]])",
    "array([1, 4], dtype=int32)",
)


@op("x")
def reshape(x, newshape):
    """Give a tensor another shape with the same number of elements.

    Args:
        x: Input tensor.
        newshape: The new shape. One entry may be -1 (or `None`): it is computed.

    Example:
        >>> ops.reshape([1, 2, 3, 4], (2, -1)).numpy()
        array([[1, 2],
               [3, 4]], dtype=int32)
    """
    shape = tuple(newshape) if isinstance(newshape, (Sequence, np.ndarray)) else (newshape,)
    shape = tuple(-1 if d is None else d for d in shape)
    if shape.count(-1) > 1:
        raise ValueError(
            f"at most one entry of `newshape` may be -1, and {shape} has {shape.count(-1)}. Name "
            "the other sizes."
        )
    try:
        return jnp.reshape(x, shape)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"a tensor of shape {x.shape} cannot take the shape {shape}: both must hold the same "
            "number of elements. Use -1 for one size to have it computed."
        ) from error


@op("x")
def squeeze(x, axis=None):
    """Drop axes of size 1.

    Args:
        x: Input tensor.
        axis: The axis or axes to drop. `None` means every axis of size 1.

    Example:
        >>> ops.squeeze([[[1, 2]]], axis=0).numpy()
        array([[1, 2]], dtype=int32)
    """
    return jnp.squeeze(x, tuple(axis) if isinstance(axis, list) else axis)


@op()
def rot90(array, k=1, axes=(0, 1)):
    """Rotate by quarter turns in the plane of two axes.

    Args:
        array: Input tensor with at least two axes.
        k: Number of quarter turns.
        axes: The plane, as a pair of axes.

    Example:
        >>> ops.rot90(np.array([[1, 2], [3, 4]])).numpy()
        array([[2, 4],
               [1, 3]], dtype=int32)
    """
    if array.ndim < 2:
        raise ValueError(f"expected at least two axes and got shape {array.shape}.")
    if len(axes) != 2 or axes[0] == axes[1]:
        raise ValueError("`axes` must be a pair of different axes.")
    return jnp.rot90(array, k=k, axes=tuple(axes))


@op("tensor")
def rearrange(tensor, pattern, **axes_lengths):
    """Permute, split and merge axes, described by names (as `einops.rearrange`).

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
    if pattern.count("->") != 1:
        raise ValueError("`pattern` must name the axes before and after: 'b h w -> b (h w)'.")
    before, after = ([g.split() for g in _groups(side)] for side in pattern.split("->"))
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
                f"the sizes of {unknown} cannot be computed from {size}. Give all but one, as "
                f"{unknown[0]}=..."
            )
        for name in unknown:
            known = 1
            for other in group:
                known *= sizes.get(other, 1)
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


def _groups(side):
    """The axes of one side of a pattern: `"b (h w)"` gives `["b", "h w"]`."""
    return [match.strip("()") for match in re.findall(r"\([^)]*\)|\w+", side)]
