"""Sliding blocks: unfold and fold, and the exchange of depth and space."""

import jax.numpy as jnp
from jax import lax

from podium.ops._layout import data_format_of, sizes
from podium.ops._table import op


@op("x")
def unfold(x, kernel_size, dilation=1, padding=0, stride=1):
    """Sliding blocks of channels-first images, as columns (im2col).

    Args:
        x: Tensor `(batch, channels, height, width)`.
        kernel_size: Size of a block, an int or a pair.
        dilation: Distance between elements of a block.
        padding: Zeros added on each side.
        stride: Step between blocks.

    Returns:
        Tensor `(batch, channels * block_elements, blocks)`.

    Example:
        >>> ops.unfold(np.arange(4, dtype="float32").reshape(1, 1, 2, 2), 2).numpy().ravel()
        array([0., 1., 2., 3.], dtype=float32)
    """
    if x.ndim != 4:
        raise ValueError(
            f"expected a 4D tensor (batch, channels, height, width) and got shape {x.shape}."
        )
    pads = (padding, padding) if isinstance(padding, int) else tuple(padding)
    patches = lax.conv_general_dilated_patches(
        jnp.pad(x, ((0, 0), (0, 0), (pads[0], pads[0]), (pads[1], pads[1]))),
        filter_shape=sizes("kernel_size", kernel_size, 2),
        window_strides=sizes("stride", stride, 2),
        padding="VALID",
        rhs_dilation=sizes("dilation", dilation, 2),
        dimension_numbers=("NCHW", "OIHW", "NCHW"),
    )
    return jnp.reshape(patches, (x.shape[0], patches.shape[1], -1))


@op("x")
def fold(x, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """Put sliding blocks back into channels-first images, adding where they overlap (col2im).

    Args:
        x: Tensor `(batch, channels * block_elements, blocks)`, as `unfold` gives.
        output_size: Size of the images, an int or a pair.
        kernel_size: Size of a block, an int or a pair.
        dilation: Distance between elements of a block.
        padding: Zeros that had been added on each side.
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
    if x.ndim != 3:
        raise ValueError(
            "expected a 3D tensor (batch, channels * block_elements, blocks) and got shape "
            f"{x.shape}."
        )
    size, kernel = sizes("output_size", output_size, 2), sizes("kernel_size", kernel_size, 2)
    spread, step = sizes("dilation", dilation, 2), sizes("stride", stride, 2)
    pads = (padding, padding) if isinstance(padding, int) else tuple(padding)
    padded = [s + 2 * p for s, p in zip(size, pads, strict=True)]
    counts = [
        (s - d * (k - 1) - 1) // t + 1
        for s, d, k, t in zip(padded, spread, kernel, step, strict=True)
    ]
    blocks = jnp.reshape(x, (x.shape[0], -1, *kernel, *counts))
    out = jnp.zeros((*blocks.shape[:2], *padded), x.dtype)
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            rows = slice(i * spread[0], i * spread[0] + step[0] * counts[0], step[0])
            columns = slice(j * spread[1], j * spread[1] + step[1] * counts[1], step[1])
            out = out.at[:, :, rows, columns].add(blocks[:, :, i, j])
    return out[:, :, pads[0] : pads[0] + size[0], pads[1] : pads[1] + size[1]]


def _check_block(x, block_size):
    if block_size < 2:
        raise ValueError("`block_size` must be at least 2.")
    if x.ndim != 4:
        raise ValueError(f"expected a 4D batch of images and got shape {x.shape}.")


@op("x")
def depth_to_space(x, block_size, data_format="channels_last"):
    """Spread channels over blocks of pixels (pixel shuffle).

    Args:
        x: Batch of images with a multiple of `block_size**2` channels.
        block_size: By how much height and width grow.
        data_format: `channels_last` or `channels_first`.

    Example:
        >>> ops.depth_to_space(np.arange(4).reshape(1, 1, 1, 4), 2).numpy()[0, :, :, 0]
        array([[0, 1],
               [2, 3]], dtype=int32)
    """
    _check_block(x, block_size)
    b = block_size
    if data_format_of(data_format) == "channels_last":
        n, h, w, c = x.shape
        _check_divides("channels", c, b * b)
        x = jnp.transpose(jnp.reshape(x, (n, h, w, b, b, c // b**2)), (0, 1, 3, 2, 4, 5))
        return jnp.reshape(x, (n, h * b, w * b, c // b**2))
    n, c, h, w = x.shape
    _check_divides("channels", c, b * b)
    x = jnp.transpose(jnp.reshape(x, (n, c // b**2, b, b, h, w)), (0, 1, 4, 2, 5, 3))
    return jnp.reshape(x, (n, c // b**2, h * b, w * b))


@op("x")
def space_to_depth(x, block_size, data_format="channels_last"):
    """Gather blocks of pixels into channels (pixel unshuffle): the inverse of `depth_to_space`.

    Args:
        x: Batch of images whose height and width are multiples of `block_size`.
        block_size: By how much height and width shrink.
        data_format: `channels_last` or `channels_first`.

    Example:
        >>> ops.space_to_depth(np.arange(4).reshape(1, 2, 2, 1), 2).numpy().ravel()
        array([0, 1, 2, 3], dtype=int32)
    """
    _check_block(x, block_size)
    b = block_size
    last = data_format_of(data_format) == "channels_last"
    n, h, w, c = x.shape if last else (x.shape[0], *x.shape[2:], x.shape[1])
    _check_divides("height", h, b)
    _check_divides("width", w, b)
    if last:
        x = jnp.transpose(jnp.reshape(x, (n, h // b, b, w // b, b, c)), (0, 1, 3, 2, 4, 5))
        return jnp.reshape(x, (n, h // b, w // b, c * b**2))
    x = jnp.transpose(jnp.reshape(x, (n, c, h // b, b, w // b, b)), (0, 1, 3, 5, 2, 4))
    return jnp.reshape(x, (n, c * b**2, h // b, w // b))


def _check_divides(what, size, factor):
    if size % factor:
        raise ValueError(f"the {what}, {size}, must be a multiple of {factor}.")
