"""Pixel values in `tf.image`: dtypes, color spaces, brightness and contrast."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from podium import ops
from podium._typing import DTypeLike, TensorLike
from podium.compat.tensorflow._decorators import fold_constants, lift_with_promotion
from podium.compat.tensorflow._dtypes import canonical_dtype
from podium.compat.tensorflow.random._random import uniform
from podium.core import Tensor, convert_to_tensor, is_float_dtype


def convert_image_dtype(
    image: TensorLike, dtype: DTypeLike, saturate: bool = False, name: str | None = None
) -> Tensor:
    """Convert the dtype and the range: floats are in [0, 1], ints use the full range of the dtype.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.image.convert_image_dtype(np.array([0, 255], "uint8"), tf.float32).numpy()
        array([0., 1.], dtype=float32)
    """
    old, new = ops.dtype(image), canonical_dtype(dtype)
    if old == new:
        tensor: Tensor = convert_to_tensor(image)
        return tensor
    if is_float_dtype(new):
        scale = 1.0 if is_float_dtype(old) else 1.0 / jnp.iinfo(old).max
        return ops.multiply(ops.cast(image, new), scale) if scale != 1.0 else ops.cast(image, new)
    if is_float_dtype(old):
        scaled = ops.multiply(image, jnp.iinfo(new).max + 0.5)
        return ops.saturate_cast(scaled, new) if saturate else ops.cast(scaled, new)
    return convert_image_dtype(convert_image_dtype(image, "float32"), new, saturate)


def _adjust_as_float(
    adjust: Callable[[TensorLike, TensorLike], Tensor], image: TensorLike, amount: TensorLike
) -> Tensor:
    """Apply an adjustment of float images to float or integer images."""
    dtype = ops.dtype(image)
    if is_float_dtype(dtype):
        return adjust(image, amount)
    adjusted = adjust(convert_image_dtype(image, "float32"), amount)
    return convert_image_dtype(adjusted, dtype, saturate=True)


@fold_constants
def adjust_brightness(image: TensorLike, delta: TensorLike, name: str | None = None) -> Tensor:
    """Add `delta` to every pixel.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.image.adjust_brightness(tf.fill((1, 1, 3), 0.5), 0.25).numpy().ravel()
        array([0.75, 0.75, 0.75], dtype=float32)
    """
    return _adjust_as_float(ops.add, image, delta)


@fold_constants
def adjust_contrast(
    images: TensorLike, contrast_factor: TensorLike, name: str | None = None
) -> Tensor:
    """Scale the difference of pixels from the mean of their channel.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.image.adjust_contrast(tf.fill((1, 1, 3), 0.5), 2.0).numpy().ravel()
        array([0.5, 0.5, 0.5], dtype=float32)
    """
    return _adjust_as_float(_adjust_contrast, images, contrast_factor)


@lift_with_promotion
def _adjust_contrast(image: TensorLike, factor: TensorLike) -> jax.Array:
    image = jnp.asarray(image)
    mean = jnp.mean(image, axis=(-3, -2), keepdims=True)
    return (image - mean) * jnp.asarray(factor) + mean


@fold_constants
def adjust_hue(image: TensorLike, delta: TensorLike, name: str | None = None) -> Tensor:
    """Rotate the hue; `delta` is a fraction of a full turn.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.image.adjust_hue(tf.fill((1, 1, 3), 0.5), 0.1).numpy().ravel()
        array([0.5, 0.5, 0.5], dtype=float32)
    """
    return _adjust_as_float(_adjust_hue, image, delta)


def _adjust_hue(image: TensorLike, delta: TensorLike) -> Tensor:
    hue, saturation, value = ops.unstack(ops.image.rgb_to_hsv(image, "channels_last"), axis=-1)
    hue = ops.mod(ops.add(hue, delta), 1.0)
    return ops.image.hsv_to_rgb(ops.stack([hue, saturation, value], axis=-1), "channels_last")


@fold_constants
def adjust_saturation(
    image: TensorLike, saturation_factor: TensorLike, name: str | None = None
) -> Tensor:
    """Scale the saturation of colors.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.image.adjust_saturation(tf.fill((1, 1, 3), 0.5), 0.1).numpy().ravel()
        array([0.5, 0.5, 0.5], dtype=float32)
    """
    return _adjust_as_float(_adjust_saturation, image, saturation_factor)


def _adjust_saturation(image: TensorLike, factor: TensorLike) -> Tensor:
    hue, saturation, value = ops.unstack(ops.image.rgb_to_hsv(image, "channels_last"), axis=-1)
    saturation = ops.clip(ops.multiply(saturation, factor), 0.0, 1.0)
    return ops.image.hsv_to_rgb(ops.stack([hue, saturation, value], axis=-1), "channels_last")


def random_brightness(image: TensorLike, max_delta: float, seed: int | None = None) -> Tensor:
    """Add a random number between `-max_delta` and `max_delta`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.image.random_brightness(tf.zeros((4, 4, 3)), 0.1).shape
        (4, 4, 3)
    """
    return adjust_brightness(image, uniform((), -max_delta, max_delta, seed=seed))


def random_contrast(
    image: TensorLike, lower: float, upper: float, seed: int | None = None
) -> Tensor:
    """Scale the contrast by a random factor.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.image.random_contrast(tf.zeros((4, 4, 3)), 0.5, 1.5).shape
        (4, 4, 3)
    """
    return adjust_contrast(image, uniform((), lower, upper, seed=seed))


def random_hue(image: TensorLike, max_delta: float, seed: int | None = None) -> Tensor:
    """Rotate the hue by a random fraction of a turn between `-max_delta` and `max_delta`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.image.random_hue(tf.zeros((4, 4, 3)), 0.1).shape
        (4, 4, 3)
    """
    return adjust_hue(image, uniform((), -max_delta, max_delta, seed=seed))


def random_saturation(
    image: TensorLike, lower: float, upper: float, seed: int | None = None
) -> Tensor:
    """Scale the saturation of colors by a random factor.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.image.random_saturation(tf.zeros((4, 4, 3)), 0.5, 1.5).shape
        (4, 4, 3)
    """
    return adjust_saturation(image, uniform((), lower, upper, seed=seed))


@fold_constants
def rgb_to_grayscale(images: TensorLike, name: str | None = None) -> Tensor:
    """Convert RGB images to one channel of luma.

    The same as `podium.ops.image.rgb_to_grayscale`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.image.rgb_to_grayscale(np.ones((1, 1, 3), "float32")).numpy().round(3)
        array([[[1.]]], dtype=float32)
    """
    return ops.image.rgb_to_grayscale(images, "channels_last")


@fold_constants
def rgb_to_hsv(images: TensorLike, name: str | None = None) -> Tensor:
    """Convert RGB images to hue, saturation and value.

    The same as `podium.ops.image.rgb_to_hsv`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.image.rgb_to_hsv(np.array([[[0.0, 1.0, 0.0]]])).numpy().ravel().round(3)
        array([0.333, 1.   , 1.   ], dtype=float32)
    """
    return ops.image.rgb_to_hsv(images, "channels_last")


@fold_constants
def hsv_to_rgb(images: TensorLike, name: str | None = None) -> Tensor:
    """Convert hue, saturation and value to RGB images.

    The same as `podium.ops.image.hsv_to_rgb`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.image.hsv_to_rgb(np.array([[[1 / 3, 1.0, 1.0]]])).numpy().ravel().round(3)
        array([0., 1., 0.], dtype=float32)
    """
    return ops.image.hsv_to_rgb(images, "channels_last")


@lift_with_promotion
def _grayscale_to_rgb(x: TensorLike) -> jax.Array:
    return jnp.repeat(jnp.asarray(x), 3, axis=-1)


@fold_constants
def grayscale_to_rgb(images: TensorLike, name: str | None = None) -> Tensor:
    """Repeat the only channel three times.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.image.grayscale_to_rgb(tf.zeros((4, 4, 1))).shape
        (4, 4, 3)
    """
    return _grayscale_to_rgb(images)


_RGB_TO_YUV = np.array(
    [
        [0.299, -0.14714119, 0.61497538],
        [0.587, -0.28886916, -0.51496512],
        [0.114, 0.43601035, -0.10001026],
    ],
    "float32",
)


def _convert_colors(x: TensorLike, matrix: np.ndarray[Any, Any]) -> jax.Array:
    return jnp.tensordot(jnp.asarray(x), jnp.asarray(matrix, jnp.asarray(x).dtype), axes=1)


@lift_with_promotion
def _rgb_to_yuv(x: TensorLike) -> jax.Array:
    return _convert_colors(x, _RGB_TO_YUV)


@fold_constants
def rgb_to_yuv(images: TensorLike, name: str | None = None) -> Tensor:
    """Convert RGB images to luma and two chroma channels.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.image.rgb_to_yuv(tf.ones((1, 1, 3))).numpy().round(3).ravel() + 0.0
        array([1., 0., 0.], dtype=float32)
    """
    return _rgb_to_yuv(images)


@lift_with_promotion
def _yuv_to_rgb(x: TensorLike) -> jax.Array:
    return _convert_colors(x, np.linalg.inv(_RGB_TO_YUV))


@fold_constants
def yuv_to_rgb(images: TensorLike, name: str | None = None) -> Tensor:
    """Convert luma and chroma channels to RGB images.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.image.yuv_to_rgb(tf.image.rgb_to_yuv(tf.ones((1, 1, 3)))).numpy().round(3).ravel()
        array([1., 1., 1.], dtype=float32)
    """
    return _yuv_to_rgb(images)
