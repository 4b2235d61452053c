"""RandomPerspective and RandomElasticTransform: distortions that are not affine."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from podium import ops
from podium import random as podium_random
from podium._typing import TensorLike
from podium.core import SeedGenerator, Tensor, check_choice, dispatch, promote_dtypes
from podium.core.internal import check_number
from podium.layers.preprocessing.image._geometric_layer import (
    FILL_MODES,
    SamplingLayer,
    bound_points,
    box_corners,
)
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
    check_value_range,
    draw_decisions,
    draw_uniform,
    per_image,
)
from podium.ops.internal import displace_pixels, solve_homography


class RandomPerspective(SamplingLayer):
    """Changes the perspective of a random part of the images in training.

    The corners of an image move by random fractions of their distance from the top left corner.

    Args:
        factor: The probability of each image: a number x, for one drawn from 0 to x, or a pair of
            bounds.
        scale: The range of the fractions, from 0 to 1: each is drawn from `-scale / 2` to
            `scale / 2`.
        interpolation: "bilinear" or "nearest".
        fill_value: The value beyond the edges.
        seed: An int that makes the random values deterministic.
        data_format: "channels_last" (the default) or "channels_first".
        **kwargs: `name`, `dtype`, `bounding_box_format`.

    Example:
        >>> layer = podium.layers.RandomPerspective((1.0, 1.0), seed=0)
        >>> image = np.ones((1, 8, 8, 3), "float32")
        >>> outputs = layer(image)
        >>> outputs.shape, bool((outputs.numpy() != image).any())
        ((1, 8, 8, 3), True)
    """

    _config_names = ("factor", "scale", "interpolation", "fill_value", "seed")

    def __init__(
        self,
        factor: Factor = 1.0,
        scale: float = 1.0,
        interpolation: str = "bilinear",
        fill_value: float = 0.0,
        seed: int | None = None,
        data_format: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(interpolation, "constant", fill_value, data_format=data_format, **kwargs)
        self.factor = check_factor(self, factor, 0, 1)
        self.scale = check_number("scale", scale, 0, 1, owner=self, type_error=ValueError)
        self.seed = seed
        self.generator = SeedGenerator(seed)

    def get_random_transformation(
        self, data: ImageData, training: bool = True, seed: Seed = None
    ) -> Transformation:
        """Draw `apply_perspective`, one boolean per image, and where its corners, `start_points`
        `(batch, 4, 2)`, move: `end_points`.
        """
        if not training:
            return None
        seed = self.generator if seed is None else seed
        images, num = images_of(data), num_images(data)
        height, width = self._sizes(images.shape)
        chosen = draw_decisions(num, self.factor, seed)
        bounds = -0.5 * self.scale, 0.5 * self.scale
        fractions = draw_uniform((num, 4, 2), bounds, seed, self.compute_dtype)
        right, bottom = float(width - 1), float(height - 1)
        corners = [[0.0, 0.0], [right, 0.0], [0.0, bottom], [right, bottom]]
        start_points = ops.zeros_like(fractions) + ops.array([corners], self.compute_dtype)
        return {
            "apply_perspective": chosen,
            "start_points": start_points,
            "end_points": start_points + start_points * fractions,
            "input_shape": tuple(images.shape),
        }

    def _move_pixels(
        self, images: Tensor, transformation: Transformation, interpolation: str
    ) -> Tensor:
        moved = ops.image.perspective_transform(
            images,
            transformation["start_points"],
            transformation["end_points"],
            interpolation=interpolation,
            fill_value=self.fill_value,
            data_format=self.data_format,
        )
        return ops.where(per_image(transformation["apply_perspective"]), moved, images)

    def _move_boxes(
        self, boxes: Tensor, transformation: Transformation, height: int, width: int
    ) -> Tensor:
        points: Tensor = dispatch(
            _project_points,
            box_corners(boxes),
            transformation["start_points"],
            transformation["end_points"],
        )
        chosen = per_image(transformation["apply_perspective"], 3)
        return ops.where(chosen, bound_points(points), boxes)


@promote_dtypes
def _project_points(points: jax.Array, start_points: jax.Array, end_points: jax.Array) -> jax.Array:
    """Move points `(batch, ..., 2)` as the start points move to the end points."""
    start_points, end_points = (
        jnp.asarray(corners, "float32").reshape(-1, 4, 2) for corners in (start_points, end_points)
    )
    coefficients = solve_homography(end_points, start_points)
    ones = jnp.ones_like(coefficients[:, :1])
    matrices = jnp.concatenate([coefficients, ones], axis=-1).reshape(-1, 3, 3)
    projected = jnp.einsum("bnpx,byx->bnpy", points, matrices[:, :, :2])
    projected += matrices[:, None, None, :, 2]
    return projected[..., :2] / projected[..., 2:]


class RandomElasticTransform(ImageLayer):
    """Distorts a random part of the images by smooth random displacements in training.

    Bounding boxes are not supported.

    Args:
        factor: The probability of each image: a number x, for one drawn from 0 to x, or a pair of
            bounds.
        scale: The strength of the displacements: a number x from 0 to 1, for values from 0 to x, or
            a pair of bounds. It is drawn once for all images.
        interpolation: "bilinear" or "nearest".
        fill_mode: What is beyond the edges: "reflect" (the default), "mirror", "wrap", "constant"
            or "nearest".
        fill_value: The value beyond the edges for "constant".
        value_range: The lowest and the highest value of pixels; results are clipped to it.
        seed: An int that makes the random values deterministic.
        data_format: "channels_last" (the default) or "channels_first".
        **kwargs: `name`, `dtype`, `bounding_box_format`.

    Example:
        >>> layer = podium.layers.RandomElasticTransform((1.0, 1.0), scale=(1.0, 1.0), seed=1)
        >>> image = np.tile(np.arange(64.0), (1, 64, 1))[..., None]
        >>> bool((layer(image).numpy() != image).any())
        True
    """

    _config_names = (
        "factor",
        "scale",
        "interpolation",
        "fill_mode",
        "fill_value",
        "value_range",
        "seed",
    )

    def __init__(
        self,
        factor: Factor = 1.0,
        scale: Factor = 1.0,
        interpolation: str = "bilinear",
        fill_mode: str = "reflect",
        fill_value: float = 0.0,
        value_range: tuple[float, float] = (0, 255),
        seed: int | None = None,
        data_format: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(data_format=data_format, **kwargs)
        self.factor = check_factor(self, factor, 0, 1)
        self.scale = check_factor(self, scale, 0, 1, "scale")
        self.interpolation = check_choice("interpolation", interpolation, ("nearest", "bilinear"))
        self.fill_mode = check_choice("fill_mode", fill_mode, (*FILL_MODES, "mirror"))
        self.fill_value = fill_value
        self.value_range = check_value_range(self, value_range)
        self.seed = seed
        self.generator = SeedGenerator(seed)

    def get_random_transformation(
        self, data: ImageData, training: bool = True, seed: Seed = None
    ) -> Transformation:
        """Draw `apply_transform`, one boolean per image, `distortion_factor`, the strength, and
        `seed`, an integer from which the displacements are drawn.
        """
        if not training or self.scale[1] == 0 or self.factor[1] == 0:
            return None
        seed = self.generator if seed is None else seed
        return {
            "apply_transform": draw_decisions(num_images(data), self.factor, seed),
            "distortion_factor": draw_uniform((), self.scale, seed),
            "seed": podium_random.randint((), 0, 2**31 - 1, seed=seed),
        }

    def transform_images(
        self, images: TensorLike, transformation: Transformation = None, training: bool = True
    ) -> Tensor:
        """Transform a batch of images."""
        images = self._as_images(images)
        if not training or transformation is None:
            return images
        return ops.clip(
            self._displace(images, transformation, self.interpolation), *self.value_range
        )

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
        return self._displace(masks, transformation, "nearest")

    def _displace(
        self, images: Tensor, transformation: Transformation, interpolation: str
    ) -> Tensor:
        if len(images.shape) == 3:
            return self._displace(images[None], transformation, interpolation)[0]
        height, width = self._sizes(images.shape)
        moved: Tensor = dispatch(
            _displace_images,
            images,
            transformation["seed"],
            transformation["distortion_factor"],
            max_strength=max(self.scale[1], 0.01),
            sizes=(height, width),
            interpolation=interpolation,
            fill_mode=self.fill_mode,
            fill_value=self.fill_value,
            data_format=self.data_format,
        )
        return ops.where(per_image(transformation["apply_transform"]), moved, images)


@promote_dtypes
def _displace_images(
    images: jax.Array,
    seed: jax.Array,
    strength: jax.Array,
    max_strength: float,
    sizes: tuple[int, int],
    interpolation: str,
    fill_mode: str,
    fill_value: float,
    data_format: str,
) -> jax.Array:
    strength = jnp.maximum(jnp.asarray(strength, "float32"), 1e-3)  # no filter has the width 0
    return displace_pixels(
        images,
        jax.random.key(seed),
        alpha=0.1 * max(sizes) * strength,
        sigma=0.05 * min(sizes) * strength,
        kernel_size=int(6 * 0.05 * min(sizes) * max_strength) | 1,
        interpolation=interpolation,
        fill_mode=fill_mode,
        fill_value=fill_value,
        data_format=data_format,
    )
