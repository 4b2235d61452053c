"""RandomSharpness and RandomGaussianBlur: filters of images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from podium import ops
from podium.core import SeedGenerator, Tensor, dispatch, promote_dtypes
from podium.core.internal import check_int
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
    draw_decisions,
    draw_uniform,
    per_image,
)


class RandomSharpness(PixelLayer):
    """Sharpens or smooths each image by a random amount in training.

    Args:
        factor: A number x, for amounts from 0 to x, or a pair of bounds: 0 is the smoothed image,
            0.5 no change, and 1 as much sharper.
        value_range: The lowest and the highest value of pixels; results are clipped to it.
        data_format: "channels_last" (the default) or "channels_first".
        seed: An int that makes the random values deterministic.
        **kwargs: `name`, `dtype`, `bounding_box_format`.

    Example:
        >>> image = np.zeros((3, 3, 1), "float32")
        >>> image[1, 1] = 100.0
        >>> podium.layers.RandomSharpness((0.0, 0.0))(image).numpy()[..., 0].round(1)
        array([[ 7.7,  7.7,  7.7],
               [ 7.7, 38.5,  7.7],
               [ 7.7,  7.7,  7.7]], dtype=float32)
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
        """Draw `factor`, the amount of each image."""
        if not training:
            return None
        seed = self.generator if seed is None else seed
        return {"factor": draw_uniform((num_images(data),), self.factor, seed)}

    def _augment(self, images: Tensor, transformation: Transformation) -> Tensor:
        axis = 1 if self.data_format == "channels_first" else 3
        smooth: Tensor = dispatch(_smooth, images, channel_axis=axis)
        amount = ops.cast(per_image(transformation["factor"]) * 2, images.dtype)
        return ops.clip(images + (1.0 - amount) * (smooth - images), *self.value_range)


@promote_dtypes
def _smooth(images: jax.Array, channel_axis: int) -> jax.Array:
    """Average each pixel of a batch with its neighbors; beyond the edges are zeros."""
    weights = np.full((3, 3, 1), 1 / 13)
    weights[1, 1] = 5 / 13
    spatial = [axis for axis in (1, 2, 3) if axis != channel_axis]
    pads = [(1, 1) if axis in spatial else (0, 0) for axis in range(4)]
    padded = jnp.pad(images, pads)
    total = jnp.zeros_like(images)
    for row in range(3):
        for column in range(3):
            part = padded
            for axis, start in zip(spatial, (row, column), strict=True):
                part = jax.lax.slice_in_dim(part, start, start + images.shape[axis], axis=axis)
            total += part * jnp.asarray(weights[row, column], images.dtype)
    return total


class RandomGaussianBlur(PixelLayer):
    """Blurs a random part of the images with a Gaussian filter in training.

    Args:
        factor: The probability of each image: a number x, for one drawn from 0 to x, or a pair of
            bounds.
        kernel_size: The size of the filter, an odd int, or a pair for columns and rows.
        sigma: The standard deviation of the filter: a number x up to 1, for values from 0 to x, or
            a pair of bounds. It is drawn once for the rows and once for the columns of all images.
        value_range: The lowest and the highest value of pixels; results are clipped to it.
        data_format: "channels_last" (the default) or "channels_first".
        seed: An int that makes the random values deterministic.
        **kwargs: `name`, `dtype`, `bounding_box_format`.

    Example:
        >>> layer = podium.layers.RandomGaussianBlur(factor=(1.0, 1.0), sigma=(1.0, 1.0))
        >>> image = np.zeros((3, 3, 1), "float32")
        >>> image[1, 1] = 100.0
        >>> layer(image).numpy()[..., 0].round(1)
        array([[ 7.5, 12.4,  7.5],
               [12.4, 20.4, 12.4],
               [ 7.5, 12.4,  7.5]], dtype=float32)
    """

    _config_names = ("factor", "kernel_size", "sigma", "value_range", "seed")

    def __init__(
        self,
        factor: Factor = 1.0,
        kernel_size: int | Sequence[int] = 3,
        sigma: Factor = 1.0,
        value_range: tuple[float, float] = (0, 255),
        data_format: str | None = None,
        seed: int | None = None,
        **kwargs: Any,
    ):
        super().__init__(data_format=data_format, **kwargs)
        self.factor = check_factor(self, factor, 0, 1)
        self.kernel_size = self._check_kernel_size(kernel_size)
        self.sigma = check_factor(self, sigma, 0, 1, "sigma")
        self.value_range = check_value_range(self, value_range)
        self.seed = seed
        self.generator = SeedGenerator(seed)

    def _check_kernel_size(self, kernel_size: int | Sequence[int]) -> tuple[int, ...]:
        pair = tuple(kernel_size) if isinstance(kernel_size, (list, tuple)) else (kernel_size,) * 2
        sizes = tuple(
            check_int("kernel_size", size, owner=self, integral_floats=True, type_error=ValueError)
            for size in pair
        )
        if len(sizes) != 2 or any(size % 2 == 0 for size in sizes):
            raise ValueError(
                f"RandomGaussianBlur was given kernel_size={kernel_size!r}; an odd int, or a pair "
                "of them, was expected."
            )
        return sizes

    def get_random_transformation(
        self, data: ImageData, training: bool = True, seed: Seed = None
    ) -> Transformation:
        """Draw `should_apply_blur`, one boolean per image, and `blur_factor`, two deviations."""
        if not training:
            return None
        seed = self.generator if seed is None else seed
        return {
            "should_apply_blur": draw_decisions(num_images(data), self.factor, seed),
            "blur_factor": draw_uniform((2,), self.sigma, seed, self.compute_dtype) + 1e-6,
        }

    def _augment(self, images: Tensor, transformation: Transformation) -> Tensor:
        sigma = ops.cast(transformation["blur_factor"], images.dtype)
        blurred = ops.image.gaussian_blur(
            images, self.kernel_size, sigma, data_format=self.data_format
        )
        chosen = per_image(transformation["should_apply_blur"])
        return ops.clip(ops.where(chosen, blurred, images), *self.value_range)
