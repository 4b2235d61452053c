"""Resizing images on the host: NumPy only, because files differ in size and a compiled function
would be made for each size.

The weights are those of `tf.image.resize` without smoothing, which Keras reads folders of images
with.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from podium import ops
from podium.core import check_choice, is_tensor


def _cubic(x: np.ndarray, b: float, c: float) -> np.ndarray:
    """Mitchell and Netravali's family of kernels."""
    x = np.abs(x)
    near = (12 - 9 * b - 6 * c) * x**3 + (-18 + 12 * b + 6 * c) * x**2 + (6 - 2 * b)
    far = (-b - 6 * c) * x**3 + (6 * b + 30 * c) * x**2 + (-12 * b - 48 * c) * x + (8 * b + 24 * c)
    return np.where(x < 1, near, np.where(x < 2, far, 0)) / 6


def _lanczos(x: np.ndarray, radius: int) -> np.ndarray:
    return np.where(np.abs(x) < radius, np.sinc(x) * np.sinc(x / radius), 0)


# Kernel and radius: how far a pixel reaches, in pixels of the image that is read.
_KERNELS: dict[str, tuple[Callable, float]] = {
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


def resized(image: np.ndarray, size: tuple[int, int], interpolation: str) -> np.ndarray:
    """Return images `(..., height, width, channels)` in another size, as float32."""
    for axis, length in ((-3, size[0]), (-2, size[1])):
        places, weights = _taps(image.shape[axis], length, interpolation)
        shape = (-1, *(1,) * (-axis - 1))
        image = sum(
            np.take(image, place, axis) * weight.reshape(shape)
            for place, weight in zip(places, weights, strict=True)
        )
    return image


@functools.lru_cache(256)
def _taps(length: int, new_length: int, interpolation: str) -> tuple[np.ndarray, np.ndarray]:
    """Return, for the new pixels of a line, the old ones that each is made of: numbers and weights,
    both `(taps, new)`.
    """
    if interpolation == "nearest":
        scale = np.float32(
            length / new_length
        )  # as TensorFlow computes it, so that ties fall the same way
        places = np.floor(
            (np.arange(new_length, dtype=np.float32) + np.float32(0.5)) * scale
        ).astype(int)
        return np.minimum(places, length - 1)[None], np.ones((1, new_length), np.float32)
    step = length / new_length
    if interpolation == "area":
        starts = np.arange(new_length) * step
        places = np.floor(starts).astype(int) + np.arange(int(np.ceil(step)) + 1)[:, None]
        weights = np.clip(
            np.minimum(places + 1, starts + step) - np.maximum(places, starts), 0, None
        )
    else:
        kernel, radius = _KERNELS[interpolation]
        centres = (np.arange(new_length) + 0.5) * step - 0.5
        places = (
            np.floor(centres - radius).astype(int)
            + 1
            + np.arange(int(np.ceil(2 * radius)))[:, None]
        )
        weights = kernel(places - centres)
    weights = np.where((places >= 0) & (places < length), weights, 0)
    weights = weights / weights.sum(0)
    return np.clip(places, 0, length - 1), weights.astype(np.float32)


def fitted(
    image: np.ndarray,
    size: tuple[int, int],
    interpolation: str = "bilinear",
    crop: bool = False,
    pad: bool = False,
) -> np.ndarray:
    """Return an image in another size: distorted, or cut or padded with zeros so that it is not."""
    if crop:
        image = _cropped(image, size)
    if not pad:
        return resized(image, size, interpolation)
    # In float32 like TensorFlow: the sizes are rounded down, and other digits would round to other
    # sizes.
    old, new = np.array(image.shape[-3:-1], np.float32), np.array(size, np.float32)
    inner = old / np.max(old / new)
    height, width = (max(1, int(value)) for value in inner)
    top, left = (max(0, int(value)) for value in np.floor((new - inner) / np.float32(2)))
    page = np.zeros((*image.shape[:-3], *size, image.shape[-1]), np.float32)
    page[..., top : top + height, left : left + width, :] = resized(
        image, (height, width), interpolation
    )
    return page


def smart_resize(
    x: Any,
    size: tuple[int, int],
    interpolation: str = "bilinear",
    data_format: str = "channels_last",
) -> Any:
    """Resize images without distorting them: what does not fit the new aspect ratio is cut off.

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
    first = (
        check_choice("data_format", data_format, ("channels_last", "channels_first"))
        == "channels_first"
    )
    if len(size) != 2 or min(size) < 1:
        raise ValueError(
            f"size={size!r} was given; a pair of positive numbers was expected: (height, width)."
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
    result = fitted(
        np.moveaxis(x, -3, -1) if first else x,
        (int(size[0]), int(size[1])),
        interpolation,
        crop=True,
    )
    return np.moveaxis(result, -1, -3) if first else result


def _cropped(image: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """Cut out the largest part in the middle that has the new aspect ratio."""
    height, width = image.shape[-3:-1]
    inner_height = max(min(height, width * size[0] // size[1]), 1)
    inner_width = max(min(width, height * size[1] // size[0]), 1)
    top, left = (height - inner_height) // 2, (width - inner_width) // 2
    return image[..., top : top + inner_height, left : left + inner_width, :]
