"""Sliding blocks of images: unfold and fold, depth-to-space and space-to-depth."""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp
from jax import Array, lax

from podium._typing import TensorLike
from podium.core import Tensor
from podium.ops._arguments import resolve_data_format, sizes_per_axis
from podium.ops._operation import array_function, dispatch, operation


def _check_block(x: Array, block_size: int) -> None:
    if block_size < 2:
        raise ValueError("`block_size` must be at least 2.")
    if x.ndim != 4:
        raise ValueError(f"expected a 4D batch of images and got shape {x.shape}.")


def _check_divides(what: str, size: int, factor: int) -> None:
    if size % factor:
        raise ValueError(f"the {what}, {size}, must be a multiple of {factor}.")


@array_function("x")
def _unfold(
    x: Array,
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> Array:
    if x.ndim != 4:
        raise ValueError(
            f"expected a 4D tensor (batch, channels, height, width) and got shape {x.shape}."
        )
    pads = (padding, padding) if isinstance(padding, int) else tuple(padding)
    patches = lax.conv_general_dilated_patches(
        jnp.pad(x, ((0, 0), (0, 0), (pads[0], pads[0]), (pads[1], pads[1]))),
        filter_shape=sizes_per_axis("kernel_size", kernel_size, 2),
        window_strides=sizes_per_axis("stride", stride, 2),
        padding="VALID",
        rhs_dilation=sizes_per_axis("dilation", dilation, 2),
        dimension_numbers=("NCHW", "OIHW", "NCHW"),
    )
    return jnp.reshape(patches, (x.shape[0], patches.shape[1], -1))


@operation(_unfold)
def unfold(
    x: TensorLike,
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> Tensor:
    """Extract sliding blocks of channels-first images as columns (im2col).

    Args:
        x: Tensor `(batch, channels, height, width)`.
        kernel_size: Size of a block, an int or a pair.
        dilation: Distance between elements of a block.
        padding: Number of zeros to add on each side.
        stride: Step between blocks.

    Returns:
        Tensor `(batch, channels * block_elements, blocks)`.

    Example:
        >>> ops.unfold(np.arange(4, dtype="float32").reshape(1, 1, 2, 2), 2).numpy().ravel()
        array([0., 1., 2., 3.], dtype=float32)
    """
    return dispatch(_unfold, x, kernel_size, dilation, padding, stride)


@array_function("x")
def _fold(
    x: Array,
    output_size: int | Sequence[int],
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> Array:
    if x.ndim != 3:
        raise ValueError(
            "expected a 3D tensor (batch, channels * block_elements, blocks) and got shape "
            f"{x.shape}."
        )
    size, kernel = (
        sizes_per_axis("output_size", output_size, 2),
        sizes_per_axis("kernel_size", kernel_size, 2),
    )
    rate, step = sizes_per_axis("dilation", dilation, 2), sizes_per_axis("stride", stride, 2)
    pads = (padding, padding) if isinstance(padding, int) else tuple(padding)
    padded = [s + 2 * p for s, p in zip(size, pads, strict=True)]
    counts = [
        (s - d * (k - 1) - 1) // t + 1
        for s, d, k, t in zip(padded, rate, kernel, step, strict=True)
    ]
    blocks = jnp.reshape(x, (x.shape[0], -1, *kernel, *counts))
    out = jnp.zeros((*blocks.shape[:2], *padded), x.dtype)
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            rows = slice(i * rate[0], i * rate[0] + step[0] * counts[0], step[0])
            columns = slice(j * rate[1], j * rate[1] + step[1] * counts[1], step[1])
            out = out.at[:, :, rows, columns].add(blocks[:, :, i, j])
    return out[:, :, pads[0] : pads[0] + size[0], pads[1] : pads[1] + size[1]]


@operation(_fold)
def fold(
    x: TensorLike,
    output_size: int | Sequence[int],
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> Tensor:
    """Combine sliding blocks into channels-first images, summing where they overlap (col2im).

    Args:
        x: Tensor `(batch, channels * block_elements, blocks)`, as `unfold` returns.
        output_size: Size of the images, an int or a pair.
        kernel_size: Size of a block, an int or a pair.
        dilation: Distance between elements of a block.
        padding: Number of zeros that `unfold` added on each side.
        stride: Step between blocks.

    Returns:
        Tensor `(batch, channels, height, width)`.

    Example:
        >>> blocks = ops.unfold(np.ones((1, 1, 3, 3), "float32"), 2)
        >>> ops.fold(blocks, 3, 2).numpy()[0, 0]
        array([[1., 2., 1.],
               [2., 4., 2.],
               [1., 2., 1.]], dtype=float32)
    """
    return dispatch(_fold, x, output_size, kernel_size, dilation, padding, stride)


@array_function("x")
def _depth_to_space(x: Array, block_size: int, data_format: str = "channels_last") -> Array:
    _check_block(x, block_size)
    b = block_size
    if resolve_data_format(data_format) == "channels_last":
        n, h, w, c = x.shape
        _check_divides("channels", c, b * b)
        x = jnp.transpose(jnp.reshape(x, (n, h, w, b, b, c // b**2)), (0, 1, 3, 2, 4, 5))
        return jnp.reshape(x, (n, h * b, w * b, c // b**2))
    n, c, h, w = x.shape
    _check_divides("channels", c, b * b)
    x = jnp.transpose(jnp.reshape(x, (n, c // b**2, b, b, h, w)), (0, 1, 4, 2, 5, 3))
    return jnp.reshape(x, (n, c // b**2, h * b, w * b))


@operation(_depth_to_space)
def depth_to_space(x: TensorLike, block_size: int, data_format: str = "channels_last") -> Tensor:
    """Rearrange channels into blocks of pixels (pixel shuffle).

    Args:
        x: Batch of images with a multiple of `block_size**2` channels.
        block_size: Factor by which height and width grow.
        data_format: `channels_last` or `channels_first`.

    Example:
        >>> ops.depth_to_space(np.arange(4).reshape(1, 1, 1, 4), 2).numpy()[0, :, :, 0]
        array([[0, 1],
               [2, 3]], dtype=int32)
    """
    return dispatch(_depth_to_space, x, block_size, data_format)


@array_function("x")
def _space_to_depth(x: Array, block_size: int, data_format: str = "channels_last") -> Array:
    _check_block(x, block_size)
    b = block_size
    last = resolve_data_format(data_format) == "channels_last"
    n, h, w, c = x.shape if last else (x.shape[0], *x.shape[2:], x.shape[1])
    _check_divides("height", h, b)
    _check_divides("width", w, b)
    if last:
        x = jnp.transpose(jnp.reshape(x, (n, h // b, b, w // b, b, c)), (0, 1, 3, 2, 4, 5))
        return jnp.reshape(x, (n, h // b, w // b, c * b**2))
    x = jnp.transpose(jnp.reshape(x, (n, c, h // b, b, w // b, b)), (0, 1, 3, 5, 2, 4))
    return jnp.reshape(x, (n, c * b**2, h // b, w // b))


@operation(_space_to_depth)
def space_to_depth(x: TensorLike, block_size: int, data_format: str = "channels_last") -> Tensor:
    """Rearrange blocks of pixels into channels (pixel unshuffle): the inverse of `depth_to_space`.

    Args:
        x: Batch of images whose height and width are multiples of `block_size`.
        block_size: Factor by which height and width shrink.
        data_format: `channels_last` or `channels_first`.

    Example:
        >>> ops.space_to_depth(np.arange(4).reshape(1, 2, 2, 1), 2).numpy().ravel()
        array([0, 1, 2, 3], dtype=int32)
    """
    return dispatch(_space_to_depth, x, block_size, data_format)
