"""Batches of images as the functions here take and return them: NumPy arrays, channels last."""

from __future__ import annotations

from typing import Any

import numpy as np

from podium._typing import TensorLike
from podium.core import check_choice, image_data_format

Array = np.ndarray[Any, Any]


def check_data_format(data_format: str | None) -> str:
    """Return the data format: the argument, or the global default for None."""
    if data_format is None:
        return image_data_format()
    valid: str = check_choice("data_format", data_format, ["channels_last", "channels_first"])
    return valid


def as_images(function: str, images: TensorLike, data_format: str) -> Array:
    """Return images as `(batch, height, width, channels)`."""
    values = np.asarray(images)
    if values.ndim != 4:
        raise ValueError(
            f"{function}() was given images of shape {values.shape}; a batch of images with 4 "
            "dimensions was expected. Add the missing one, for example with `images[None]`."
        )
    return np.moveaxis(values, 1, -1) if data_format == "channels_first" else values


def to_uint8(images: Array) -> Array:
    """Return a copy as uint8; floats of at most 1 are scaled to 255."""
    if images.dtype.kind == "f" and images.size:
        scale = 255 if images.max() <= 1.0 else 1
        images = np.clip(images, 0, 255 / scale) * scale
    return np.array(images, "uint8")


def scale_to_uint8(images: Array, value_range: tuple[float, float]) -> Array:
    """Return images as uint8, where `value_range` becomes 0 to 255; other values are clipped."""
    low, high = (float(bound) for bound in value_range)
    if not high > low:
        raise ValueError(
            f"value_range={value_range!r} was given; the lowest and the highest value of the "
            "images were expected, such as (0, 255)."
        )
    scaled = (images.astype("float32") - low) / (high - low) * 255
    return np.clip(scaled, 0, 255).astype("uint8")
