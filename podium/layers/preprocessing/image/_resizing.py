"""Resizing and CenterCrop: images of one size, in training and inference alike."""

from __future__ import annotations

from typing import Any

from podium import ops
from podium._typing import SymbolicShape, TensorLike
from podium.core import Tensor
from podium.core.internal import check_bool, check_int
from podium.layers.preprocessing.bounding_boxes import clip_to_image_size, convert_format
from podium.layers.preprocessing.bounding_boxes._formats import LabeledBoxes
from podium.layers.preprocessing.image._image_layer import (
    ImageData,
    ImageLayer,
    Seed,
    Transformation,
    images_of,
)


class FixedSizeLayer(ImageLayer):
    """A layer whose outputs have a fixed height and width."""

    _config_names: tuple[str, ...] = ("height", "width")

    def __init__(self, height: int, width: int, data_format: str | None = None, **kwargs: Any):
        super().__init__(data_format=data_format, **kwargs)
        self.height = check_int("height", height, owner=self, type_error=ValueError)
        self.width = check_int("width", width, owner=self, type_error=ValueError)

    def _image_shape(self, shape: SymbolicShape) -> SymbolicShape:
        if len(shape) not in (3, 4):
            raise ValueError(
                f"{type(self).__name__} was given images of shape {shape}; one image (3 "
                "dimensions) or a batch of images (4) was expected."
            )
        sizes = list(shape)
        sizes[self.height_axis], sizes[self.width_axis] = self.height, self.width
        return tuple(sizes)

    def _to_corners(self, boxes: LabeledBoxes, height: int, width: int) -> LabeledBoxes:
        """Convert the boxes of images of a size to "xyxy"."""
        return convert_format(boxes, str(self.bounding_box_format), "xyxy", height, width)

    def _from_corners(self, boxes: LabeledBoxes) -> LabeledBoxes:
        """Clip boxes "xyxy" to the outputs, and convert them to the format of the layer."""
        boxes = clip_to_image_size(boxes, self.height, self.width)
        return convert_format(boxes, "xyxy", str(self.bounding_box_format), self.height, self.width)

    def _crop_to_ratio(self, images: TensorLike, interpolation: str = "bilinear") -> Tensor:
        """Resize images after cropping them to the aspect ratio of the outputs."""
        return ops.image.resize(
            images,
            (self.height, self.width),
            interpolation=interpolation,
            crop_to_aspect_ratio=True,
            data_format=self.data_format,
        )

    def _crop_boxes_to_ratio(self, boxes: LabeledBoxes, height: int, width: int) -> LabeledBoxes:
        """Return the boxes "xyxy" of images that `_crop_to_ratio` resizes."""
        crop_height = max(min(height, width * self.height // self.width), 1)
        crop_width = max(min(width, height * self.width // self.height), 1)
        top, left = (height - crop_height) // 2, (width - crop_width) // 2
        scale = (self.width / crop_width, self.height / crop_height)
        return {**boxes, "boxes": scale_boxes(boxes["boxes"], scale, (-left, -top))}


def scale_boxes(
    boxes: Tensor, scale: tuple[float, float], shift: tuple[float, float] = (0.0, 0.0)
) -> Tensor:
    """Return `(boxes + shift) * scale` for boxes "xyxy"; both are pairs for x and y."""
    moved = boxes + ops.array([*shift, *shift], dtype=boxes.dtype)
    return moved * ops.array([*scale, *scale], dtype=boxes.dtype)


class Resizing(FixedSizeLayer):
    """Resizes images, in training and inference alike.

    Integers are rounded and stay integers. Each size of images is compiled separately.

    Args:
        height: The height of the outputs.
        width: The width of the outputs.
        interpolation: "bilinear", "nearest", "bicubic", "lanczos3" or "lanczos5". Segmentation
            masks use "nearest".
        crop_to_aspect_ratio: Whether images are cropped to the new aspect ratio, and not distorted.
        pad_to_aspect_ratio: Whether images are padded to the new aspect ratio, and not distorted.
        fill_mode: The mode of the padding: "constant".
        fill_value: The value of the padding.
        antialias: Whether to apply a smoothing filter when downsampling.
        data_format: "channels_last" (the default) or "channels_first".
        **kwargs: `name`, `dtype`, `bounding_box_format`.

    Example:
        >>> podium.layers.Resizing(2, 2)(np.arange(16.0).reshape(4, 4, 1)).numpy()[..., 0]
        array([[ 2.5,  4.5],
               [10.5, 12.5]], dtype=float32)
    """

    _config_names = (
        "height",
        "width",
        "interpolation",
        "crop_to_aspect_ratio",
        "pad_to_aspect_ratio",
        "fill_mode",
        "fill_value",
        "antialias",
    )

    def __init__(
        self,
        height: int,
        width: int,
        interpolation: str = "bilinear",
        crop_to_aspect_ratio: bool = False,
        pad_to_aspect_ratio: bool = False,
        fill_mode: str = "constant",
        fill_value: float = 0.0,
        antialias: bool = False,
        data_format: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(height, width, data_format, **kwargs)
        self.interpolation = interpolation
        self.crop_to_aspect_ratio = check_bool(
            "crop_to_aspect_ratio", crop_to_aspect_ratio, owner=self
        )
        self.pad_to_aspect_ratio = check_bool(
            "pad_to_aspect_ratio", pad_to_aspect_ratio, owner=self
        )
        if self.crop_to_aspect_ratio and self.pad_to_aspect_ratio:
            raise ValueError(
                "Resizing was given crop_to_aspect_ratio=True and pad_to_aspect_ratio=True; at "
                "most one of them was expected to be True."
            )
        self.fill_mode = fill_mode
        self.fill_value = fill_value
        self.antialias = bool(antialias)

    def get_random_transformation(
        self, data: ImageData, training: bool = True, seed: Seed = None
    ) -> Transformation:
        """Return the height and the width of the inputs."""
        return self._sizes(images_of(data).shape)

    def transform_images(
        self, images: TensorLike, transformation: Transformation = None, training: bool = True
    ) -> Tensor:
        """Resize a batch of images."""
        return self._resize(images, self.interpolation)

    def transform_segmentation_masks(
        self,
        segmentation_masks: TensorLike,
        transformation: Transformation = None,
        training: bool = True,
    ) -> TensorLike:
        """Resize a batch of segmentation masks."""
        return self._resize(segmentation_masks, "nearest")

    def _resize(self, images: TensorLike, interpolation: str) -> Tensor:
        return ops.image.resize(
            images,
            (self.height, self.width),
            interpolation=interpolation,
            antialias=self.antialias,
            crop_to_aspect_ratio=self.crop_to_aspect_ratio,
            pad_to_aspect_ratio=self.pad_to_aspect_ratio,
            fill_mode=self.fill_mode,
            fill_value=self.fill_value,
            data_format=self.data_format,
        )

    def _output_dtype(self, dtype: str) -> str:
        return dtype

    def transform_bounding_boxes(
        self,
        bounding_boxes: LabeledBoxes,
        transformation: Transformation = None,
        training: bool = True,
    ) -> LabeledBoxes:
        """Scale the bounding boxes of a batch; padding, boxes of zeros or of -1, becomes zeros."""
        height, width = transformation
        boxes = bounding_boxes["boxes"]
        is_padding = ops.all(ops.equal(boxes, -1), axis=-1) | ops.all(ops.equal(boxes, 0), axis=-1)
        resized = self._to_corners(bounding_boxes, height, width)
        resized = clip_to_image_size(
            {**resized, "boxes": self._resize_corners(resized["boxes"], height, width)},
            self.height,
            self.width,
        )
        visible = ops.where(ops.expand_dims(is_padding, -1), 0.0, resized["boxes"])
        return convert_format(
            {**resized, "boxes": visible},
            "xyxy",
            str(self.bounding_box_format),
            self.height,
            self.width,
        )

    def _resize_corners(self, boxes: Tensor, height: int, width: int) -> Tensor:
        """Return boxes "xyxy" where they are in the outputs."""
        scale_x, scale_y = self.width / width, self.height / height
        if not (self.crop_to_aspect_ratio or self.pad_to_aspect_ratio):
            return scale_boxes(boxes, (scale_x, scale_y))
        scale = (max if self.crop_to_aspect_ratio else min)(scale_x, scale_y)
        left, top = (self.width - width * scale) // 2, (self.height - height * scale) // 2
        if self.crop_to_aspect_ratio:  # what is cut off is rounded towards zero
            left, top = -((width * scale - self.width) // 2), -((height * scale - self.height) // 2)
        return scale_boxes(boxes, (scale, scale)) + ops.array([left, top, left, top], boxes.dtype)


class CenterCrop(FixedSizeLayer):
    """Crops the center of images, in training and inference alike.

    Images that are smaller than the crop are resized to it, after they have been cropped to its
    aspect ratio.

    Args:
        height: The height of the outputs.
        width: The width of the outputs.
        data_format: "channels_last" (the default) or "channels_first".
        **kwargs: `name`, `dtype`, `bounding_box_format`.

    Example:
        >>> podium.layers.CenterCrop(2, 2)(np.arange(16.0).reshape(4, 4, 1)).numpy()[..., 0]
        array([[ 5.,  6.],
               [ 9., 10.]], dtype=float32)
    """

    def get_random_transformation(
        self, data: ImageData, training: bool = True, seed: Seed = None
    ) -> Transformation:
        """Return the shape of the inputs."""
        return {"input_shape": tuple(images_of(data).shape)}

    def transform_images(
        self, images: TensorLike, transformation: Transformation = None, training: bool = True
    ) -> Tensor:
        """Crop a batch of images."""
        return self._crop(self._as_images(images), "bilinear")

    def transform_segmentation_masks(
        self,
        segmentation_masks: TensorLike,
        transformation: Transformation = None,
        training: bool = True,
    ) -> TensorLike:
        """Crop a batch of segmentation masks."""
        return self._crop(ops.convert_to_tensor(segmentation_masks), "nearest")

    def _crop(self, images: Tensor, interpolation: str) -> Tensor:
        height, width = self._sizes(images.shape)
        top, left = (height - self.height) // 2, (width - self.width) // 2
        if top < 0 or left < 0:
            return self._crop_to_ratio(images, interpolation)
        rows, columns = slice(top, top + self.height), slice(left, left + self.width)
        if self.data_format == "channels_first":
            return images[..., rows, columns]
        return images[..., rows, columns, :]

    def transform_bounding_boxes(
        self,
        bounding_boxes: LabeledBoxes,
        transformation: Transformation = None,
        training: bool = True,
    ) -> LabeledBoxes:
        """Shift and clip the bounding boxes of a batch."""
        height, width = self._sizes(transformation["input_shape"])
        boxes = self._to_corners(bounding_boxes, height, width)
        top, left = (height - self.height) // 2, (width - self.width) // 2
        if top < 0 or left < 0:
            return self._from_corners(self._crop_boxes_to_ratio(boxes, height, width))
        moved = scale_boxes(boxes["boxes"], (1.0, 1.0), (-left, -top))
        return self._from_corners({**boxes, "boxes": moved})
