"""The base of layers that move pixels at random: images, masks and boxes move alike."""

from __future__ import annotations

from typing import Any

from podium import ops
from podium._typing import TensorLike
from podium.core import Tensor, check_choice
from podium.layers.preprocessing.bounding_boxes import clip_to_image_size, convert_format
from podium.layers.preprocessing.bounding_boxes._formats import LabeledBoxes
from podium.layers.preprocessing.image._image_layer import ImageLayer, Transformation

FILL_MODES = ("reflect", "wrap", "constant", "nearest")
INTERPOLATIONS = ("nearest", "bilinear")


class GeometricLayer(ImageLayer):
    """Moves the pixels of images in training; the size of images stays the same.

    Segmentation masks take the nearest pixel and keep their dtype. Transformations have an entry
    "input_shape", the shape of the images.
    """

    interpolation = "nearest"

    def _move_pixels(
        self, images: Tensor, transformation: Transformation, interpolation: str
    ) -> Tensor:
        """Return the transformed images of a batch."""
        raise NotImplementedError

    def _move_boxes(
        self, boxes: Tensor, transformation: Transformation, height: int, width: int
    ) -> Tensor:
        """Return boxes "xyxy" `(batch, number, 4)` that contain the transformed ones."""
        raise NotImplementedError

    def _move(self, images: Tensor, transformation: Transformation, interpolation: str) -> Tensor:
        """Return the transformed images of a batch, or one transformed image."""
        if len(images.shape) == 4:
            return self._move_pixels(images, transformation, interpolation)
        return self._move_pixels(images[None], transformation, interpolation)[0]

    def transform_images(
        self, images: TensorLike, transformation: Transformation = None, training: bool = True
    ) -> Tensor:
        """Transform a batch of images."""
        images = self._as_images(images)
        if not training or transformation is None:
            return images
        return self._as_images(self._move(images, transformation, self.interpolation))

    def transform_segmentation_masks(
        self,
        segmentation_masks: TensorLike,
        transformation: Transformation = None,
        training: bool = True,
    ) -> TensorLike:
        """Transform a batch of segmentation masks like the images."""
        if not training or transformation is None:
            return segmentation_masks
        masks = ops.convert_to_tensor(segmentation_masks)
        return ops.cast(self._move(masks, transformation, "nearest"), masks.dtype)

    def transform_bounding_boxes(
        self,
        bounding_boxes: LabeledBoxes,
        transformation: Transformation = None,
        training: bool = True,
    ) -> LabeledBoxes:
        """Transform the bounding boxes of a batch like the images.

        Boxes are clipped to the image; those outside of it get the label -1.
        """
        if not training or transformation is None:
            return bounding_boxes
        height, width = self._sizes(transformation["input_shape"])
        box_format = str(self.bounding_box_format)
        boxes = convert_format(bounding_boxes, box_format, "xyxy", height, width)
        corners = boxes["boxes"]
        batch = corners if len(corners.shape) == 3 else corners[None]
        moved = self._move_boxes(batch, transformation, height, width)
        moved = moved if len(corners.shape) == 3 else moved[0]
        clipped = clip_to_image_size({**boxes, "boxes": moved}, height, width)
        return convert_format(clipped, "xyxy", box_format, height, width)


class SamplingLayer(GeometricLayer):
    """A geometric layer that computes pixels by interpolation.

    Args:
        interpolation: "bilinear" or "nearest".
        fill_mode: What is beyond the edges: "reflect", "wrap", "constant" or "nearest".
        fill_value: The value beyond the edges for "constant".
        **kwargs: The arguments of `ImageLayer`.
    """

    def __init__(self, interpolation: str, fill_mode: str, fill_value: float, **kwargs: Any):
        super().__init__(**kwargs)
        self.interpolation = check_choice("interpolation", interpolation, INTERPOLATIONS)
        self.fill_mode = check_choice("fill_mode", fill_mode, FILL_MODES)
        self.fill_value = fill_value


def bound_points(points: Tensor) -> Tensor:
    """Return the boxes "xyxy" around points `(batch, number, points, 2)`."""
    return ops.concatenate([ops.min(points, axis=-2), ops.max(points, axis=-2)], axis=-1)


def box_corners(boxes: Tensor) -> Tensor:
    """Return the corners of boxes "xyxy": `(batch, number, 4, 2)`."""
    x1, y1, x2, y2 = ops.unstack(boxes, 4, axis=-1)
    corners = [(x1, y1), (x2, y1), (x2, y2), (x1, y2)]
    return ops.stack([ops.stack(corner, axis=-1) for corner in corners], axis=-2)
