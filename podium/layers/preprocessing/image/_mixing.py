"""MixUp and CutMix: each image is mixed with another one of its batch, and the labels likewise."""

from __future__ import annotations

from typing import Any

from podium import ops
from podium import random as podium_random
from podium._typing import TensorLike
from podium.core import SeedGenerator, Tensor
from podium.core.internal import check_number
from podium.layers.preprocessing.bounding_boxes._formats import LabeledBoxes
from podium.layers.preprocessing.image._erasing import draw_interval, mask_rectangles
from podium.layers.preprocessing.image._image_layer import (
    ImageData,
    ImageLayer,
    Seed,
    Transformation,
    images_of,
    num_images,
)
from podium.layers.preprocessing.image._value_ranges import (
    Factor,
    check_factor,
    draw_uniform,
    per_image,
)


class _MixingLayer(ImageLayer):
    """Mixes each image of a batch with another one: `permutation_order` says with which."""

    def transform_labels(
        self, labels: TensorLike, transformation: Transformation = None, training: bool = True
    ) -> TensorLike:
        """Mix the labels of a batch, vectors of class probabilities, like the images."""
        if not training or transformation is None:
            return labels
        labels = ops.convert_to_tensor(labels)
        if len(labels.shape) < 2:
            raise ValueError(
                f"{type(self).__name__} was given labels of shape {tuple(labels.shape)}; one "
                "vector for each image was expected, since labels are mixed. Encode class indices "
                "first: `ops.one_hot(labels, num_classes)`."
            )
        labels = ops.cast(labels, self.compute_dtype)
        return _blend(labels, transformation, len(labels.shape))

    def _draw_order(self, num: int, seed: int | SeedGenerator) -> Tensor:
        """Draw a permutation of the images."""
        return ops.argsort(podium_random.uniform((num,), seed=seed))


def _partners(values: Tensor, transformation: Transformation) -> Tensor:
    """Return the values that belong to the other image of each pair."""
    order = ops.cast(ops.convert_to_tensor(transformation["permutation_order"]), "int32")
    return ops.take(values, order, axis=0)


def _blend(values: Tensor, transformation: Transformation, rank: int = 4) -> Tensor:
    """Return the weighted mean of values of a rank and those of the other images."""
    weight = ops.cast(per_image(transformation["mix_weight"], rank), values.dtype)
    return weight * values + (1.0 - weight) * _partners(values, transformation)


class MixUp(_MixingLayer):
    """Blends each image of a batch with another one, by a random weight, in training.

    Labels, vectors of class probabilities, are blended by the same weight, as are segmentation
    masks, which become floats. Images get the bounding boxes of both.

    References:
        https://arxiv.org/abs/1710.09412

    Args:
        alpha: The weights are drawn from a beta distribution with this parameter: the smaller it
            is, the closer they are to 0 or 1.
        data_format: "channels_last" (the default) or "channels_first".
        seed: An int that makes the random values deterministic.
        **kwargs: `name`, `dtype`, `bounding_box_format`.

    Example:
        >>> layer = podium.layers.MixUp(alpha=1.0, seed=1)
        >>> images = np.arange(2.0).reshape(2, 1, 1, 1)
        >>> data = {"images": images, "labels": np.array([[1.0, 0.0], [0.0, 1.0]])}
        >>> outputs = layer(data)
        >>> bool(np.allclose(outputs["labels"][:, 1], outputs["images"][:, 0, 0, 0]))
        True
    """

    _config_names = ("alpha", "seed")

    def __init__(
        self,
        alpha: float = 0.2,
        data_format: str | None = None,
        seed: int | None = None,
        **kwargs: Any,
    ):
        super().__init__(data_format=data_format, **kwargs)
        self.alpha = check_number("alpha", alpha, 0, owner=self, type_error=ValueError)
        if not self.alpha:
            raise ValueError(f"MixUp was given alpha={alpha!r}; a positive number was expected.")
        self.seed = seed
        self.generator = SeedGenerator(seed)

    def get_random_transformation(
        self, data: ImageData, training: bool = True, seed: Seed = None
    ) -> Transformation:
        """Draw `mix_weight`, the weight of each image, and `permutation_order`, the others."""
        if not training:
            return None
        seed = self.generator if seed is None else seed
        num = num_images(data)
        order = self._draw_order(num, seed)
        weight = podium_random.beta((num,), self.alpha, self.alpha, seed=seed)
        return {"mix_weight": weight, "permutation_order": order}

    def transform_images(
        self, images: TensorLike, transformation: Transformation = None, training: bool = True
    ) -> Tensor:
        """Blend the images of a batch."""
        images = self._as_images(images)
        if not training or transformation is None:
            return images
        return _blend(images, transformation)

    def transform_segmentation_masks(
        self,
        segmentation_masks: TensorLike,
        transformation: Transformation = None,
        training: bool = True,
    ) -> TensorLike:
        """Blend the segmentation masks of a batch."""
        return self.transform_images(segmentation_masks, transformation, training)

    def transform_bounding_boxes(
        self,
        bounding_boxes: LabeledBoxes,
        transformation: Transformation = None,
        training: bool = True,
    ) -> LabeledBoxes:
        """Return the bounding boxes of both images of each pair."""
        if not training or transformation is None:
            return bounding_boxes
        return {**bounding_boxes} | {
            key: ops.concatenate(
                [values, _partners(values, transformation)], axis=min(1, len(values.shape) - 1)
            )
            for key, values in bounding_boxes.items()
        }


class CutMix(_MixingLayer):
    """Replaces a random rectangle of each image by that of another image of the batch, in training.

    Labels, vectors of class probabilities, are mixed in proportion to the areas. Bounding boxes are
    not supported. A single image stays as it is.

    References:
        https://arxiv.org/abs/1905.04899

    Args:
        factor: The parameter of the beta distribution from which areas are drawn: a number x from
            0 to 1, for one drawn from 0 to x, or a pair of bounds.
        seed: An int that makes the random values deterministic.
        data_format: "channels_last" (the default) or "channels_first".
        **kwargs: `name`, `dtype`, `bounding_box_format`.

    Example:
        >>> layer = podium.layers.CutMix(seed=1)
        >>> images = np.zeros((2, 16, 16, 1)) + np.arange(2.0).reshape(2, 1, 1, 1)
        >>> outputs = layer({"images": images, "labels": np.array([[1.0, 0.0], [0.0, 1.0]])})
        >>> sorted(set(np.unique(outputs["images"]).tolist()))
        [0.0, 1.0]
    """

    _config_names = ("factor", "seed")

    def __init__(
        self,
        factor: Factor = 1.0,
        seed: int | None = None,
        data_format: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(data_format=data_format, **kwargs)
        self.factor = check_factor(self, factor, 0, 1)
        self.seed = seed
        self.generator = SeedGenerator(seed)

    def get_random_transformation(
        self, data: ImageData, training: bool = True, seed: Seed = None
    ) -> Transformation:
        """Draw `batch_masks`, true where pixels are replaced, `mix_weight`, the fraction of pixels
        that stay, and `permutation_order`, the other images.
        """
        images = images_of(data)
        if not training or len(images.shape) == 3:
            return None
        seed, dtype = self.generator if seed is None else seed, self.compute_dtype
        num = num_images(data)
        height, width = self._sizes(images.shape)
        alpha = draw_uniform((), self.factor, seed) + 1e-6
        weight = podium_random.beta((num,), alpha, alpha, seed=seed)
        side = ops.sqrt(1.0 - weight)
        columns = draw_interval(width, side, seed, dtype)
        rows = draw_interval(height, side, seed, dtype)
        masks = mask_rectangles((height, width), rows, columns)
        area = (columns[1] - columns[0]) * (rows[1] - rows[0])
        return {
            "permutation_order": self._draw_order(num, seed),
            "batch_masks": ops.expand_dims(masks, self.channel_axis),
            "mix_weight": per_image(1.0 - area / (height * width)),
        }

    def transform_images(
        self, images: TensorLike, transformation: Transformation = None, training: bool = True
    ) -> Tensor:
        """Replace a rectangle of each image of a batch."""
        images = self._as_images(images)
        if not training or transformation is None:
            return images
        return self._replace_rectangles(images, transformation)

    def transform_segmentation_masks(
        self,
        segmentation_masks: TensorLike,
        transformation: Transformation = None,
        training: bool = True,
    ) -> TensorLike:
        """Replace a rectangle of each segmentation mask of a batch."""
        if not training or transformation is None:
            return segmentation_masks
        masks = ops.convert_to_tensor(segmentation_masks)
        return self._replace_rectangles(masks, transformation)

    def _replace_rectangles(self, images: Tensor, transformation: Transformation) -> Tensor:
        # One mask for all channels: segmentation masks may have another number of them.
        inside = ops.any(transformation["batch_masks"], axis=self.channel_axis, keepdims=True)
        return ops.where(inside, _partners(images, transformation), images)
