"""RandomCrop: crops of a fixed size."""

from __future__ import annotations

from typing import Any

import jax

from podium import ops
from podium import random as podium_random
from podium._typing import TensorLike
from podium.core import SeedGenerator, Tensor, dispatch
from podium.layers.preprocessing.bounding_boxes import crop
from podium.layers.preprocessing.bounding_boxes._formats import LabeledBoxes
from podium.layers.preprocessing.image._image_layer import (
    ImageData,
    Seed,
    Transformation,
    images_of,
)
from podium.layers.preprocessing.image._resizing import FixedSizeLayer, scale_boxes


class RandomCrop(FixedSizeLayer):
    """Crops images at a random position in training, which is the same for a batch.

    In inference, images are cropped at the center to the aspect ratio of the outputs, and resized.
    Images that are smaller than the crop are resized in training, too.

    Args:
        height: The height of the outputs.
        width: The width of the outputs.
        seed: An int that makes the random values deterministic.
        data_format: "channels_last" (the default) or "channels_first".
        **kwargs: `name`, `dtype`, `bounding_box_format`.

    Example:
        >>> images = np.arange(9.0).reshape(3, 3, 1)
        >>> layer = podium.layers.RandomCrop(1, 1, seed=1)
        >>> sorted({float(layer(images)[0, 0, 0]) for _ in range(100)})
        [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
        >>> layer(images, training=False).numpy().ravel()
        array([4.], dtype=float32)
    """

    _config_names = ("height", "width", "seed")

    def __init__(
        self,
        height: int,
        width: int,
        seed: int | None = None,
        data_format: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(height, width, data_format, **kwargs)
        self.seed = seed
        self.generator = SeedGenerator(seed)

    def get_random_transformation(
        self, data: ImageData, training: bool = True, seed: Seed = None
    ) -> Transformation:
        """Draw `(top, left, height, width)`: the position of the crop in images of that size."""
        height, width = self._sizes(images_of(data).shape)
        seed = self.generator if seed is None else seed
        if training and height >= self.height and width >= self.width:
            top = podium_random.randint((), 0, height - self.height + 1, seed=seed)
            left = podium_random.randint((), 0, width - self.width + 1, seed=seed)
            return top, left, height, width
        crop_height = max(min(height, width * self.height // self.width), 1)
        crop_width = max(min(width, height * self.width // self.height), 1)
        return (height - crop_height) // 2, (width - crop_width) // 2, height, width

    def transform_images(
        self, images: TensorLike, transformation: Transformation = None, training: bool = True
    ) -> Tensor:
        """Crop a batch of images."""
        return self._crop_images(self._as_images(images), transformation, training, "bilinear")

    def transform_segmentation_masks(
        self,
        segmentation_masks: TensorLike,
        transformation: Transformation = None,
        training: bool = True,
    ) -> TensorLike:
        """Crop a batch of segmentation masks like the images."""
        masks = ops.convert_to_tensor(segmentation_masks)
        return self._crop_images(masks, transformation, training, "nearest")

    def _crop_images(
        self, images: Tensor, transformation: Transformation, training: bool, interpolation: str
    ) -> Tensor:
        if not training:
            return self._crop_to_ratio(images, interpolation)
        top, left = transformation[:2]
        images = _slice_axis(images, top, self.height, self.height_axis)
        images = _slice_axis(images, left, self.width, self.width_axis)
        if self._sizes(images.shape) == (self.height, self.width):
            return images
        return ops.image.resize(
            images,
            (self.height, self.width),
            interpolation=interpolation,
            data_format=self.data_format,
        )

    def transform_bounding_boxes(
        self,
        bounding_boxes: LabeledBoxes,
        transformation: Transformation = None,
        training: bool = True,
    ) -> LabeledBoxes:
        """Shift, clip and scale the bounding boxes of a batch like the images."""
        top, left, height, width = transformation
        boxes = self._to_corners(bounding_boxes, height, width)
        if not training:
            return self._from_corners(self._crop_boxes_to_ratio(boxes, height, width))
        crop_height = _length_of_slice(top, self.height, height)
        crop_width = _length_of_slice(left, self.width, width)
        inside = crop(boxes["boxes"], top, left, crop_height, crop_width)
        scale = self.width / crop_width, self.height / crop_height
        return self._from_corners({**boxes, "boxes": scale_boxes(inside, scale)})


def _length_of_slice(start: Tensor | int, length: int, size: int) -> int:
    """Return how many elements a slice has; one with a computed start ends before the end."""
    return min(length, size - start) if isinstance(start, int) else length


def _slice_axis(images: Tensor, start: Tensor | int, length: int, axis: int) -> Tensor:
    """Return up to `length` elements along an axis, from a position that may be computed."""
    size = images.shape[axis]
    result: Tensor = dispatch(
        jax.lax.dynamic_slice_in_dim,
        images,
        start,
        _length_of_slice(start, length, size),
        axis=axis % len(images.shape),
    )
    return result
