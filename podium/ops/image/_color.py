"""Conversions between color spaces."""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
from jax import Array

from podium._typing import TensorLike
from podium.core import Tensor
from podium.ops._arguments import check_images, resolve_data_format
from podium.ops._operation import array_function, dispatch, operation
from podium.ops._promotion import is_integer, result_type


def _split_channels(
    images: Array, data_format: str | None
) -> tuple[Array, Callable[[list[Array]], Array]]:
    """Return the three color channels, and the function that stacks channels again."""
    data_format = resolve_data_format(data_format)
    check_images(images)
    axis = -1 if data_format == "channels_last" else -3
    if is_integer(images):
        raise ValueError(
            f"expected floats between 0 and 1 and got {images.dtype}. Divide by 255 first."
        )
    if images.shape[axis] != 3:
        raise ValueError(f"expected 3 channels ({data_format}) and got shape {images.shape}.")
    return jnp.moveaxis(images, axis, 0), lambda channels: jnp.stack(channels, axis=axis)


@array_function("images")
def _rgb_to_grayscale(images: Array, data_format: str | None = None) -> Array:
    data_format = resolve_data_format(data_format)
    check_images(images)
    axis = -1 if data_format == "channels_last" else -3
    if images.shape[axis] not in (1, 3):
        raise ValueError(
            f"expected 3 channels, or 1 ({data_format}), and got shape {images.shape}."
        )
    if images.shape[axis] == 1:
        return images
    wide = images.astype(result_type(images.dtype, float))
    gray = jnp.tensordot(wide, jnp.asarray([0.2989, 0.5870, 0.1140], wide.dtype), axes=(axis, 0))
    return jnp.expand_dims(gray, axis).astype(images.dtype)


@operation(_rgb_to_grayscale)
def rgb_to_grayscale(images: TensorLike, data_format: str | None = None) -> Tensor:
    """Convert RGB images to grayscale, with one channel.

    Args:
        images: One image or a batch, with 3 channels (or 1, returned unchanged).
        data_format: `channels_last` or `channels_first`. `None` means the default.

    Example:
        >>> ops.image.rgb_to_grayscale(np.ones((1, 1, 3), "float32")).numpy().round(3)
        array([[[1.]]], dtype=float32)
    """
    return dispatch(_rgb_to_grayscale, images, data_format)


@array_function("images")
def _rgb_to_hsv(images: Array, data_format: str | None = None) -> Array:
    channels, stack = _split_channels(images, data_format)
    red, green, blue = jnp.where(jnp.abs(channels) < jnp.finfo(channels.dtype).eps, 0, channels)
    value = jnp.maximum(jnp.maximum(red, green), blue)
    chroma = value - jnp.minimum(jnp.minimum(red, green), blue)
    scaled_chroma = 6.0 * jnp.where(chroma > 0, chroma, 1)
    saturation = jnp.where(value > 0, chroma / jnp.where(value > 0, value, 1), 0)
    hue = jnp.where(
        value == green, (blue - red) / scaled_chroma + 2 / 6, (red - green) / scaled_chroma + 4 / 6
    )
    hue = jnp.where(value == red, (green - blue) / scaled_chroma, hue)
    hue = jnp.where(chroma > 0, hue, 0) + (hue < 0)
    return stack([hue.astype(value.dtype), saturation, value])


@operation(_rgb_to_hsv)
def rgb_to_hsv(images: TensorLike, data_format: str | None = None) -> Tensor:
    """Convert RGB to hue, saturation and value, all between 0 and 1.

    Args:
        images: One image or a batch of floats.
        data_format: `channels_last` or `channels_first`. `None` means the default.

    Example:
        >>> ops.image.rgb_to_hsv(np.array([[[0.0, 1.0, 0.0]]])).numpy().ravel().round(3)
        array([0.333, 1.   , 1.   ], dtype=float32)
    """
    return dispatch(_rgb_to_hsv, images, data_format)


@array_function("images")
def _hsv_to_rgb(images: Array, data_format: str | None = None) -> Array:
    (hue, saturation, value), stack = _split_channels(images, data_format)
    sector = jnp.mod(hue, 1.0) * 6.0
    channels = [
        jnp.abs(sector - 3.0) - 1.0,
        2.0 - jnp.abs(sector - 2.0),
        2.0 - jnp.abs(sector - 4.0),
    ]
    return stack(
        [value * (1.0 - saturation + saturation * jnp.clip(s, 0.0, 1.0)) for s in channels]
    )


@operation(_hsv_to_rgb)
def hsv_to_rgb(images: TensorLike, data_format: str | None = None) -> Tensor:
    """Convert hue, saturation and value, all between 0 and 1, to RGB.

    Args:
        images: One image or a batch of floats.
        data_format: `channels_last` or `channels_first`. `None` means the default.

    Example:
        >>> ops.image.hsv_to_rgb(np.array([[[1 / 3, 1.0, 1.0]]])).numpy().ravel().round(3)
        array([0., 1., 0.], dtype=float32)
    """
    return dispatch(_hsv_to_rgb, images, data_format)
