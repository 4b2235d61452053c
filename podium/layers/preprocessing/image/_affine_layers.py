"""RandomRotation, RandomTranslation, RandomZoom and RandomShear: affine transforms of images.

Each layer draws its parameters and computes the matrices from positions in the outputs to positions
in the inputs. Pixels are sampled by these matrices, and boxes are moved by their inverses.
"""

from __future__ import annotations

import math
from typing import Any

from podium import ops
from podium.core import SeedGenerator, Tensor
from podium.layers.preprocessing.image._geometric_layer import (
    SamplingLayer,
    bound_points,
    box_corners,
)
from podium.layers.preprocessing.image._image_layer import (
    ImageData,
    Seed,
    Transformation,
    images_of,
    num_images,
)
from podium.layers.preprocessing.image._value_ranges import Factor, check_factor, draw_uniform


class _AffineLayer(SamplingLayer):
    """Transforms images by a matrix for each image."""

    def _matrices(self, transformation: Transformation, height: int, width: int) -> list[Tensor]:
        """Return `a0, a1, a2, b0, b1, b2`, each `(batch,)`.

        The pixel (x, y) of the outputs is at `(a0 x + a1 y + a2, b0 x + b1 y + b2)` in the inputs.
        """
        raise NotImplementedError

    def _move_pixels(
        self, images: Tensor, transformation: Transformation, interpolation: str
    ) -> Tensor:
        matrices = self._matrices(transformation, *self._sizes(images.shape))
        zeros = ops.zeros_like(matrices[0])
        return ops.image.affine_transform(
            images,
            ops.stack([*matrices, zeros, zeros], axis=-1),
            interpolation=interpolation,
            fill_mode=self.fill_mode,
            fill_value=self.fill_value,
            data_format=self.data_format,
        )

    def _move_boxes(
        self, boxes: Tensor, transformation: Transformation, height: int, width: int
    ) -> Tensor:
        matrices = self._matrices(transformation, height, width)
        a0, a1, a2, b0, b1, b2 = (ops.reshape(each, (-1, 1, 1)) for each in matrices)
        x, y = ops.unstack(box_corners(boxes), 2, axis=-1)
        x, y = x - a2, y - b2
        determinant = a0 * b1 - a1 * b0
        moved = [(b1 * x - a1 * y) / determinant, (a0 * y - b0 * x) / determinant]
        return bound_points(ops.stack(moved, axis=-1))


class RandomRotation(_AffineLayer):
    """Rotates each image by a random angle in training.

    Args:
        factor: The angle as a fraction of the full circle, positive counter-clockwise: a number x,
            for angles from -x to x, or a pair of bounds.
        fill_mode: What is beyond the edges: "reflect" (the default), "wrap", "constant" or
            "nearest".
        interpolation: "bilinear" or "nearest".
        seed: An int that makes the random values deterministic.
        fill_value: The value beyond the edges for "constant".
        data_format: "channels_last" (the default) or "channels_first".
        **kwargs: `name`, `dtype`, `bounding_box_format`.

    Example:
        >>> layer = podium.layers.RandomRotation((0.25, 0.25))
        >>> layer(np.array([[[1.0], [2.0]], [[3.0], [4.0]]])).numpy()[..., 0].round(3)
        array([[2., 4.],
               [1., 3.]], dtype=float32)
    """

    _config_names = ("factor", "fill_mode", "fill_value", "interpolation", "seed")

    def __init__(
        self,
        factor: Factor,
        fill_mode: str = "reflect",
        interpolation: str = "bilinear",
        seed: int | None = None,
        fill_value: float = 0.0,
        data_format: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(interpolation, fill_mode, fill_value, data_format=data_format, **kwargs)
        self.factor = check_factor(self, factor, -1, 1)
        self.seed = seed
        self.generator = SeedGenerator(seed)

    def get_random_transformation(
        self, data: ImageData, training: bool = True, seed: Seed = None
    ) -> Transformation:
        """Draw `angle`, the angle of each image in degrees."""
        if not training:
            return None
        seed = self.generator if seed is None else seed
        bounds = self.factor[0] * 360.0, self.factor[1] * 360.0
        angle = draw_uniform((num_images(data),), bounds, seed)
        return {"angle": angle, "input_shape": tuple(images_of(data).shape)}

    def _matrices(self, transformation: Transformation, height: int, width: int) -> list[Tensor]:
        angle = ops.convert_to_tensor(transformation["angle"]) * (math.pi / 180.0)
        x, y = 0.5 * (width - 1), 0.5 * (height - 1)
        cos, sin = ops.cos(angle), ops.sin(angle)
        return [cos, -sin, x - x * cos + y * sin, sin, cos, y - x * sin - y * cos]


class RandomTranslation(_AffineLayer):
    """Shifts each image by a random distance in training.

    Args:
        height_factor: The shift down as a fraction of the height: a number x from 0 to 1, for
            shifts from -x to x, or a pair of bounds from -1 to 1.
        width_factor: The shift to the right as a fraction of the width, likewise.
        fill_mode: What is beyond the edges: "reflect" (the default), "wrap", "constant" or
            "nearest".
        interpolation: "bilinear" or "nearest".
        seed: An int that makes the random values deterministic.
        fill_value: The value beyond the edges for "constant".
        data_format: "channels_last" (the default) or "channels_first".
        **kwargs: `name`, `dtype`, `bounding_box_format`.

    Example:
        >>> layer = podium.layers.RandomTranslation(0, (0.5, 0.5), fill_mode="constant")
        >>> layer(np.array([[[1.0], [2.0]], [[3.0], [4.0]]])).numpy()[..., 0]
        array([[0., 1.],
               [0., 3.]], dtype=float32)
    """

    _config_names = (
        "height_factor",
        "width_factor",
        "fill_mode",
        "interpolation",
        "seed",
        "fill_value",
    )

    def __init__(
        self,
        height_factor: Factor,
        width_factor: Factor,
        fill_mode: str = "reflect",
        interpolation: str = "bilinear",
        seed: int | None = None,
        fill_value: float = 0.0,
        data_format: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(interpolation, fill_mode, fill_value, data_format=data_format, **kwargs)
        self.height_factor, self.width_factor = height_factor, width_factor
        self._height_range = check_factor(self, height_factor, -1, 1, "height_factor")
        self._width_range = check_factor(self, width_factor, -1, 1, "width_factor")
        self.seed = seed
        self.generator = SeedGenerator(seed)

    def get_random_transformation(
        self, data: ImageData, training: bool = True, seed: Seed = None
    ) -> Transformation:
        """Draw `translations`, the shift of each image to the right and down in pixels."""
        if not training:
            return None
        seed = self.generator if seed is None else seed
        shape, images = (num_images(data), 1), images_of(data)
        height, width = self._sizes(images.shape)
        down = draw_uniform(shape, self._height_range, seed) * height
        right = draw_uniform(shape, self._width_range, seed) * width
        translations = ops.concatenate([right, down], axis=1)
        return {"translations": translations, "input_shape": tuple(images.shape)}

    def _matrices(self, transformation: Transformation, height: int, width: int) -> list[Tensor]:
        right, down = ops.unstack(transformation["translations"], 2, axis=-1)
        zeros, ones = ops.zeros_like(right), ops.ones_like(right)
        return [ones, zeros, -right, zeros, ones, -down]


class RandomZoom(_AffineLayer):
    """Zooms into or out of each image by a random factor in training.

    Args:
        height_factor: A number x, for zooms from -x to x, or a pair of bounds from -1 to 1:
            positive ones zoom out, and -0.5 shows the central half of the image.
        width_factor: The same for the width; None, the default, keeps the aspect ratio.
        fill_mode: What is beyond the edges: "reflect" (the default), "wrap", "constant" or
            "nearest".
        interpolation: "bilinear" or "nearest".
        seed: An int that makes the random values deterministic.
        fill_value: The value beyond the edges for "constant".
        data_format: "channels_last" (the default) or "channels_first".
        **kwargs: `name`, `dtype`, `bounding_box_format`.

    Example:
        >>> layer = podium.layers.RandomZoom((-0.5, -0.5))
        >>> layer(np.arange(5.0).reshape(1, 5, 1)).numpy().ravel()
        array([1. , 1.5, 2. , 2.5, 3. ], dtype=float32)
    """

    _config_names = RandomTranslation._config_names

    def __init__(
        self,
        height_factor: Factor,
        width_factor: Factor | None = None,
        fill_mode: str = "reflect",
        interpolation: str = "bilinear",
        seed: int | None = None,
        fill_value: float = 0.0,
        data_format: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(interpolation, fill_mode, fill_value, data_format=data_format, **kwargs)
        self.height_factor, self.width_factor = height_factor, width_factor
        self._height_range = self._check_zoom("height_factor", height_factor)
        self._width_range = (
            None if width_factor is None else self._check_zoom("width_factor", width_factor)
        )
        self.seed = seed
        self.generator = SeedGenerator(seed)

    def _check_zoom(self, name: str, factor: Factor) -> tuple[float, float]:
        lower, upper = check_factor(self, factor, -1, 1, name)
        if isinstance(factor, (list, tuple)) and lower == -1:
            raise ValueError(
                f"RandomZoom was given {name}={factor!r}; numbers above -1 were expected: at -1 "
                "nothing of the image is left."
            )
        return lower, upper

    def get_random_transformation(
        self, data: ImageData, training: bool = True, seed: Seed = None
    ) -> Transformation:
        """Draw `height_zoom` and `width_zoom` of each image: below 1 it becomes larger."""
        if not training:
            return None
        seed = self.generator if seed is None else seed
        shape = (num_images(data), 1)
        lower, upper = self._height_range
        height_zoom = width_zoom = draw_uniform(shape, (1.0 + lower, 1.0 + upper), seed)
        if self._width_range is not None:
            lower, upper = self._width_range
            width_zoom = draw_uniform(shape, (1.0 + lower, 1.0 + upper), seed)
        return {
            "height_zoom": height_zoom,
            "width_zoom": width_zoom,
            "input_shape": tuple(images_of(data).shape),
        }

    def _matrices(self, transformation: Transformation, height: int, width: int) -> list[Tensor]:
        x_zoom, y_zoom = (
            ops.reshape(transformation[key], (-1,)) for key in ("width_zoom", "height_zoom")
        )
        zeros = ops.zeros_like(x_zoom)
        x_shift = (width - 1) / 2.0 * (1.0 - x_zoom)
        y_shift = (height - 1) / 2.0 * (1.0 - y_zoom)
        return [x_zoom, zeros, x_shift, zeros, y_zoom, y_shift]


class RandomShear(_AffineLayer):
    """Shears each image by a random amount in training.

    Args:
        x_factor: The horizontal shift of a row, as a fraction of its distance from the top: a
            number x from 0 to 1, for amounts from -x to x, or a pair of bounds from 0 to 1, whose
            sign is drawn.
        y_factor: The vertical shift of a column, likewise.
        interpolation: "bilinear" or "nearest".
        fill_mode: What is beyond the edges: "reflect" (the default), "wrap", "constant" or
            "nearest".
        fill_value: The value beyond the edges for "constant".
        data_format: "channels_last" (the default) or "channels_first".
        seed: An int that makes the random values deterministic.
        **kwargs: `name`, `dtype`, `bounding_box_format`.

    Example:
        >>> layer = podium.layers.RandomShear((1.0, 1.0), fill_mode="constant", seed=1)
        >>> layer(np.array([[[1.0], [2.0]], [[3.0], [4.0]]])).numpy()[..., 0]
        array([[1., 2.],
               [4., 0.]], dtype=float32)
    """

    _config_names = (
        "x_factor",
        "y_factor",
        "fill_mode",
        "interpolation",
        "seed",
        "fill_value",
    )

    def __init__(
        self,
        x_factor: Factor = 0.0,
        y_factor: Factor = 0.0,
        interpolation: str = "bilinear",
        fill_mode: str = "reflect",
        fill_value: float = 0.0,
        data_format: str | None = None,
        seed: int | None = None,
        **kwargs: Any,
    ):
        super().__init__(interpolation, fill_mode, fill_value, data_format=data_format, **kwargs)
        # A config holds the range -x to x of a number x.
        self.x_factor = check_factor(self, x_factor, *_shear_bounds(x_factor), "x_factor", True)
        self.y_factor = check_factor(self, y_factor, *_shear_bounds(y_factor), "y_factor", True)
        self.seed = seed
        self.generator = SeedGenerator(seed)

    def get_random_transformation(
        self, data: ImageData, training: bool = True, seed: Seed = None
    ) -> Transformation:
        """Draw `shear_factor`, the amounts along x and y of each image."""
        if not training:
            return None
        seed = self.generator if seed is None else seed
        shape, dtype = (num_images(data), 1), self.compute_dtype
        is_negative = draw_uniform(shape, (0, 1), seed) > 0.5
        amounts = [
            draw_uniform(shape, bounds, seed, dtype) for bounds in (self.x_factor, self.y_factor)
        ]
        amount = ops.concatenate(amounts, axis=1)
        return {
            "shear_factor": ops.where(is_negative, -amount, amount),
            "input_shape": tuple(images_of(data).shape),
        }

    def _matrices(self, transformation: Transformation, height: int, width: int) -> list[Tensor]:
        x_amount, y_amount = ops.unstack(
            ops.cast(transformation["shear_factor"], "float32"), 2, axis=-1
        )
        zeros, ones = ops.zeros_like(x_amount), ops.ones_like(x_amount)
        return [ones, x_amount, zeros, y_amount, ones, zeros]


def _shear_bounds(factor: Factor) -> tuple[float, float]:
    """Return the bounds of a factor; those in a config may be symmetric around 0."""
    is_symmetric = (
        isinstance(factor, (list, tuple)) and len(factor) == 2 and (factor[0] == -factor[1])
    )
    return (-1, 1) if is_symmetric else (0, 1)
