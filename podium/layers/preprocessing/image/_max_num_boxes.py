"""MaxNumBoundingBoxes: the same number of bounding boxes for every image."""

from __future__ import annotations

from typing import Any

from podium import ops
from podium._typing import TensorLike, Tree
from podium.core import Tensor
from podium.core.internal import check_int
from podium.layers.preprocessing.bounding_boxes._formats import LabeledBoxes
from podium.layers.preprocessing.image._image_layer import PixelLayer, Transformation


class MaxNumBoundingBoxes(PixelLayer):
    """Keeps the first `max_number` bounding boxes of each image, and adds boxes if there are fewer.

    Images, labels and segmentation masks stay as they are.

    Args:
        max_number: The number of bounding boxes in the outputs.
        fill_value: The coordinates and the label of added boxes.
        **kwargs: `name`, `dtype`, `bounding_box_format`.

    Example:
        >>> boxes = {"boxes": np.ones((1, 1, 4), "float32"), "labels": np.array([[5]])}
        >>> data = {"images": np.zeros((1, 4, 4, 3), "float32"), "bounding_boxes": boxes}
        >>> outputs = podium.layers.MaxNumBoundingBoxes(2)(data)
        >>> outputs["bounding_boxes"]["labels"].numpy()
        array([[ 5, -1]], dtype=int32)
    """

    _reads_box_format = False
    _config_names = ("max_number", "fill_value")

    def __init__(self, max_number: int, fill_value: int = -1, **kwargs: Any):
        super().__init__(**kwargs)
        self.max_number = check_int("max_number", max_number, owner=self, integral_floats=True)
        self.fill_value = check_int("fill_value", fill_value, None, owner=self)

    def transform_images(
        self, images: TensorLike, transformation: Transformation = None, training: bool = True
    ) -> Tensor:
        """Return the images as they are."""
        return ops.convert_to_tensor(images)

    def _output_dtype(self, dtype: str) -> str:
        return dtype

    def transform_bounding_boxes(
        self,
        bounding_boxes: LabeledBoxes,
        transformation: Transformation = None,
        training: bool = True,
    ) -> LabeledBoxes:
        """Return `max_number` bounding boxes for each image of a batch."""
        return {**bounding_boxes} | {
            key: self._set_number(bounding_boxes[key]) for key in ("boxes", "labels")
        }

    def _set_number(self, values: Tensor) -> Tensor:
        kept = values[:, : self.max_number]
        pads = [(0, 0), (0, self.max_number - kept.shape[1])] + [(0, 0)] * (len(values.shape) - 2)
        return ops.pad(kept, pads, constant_values=self.fill_value)

    def compute_output_shape(self, input_shape: Tree) -> Tree:
        """Return the shape of the outputs for a shape, or a dictionary of shapes, of the inputs."""
        shape = super().compute_output_shape(input_shape)
        if isinstance(shape, dict) and "bounding_boxes" in shape:
            boxes = {
                key: (*sizes[:1], self.max_number, *sizes[2:])
                for key, sizes in shape["bounding_boxes"].items()
            }
            shape = {**shape, "bounding_boxes": boxes}
        return shape
