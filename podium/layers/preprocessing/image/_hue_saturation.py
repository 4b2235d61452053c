"""RandomHue and RandomSaturation: changes in the space of hue, saturation and value."""

from __future__ import annotations

from typing import Any

from podium import ops
from podium.core import SeedGenerator, Tensor, epsilon
from podium.layers.preprocessing.image._image_layer import (
    ImageData,
    PixelLayer,
    Seed,
    Transformation,
    num_images,
)
from podium.layers.preprocessing.image._value_ranges import (
    Factor,
    change_value_range,
    check_factor,
    check_value_range,
    draw_uniform,
    per_image,
)


class _ColorLayer(PixelLayer):
    """A layer with one random factor between 0 and 1 for each RGB image."""

    _config_names = ("factor", "value_range", "seed")

    def __init__(
        self,
        factor: Factor,
        value_range: tuple[float, float] = (0, 255),
        data_format: str | None = None,
        seed: int | None = None,
        **kwargs: Any,
    ):
        super().__init__(data_format=data_format, **kwargs)
        self.factor = check_factor(self, factor, 0, 1)
        self.value_range = check_value_range(self, value_range)
        self.seed = seed
        self.generator = SeedGenerator(seed)

    def _split_hsv(self, images: Tensor) -> list[Tensor]:
        """Return hue, saturation and value, each `(batch, height, width)`."""
        hsv = ops.image.rgb_to_hsv(images, data_format=self.data_format)
        return ops.unstack(hsv, 3, axis=self.channel_axis)

    def _join_hsv(self, hue: Tensor, saturation: Tensor, value: Tensor) -> Tensor:
        hsv = ops.stack([hue, saturation, value], axis=self.channel_axis)
        return ops.image.hsv_to_rgb(hsv, data_format=self.data_format)


class RandomHue(_ColorLayer):
    """Rotates the hue of each RGB image by a random angle in training.

    Args:
        factor: A number from 0 (no change) to 1 (up to half of the circle, in both directions), or
            a pair of bounds.
        value_range: The lowest and the highest value of pixels.
        data_format: "channels_last" (the default) or "channels_first".
        seed: An int that makes the random values deterministic.
        **kwargs: `name`, `dtype`, `bounding_box_format`.

    Example:
        >>> layer = podium.layers.RandomHue((1.0, 1.0), value_range=(0, 1))
        >>> layer(np.array([[[1.0, 0.0, 0.0]]])).numpy().ravel().round(3)
        array([0., 1., 1.], dtype=float32)
    """

    def get_random_transformation(
        self, data: ImageData, training: bool = True, seed: Seed = None
    ) -> Transformation:
        """Draw `factor`, the change of the hue of each image as a fraction of the circle."""
        if not training:
            return None
        seed = self.generator if seed is None else seed
        num = num_images(data)
        sign = ops.where(draw_uniform((num,), (0, 1), seed) > 0.5, -1.0, 1.0)
        return {"factor": sign * draw_uniform((num,), self.factor, seed) * 0.5}

    def _augment(self, images: Tensor, transformation: Transformation) -> Tensor:
        images = change_value_range(images, self.value_range, (0, 1), "float32")
        hue, saturation, value = self._split_hsv(images)
        hue = hue + ops.cast(per_image(transformation["factor"], 3), hue.dtype)
        hue = ops.where(hue > 1.0, hue - 1.0, hue)
        hue = ops.where(hue < 0.0, hue + 1.0, hue)
        images = ops.clip(self._join_hsv(hue, saturation, value), 0.0, 1.0)
        return self._as_images(change_value_range(images, (0, 1), self.value_range, "float32"))


class RandomSaturation(_ColorLayer):
    """Changes the saturation of each RGB image at random in training.

    The saturation is multiplied by `f / (1 - f)`, with f between 0 and 1, and clipped to
    `value_range`, as in Keras: for images from 0 to 255 it can exceed 1, and pixels can leave their
    range. Rescale images to 0..1 before.

    Args:
        factor: A pair of bounds of f: 0 is gray, 0.5 no change, 1 full saturation; or a number x,
            for values from 0 to x.
        value_range: The lowest and the highest value of pixels.
        data_format: "channels_last" (the default) or "channels_first".
        seed: An int that makes the random values deterministic.
        **kwargs: `name`, `dtype`, `bounding_box_format`.

    Example:
        >>> layer = podium.layers.RandomSaturation((0.0, 0.0), value_range=(0, 1))
        >>> layer(np.array([[[0.8, 0.2, 0.4]]])).numpy().ravel()
        array([0.8, 0.8, 0.8], dtype=float32)
    """

    def get_random_transformation(
        self, data: ImageData, training: bool = True, seed: Seed = None
    ) -> Transformation:
        """Draw `factor`, by which the saturation of each image is multiplied."""
        if not training:
            return None
        seed = self.generator if seed is None else seed
        fraction = draw_uniform((num_images(data),), self.factor, seed)
        return {"factor": fraction / (1 - fraction + epsilon())}

    def _augment(self, images: Tensor, transformation: Transformation) -> Tensor:
        hue, saturation, value = self._split_hsv(images)
        factor = ops.cast(per_image(transformation["factor"], 3), saturation.dtype)
        saturation = ops.clip(saturation * factor, *self.value_range)
        return self._join_hsv(hue, saturation, value)
