"""Joining, cutting and padding tensors."""

import jax
import jax.numpy as jnp
import numpy as np

from podium.ops._promotion import as_array
from podium.ops._table import op, row

dstack = row(
    "dstack(xs)",
    lambda xs: jnp.dstack(list(map(as_array, xs))),
    "Join along the third axis.",
    "ops.dstack([[1, 2], [3, 4]])",
    """array([[[1, 3],
        [2, 4]]], dtype=int32)""",
    "",
)
hstack = row(
    "hstack(xs)",
    lambda xs: jnp.hstack(list(map(as_array, xs))),
    "Join side by side.",
    "ops.hstack([[1, 2], [3, 4]])",
    "array([1, 2, 3, 4], dtype=int32)",
    "",
)
vstack = row(
    "vstack(xs)",
    lambda xs: jnp.vstack(list(map(as_array, xs))),
    "Join as rows.",
    "ops.vstack([[1, 2], [3, 4]])",
    """array([[1, 2],
       [3, 4]], dtype=int32)""",
    "",
)
append = row(
    "append(x1, x2, axis=None)",
    jnp.append,
    "Join two tensors; flattened first if `axis` is `None`.",
    "ops.append([1, 2], [3])",
    "array([1, 2, 3], dtype=int32)",
)
_PARTS = "[part.numpy().tolist() for part in ops.{}]"
dsplit = row(
    "dsplit(x, indices_or_sections)",
    jnp.dsplit,
    "Cut along the third axis.",
    _PARTS.format("dsplit(np.arange(4).reshape(1, 2, 2), 2)"),
    "[[[[0], [2]]], [[[1], [3]]]]",
    "x",
)
hsplit = row(
    "hsplit(x, indices_or_sections)",
    jnp.hsplit,
    "Cut into columns.",
    _PARTS.format("hsplit([[1, 2], [3, 4]], 2)"),
    "[[[1], [3]], [[2], [4]]]",
    "x",
)
vsplit = row(
    "vsplit(x, indices_or_sections)",
    jnp.vsplit,
    "Cut into rows.",
    _PARTS.format("vsplit([[1, 2], [3, 4]], 2)"),
    "[[[1, 2]], [[3, 4]]]",
    "x",
)


@op("")
def concatenate(xs, axis=0):
    """Join tensors along an existing axis.

    Args:
        xs: List of tensors, alike in all axes but `axis`.
        axis: Axis to join along.

    Example:
        >>> ops.concatenate([[[1, 2]], [[3, 4]]], axis=0).numpy()
        array([[1, 2],
               [3, 4]], dtype=int32)
    """
    xs = list(map(as_array, xs))
    try:
        return jnp.concatenate(xs, axis=axis)
    except (TypeError, ValueError) as error:
        shapes = ", ".join(str(x.shape) for x in xs)
        raise ValueError(
            f"shapes must agree in every axis but axis {axis}, and got "
            f"{shapes or 'an empty list'}. Use `ops.stack` to join along a new axis."
        ) from error


@op("")
def stack(x, axis=0):
    """Join tensors along a new axis.

    Args:
        x: List of tensors of one shape.
        axis: Where the new axis will be.

    Example:
        >>> ops.stack([[1, 2], [3, 4]], axis=1).numpy()
        array([[1, 3],
               [2, 4]], dtype=int32)
    """
    x = [as_array(each) for each in x]
    if len({each.shape for each in x}) != 1:
        shapes = ", ".join(str(each.shape) for each in x)
        raise ValueError(
            f"all tensors must have the same shape, and got {shapes or 'an empty list'}."
        )
    return jnp.stack(x, axis=axis)


@op("x")
def split(x, indices_or_sections, axis=0):
    """Cut a tensor into pieces.

    Args:
        x: Input tensor.
        indices_or_sections: Number of equal pieces, or the positions to cut at.
        axis: Axis to cut along.

    Returns:
        A list of tensors.

    Example:
        >>> [part.numpy().tolist() for part in ops.split([1, 2, 3, 4], [1, 3])]
        [[1], [2, 3], [4]]
    """
    sections = indices_or_sections
    if isinstance(sections, int) and isinstance(x.shape[axis], int) and x.shape[axis] % sections:
        raise ValueError(
            f"axis {axis} of shape {x.shape} does not divide into {sections} equal pieces. "
            "Give the positions to cut at, or use `ops.array_split`."
        )
    return jnp.split(x, sections if isinstance(sections, int) else np.asarray(sections), axis=axis)


@op("x")
def array_split(x, indices_or_sections, axis=0):
    """Cut a tensor into pieces that are as equal as possible.

    Args:
        x: Input tensor.
        indices_or_sections: Number of pieces.
        axis: Axis to cut along.

    Returns:
        A list of tensors.

    Example:
        >>> [part.numpy().tolist() for part in ops.array_split([1, 2, 3], 2)]
        [[1, 2], [3]]
    """
    if not isinstance(indices_or_sections, int):
        raise TypeError(
            f"`indices_or_sections` must be an int, not {type(indices_or_sections).__name__}. "
            "For positions, use `ops.split`."
        )
    if indices_or_sections <= 0:
        raise ValueError("`indices_or_sections` must be positive.")
    return jnp.array_split(x, indices_or_sections, axis=axis)


@op("x constant_values")
def pad(x, pad_width, mode="constant", constant_values=None):
    """Add elements at the edges.

    Args:
        x: Input tensor.
        pad_width: How many before and after: an int, a pair for all axes, or one pair for each
            axis.
        mode: `constant`, `edge`, `reflect`, `symmetric`, `wrap`, or another mode of `numpy.pad`.
        constant_values: Value of the padding. Only for `mode="constant"`; defaults to 0.

    Example:
        >>> ops.pad([1, 2], (1, 2), constant_values=9).numpy()
        array([9, 1, 2, 9, 9], dtype=int32)
    """
    if constant_values is not None and mode != "constant":
        raise ValueError(
            f"`constant_values` goes with mode='constant' only, not with mode={mode!r}. Leave it "
            "out."
        )
    widths = [(pad_width, pad_width)] if isinstance(pad_width, int) else list(pad_width)
    widths = [tuple(widths)] if isinstance(widths[0], int) else [tuple(w) for w in widths]
    widths = [w * 2 if len(w) == 1 else w for w in widths]
    if len(widths) not in (1, x.ndim):
        raise ValueError(
            f"`pad_width` has {len(widths)} pairs and `x` of shape {x.shape} has {x.ndim} axes. "
            "Give one pair for each axis."
        )
    values = {} if constant_values is None else {"constant_values": constant_values}
    return jnp.pad(x, widths * x.ndim if len(widths) == 1 else widths, mode=mode, **values)


@op("x")
def unstack(x, num=None, axis=0):
    """Cut a tensor into slices along an axis, which disappears.

    Args:
        x: Input tensor.
        num: Expected number of slices. `None` means do not check.
        axis: Axis to cut along; its size must be known.

    Returns:
        A list of tensors.

    Example:
        >>> [part.numpy().tolist() for part in ops.unstack([[1, 2], [3, 4]])]
        [[1, 2], [3, 4]]
    """
    size = x.shape[axis]
    if not isinstance(size, int) or (num is not None and num != size):
        raise ValueError(
            f"axis {axis} of shape {x.shape} must have a known size"
            + (f", and `num` says {num}." if num else ".")
        )
    return [jax.lax.index_in_dim(x, i, axis, keepdims=False) for i in range(size)]
