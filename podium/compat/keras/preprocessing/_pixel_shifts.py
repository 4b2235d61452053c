"""NumPy images whose channels or brightness are changed; brightness needs Pillow."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from podium.compat.keras.preprocessing._affine_transform import Image
from podium.utils import array_to_img, img_to_array


def apply_channel_shift(x: Image, intensity: float, channel_axis: int = 0) -> Image:
    """Add a number to all channels, and clip the sums to the range of the image.

    Args:
        x: One image.
        intensity: The number.
        channel_axis: The dimension of channels.

    Example:
        >>> from podium.compat import keras
        >>> image = np.array([[[0.0, 10.0]]])
        >>> keras.preprocessing.image.apply_channel_shift(image, 3.0).tolist()
        [[[3.0, 10.0]]]
    """
    return np.clip(x + intensity, np.min(x), np.max(x))


def random_channel_shift(x: Image, intensity_range: float, channel_axis: int = 0) -> Image:
    """Add a random number to all channels, drawn from `np.random`.

    Args:
        x: One image.
        intensity_range: The largest number, in both directions.
        channel_axis: The dimension of channels.

    Example:
        >>> from podium.compat import keras
        >>> keras.preprocessing.image.random_channel_shift(np.ones((8, 8, 3)), 0.1).shape
        (8, 8, 3)
    """
    intensity = np.random.uniform(-intensity_range, intensity_range)
    return apply_channel_shift(x, intensity, channel_axis)


def apply_brightness_shift(x: Image, brightness: float, scale: bool = True) -> Image:
    """Multiply the values of an image, as 8-bit colors.

    Args:
        x: One image, with channels last.
        brightness: The factor.
        scale: Whether to scale the image to values from 0 to 255. Otherwise only an image with
            other values is scaled, and its values are scaled back.

    Returns:
        An array of floats.

    Example:
        >>> from podium.compat import keras
        >>> image = np.full((1, 1, 3), 100.0)
        >>> keras.preprocessing.image.apply_brightness_shift(image, 0.5, scale=False).tolist()
        [[[50.0, 50.0, 50.0]]]
    """
    low, high = np.min(x), np.max(x)
    has_other_values = bool(low < 0 or high > 255)
    colors = array_to_img(x, scale=has_other_values or scale)
    from PIL import ImageEnhance  # `array_to_img` has raised if Pillow is not installed

    result: Image = img_to_array(ImageEnhance.Brightness(colors).enhance(brightness))
    return result / 255 * (high - low) + low if has_other_values and not scale else result


def random_brightness(x: Image, brightness_range: Sequence[float], scale: bool = True) -> Image:
    """Multiply the values of an image by a random factor, drawn from `np.random`.

    Args:
        x: One image, with channels last.
        brightness_range: The smallest and the largest factor.
        scale: Whether to scale the image to values from 0 to 255.

    Example:
        >>> from podium.compat import keras
        >>> keras.preprocessing.image.random_brightness(np.ones((8, 8, 3)), (0.5, 1.0)).shape
        (8, 8, 3)
    """
    if len(brightness_range) != 2:
        raise ValueError(
            f"random_brightness was given brightness_range={brightness_range}; a pair was expected."
        )
    low, high = brightness_range
    return apply_brightness_shift(x, np.random.uniform(low, high), scale)
