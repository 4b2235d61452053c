"""RandomInvert, RandomPosterization and Solarization: functions of single pixels."""

from __future__ import annotations

from typing import Any

from podium import ops
from podium import random as podium_random
from podium.core import SeedGenerator, Tensor
from podium.layers.preprocessing.image._image_layer import (
    ImageData,
    PixelLayer,
    Seed,
    Transformation,
    num_images,
    ones_per_image,
)
from podium.layers.preprocessing.image._value_ranges import (
    Factor,
    change_value_range,
    check_factor,
    check_value_range,
    draw_decisions,
    draw_uniform,
    per_image,
)

_BYTES = (0, 255)
_NUM_BITS = 8


class RandomInvert(PixelLayer):
    """Inverts a random part of the images in training: pixels become `high - pixel`.

    Args:
        factor: The probability of each image: a number x, for one drawn from 0 to x, or a pair of
            bounds.
        value_range: The lowest and the highest value of pixels.
        seed: An int that makes the random values deterministic.
        data_format: "channels_last" (the default) or "channels_first".
        **kwargs: `name`, `dtype`, `bounding_box_format`.

    Example:
        >>> layer = podium.layers.RandomInvert(factor=(1.0, 1.0))
        >>> layer(np.array([[[0.0, 100.0, 255.0]]])).numpy().ravel()
        array([255., 155.,   0.], dtype=float32)
    """

    _config_names = ("factor", "value_range", "seed")

    def __init__(
        self,
        factor: Factor = 1.0,
        value_range: tuple[float, float] = (0, 255),
        seed: int | None = None,
        data_format: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(data_format=data_format, **kwargs)
        self.factor = check_factor(self, factor, 0, 1)
        self.value_range = check_value_range(self, value_range)
        self.seed = seed
        self.generator = SeedGenerator(seed)

    def get_random_transformation(
        self, data: ImageData, training: bool = True, seed: Seed = None
    ) -> Transformation:
        """Draw `apply_inversion`, one boolean per image."""
        if not training:
            return None
        seed = self.generator if seed is None else seed
        return {"apply_inversion": draw_decisions(num_images(data), self.factor, seed)}

    def _augment(self, images: Tensor, transformation: Transformation) -> Tensor:
        chosen = per_image(transformation["apply_inversion"])
        return ops.where(chosen, self.value_range[1] - images, images)


class RandomPosterization(PixelLayer):
    """Keeps a random number of the highest bits of pixels in training.

    Args:
        factor: A number of bits x from 1 to 8, for numbers from 1 to below x, or a pair of bounds,
            of which the upper one is excluded unless both are equal.
        value_range: The lowest and the highest value of pixels.
        data_format: "channels_last" (the default) or "channels_first".
        seed: An int that makes the random values deterministic.
        **kwargs: `name`, `dtype`, `bounding_box_format`.

    Example:
        >>> layer = podium.layers.RandomPosterization((2, 2))
        >>> layer(np.array([[[0.0, 100.0, 255.0]]])).numpy().ravel()
        array([  0.,  64., 192.], dtype=float32)
    """

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
        self.factor = check_factor(self, factor, 1, _NUM_BITS)
        self.value_range = check_value_range(self, value_range)
        self.seed = seed
        self.generator = SeedGenerator(seed)

    def get_random_transformation(
        self, data: ImageData, training: bool = True, seed: Seed = None
    ) -> Transformation:
        """Draw `shift_factor`, the number of bits of each image that become 0."""
        if not training:
            return None
        lower, upper = (int(bound) for bound in self.factor)
        num = num_images(data)
        if lower == upper:
            return {"shift_factor": ops.full((num,), _NUM_BITS - lower, dtype="uint8")}
        seed = self.generator if seed is None else seed
        num_bits = podium_random.randint((num,), lower, upper, dtype="uint8", seed=seed)
        return {"shift_factor": _NUM_BITS - num_bits}

    def _augment(self, images: Tensor, transformation: Transformation) -> Tensor:
        shift = ops.cast(per_image(transformation["shift_factor"]), "uint8")
        images = change_value_range(images, self.value_range, _BYTES, self.compute_dtype)
        images = ops.cast(images, "uint8")
        images = ops.left_shift(ops.right_shift(images, shift), shift)
        images = self._as_images(images)
        return change_value_range(images, _BYTES, self.value_range, self.compute_dtype)


class Solarization(PixelLayer):
    """Adds a random number to pixels and inverts those above a random threshold in training.

    Args:
        addition_factor: What is added, as a fraction of the range of values: a number x, for values
            from 0 to x, or a pair of bounds.
        threshold_factor: The threshold, as a fraction of the range of values, likewise.
        value_range: The lowest and the highest value of pixels.
        seed: An int that makes the random values deterministic.
        **kwargs: `name`, `dtype`, `data_format`, `bounding_box_format`.

    Example:
        >>> layer = podium.layers.Solarization(threshold_factor=(0.5, 0.5))
        >>> layer(np.array([[[0.0, 100.0, 200.0]]])).numpy().ravel()
        array([  0., 100.,  55.], dtype=float32)
    """

    _config_names = ("addition_factor", "threshold_factor", "value_range", "seed")

    def __init__(
        self,
        addition_factor: Factor = 0.0,
        threshold_factor: Factor = 0.0,
        value_range: tuple[float, float] = (0, 255),
        seed: int | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.addition_factor = check_factor(self, addition_factor, 0, 1, "addition_factor")
        self.threshold_factor = check_factor(self, threshold_factor, 0, 1, "threshold_factor")
        self.value_range = check_value_range(self, value_range)
        self.seed = seed
        self.generator = SeedGenerator(seed)

    def get_random_transformation(
        self, data: ImageData, training: bool = True, seed: Seed = None
    ) -> Transformation:
        """Draw `additions` and `thresholds` of the images, for values from 0 to 255."""
        if not training:
            return None
        seed = self.generator if seed is None else seed
        shape = ones_per_image(data)
        additions, thresholds = (
            draw_uniform(shape, (lower * 255, upper * 255), seed, self.compute_dtype)
            for lower, upper in (self.addition_factor, self.threshold_factor)
        )
        return {"additions": additions, "thresholds": thresholds}

    def _augment(self, images: Tensor, transformation: Transformation) -> Tensor:
        images = change_value_range(images, self.value_range, _BYTES, self.compute_dtype)
        images = ops.clip(images + ops.cast(transformation["additions"], images.dtype), *_BYTES)
        is_below = images < ops.cast(transformation["thresholds"], images.dtype)
        images = ops.where(is_below, images, 255 - images)
        return change_value_range(images, _BYTES, self.value_range, self.compute_dtype)
