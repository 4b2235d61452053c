"""ContrastLimitedAdaptiveHistogramEqualization (CLAHE): equalization of the histograms of tiles."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp

from podium import ops
from podium._typing import TensorLike
from podium.core import Tensor, dispatch, promote_dtypes
from podium.core.internal import check_int, check_number
from podium.layers.preprocessing.image._histograms import count_values
from podium.layers.preprocessing.image._image_layer import PixelLayer, Transformation
from podium.layers.preprocessing.image._value_ranges import change_value_range, check_value_range

_NUM_VALUES = 256


class ContrastLimitedAdaptiveHistogramEqualization(PixelLayer):
    """Equalizes the contrast of regions of each image, also in inference (CLAHE).

    Each channel is divided into tiles. The histogram of a tile, with its peaks cut off, decides how
    its values change; between the centers of tiles the changes are interpolated.

    Args:
        value_range: The lowest and the highest value of pixels.
        clip_limit: What is cut off of a histogram, in units of its mean; 0 cuts nothing off.
        tile_grid_size: The numbers of tiles, `(rows, columns)`.
        data_format: "channels_last" (the default) or "channels_first".
        **kwargs: `name`, `dtype`, `bounding_box_format`.

    Example:
        >>> layer = podium.layers.ContrastLimitedAdaptiveHistogramEqualization(
        ...     clip_limit=0, tile_grid_size=(1, 1))
        >>> layer(np.array([[[100.0], [101.0], [102.0], [103.0]]])).numpy().ravel()
        array([ 63.75, 127.5 , 191.25, 255.  ], dtype=float32)
    """

    _config_names = ("value_range", "clip_limit", "tile_grid_size")

    def __init__(
        self,
        value_range: tuple[float, float] = (0, 255),
        clip_limit: float = 4.0,
        tile_grid_size: tuple[int, int] = (8, 8),
        data_format: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(data_format=data_format, **kwargs)
        self.value_range = check_value_range(self, value_range)
        self.clip_limit = check_number("clip_limit", clip_limit, 0, owner=self)
        rows, columns = tile_grid_size
        self.tile_grid_size = (
            check_int("tile_grid_size", rows, owner=self),
            check_int("tile_grid_size", columns, owner=self),
        )

    def transform_images(
        self, images: TensorLike, transformation: Transformation = None, training: bool = True
    ) -> Tensor:
        """Equalize a batch of images."""
        original = self._as_images(images)
        images = change_value_range(original, self.value_range, (0, 255), "float32")
        equalized: Tensor = dispatch(
            _equalize_tiles,
            images,
            channel_axis=self.channel_axis,
            grid=self.tile_grid_size,
            clip_limit=self.clip_limit,
        )
        result = change_value_range(equalized, (0, 255), self.value_range, "float32")
        return ops.cast(result, original.dtype)


@promote_dtypes
def _equalize_tiles(
    images: jax.Array, channel_axis: int, grid: tuple[int, int], clip_limit: float
) -> jax.Array:
    """Equalize each channel of each image, with values from 0 to 255."""
    equalize = functools.partial(_equalize_image, grid=grid, clip_limit=clip_limit)
    channels = jnp.moveaxis(images, channel_axis, 1).astype("float32")
    return jnp.moveaxis(jax.vmap(jax.vmap(equalize))(channels), 1, channel_axis)


def _equalize_image(image: jax.Array, grid: tuple[int, int], clip_limit: float) -> jax.Array:
    """Equalize one channel `(height, width)`."""
    height, width = image.shape
    tile_sizes = -(-height // grid[0]), -(-width // grid[1])
    pads = [
        (0, size * num - length)
        for size, num, length in zip(tile_sizes, grid, image.shape, strict=True)
    ]
    values = jnp.clip(jnp.pad(image, pads, mode="symmetric").astype("int32"), 0, 255)
    tiles = values.reshape(grid[0], tile_sizes[0], grid[1], tile_sizes[1])
    tiles = tiles.transpose(0, 2, 1, 3).reshape(*grid, -1)
    count = jax.vmap(jax.vmap(functools.partial(count_values, num=_NUM_VALUES)))
    tables = _lookup_tables(count(tiles).astype("float32"), clip_limit)
    tables = jnp.pad(tables, [(1, 1), (1, 1), (0, 0)], mode="edge")
    (top, bottom, row_weight), (left, right, column_weight) = (
        _nearest_tiles(size, num) for size, num in zip(tile_sizes, grid, strict=True)
    )

    def look_up(rows: jax.Array, columns: jax.Array) -> jax.Array:
        return tables[rows[:, None], columns[None, :], values]

    upper = look_up(top, left) * (1 - column_weight) + look_up(top, right) * column_weight
    lower = look_up(bottom, left) * (1 - column_weight) + look_up(bottom, right) * column_weight
    weight = row_weight[:, None]
    return (upper * (1 - weight) + lower * weight)[:height, :width]


def _lookup_tables(histograms: jax.Array, clip_limit: float) -> jax.Array:
    """Return the new value of each old one, for the histograms of the tiles."""
    num_pixels = histograms.sum(axis=-1, keepdims=True)
    if clip_limit > 0:
        clipped = jnp.minimum(histograms, clip_limit * num_pixels / _NUM_VALUES)
        excess = (histograms - clipped).sum(axis=-1, keepdims=True)
        histograms = clipped + excess / _NUM_VALUES
    cumulative = jnp.cumsum(histograms, axis=-1)
    lowest = cumulative.min(axis=-1, keepdims=True)
    total = num_pixels - lowest
    return jnp.clip((cumulative - lowest) * 255.0 / jnp.where(total == 0, 1, total), 0, 255)


def _nearest_tiles(size: int, num: int) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return the tiles before and after each pixel along an axis, and the weight of the latter.

    The tables are padded by one tile on both sides.
    """
    position = (jnp.arange(size * num, dtype="float32") - size / 2.0) / size + 1.0
    before = jnp.floor(position)
    first, second = (jnp.clip(i, 0, num + 1).astype("int32") for i in (before, before + 1))
    return first, second, position - before
