"""RandomColorJitter: random brightness, contrast, saturation and hue in one layer."""

from __future__ import annotations

from typing import Any

from podium.core import SeedGenerator, Tensor
from podium.layers.preprocessing.image._brightness import RandomBrightness, RandomContrast
from podium.layers.preprocessing.image._hue_saturation import RandomHue, RandomSaturation
from podium.layers.preprocessing.image._image_layer import (
    ImageData,
    PixelLayer,
    Seed,
    Transformation,
)
from podium.layers.preprocessing.image._value_ranges import Factor


class RandomColorJitter(PixelLayer):
    """Changes brightness, contrast, saturation and hue of each RGB image at random in training.

    A factor of None leaves that property as it is.

    Args:
        value_range: The lowest and the highest value of pixels.
        brightness_factor: See `RandomBrightness`.
        contrast_factor: See `RandomContrast`.
        saturation_factor: See `RandomSaturation`.
        hue_factor: See `RandomHue`.
        seed: An int that makes the random values deterministic.
        data_format: "channels_last" (the default) or "channels_first".
        **kwargs: `name`, `dtype`, `bounding_box_format`.

    Example:
        >>> layer = podium.layers.RandomColorJitter((0, 1), brightness_factor=(0.5, 0.5))
        >>> layer(np.array([[[0.0, 0.25, 0.75]]])).numpy().ravel()
        array([0.5 , 0.75, 1.  ], dtype=float32)
    """

    _config_names = (
        "value_range",
        "brightness_factor",
        "contrast_factor",
        "saturation_factor",
        "hue_factor",
        "seed",
    )

    def __init__(
        self,
        value_range: tuple[float, float] = (0, 255),
        brightness_factor: Factor | None = None,
        contrast_factor: Factor | None = None,
        saturation_factor: Factor | None = None,
        hue_factor: Factor | None = None,
        seed: int | None = None,
        data_format: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(data_format=data_format, **kwargs)
        self.value_range = value_range
        self.brightness_factor = brightness_factor
        self.contrast_factor = contrast_factor
        self.saturation_factor = saturation_factor
        self.hue_factor = hue_factor
        self.seed = seed
        self.generator = SeedGenerator(seed)
        options = {
            "value_range": value_range,
            "data_format": data_format,
            "dtype": self.dtype_policy,
        }
        factors = {
            RandomBrightness: brightness_factor,
            RandomContrast: contrast_factor,
            RandomSaturation: saturation_factor,
            RandomHue: hue_factor,
        }
        self._steps: list[PixelLayer] = [
            step(factor, **options) for step, factor in factors.items() if factor is not None
        ]

    def get_random_transformation(
        self, data: ImageData, training: bool = True, seed: Seed = None
    ) -> Transformation:
        """Draw a list with the transformations of the steps."""
        if not training:
            return None
        seed = self.generator if seed is None else seed
        return [step.get_random_transformation(data, seed=seed) for step in self._steps]

    def _augment(self, images: Tensor, transformation: Transformation) -> Tensor:
        for step, values in zip(self._steps, transformation, strict=True):
            images = step.transform_images(images, values)
        return images
