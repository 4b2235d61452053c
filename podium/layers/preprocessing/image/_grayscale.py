"""RandomGrayscale and RandomColorDegeneration: images with less color, or none."""

from __future__ import annotations

from typing import Any

from podium import ops
from podium._typing import SymbolicShape, TensorLike
from podium.core import SeedGenerator, Tensor
from podium.core.internal import check_number
from podium.layers.preprocessing.image._image_layer import (
    ImageData,
    PixelLayer,
    Seed,
    Transformation,
    num_images,
)
from podium.layers.preprocessing.image._value_ranges import (
    Factor,
    check_factor,
    check_value_range,
    draw_uniform,
)


class RandomGrayscale(PixelLayer):
    """Makes a random part of RGB images gray in training; they keep their three channels.

    Integers stay integers.

    Args:
        factor: The probability of each image.
        data_format: "channels_last" (the default) or "channels_first".
        seed: An int that makes the random values deterministic.
        **kwargs: `name`, `dtype`, `bounding_box_format`.

    Example:
        >>> layer = podium.layers.RandomGrayscale(factor=1.0)
        >>> layer(np.array([[[10.0, 20.0, 30.0]]])).numpy().ravel().round(2)
        array([18.15, 18.15, 18.15], dtype=float32)
    """

    _config_names = ("factor", "seed")

    def __init__(
        self,
        factor: float = 0.5,
        data_format: str | None = None,
        seed: int | None = None,
        **kwargs: Any,
    ):
        super().__init__(data_format=data_format, **kwargs)
        self.factor = check_number("factor", factor, 0, 1, owner=self, type_error=ValueError)
        self.seed = seed
        self.generator = SeedGenerator(seed)

    def get_random_transformation(
        self, data: ImageData, training: bool = True, seed: Seed = None
    ) -> Transformation:
        """Draw whether each image becomes gray: booleans `(batch, 1, 1, 1)`."""
        if not training:
            return None
        seed = self.generator if seed is None else seed
        return draw_uniform((num_images(data), 1, 1, 1), (0, 1), seed) < self.factor

    def _as_images(self, images: TensorLike) -> Tensor:
        return ops.convert_to_tensor(images)

    def _output_dtype(self, dtype: str) -> str:
        return dtype

    def _augment(self, images: Tensor, transformation: Transformation) -> Tensor:
        gray = ops.image.rgb_to_grayscale(images, data_format=self.data_format)
        return ops.where(transformation, gray, images)


class RandomColorDegeneration(PixelLayer):
    """Mixes each RGB image with its gray version by a random weight in training.

    Args:
        factor: A number x, for weights of the gray image from 0 to x, or a pair of bounds.
        value_range: The lowest and the highest value of pixels; results are clipped to it.
        data_format: "channels_last" (the default) or "channels_first".
        seed: An int that makes the random values deterministic.
        **kwargs: `name`, `dtype`, `bounding_box_format`.

    Example:
        >>> layer = podium.layers.RandomColorDegeneration((0.5, 0.5))
        >>> layer(np.array([[[10.0, 20.0, 30.0]]])).numpy().ravel().round(2)
        array([14.07, 19.07, 24.07], dtype=float32)
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
        self.factor = check_factor(self, factor, 0, 1)
        self.value_range = check_value_range(self, value_range)
        self.seed = seed
        self.generator = SeedGenerator(seed)

    def get_random_transformation(
        self, data: ImageData, training: bool = True, seed: Seed = None
    ) -> Transformation:
        """Draw `factor`, the weight of the gray version of each image."""
        if not training:
            return None
        seed = self.generator if seed is None else seed
        return {"factor": draw_uniform((num_images(data), 1, 1, 1), self.factor, seed)}

    def _augment(self, images: Tensor, transformation: Transformation) -> Tensor:
        gray = ops.image.rgb_to_grayscale(images, data_format=self.data_format)
        weight = ops.cast(transformation["factor"], images.dtype)
        return ops.clip(images + weight * (gray - images), *self.value_range)

    def _image_shape(self, shape: SymbolicShape) -> SymbolicShape:
        if len(shape) not in (3, 4) or shape[self.channel_axis] not in (None, 1, 3):
            raise ValueError(
                f"RandomColorDegeneration was given images of shape {shape}; one image, or a batch "
                "of images, with 3 channels was expected."
            )
        return shape
