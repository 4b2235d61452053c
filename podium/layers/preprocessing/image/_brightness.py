"""RandomBrightness and RandomContrast."""

from __future__ import annotations

import math
from typing import Any

from podium import ops
from podium.core import SeedGenerator, Tensor
from podium.core.internal import check_number
from podium.layers.preprocessing.image._image_layer import (
    ImageData,
    PixelLayer,
    Seed,
    Transformation,
    ones_per_image,
)
from podium.layers.preprocessing.image._value_ranges import (
    Factor,
    check_factor,
    check_value_range,
    draw_uniform,
)


class RandomBrightness(PixelLayer):
    """Adds a random number to the pixels of each image in training.

    Args:
        factor: A number x, for changes from -x to x, or a pair of bounds: fractions of the range of
            values, from -1 (black) to 1 (white).
        value_range: The lowest and the highest value of pixels; results are clipped to it.
        seed: An int that makes the random values deterministic.
        **kwargs: `name`, `dtype`, `data_format`, `bounding_box_format`.

    Example:
        >>> layer = podium.layers.RandomBrightness((0.1, 0.1))
        >>> layer(np.array([[[[0.0, 100.0, 250.0]]]])).numpy().ravel()
        array([ 25.5, 125.5, 255. ], dtype=float32)
    """

    _config_names = ("factor", "value_range", "seed")

    def __init__(
        self,
        factor: Factor,
        value_range: tuple[float, float] = (0, 255),
        seed: int | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.factor = check_factor(self, factor, -1, 1)
        self.value_range = check_value_range(self, value_range)
        self.seed = seed
        self.generator = SeedGenerator(seed)

    def get_random_transformation(
        self, data: ImageData, training: bool = True, seed: Seed = None
    ) -> Transformation:
        """Draw `rgb_delta`, what is added to the pixels of each image."""
        if not training:
            return None
        shape = ones_per_image(data)
        factor = draw_uniform(shape, self.factor, self.generator if seed is None else seed)
        return {"rgb_delta": factor * (self.value_range[1] - self.value_range[0])}

    def _augment(self, images: Tensor, transformation: Transformation) -> Tensor:
        brighter = images + ops.cast(transformation["rgb_delta"], images.dtype)
        return ops.clip(brighter, *self.value_range)


class RandomContrast(PixelLayer):
    """Changes the contrast of each image by a random factor in training.

    Each pixel x becomes `(x - mean) * factor + mean`, with the mean of its channel in its image.

    Args:
        factor: A number x from 0 to 1, for factors from 1 - x to 1 + x, or a pair (x, y), for
            factors from 1 - x to 1 + y.
        value_range: The lowest and the highest value of pixels; results are clipped to it.
        seed: An int that makes the random values deterministic.
        **kwargs: `name`, `dtype`, `data_format`, `bounding_box_format`.

    Example:
        >>> layer = podium.layers.RandomContrast((0.5, 0.5), seed=1)
        >>> images = np.random.default_rng(0).uniform(0, 255, (8, 4, 4, 3)).astype("float32")
        >>> ratios = layer(images).numpy().std((1, 2, 3)) / images.std((1, 2, 3))
        >>> bool((ratios >= 0.5).all() and (ratios <= 1.5).all() and ratios.std() > 0)
        True
    """

    _config_names = ("factor", "value_range", "seed")

    def __init__(
        self,
        factor: Factor,
        value_range: tuple[float, float] = (0, 255),
        seed: int | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.factor = self._check_contrast(factor)
        self.value_range = check_value_range(self, value_range)
        self.seed = seed
        self.generator = SeedGenerator(seed)

    def _check_contrast(self, factor: Factor) -> tuple[float, float]:
        if isinstance(factor, (list, tuple)):
            return check_factor(self, factor, 0, math.inf)  # also contrasts above 2
        number = check_number("factor", factor, 0, 1, owner=self, type_error=ValueError)
        return number, number

    def get_random_transformation(
        self, data: ImageData, training: bool = True, seed: Seed = None
    ) -> Transformation:
        """Draw `contrast_factor`, by which the contrast of each image is multiplied."""
        if not training:
            return None
        bounds = 1.0 - self.factor[0], 1.0 + self.factor[1]
        seed = self.generator if seed is None else seed
        return {
            "contrast_factor": draw_uniform(ones_per_image(data), bounds, seed, self.compute_dtype)
        }

    def _augment(self, images: Tensor, transformation: Transformation) -> Tensor:
        factor = ops.cast(transformation["contrast_factor"], images.dtype)
        axes = self.height_axis, self.width_axis
        mean = ops.mean(images, axis=axes, keepdims=True)
        return ops.clip((images - mean) * factor + mean, *self.value_range)
