"""The base of layers that change images: batches, single images, and dictionaries with labels,
bounding boxes and segmentation masks.

It owns which data a layer receives and in which form. What is drawn at random and how values change
is decided by subclasses: `get_random_transformation` draws the parameters of a call, and each
`transform_...` method applies them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from podium import ops
from podium._typing import Config, Shape, SymbolicShape, TensorLike, Tree
from podium.core import (
    KerasTensor,
    SeedGenerator,
    Tensor,
    check_choice,
    convert_to_tensor,
    image_data_format,
    is_symbolic,
    map_structure,
)
from podium.layers.preprocessing.bounding_boxes._formats import FORMATS, LabeledBoxes
from podium.layers.preprocessing.image._box_lists import densify_boxes
from podium.layers.preprocessing.image._compiled_layer import CompiledLayer

# Images `(height, width, channels)` or a batch of them, or a dictionary with "images" and,
# optionally, "labels", "bounding_boxes" and "segmentation_masks".
ImageData: TypeAlias = Tree

# The parameters of one call that `get_random_transformation` draws.
Transformation: TypeAlias = Tree

Seed: TypeAlias = int | SeedGenerator | None

KEYS = ("images", "labels", "bounding_boxes", "segmentation_masks")


class ImageLayer(CompiledLayer):
    """Transforms images, and what is passed with them, by parameters that are drawn per call.

    Args:
        bounding_box_format: The format of "bounding_boxes", if there are any.
        data_format: "channels_last" (the default) or "channels_first".
        **kwargs: `name`, `dtype`.
    """

    # Whether boxes must be in a known format.
    _reads_box_format = True

    # The arguments of the constructor, apart from those of this class, that configs hold.
    _config_names: tuple[str, ...] = ()

    def __init__(
        self, bounding_box_format: str | None = None, data_format: str | None = None, **kwargs: Any
    ):
        super().__init__(**kwargs)
        self.built = True  # there are no weights
        if bounding_box_format is not None:
            check_choice("bounding_box_format", bounding_box_format, FORMATS)
        self.bounding_box_format = bounding_box_format
        self.data_format = check_choice(
            "data_format", data_format or image_data_format(), ("channels_last", "channels_first")
        )
        last = self.data_format == "channels_last"
        self.height_axis, self.width_axis, self.channel_axis = (
            (-3, -2, -1) if last else (-2, -1, -3)
        )

    # --- what subclasses define

    def get_random_transformation(
        self, data: ImageData, training: bool = True, seed: Seed = None
    ) -> Transformation:
        """Draw the parameters of a call; None if there are none.

        Args:
            data: The data of the call.
            training: Whether data are augmented.
            seed: An int or a SeedGenerator; by default the generator of the layer.
        """
        return None

    def transform_images(
        self, images: TensorLike, transformation: Transformation = None, training: bool = True
    ) -> Tensor:
        """Transform a batch of images."""
        raise NotImplementedError(f"{type(self).__name__} does not define `transform_images`.")

    def transform_labels(
        self, labels: TensorLike, transformation: Transformation = None, training: bool = True
    ) -> TensorLike:
        """Transform the labels of a batch; they stay as they are."""
        return labels

    def transform_bounding_boxes(
        self,
        bounding_boxes: LabeledBoxes,
        transformation: Transformation = None,
        training: bool = True,
    ) -> LabeledBoxes:
        """Transform the bounding boxes of a batch."""
        raise NotImplementedError(
            f"{type(self).__name__} does not support bounding boxes; remove 'bounding_boxes' from "
            "its inputs, or use another layer."
        )

    def transform_segmentation_masks(
        self,
        segmentation_masks: TensorLike,
        transformation: Transformation = None,
        training: bool = True,
    ) -> TensorLike:
        """Transform the segmentation masks of a batch."""
        raise NotImplementedError(
            f"{type(self).__name__} does not support segmentation masks; remove "
            "'segmentation_masks' from its inputs, or use another layer."
        )

    # --- calls

    def __call__(self, data: ImageData, *args: Any, **kwargs: Any) -> Tree:
        """Transform images, or a dictionary of images and what belongs to them."""
        arguments = prepare_data(type(self).__name__, data)
        outputs = super().__call__(arguments, *args, **kwargs)
        return {**data, **outputs} if isinstance(data, Mapping) else outputs

    def call(self, data: ImageData, training: bool = True) -> Tree:
        """Draw a transformation and apply it."""
        transformation = self.get_random_transformation(data, training=training)
        if not isinstance(data, dict):
            return self._transform("images", data, self._is_batch(data), transformation, training)
        if "bounding_boxes" in data and self._reads_box_format and not self.bounding_box_format:
            raise ValueError(
                f"{type(self).__name__} was given data with 'bounding_boxes', and does not know "
                "their format. Pass it to the layer, for example `bounding_box_format='xyxy'`."
            )
        is_batch = self._is_batch(data["images"])
        return {
            key: self._transform(key, data[key], is_batch, transformation, training)
            for key in KEYS
            if key in data
        }

    def _transform(
        self, key: str, value: Tree, is_batch: bool, transformation: Transformation, training: bool
    ) -> Tree:
        """Transform one entry of the data; a single image is a batch of one."""
        transform = getattr(self, f"transform_{key}")
        if is_batch:
            return transform(value, transformation, training=training)
        batch = map_structure(lambda leaf: ops.expand_dims(leaf, 0), value)
        outputs = transform(batch, transformation, training=training)
        return map_structure(lambda leaf: ops.squeeze(leaf, 0), outputs)

    def _is_batch(self, images: Tensor | KerasTensor) -> bool:
        if len(images.shape) not in (3, 4):
            raise ValueError(
                f"{type(self).__name__} was given images of shape {tuple(images.shape)}; one image "
                "(3 dimensions) or a batch of images (4) was expected."
            )
        return len(images.shape) == 4

    # --- specifications

    def compute_output_shape(self, input_shape: Tree) -> Tree:
        """Return the shape of the outputs for a shape, or a dictionary of shapes, of the inputs."""
        if not isinstance(input_shape, dict):
            return self._image_shape(tuple(input_shape))
        images = ("images", "segmentation_masks")
        return {
            key: self._image_shape(tuple(shape)) if key in images else shape
            for key, shape in input_shape.items()
        }

    def _image_shape(self, shape: SymbolicShape) -> SymbolicShape:
        """Return the shape of the transformed images."""
        return shape

    def compute_output_spec(self, data: Tree, training: bool = True) -> Tree:
        """Return KerasTensors with the shapes and dtypes of the outputs for symbolic inputs."""
        if isinstance(data, dict):
            return super().compute_output_spec(data, training=training)
        return KerasTensor(self._image_shape(tuple(data.shape)), self._output_dtype(data.dtype))

    def _output_dtype(self, dtype: str) -> str:
        """Return the dtype of the transformed images."""
        return self.compute_dtype

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        config = super().get_config() | {"data_format": self.data_format}
        config |= {name: getattr(self, name) for name in self._config_names}
        if self.bounding_box_format is not None:
            config["bounding_box_format"] = self.bounding_box_format
        return config

    # --- helpers of subclasses

    def _sizes(self, shape: Shape) -> tuple[int, int]:
        """Return the height and the width of images of this shape."""
        return shape[self.height_axis], shape[self.width_axis]

    def _as_images(self, images: TensorLike) -> Tensor:
        """Return images in the dtype in which the layer computes."""
        return ops.cast(images, self.compute_dtype)


class PixelLayer(ImageLayer):
    """Changes the values of pixels, and not where they are: only images change."""

    def transform_images(
        self, images: TensorLike, transformation: Transformation = None, training: bool = True
    ) -> Tensor:
        """Transform a batch of images."""
        images = self._as_images(images)
        if not training or transformation is None:
            return images
        return self._augment(images, transformation)

    def _augment(self, images: Tensor, transformation: Transformation) -> Tensor:
        """Return the augmented images of a batch, which have the dtype of the computation."""
        raise NotImplementedError

    def transform_bounding_boxes(
        self,
        bounding_boxes: LabeledBoxes,
        transformation: Transformation = None,
        training: bool = True,
    ) -> LabeledBoxes:
        """Return the bounding boxes as they are."""
        return bounding_boxes

    def transform_segmentation_masks(
        self,
        segmentation_masks: TensorLike,
        transformation: Transformation = None,
        training: bool = True,
    ) -> TensorLike:
        """Return the segmentation masks as they are."""
        return segmentation_masks


def prepare_data(owner: str, data: ImageData) -> ImageData:
    """Return the data of a call with tensors, and without entries that layers do not know.

    Those may hold anything, so they do not become arguments of a program.
    """
    if not isinstance(data, Mapping):
        return _convert_entry(owner, data)
    if "images" not in data:
        raise ValueError(
            f"{owner} was given a dictionary with the keys {sorted(data)}; 'images' was expected."
        )
    return {key: _convert_entry(owner, data[key]) for key in KEYS if key in data}


def _convert_entry(owner: str, value: Tree) -> Tree:
    if isinstance(value, Mapping):
        return densify_boxes(owner, value)
    return value if is_symbolic(value) else convert_to_tensor(value)


def images_of(data: ImageData) -> Tensor:
    """Return the images of the data of a call."""
    images: Tensor = data["images"] if isinstance(data, Mapping) else data
    return images


def num_images(data: ImageData) -> int:
    """Return the number of images of the data of a call."""
    shape = images_of(data).shape
    return 1 if len(shape) == 3 else shape[0]


def ones_per_image(data: ImageData) -> Shape:
    """Return the shape of one number per image that broadcasts against the images."""
    shape = images_of(data).shape
    return (1, 1, 1) if len(shape) == 3 else (shape[0], 1, 1, 1)
