"""AutoContrast and Equalization: pixels are spread over the whole range of values."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp

from podium import ops
from podium._typing import TensorLike
from podium.core import Tensor, dispatch, promote_dtypes
from podium.core.internal import check_int
from podium.layers.preprocessing.image._image_layer import PixelLayer, Transformation
from podium.layers.preprocessing.image._value_ranges import change_value_range, check_value_range

_BYTES = (0, 255)


class AutoContrast(PixelLayer):
    """Stretches each channel of each image to the whole range of values, also in inference.

    A channel with a single value stays as it is.

    Args:
        value_range: The lowest and the highest value of pixels.
        **kwargs: `name`, `dtype`, `data_format`, `bounding_box_format`.

    Example:
        >>> image = np.array([[[100.0], [120.0], [150.0]]])
        >>> podium.layers.AutoContrast()(image).numpy().ravel().round(2)
        array([  0., 102., 255.], dtype=float32)
    """

    _config_names = ("value_range",)

    def __init__(self, value_range: tuple[float, float] = (0, 255), **kwargs: Any):
        super().__init__(**kwargs)
        self.value_range = check_value_range(self, value_range)

    def transform_images(
        self, images: TensorLike, transformation: Transformation = None, training: bool = True
    ) -> Tensor:
        """Stretch the channels of a batch of images."""
        original = self._as_images(images)
        images = change_value_range(original, self.value_range, _BYTES, self.compute_dtype)
        axes = self.height_axis, self.width_axis
        low, high = (f(images, axis=axes, keepdims=True) for f in (ops.min, ops.max))
        is_constant = ops.equal(low, high)
        stretched = (images - low) / ops.where(is_constant, 1.0, high - low) * 255.0
        stretched = change_value_range(stretched, _BYTES, self.value_range, self.compute_dtype)
        return ops.where(is_constant, original, stretched)


class Equalization(PixelLayer):
    """Equalizes the histogram of each channel in training: all values become about as frequent.

    The histogram is that of the batch, as in Keras. Call the layer with single images (map it over
    a Dataset before `batch`) to equalize each image on its own.

    Args:
        value_range: The lowest and the highest value of pixels.
        bins: The number of bins of the histogram.
        data_format: "channels_last" (the default) or "channels_first".
        **kwargs: `name`, `dtype`, `bounding_box_format`.

    Example:
        >>> image = np.array([[[10.0], [10.0], [11.0], [12.0]]])
        >>> podium.layers.Equalization()(image).numpy().ravel()
        array([  0.,   0., 128., 255.], dtype=float32)
    """

    _config_names = ("bins", "value_range")

    def __init__(
        self,
        value_range: tuple[float, float] = (0, 255),
        bins: int = 256,
        data_format: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(data_format=data_format, **kwargs)
        self.bins = check_int("bins", bins, 2, owner=self, type_error=ValueError)
        self.value_range = check_value_range(self, value_range)

    def transform_images(
        self, images: TensorLike, transformation: Transformation = None, training: bool = True
    ) -> Tensor:
        """Equalize the channels of a batch of images."""
        images = self._as_images(images)
        return self._augment(images, transformation) if training else images

    def _augment(self, images: Tensor, transformation: Transformation) -> Tensor:
        pixels = change_value_range(images, self.value_range, _BYTES, self.compute_dtype)
        equalized: Tensor = dispatch(
            _equalize, pixels, num_bins=self.bins, channel_axis=self.channel_axis
        )
        return change_value_range(equalized, _BYTES, self.value_range, self.compute_dtype)


@promote_dtypes
def _equalize(images: jax.Array, num_bins: int, channel_axis: int) -> jax.Array:
    """Equalize each channel of values from 0 to 255."""
    equalize = functools.partial(_equalize_channel, num_bins=num_bins)
    return jax.vmap(equalize, channel_axis, channel_axis)(images)


def _equalize_channel(channel: jax.Array, num_bins: int) -> jax.Array:
    # A bin is the integer part of `value / 255 * (bins - 1)`, in the order of operations of Keras
    # that differs between counting and looking up.
    counted = (channel.astype("float32") * (num_bins - 1) / 255.0).astype("int32")
    histogram = count_values(jnp.clip(counted, 0, num_bins - 1), num_bins)
    cumulative = jnp.cumsum(histogram)
    lowest = cumulative[jnp.argmax(cumulative > 0)]
    total = cumulative[-1] - lowest
    # In floats: integers would overflow with more than 8 million pixels.
    table = (cumulative - lowest).astype("float32") * 255 / jnp.where(total == 0, 1, total)
    table = jnp.clip(jnp.round(table), 0, 255).astype(channel.dtype)
    bins = jnp.clip(channel / 255.0 * (num_bins - 1), 0, num_bins - 1).astype("int32")
    return jnp.where(jnp.count_nonzero(histogram) <= 1, channel, table[bins])


def count_values(values: jax.Array, num: int) -> jax.Array:
    """Return how often each of the integers from 0 to below `num` occurs."""
    return jnp.zeros((num,), "int32").at[values.ravel()].add(1)
