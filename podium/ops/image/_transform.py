"""Geometric transforms of images: affine, perspective and elastic, and sampling at coordinates."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
from jax import Array
from jax.scipy import ndimage
from jax.typing import ArrayLike

from podium._typing import TensorLike
from podium.core import SeedGenerator, Tensor, check_choice, draw_seed, promote_dtypes
from podium.ops._arguments import (
    check_images,
    from_channels_last,
    resolve_data_format,
    to_channels_last,
)
from podium.ops._operation import array_function, dispatch, operation
from podium.ops._promotion import as_array, is_integer
from podium.ops.image._filters import filter_channels, gaussian_window

ORDERS = {"nearest": 0, "bilinear": 1}
FILL_MODES = ("constant", "nearest", "wrap", "mirror", "reflect")


def _sample_images(
    images: Array,
    rows: Array,
    columns: Array,
    interpolation: str,
    fill_mode: str,
    fill_value: float,
) -> Array:
    """Sample a channels-last batch at `rows` and `columns`, each `(batch, height, width)`."""

    def sample_channel(channel: Array, rows: Array, columns: Array) -> Array:
        sampled: Array = ndimage.map_coordinates(
            channel, [rows, columns], ORDERS[interpolation], fill_mode, fill_value
        )
        return sampled

    sample_image = jax.vmap(sample_channel, in_axes=(-1, None, None), out_axes=-1)
    return jax.vmap(sample_image)(images, rows, columns)


def _pixel_grid(images: Array) -> list[Array]:
    """Return the row and the column indices of the pixels."""
    return jnp.meshgrid(jnp.arange(images.shape[1]), jnp.arange(images.shape[2]), indexing="ij")


def solve_homography(start_points: Array, end_points: Array) -> Array:
    """Return the eight coefficients, for each image, that map end points to start points."""
    (from_x, from_y), (x, y) = (jnp.moveaxis(p, -1, 0) for p in (start_points, end_points))
    zeros, ones = jnp.zeros_like(x), jnp.ones_like(x)
    x_rows = jnp.stack([x, y, ones, zeros, zeros, zeros, -from_x * x, -from_x * y], axis=-1)
    y_rows = jnp.stack([zeros, zeros, zeros, x, y, ones, -from_y * x, -from_y * y], axis=-1)
    matrix = jnp.concatenate([x_rows, y_rows], axis=-2)
    right_side = jnp.concatenate([from_x, from_y], axis=-1)[..., None]
    coefficients: Array = jnp.linalg.solve(matrix, right_side)[..., 0]
    return coefficients


@array_function("inputs coordinates")
def _map_coordinates(
    inputs: Array,
    coordinates: Array,
    order: int,
    fill_mode: str = "constant",
    fill_value: float = 0,
) -> Array:
    if coordinates.ndim < 2 or coordinates.shape[0] != inputs.ndim:
        raise ValueError(
            f"`coordinates` of shape {coordinates.shape} must have at least two axes, and the "
            f"first one entry for each axis of inputs {inputs.shape}."
        )
    check_choice("fill_mode", fill_mode, FILL_MODES)
    if order not in (0, 1):
        raise ValueError("`order` must be 0 (nearest) or 1 (linear).")
    sampled: Array = ndimage.map_coordinates(
        inputs, list(coordinates), order, fill_mode, fill_value
    )
    return sampled


@operation(_map_coordinates)
def map_coordinates(
    inputs: TensorLike,
    coordinates: TensorLike,
    order: int,
    fill_mode: str = "constant",
    fill_value: float = 0,
) -> Tensor:
    """Sample a tensor at fractional coordinates.

    Args:
        inputs: Input tensor.
        coordinates: Tensor `(axes, ...)`: one coordinate for each axis of `inputs`.
        order: 0 takes the nearest element, 1 interpolates linearly.
        fill_mode: Beyond the edges: `constant`, `nearest`, `wrap`, `mirror` or `reflect`.
        fill_value: Value beyond the edges for `constant`.

    Returns:
        Tensor shaped like `coordinates` without its first axis.

    Example:
        >>> ops.image.map_coordinates(np.array([0.0, 10.0]), [[0.5, 1.0]], order=1).numpy()
        array([ 5., 10.], dtype=float32)
    """
    return dispatch(_map_coordinates, inputs, coordinates, order, fill_mode, fill_value)


@array_function("images transform")
def _affine_transform(
    images: Array,
    transform: Array,
    interpolation: str = "bilinear",
    fill_mode: str = "constant",
    fill_value: float = 0,
    data_format: str | None = None,
) -> Array:
    check_choice("interpolation", interpolation, tuple(ORDERS))
    check_choice("fill_mode", fill_mode, FILL_MODES)
    data_format = resolve_data_format(data_format)
    check_images(images)
    if transform.ndim not in (1, 2) or transform.shape[-1] != 8:
        raise ValueError(
            "`transform` must have 8 numbers, or 8 for each image, and its shape is "
            f"{transform.shape}."
        )
    x = to_channels_last(images, data_format, axis=-3)
    x = x if images.ndim == 4 else x[None]
    rows, columns = _pixel_grid(x)
    a0, a1, a2, b0, b1, b2 = jnp.moveaxis(jnp.atleast_2d(transform)[:, :6], -1, 0)[:, :, None, None]
    from_columns = jnp.broadcast_to(a0 * columns + a1 * rows + a2, (*x.shape[:3],))
    from_rows = jnp.broadcast_to(b0 * columns + b1 * rows + b2, (*x.shape[:3],))
    out = _sample_images(x, from_rows, from_columns, interpolation, fill_mode, fill_value)
    return from_channels_last(out if images.ndim == 4 else out[0], data_format, axis=-3)


@operation(_affine_transform)
def affine_transform(
    images: TensorLike,
    transform: TensorLike,
    interpolation: str = "bilinear",
    fill_mode: str = "constant",
    fill_value: float = 0,
    data_format: str | None = None,
) -> Tensor:
    """Apply affine transforms to images: rotation, scale, shear and translation.

    Args:
        images: One image or a batch.
        transform: Eight numbers `a0 a1 a2 b0 b1 b2 c0 c1`, or a row of them for each image. The
            pixel `(x, y)` of the result is sampled at `(a0 x + a1 y + a2, b0 x + b1 y + b2)`; `c0`
            and `c1` are not used.
        interpolation: `nearest` or `bilinear`.
        fill_mode: Beyond the edges: `constant`, `nearest`, `wrap`, `mirror` or `reflect`.
        fill_value: Value beyond the edges for `constant`.
        data_format: `channels_last` or `channels_first`. `None` means the default.

    Example:
        >>> image = np.arange(4, dtype="float32").reshape(2, 2, 1)
        >>> ops.image.affine_transform(image, [1.0, 0, 1, 0, 1, 0, 0, 0]).numpy()[..., 0]
        array([[1., 0.],
               [3., 0.]], dtype=float32)
    """
    return dispatch(
        _affine_transform, images, transform, interpolation, fill_mode, fill_value, data_format
    )


@array_function("images start_points end_points")
def _perspective_transform(
    images: Array,
    start_points: Array,
    end_points: Array,
    interpolation: str = "bilinear",
    fill_value: float = 0,
    data_format: str | None = None,
) -> Array:
    check_choice("interpolation", interpolation, tuple(ORDERS))
    data_format = resolve_data_format(data_format)
    check_images(images)
    if (
        start_points.shape[-2:] != (4, 2)
        or start_points.ndim not in (2, 3)
        or start_points.shape != end_points.shape
    ):
        raise ValueError(
            "`start_points` and `end_points` must both have shape (4, 2), or (batch, 4, 2), and "
            f"are {start_points.shape} and {end_points.shape}."
        )
    x = to_channels_last(images, data_format, axis=-3)
    x = x if images.ndim == 4 else x[None]
    rows, columns = _pixel_grid(x)
    points = [jnp.reshape(p.astype("float32"), (-1, 4, 2)) for p in (start_points, end_points)]
    h = jnp.moveaxis(solve_homography(*points), -1, 0)[:, :, None, None]
    scale = h[6] * columns + h[7] * rows + 1.0
    from_columns = jnp.broadcast_to((h[0] * columns + h[1] * rows + h[2]) / scale, x.shape[:3])
    from_rows = jnp.broadcast_to((h[3] * columns + h[4] * rows + h[5]) / scale, x.shape[:3])
    out = _sample_images(x, from_rows, from_columns, interpolation, "constant", fill_value)
    return from_channels_last(out if images.ndim == 4 else out[0], data_format, axis=-3)


@operation(_perspective_transform)
def perspective_transform(
    images: TensorLike,
    start_points: TensorLike,
    end_points: TensorLike,
    interpolation: str = "bilinear",
    fill_value: float = 0,
    data_format: str | None = None,
) -> Tensor:
    """Apply perspective transforms to images, defined by four point pairs.

    Args:
        images: One image or a batch.
        start_points: Four points `(x, y)`, `(4, 2)`, or `(batch, 4, 2)`.
        end_points: Target positions of the points, of the same shape.
        interpolation: `nearest` or `bilinear`.
        fill_value: Value beyond the edges.
        data_format: `channels_last` or `channels_first`. `None` means the default.

    Example:
        >>> image = np.arange(4, dtype="float32").reshape(2, 2, 1)
        >>> corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
        >>> ops.image.perspective_transform(image, corners, corners).numpy()[..., 0].round(3)
        array([[0., 1.],
               [2., 3.]], dtype=float32)
    """
    return dispatch(
        _perspective_transform,
        images,
        start_points,
        end_points,
        interpolation,
        fill_value,
        data_format,
    )


def elastic_transform(
    images: TensorLike,
    alpha: float = 20.0,
    sigma: float = 5.0,
    interpolation: str = "bilinear",
    fill_mode: str = "reflect",
    fill_value: float = 0.0,
    seed: int | SeedGenerator | None = None,
    data_format: str | None = None,
) -> Tensor:
    """Distort images by smooth random displacements.

    Args:
        images: One image or a batch.
        alpha: Strength of the displacements.
        sigma: Smoothness of the displacements.
        interpolation: `nearest` or `bilinear`.
        fill_mode: Beyond the edges: `constant`, `nearest`, `wrap`, `mirror` or `reflect`.
        fill_value: Value beyond the edges for `constant`.
        seed: An int, a `SeedGenerator`, or `None` for the global generator.
        data_format: `channels_last` or `channels_first`. `None` means the default.

    Example:
        >>> tuple(ops.image.elastic_transform(np.ones((1, 8, 8, 3), "float32"), seed=0).shape)
        (1, 8, 8, 3)
    """
    check_choice("interpolation", interpolation, tuple(ORDERS))
    check_choice("fill_mode", fill_mode, FILL_MODES)
    distort = functools.partial(
        _distort,
        draw_seed(seed),
        float(alpha),
        float(sigma),
        interpolation,
        fill_mode,
        fill_value,
        resolve_data_format(data_format),
    )
    result: Tensor = dispatch(promote_dtypes(distort), images)
    return result


def _distort(
    key: Array,
    alpha: float,
    sigma: float,
    interpolation: str,
    fill_mode: str,
    fill_value: float,
    data_format: str,
    images: ArrayLike,
) -> Array:
    images = as_array(images)
    check_images(images)
    size = int(6 * sigma) | 1
    return displace_pixels(
        images, key, alpha, sigma, size, interpolation, fill_mode, fill_value, data_format
    )


def displace_pixels(
    images: Array,
    key: Array,
    alpha: float | Array,
    sigma: float | Array,
    kernel_size: int,
    interpolation: str,
    fill_mode: str,
    fill_value: float,
    data_format: str,
) -> Array:
    """Distort one image or a batch by smooth random displacements: `elastic_transform` on arrays.

    `alpha` and `sigma` may be computed; the size of the filter may not.
    """
    x = to_channels_last(images, data_format, axis=-3)
    x = x if images.ndim == 4 else x[None]
    dtype = jnp.float32 if is_integer(x) else x.dtype
    # One displacement per axis, unlike Keras, which uses the same for both.
    noise = jax.random.normal(key, (*x.shape[:3], 2), dtype) * jnp.asarray(sigma, dtype)
    window = gaussian_window(kernel_size, sigma, dtype)
    # Rows and columns in turn: a filter of 67 x 67 would take 30 times as long.
    smooth = filter_channels(filter_channels(noise, window[:, None]), window[None, :])
    shift = jnp.asarray(alpha, dtype) * smooth
    rows, columns = _pixel_grid(x)
    out = _sample_images(
        x, rows + shift[..., 0], columns + shift[..., 1], interpolation, fill_mode, fill_value
    ).astype(x.dtype)
    return from_channels_last(out if images.ndim == 4 else out[0], data_format, axis=-3)
