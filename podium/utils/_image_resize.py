"""Resizing of images with NumPy on the host: files differ in size, and a compiled function would be
compiled for each size.

The weights are those of `tf.image.resize` without antialiasing, which Keras uses to read
directories of images.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from podium import ops
from podium._typing import TensorLike
from podium.core import Tensor, check_choice, is_tensor

Pixels: TypeAlias = np.ndarray[Any, Any]


def _cubic(x: Pixels, b: float, c: float) -> Pixels:
    """Mitchell and Netravali's cubic kernels."""
    x = np.abs(x)
    near = (12 - 9 * b - 6 * c) * x**3 + (-18 + 12 * b + 6 * c) * x**2 + (6 - 2 * b)
    far = (-b - 6 * c) * x**3 + (6 * b + 30 * c) * x**2 + (-12 * b - 48 * c) * x + (8 * b + 24 * c)
    return np.where(x < 1, near, np.where(x < 2, far, 0)) / 6


def _lanczos(x: Pixels, radius: int) -> Pixels:
    return np.where(np.abs(x) < radius, np.sinc(x) * np.sinc(x / radius), 0)


# Kernel, and its radius in pixels of the input image.
_KERNELS: dict[str, tuple[Callable[[Pixels], Pixels], float]] = {
    "bilinear": (lambda x: np.maximum(1 - np.abs(x), 0), 1),
    "bicubic": (lambda x: _cubic(x, 0, 0.5), 2),
    "mitchellcubic": (lambda x: _cubic(x, 1 / 3, 1 / 3), 2),
    "gaussian": (lambda x: np.where(np.abs(x) <= 1.5, np.exp(-2 * x**2), 0), 1.5),
    "lanczos3": (lambda x: _lanczos(x, 3), 3),
    "lanczos5": (lambda x: _lanczos(x, 5), 5),
}
INTERPOLATIONS = (
    "bilinear",
    "nearest",
    "bicubic",
    "area",
    "lanczos3",
    "lanczos5",
    "gaussian",
    "mitchellcubic",
)


def resize_array(image: Pixels, size: tuple[int, int], interpolation: str) -> Pixels:
    """Resize images `(..., height, width, channels)`; the result is float32."""
    for axis, length in ((-3, size[0]), (-2, size[1])):
        indices, weights = _interpolation_weights(image.shape[axis], length, interpolation)
        shape = (-1, *(1,) * (-axis - 1))
        image = sum(
            np.take(image, index, axis) * weight.reshape(shape)
            for index, weight in zip(indices, weights, strict=True)
        )
    return image


@functools.lru_cache(256)
def _interpolation_weights(
    length: int, new_length: int, interpolation: str
) -> tuple[Pixels, Pixels]:
    """Return the indices and weights of the input pixels of each output pixel along one axis.

    Both have the shape `(kernel size, new_length)`.
    """
    if interpolation == "nearest":
        # In float32 like TensorFlow, so that ties are rounded the same way.
        scale = np.float32(length / new_length)
        indices = np.floor(
            (np.arange(new_length, dtype=np.float32) + np.float32(0.5)) * scale
        ).astype(int)
        return np.minimum(indices, length - 1)[None], np.ones((1, new_length), np.float32)
    step = length / new_length
    if interpolation == "area":
        starts = np.arange(new_length) * step
        indices = np.floor(starts).astype(int) + np.arange(int(np.ceil(step)) + 1)[:, None]
        weights = np.clip(
            np.minimum(indices + 1, starts + step) - np.maximum(indices, starts), 0, None
        )
    else:
        kernel, radius = _KERNELS[interpolation]
        centers = (np.arange(new_length) + 0.5) * step - 0.5
        indices = (
            np.floor(centers - radius).astype(int)
            + 1
            + np.arange(int(np.ceil(2 * radius)))[:, None]
        )
        weights = kernel(indices - centers)
    weights = np.where((indices >= 0) & (indices < length), weights, 0)
    weights = weights / weights.sum(0)
    return np.clip(indices, 0, length - 1), weights.astype(np.float32)


def resize_to_fit(
    image: Pixels,
    size: tuple[int, int],
    interpolation: str = "bilinear",
    crop: bool = False,
    pad: bool = False,
) -> Pixels:
    """Resize an image; with `crop` or `pad` (zeros) its aspect ratio is kept."""
    if crop:
        image = _crop_to_aspect_ratio(image, size)
    if not pad:
        return resize_array(image, size, interpolation)
    # In float32 like TensorFlow: sizes are rounded down, and another precision could give another
    # size.
    old, new = np.array(image.shape[-3:-1], np.float32), np.array(size, np.float32)
    scaled = old / np.max(old / new)
    height, width = (max(1, int(value)) for value in scaled)
    top, left = (max(0, int(value)) for value in np.floor((new - scaled) / np.float32(2)))
    padded = np.zeros((*image.shape[:-3], *size, image.shape[-1]), np.float32)
    inner = resize_array(image, (height, width), interpolation)
    padded[..., top : top + height, left : left + width, :] = inner
    return padded


def smart_resize(
    x: TensorLike,
    size: tuple[int, int],
    interpolation: str = "bilinear",
    data_format: str = "channels_last",
) -> Tensor | Pixels:
    """Resize images without distortion: they are cropped to the new aspect ratio.

    Args:
        x: One image `(height, width, channels)` or a batch of them.
        size: New height and width.
        interpolation: "bilinear", "nearest", "bicubic", "lanczos3" or "lanczos5"; for arrays also
            "area", "gaussian" and "mitchellcubic".
        data_format: "channels_last" or "channels_first".

    Returns:
        A Tensor if `x` is one, else a float32 array.

    Example:
        >>> from podium.compat.keras.preprocessing.image import smart_resize
        >>> smart_resize(np.ones((340, 500, 3)), (200, 200)).shape
        (200, 200, 3)
    """
    check_choice("interpolation", interpolation, INTERPOLATIONS)
    check_choice("data_format", data_format, ("channels_last", "channels_first"))
    channels_first = data_format == "channels_first"
    if len(size) != 2 or min(size) < 1:
        raise ValueError(
            f"size={size!r} was given; a pair of positive ints was expected: (height, width)."
        )
    if is_tensor(x):
        return ops.image.resize(
            x, size, interpolation=interpolation, crop_to_aspect_ratio=True, data_format=data_format
        )
    x = np.asarray(x, np.float32)
    if x.ndim not in (3, 4):
        raise ValueError(
            f"x has the shape {x.shape}; an image (height, width, channels) or a batch of images "
            "was expected."
        )
    result = resize_to_fit(
        np.moveaxis(x, -3, -1) if channels_first else x,
        (int(size[0]), int(size[1])),
        interpolation,
        crop=True,
    )
    return np.moveaxis(result, -1, -3) if channels_first else result


def _crop_to_aspect_ratio(image: Pixels, size: tuple[int, int]) -> Pixels:
    """Return the largest central crop that has the new aspect ratio."""
    height, width = image.shape[-3:-1]
    crop_height = max(min(height, width * size[0] // size[1]), 1)
    crop_width = max(min(width, height * size[1] // size[0]), 1)
    top, left = (height - crop_height) // 2, (width - crop_width) // 2
    return image[..., top : top + crop_height, left : left + crop_width, :]
