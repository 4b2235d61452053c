"""RandomErasing, and the random rectangles that it shares with CutMix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from podium import ops
from podium import random as podium_random
from podium._typing import DType
from podium.core import SeedGenerator, Tensor
from podium.layers.preprocessing.image._image_layer import (
    ImageData,
    PixelLayer,
    Seed,
    Transformation,
    images_of,
    num_images,
)
from podium.layers.preprocessing.image._value_ranges import (
    Factor,
    check_factor,
    check_value_range,
    draw_decisions,
    draw_uniform,
    per_image,
)


def draw_interval(
    length: int, fractions: Tensor, seed: int | SeedGenerator, dtype: DType
) -> tuple[Tensor, Tensor]:
    """Draw the start and the end of an interval for each image.

    Args:
        length: The length of the axis.
        fractions: The length of each interval, as a fraction of it.
        seed: The source of random numbers.
        dtype: The dtype of the result.
    """
    size = ops.cast(fractions * length, dtype)
    start = podium_random.uniform(size.shape, dtype=dtype, seed=seed) * (length - size)
    return start, start + size


def mask_rectangles(
    sizes: tuple[int, int], rows: tuple[Tensor, Tensor], columns: tuple[Tensor, Tensor]
) -> Tensor:
    """Return booleans `(batch, height, width)` that are true inside of one rectangle per image."""
    inside = [
        (ops.arange(size, dtype=start.dtype) >= start[:, None])
        & (ops.arange(size, dtype=start.dtype) < end[:, None])
        for size, (start, end) in zip(sizes, (rows, columns), strict=True)
    ]
    return inside[0][:, :, None] & inside[1][:, None, :]


class RandomErasing(PixelLayer):
    """Replaces a random rectangle of a random part of the images in training.

    Args:
        factor: The probability of each image: a number x, for one drawn from 0 to x, or a pair of
            bounds.
        scale: The range of the squared height and width of the rectangle, as fractions of those of
            the image: a pair of bounds, or a number x, for values from 0 to x.
        fill_value: The value of erased pixels: a number, or a list of one for each channel; None
            for normally distributed noise.
        value_range: The lowest and the highest value of pixels; fill values are clipped to it.
        seed: An int that makes the random values deterministic.
        data_format: "channels_last" (the default) or "channels_first".
        **kwargs: `name`, `dtype`, `bounding_box_format`.

    Example:
        >>> layer = podium.layers.RandomErasing((1.0, 1.0), scale=(0.25, 0.25), fill_value=7)
        >>> int((layer(np.zeros((8, 8, 1), "float32")).numpy() == 7).sum())
        16
    """

    _config_names = ("factor", "scale", "fill_value", "value_range", "seed")

    def __init__(
        self,
        factor: Factor = 1.0,
        scale: Factor = (0.02, 0.33),
        fill_value: float | Sequence[float] | None = None,
        value_range: tuple[float, float] = (0, 255),
        seed: int | None = None,
        data_format: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(data_format=data_format, **kwargs)
        self.factor = check_factor(self, factor, 0, 1)
        self.scale = check_factor(self, scale, 0, 1, "scale")
        self.fill_value = fill_value
        self.value_range = check_value_range(self, value_range)
        self.seed = seed
        self.generator = SeedGenerator(seed)

    def get_random_transformation(
        self, data: ImageData, training: bool = True, seed: Seed = None
    ) -> Transformation:
        """Draw `apply_erasing`, one boolean per image, `batch_masks`, true where pixels are erased,
        and `fill_value`, what replaces them.
        """
        if not training:
            return None
        seed = self.generator if seed is None else seed
        images, num = images_of(data), num_images(data)
        height, width = self._sizes(images.shape)
        fractions = ops.sqrt(draw_uniform((num, 2), self.scale, seed, self.compute_dtype))
        columns = draw_interval(width, fractions[:, 0], seed, self.compute_dtype)
        rows = draw_interval(height, fractions[:, 1], seed, self.compute_dtype)
        masks = mask_rectangles((height, width), rows, columns)
        return {
            "apply_erasing": draw_decisions(num, self.factor, seed),
            "batch_masks": ops.expand_dims(masks, self.channel_axis),
            "fill_value": self._draw_fill_value(images.shape, seed),
        }

    def _draw_fill_value(self, shape: tuple[int, ...], seed: int | SeedGenerator) -> Tensor:
        """Return values that broadcast against the images."""
        if self.fill_value is None:
            noise = podium_random.normal(shape, dtype=self.compute_dtype, seed=seed)
            return ops.clip(noise * self.value_range[1], *self.value_range)
        value = ops.cast(ops.convert_to_tensor(self.fill_value), self.compute_dtype)
        num_channels = shape[self.channel_axis]
        if value.shape not in ((), (1,), (num_channels,)):
            raise ValueError(
                f"RandomErasing was given fill_value={self.fill_value!r} and images with "
                f"{num_channels} channels; a number, or one for each channel, was expected."
            )
        value = ops.reshape(value, (-1,) if self.channel_axis == -1 else (-1, 1, 1))
        return ops.clip(value, *self.value_range)

    def _augment(self, images: Tensor, transformation: Transformation) -> Tensor:
        fill_value = ops.cast(transformation["fill_value"], images.dtype)
        erased = ops.where(transformation["batch_masks"], fill_value, images)
        return ops.where(per_image(transformation["apply_erasing"]), erased, images)
