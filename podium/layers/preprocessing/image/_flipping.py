"""RandomFlip: mirror images."""

from __future__ import annotations

from typing import Any

from podium import ops
from podium.core import SeedGenerator, Tensor, check_choice
from podium.layers.preprocessing.image._geometric_layer import GeometricLayer
from podium.layers.preprocessing.image._image_layer import (
    ImageData,
    Seed,
    Transformation,
    images_of,
    ones_per_image,
)
from podium.layers.preprocessing.image._value_ranges import draw_uniform, per_image

_MODES = ("horizontal", "vertical", "horizontal_and_vertical")


class RandomFlip(GeometricLayer):
    """Flips a random half of the images in training.

    Args:
        mode: "horizontal" exchanges left and right, "vertical" top and bottom, and
            "horizontal_and_vertical" (the default) both for the same images.
        seed: An int that makes the random values deterministic.
        data_format: "channels_last" (the default) or "channels_first".
        **kwargs: `name`, `dtype`, `bounding_box_format`.

    Example:
        >>> layer = podium.layers.RandomFlip("horizontal", seed=0)
        >>> images = np.tile(np.array([[[[1.0], [2.0]]]]), (5, 1, 1, 1))
        >>> sorted(set(map(tuple, layer(images).numpy()[:, 0, :, 0].tolist())))
        [(1.0, 2.0), (2.0, 1.0)]
    """

    _config_names = ("mode", "seed")

    def __init__(
        self,
        mode: str = "horizontal_and_vertical",
        seed: int | None = None,
        data_format: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(data_format=data_format, **kwargs)
        self.mode = check_choice("mode", mode, _MODES)
        self.seed = seed
        self.generator = SeedGenerator(seed)

    def get_random_transformation(
        self, data: ImageData, training: bool = True, seed: Seed = None
    ) -> Transformation:
        """Draw `flips`, one boolean per image."""
        if not training:
            return None
        seed = self.generator if seed is None else seed
        flips = ops.less_equal(draw_uniform(ones_per_image(data), (0, 1), seed), 0.5)
        return {"flips": flips, "input_shape": tuple(images_of(data).shape)}

    def _move_pixels(
        self, images: Tensor, transformation: Transformation, interpolation: str
    ) -> Tensor:
        flips = per_image(transformation["flips"])
        axes = []
        if self.mode != "vertical":
            axes.append(self.width_axis)
        if self.mode != "horizontal":
            axes.append(self.height_axis)
        return ops.where(flips, ops.flip(images, axis=tuple(axes)), images)

    def _move_boxes(
        self, boxes: Tensor, transformation: Transformation, height: int, width: int
    ) -> Tensor:
        x1, y1, x2, y2 = ops.split(boxes, 4, axis=-1)
        flipped = [x1, y1, x2, y2]
        if self.mode != "vertical":
            flipped[0], flipped[2] = width - x2, width - x1
        if self.mode != "horizontal":
            flipped[1], flipped[3] = height - y2, height - y1
        return ops.where(
            per_image(transformation["flips"], 3), ops.concatenate(flipped, axis=-1), boxes
        )
