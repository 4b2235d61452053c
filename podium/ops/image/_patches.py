"""Extraction of patches from images and volumes."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax import Array

from podium._typing import TensorLike
from podium.core import Tensor, check_choice
from podium.ops._arguments import (
    PADDINGS,
    from_channels_last,
    resolve_data_format,
    sizes_per_axis,
    to_channels_last,
)
from podium.ops._operation import array_function, dispatch, operation


def _extract_flat_patches(
    x: Array,
    size: int | Sequence[int],
    strides: int | Sequence[int] | None,
    dilation_rate: int | Sequence[int],
    padding: str,
    data_format: str | None,
    rank: int,
) -> Array:
    data_format = resolve_data_format(data_format)
    if x.ndim not in (rank + 1, rank + 2):
        raise ValueError(
            f"expected {rank + 1} axes, or {rank + 2} for a batch, and got shape {x.shape}."
        )
    window = sizes_per_axis("size", size, rank)
    steps = sizes_per_axis("strides", strides, rank) if strides else window
    padding = check_choice("padding", padding.lower(), PADDINGS)
    spatial = "DHW"[-rank:]
    y = to_channels_last(x, data_format, axis=-1 - rank)
    y = y if x.ndim == rank + 2 else y[None]
    patches = jax.lax.conv_general_dilated_patches(
        y,
        filter_shape=window,
        window_strides=steps,
        padding=padding.upper(),
        rhs_dilation=sizes_per_axis("dilation_rate", dilation_rate, rank),
        dimension_numbers=(f"N{spatial}C", f"{spatial}IO", f"N{spatial}C"),
    )
    # JAX orders a patch channel first, Keras channel last.
    patches = patches.reshape(*patches.shape[:-1], y.shape[-1], -1)
    patches = jnp.swapaxes(patches, -1, -2).reshape(*patches.shape[:-2], -1)
    patches = patches if x.ndim == rank + 2 else patches[0]
    return from_channels_last(patches, data_format, axis=-1 - rank)


@array_function("images")
def _extract_patches(
    images: Array,
    size: int | Sequence[int],
    strides: int | Sequence[int] | None = None,
    dilation_rate: int | Sequence[int] = 1,
    padding: str = "valid",
    data_format: str | None = None,
) -> Array:
    if not isinstance(size, (int, tuple, list)):
        raise TypeError(f"`size` must be an int or a tuple, not {type(size).__name__}.")
    if not isinstance(size, int) and len(size) not in (2, 3):
        raise ValueError("`size` must have two or three numbers.")
    rank = 2 if isinstance(size, int) else len(size)
    return _extract_flat_patches(images, size, strides, dilation_rate, padding, data_format, rank)


@operation(_extract_patches)
def extract_patches(
    images: TensorLike,
    size: int | Sequence[int],
    strides: int | Sequence[int] | None = None,
    dilation_rate: int | Sequence[int] = 1,
    padding: str = "valid",
    data_format: str | None = None,
) -> Tensor:
    """Extract patches of images (or volumes), flattened into channels.

    Args:
        images: One image or a batch; with a `size` of three numbers, one volume or a batch.
        size: Size of a patch: an int or a pair, or three numbers for volumes.
        strides: Step between patches. `None` means `size`: no overlap.
        dilation_rate: Distance between pixels of a patch.
        padding: `valid` or `same`.
        data_format: `channels_last` or `channels_first`. `None` means the default.

    Returns:
        Tensor `(..., rows, columns, patch_height * patch_width * channels)`.

    Example:
        >>> image = np.arange(4, dtype="float32").reshape(2, 2, 1)
        >>> ops.image.extract_patches(image, 2).numpy().ravel()
        array([0., 1., 2., 3.], dtype=float32)
    """
    return dispatch(_extract_patches, images, size, strides, dilation_rate, padding, data_format)


@array_function("volumes")
def _extract_patches_3d(
    volumes: Array,
    size: int | Sequence[int],
    strides: int | Sequence[int] | None = None,
    dilation_rate: int | Sequence[int] = 1,
    padding: str = "valid",
    data_format: str | None = None,
) -> Array:
    return _extract_flat_patches(volumes, size, strides, dilation_rate, padding, data_format, 3)


@operation(_extract_patches_3d)
def extract_patches_3d(
    volumes: TensorLike,
    size: int | Sequence[int],
    strides: int | Sequence[int] | None = None,
    dilation_rate: int | Sequence[int] = 1,
    padding: str = "valid",
    data_format: str | None = None,
) -> Tensor:
    """Extract patches of volumes, flattened into channels.

    Args:
        volumes: One volume `(depth, height, width, channels)` or a batch.
        size: Size of a patch: an int or three numbers.
        strides: Step between patches. `None` means `size`: no overlap.
        dilation_rate: Distance between voxels of a patch.
        padding: `valid` or `same`.
        data_format: `channels_last` or `channels_first`. `None` means the default.

    Returns:
        Tensor `(..., depths, rows, columns, patch_voxels * channels)`.

    Example:
        >>> tuple(ops.image.extract_patches_3d(np.ones((4, 4, 4, 1), "float32"), 2).shape)
        (2, 2, 2, 8)
    """
    return dispatch(
        _extract_patches_3d, volumes, size, strides, dilation_rate, padding, data_format
    )
