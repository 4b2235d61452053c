"""Resizing and scaling of images."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax import Array

from podium._typing import TensorLike
from podium.core import Tensor, check_choice
from podium.ops._arguments import (
    check_images,
    from_channels_last,
    resolve_data_format,
    to_channels_last,
)
from podium.ops._casting import _saturate_cast
from podium.ops._operation import array_function, dispatch, operation
from podium.ops._promotion import is_integer

INTERPOLATIONS = ("bilinear", "nearest", "lanczos3", "lanczos5", "bicubic")
SCALE_METHODS = (
    "linear",
    "bilinear",
    "trilinear",
    "cubic",
    "bicubic",
    "tricubic",
    "lanczos3",
    "lanczos5",
)


def _crop_to_ratio(x: Array, size: Sequence[int]) -> Array:
    (height, width), (target_height, target_width) = x.shape[-3:-1], size
    new_height = max(min(height, width * target_height // target_width), 1)
    new_width = max(min(width, height * target_width // target_height), 1)
    top, left = (height - new_height) // 2, (width - new_width) // 2
    return x[..., top : top + new_height, left : left + new_width, :]


def _pad_to_ratio(x: Array, size: Sequence[int], fill_value: float) -> Array:
    (height, width), (target_height, target_width) = x.shape[-3:-1], size
    rows = max(height, width * target_height // target_width) - height
    columns = max(width, height * target_width // target_height) - width
    pads = [(0, 0)] * (x.ndim - 3) + [(rows // 2, rows // 2), (columns // 2, columns // 2), (0, 0)]
    return jnp.pad(x, pads, constant_values=jnp.asarray(fill_value, x.dtype))


@array_function("images")
def _resize(
    images: Array,
    size: Sequence[int],
    interpolation: str = "bilinear",
    antialias: bool = False,
    crop_to_aspect_ratio: bool = False,
    pad_to_aspect_ratio: bool = False,
    fill_mode: str = "constant",
    fill_value: float = 0.0,
    data_format: str | None = None,
) -> Array:
    check_choice("interpolation", interpolation, INTERPOLATIONS)
    check_choice("fill_mode", fill_mode, ("constant",))
    data_format = resolve_data_format(data_format)
    check_images(images)
    if len(size) != 2 or size[0] <= 0 or size[1] <= 0:
        raise ValueError("`size` must be a pair of positive numbers: (height, width).")
    if crop_to_aspect_ratio and pad_to_aspect_ratio:
        raise ValueError(
            "only one of `crop_to_aspect_ratio` and `pad_to_aspect_ratio` can be true."
        )
    x = to_channels_last(images, data_format, axis=-3)
    if crop_to_aspect_ratio:
        x = _crop_to_ratio(x, size)
    elif pad_to_aspect_ratio:
        x = _pad_to_ratio(x, size, fill_value)
    if is_integer(x) and interpolation != "nearest":
        x = x.astype("float32")
    x = jax.image.resize(
        x, (*x.shape[:-3], *size, x.shape[-1]), method=interpolation, antialias=antialias
    )
    if x.dtype != images.dtype:
        x = _saturate_cast(jnp.round(x) if is_integer(images) else x, images.dtype.name)
    return from_channels_last(x, data_format, axis=-3)


@operation(_resize)
def resize(
    images: TensorLike,
    size: Sequence[int],
    interpolation: str = "bilinear",
    antialias: bool = False,
    crop_to_aspect_ratio: bool = False,
    pad_to_aspect_ratio: bool = False,
    fill_mode: str = "constant",
    fill_value: float = 0.0,
    data_format: str | None = None,
) -> Tensor:
    """Resize images.

    Args:
        images: One image `(height, width, channels)` or a batch of them. Integers are rounded back
            to their dtype.
        size: New height and width.
        interpolation: `bilinear`, `nearest`, `bicubic`, `lanczos3` or `lanczos5`.
        antialias: Whether to apply a smoothing filter when downsampling.
        crop_to_aspect_ratio: Whether to crop to the new aspect ratio instead of distorting.
        pad_to_aspect_ratio: Whether to pad to the new aspect ratio instead of distorting.
        fill_mode: Mode of the padding: `constant`.
        fill_value: Value of the padding.
        data_format: `channels_last` or `channels_first`. `None` means the default.

    Example:
        >>> image = np.array([[[0.0], [4.0]]])
        >>> ops.image.resize(image, (1, 4)).numpy().ravel()
        array([0., 1., 3., 4.], dtype=float32)
    """
    return dispatch(
        _resize,
        images,
        size,
        interpolation,
        antialias,
        crop_to_aspect_ratio,
        pad_to_aspect_ratio,
        fill_mode,
        fill_value,
        data_format,
    )


@array_function("images scale translation")
def _scale_and_translate(
    images: Array,
    output_shape: Sequence[int],
    scale: Array,
    translation: Array,
    spatial_dims: Sequence[int],
    method: str,
    antialias: bool = True,
) -> Array:
    check_choice("method", method, SCALE_METHODS)
    scaled: Array = jax.image.scale_and_translate(
        images, output_shape, spatial_dims, scale, translation, method, antialias
    )
    return scaled


@operation(_scale_and_translate)
def scale_and_translate(
    images: TensorLike,
    output_shape: Sequence[int],
    scale: TensorLike,
    translation: TensorLike,
    spatial_dims: Sequence[int],
    method: str,
    antialias: bool = True,
) -> Tensor:
    """Scale and translate images by amounts that may be computed.

    Args:
        images: Input tensor.
        output_shape: Shape of the result.
        scale: Tensor: scale along each of `spatial_dims`.
        translation: Tensor: shift along each of `spatial_dims`, in pixels of the result.
        spatial_dims: The spatial axes.
        method: `linear`, `cubic`, `lanczos3` or `lanczos5` (also `bilinear`, `trilinear`,
            `bicubic`, `tricubic`).
        antialias: Whether to apply a smoothing filter when downsampling.

    Example:
        >>> image = np.arange(4, dtype="float32").reshape(2, 2, 1)
        >>> scale, translation = [1.0, 1.0], [0.0, 1.0]
        >>> ops.image.scale_and_translate(
        ...     image, (2, 2, 1), scale, translation, (0, 1), "linear").numpy()[..., 0]
        array([[0., 0.],
               [0., 2.]], dtype=float32)
    """
    return dispatch(
        _scale_and_translate,
        images,
        output_shape,
        scale,
        translation,
        spatial_dims,
        method,
        antialias,
    )
