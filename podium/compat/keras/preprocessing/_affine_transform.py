"""NumPy images that are moved, drawn at random or by given parameters. Needs SciPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Image = np.ndarray[Any, Any]


def apply_affine_transform(
    x: Image,
    theta: float = 0,
    tx: float = 0,
    ty: float = 0,
    shear: float = 0,
    zx: float = 1,
    zy: float = 1,
    row_axis: int = 1,
    col_axis: int = 2,
    channel_axis: int = 0,
    fill_mode: str = "nearest",
    cval: float = 0.0,
    order: int = 1,
) -> Image:
    """Rotate, shift, shear and zoom an image, around its center.

    Args:
        x: One image, with a dimension for channels.
        theta: The angle of rotation, in degrees.
        tx: The shift in pixels, along the columns if `col_axis > row_axis`, and else the rows.
        ty: The shift along the other axis.
        shear: The angle of shearing, in degrees.
        zx: The zoom along the axis of `tx`; 2 halves the image.
        zy: The zoom along the other axis.
        row_axis: The dimension of rows.
        col_axis: The dimension of columns.
        channel_axis: The dimension of channels: 0 or 2.
        fill_mode: What is outside of the image: "nearest", "constant", "reflect" or "wrap".
        cval: The value outside, for "constant".
        order: The order of interpolation, from 0 to 5.

    Example:
        >>> from podium.compat import keras
        >>> image = np.arange(9.0).reshape(3, 3, 1)
        >>> keras.preprocessing.image.apply_affine_transform(
        ...     image, tx=1, row_axis=0, col_axis=1, channel_axis=2
        ... )[:, :, 0].tolist()
        [[1.0, 2.0, 2.0], [4.0, 5.0, 5.0], [7.0, 8.0, 8.0]]
    """
    if {row_axis, col_axis, channel_axis} != {0, 1, 2} or channel_axis == 1:
        raise ValueError(
            f"apply_affine_transform was given row_axis={row_axis}, col_axis={col_axis} and "
            f"channel_axis={channel_axis}; 0, 1 and 2 were expected, with the channels first or "
            "last."
        )
    if x.ndim != 3:
        raise ValueError(
            f"apply_affine_transform was given an array of shape {x.shape}; one image with a "
            "dimension for channels was expected."
        )
    matrix = _affine_matrix(theta, tx, ty, shear, zx, zy)
    if matrix is None:
        return x
    from scipy import ndimage  # slow to import, and needed only here

    matrix = _around_center(matrix, x.shape[row_axis], x.shape[col_axis])
    if col_axis > row_axis:
        matrix[:, [0, 1]] = matrix[:, [1, 0]]
        matrix[[0, 1]] = matrix[[1, 0]]
    channels = [
        ndimage.affine_transform(
            channel, matrix[:2, :2], matrix[:2, 2], order=order, mode=fill_mode, cval=cval
        )
        for channel in np.moveaxis(x, channel_axis, 0)
    ]
    return np.moveaxis(np.stack(channels), 0, channel_axis)


def _affine_matrix(
    theta: float, tx: float, ty: float, shear: float, zx: float, zy: float
) -> Image | None:
    """Return the matrix from pixels of the result to those of the image; None for no change."""
    if theta == tx == ty == shear == 0 and zx == zy == 1:
        return None
    angle, slant = np.deg2rad(theta), np.deg2rad(shear)
    rotation = [[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]]
    matrix: Image = np.array(rotation)
    matrix = matrix @ np.array([[1, 0, tx], [0, 1, ty], [0, 0, 1]])
    matrix = matrix @ np.array([[1, -np.sin(slant), 0], [0, np.cos(slant), 0], [0, 0, 1]])
    return matrix @ np.diag([zx, zy, 1])


def _around_center(matrix: Image, rows: int, columns: int) -> Image:
    """Return a matrix of which the center of the image is the origin."""
    shift = np.eye(3)
    shift[:2, 2] = rows / 2 - 0.5, columns / 2 - 0.5
    back = np.eye(3)
    back[:2, 2] = -shift[:2, 2]
    return shift @ matrix @ back


def random_rotation(
    x: Image,
    rg: float,
    row_axis: int = 1,
    col_axis: int = 2,
    channel_axis: int = 0,
    fill_mode: str = "nearest",
    cval: float = 0.0,
    interpolation_order: int = 1,
) -> Image:
    """Rotate an image by a random angle, drawn from `np.random`.

    Args:
        x: One image.
        rg: The largest angle, in degrees, in both directions.
        row_axis: The dimension of rows.
        col_axis: The dimension of columns.
        channel_axis: The dimension of channels.
        fill_mode: What is outside of the image: "nearest", "constant", "reflect" or "wrap".
        cval: The value outside, for "constant".
        interpolation_order: The order of interpolation, from 0 to 5.

    Example:
        >>> from podium.compat import keras
        >>> keras.preprocessing.image.random_rotation(np.ones((3, 8, 8)), 20).shape
        (3, 8, 8)
    """
    theta = np.random.uniform(-rg, rg)
    axes = (row_axis, col_axis, channel_axis)
    return apply_affine_transform(
        x, theta, 0, 0, 0, 1, 1, *axes, fill_mode, cval, interpolation_order
    )


def random_shift(
    x: Image,
    wrg: float,
    hrg: float,
    row_axis: int = 1,
    col_axis: int = 2,
    channel_axis: int = 0,
    fill_mode: str = "nearest",
    cval: float = 0.0,
    interpolation_order: int = 1,
) -> Image:
    """Shift an image by random fractions of its size, drawn from `np.random`.

    Args:
        x: One image.
        wrg: The largest fraction of the width.
        hrg: The largest fraction of the height.
        row_axis: The dimension of rows.
        col_axis: The dimension of columns.
        channel_axis: The dimension of channels.
        fill_mode: What is outside of the image: "nearest", "constant", "reflect" or "wrap".
        cval: The value outside, for "constant".
        interpolation_order: The order of interpolation, from 0 to 5.

    Example:
        >>> from podium.compat import keras
        >>> keras.preprocessing.image.random_shift(np.ones((3, 8, 8)), 0.2, 0.2).shape
        (3, 8, 8)
    """
    tx = np.random.uniform(-hrg, hrg) * x.shape[row_axis]
    ty = np.random.uniform(-wrg, wrg) * x.shape[col_axis]
    axes = (row_axis, col_axis, channel_axis)
    return apply_affine_transform(
        x, 0, tx, ty, 0, 1, 1, *axes, fill_mode, cval, interpolation_order
    )


def random_shear(
    x: Image,
    intensity: float,
    row_axis: int = 1,
    col_axis: int = 2,
    channel_axis: int = 0,
    fill_mode: str = "nearest",
    cval: float = 0.0,
    interpolation_order: int = 1,
) -> Image:
    """Shear an image by a random angle, drawn from `np.random`.

    Args:
        x: One image.
        intensity: The largest angle, in degrees, in both directions.
        row_axis: The dimension of rows.
        col_axis: The dimension of columns.
        channel_axis: The dimension of channels.
        fill_mode: What is outside of the image: "nearest", "constant", "reflect" or "wrap".
        cval: The value outside, for "constant".
        interpolation_order: The order of interpolation, from 0 to 5.

    Example:
        >>> from podium.compat import keras
        >>> keras.preprocessing.image.random_shear(np.ones((3, 8, 8)), 20).shape
        (3, 8, 8)
    """
    shear = np.random.uniform(-intensity, intensity)
    axes = (row_axis, col_axis, channel_axis)
    return apply_affine_transform(
        x, 0, 0, 0, shear, 1, 1, *axes, fill_mode, cval, interpolation_order
    )


def random_zoom(
    x: Image,
    zoom_range: Sequence[float],
    row_axis: int = 1,
    col_axis: int = 2,
    channel_axis: int = 0,
    fill_mode: str = "nearest",
    cval: float = 0.0,
    interpolation_order: int = 1,
) -> Image:
    """Zoom an image by random factors, one for each axis, drawn from `np.random`.

    Args:
        x: One image.
        zoom_range: The smallest and the largest factor; 2 halves the image.
        row_axis: The dimension of rows.
        col_axis: The dimension of columns.
        channel_axis: The dimension of channels.
        fill_mode: What is outside of the image: "nearest", "constant", "reflect" or "wrap".
        cval: The value outside, for "constant".
        interpolation_order: The order of interpolation, from 0 to 5.

    Example:
        >>> from podium.compat import keras
        >>> keras.preprocessing.image.random_zoom(np.ones((3, 8, 8)), (0.5, 1.0)).shape
        (3, 8, 8)
    """
    if len(zoom_range) != 2:
        raise ValueError(f"random_zoom was given zoom_range={zoom_range}; a pair was expected.")
    zx, zy = draw_zoom(zoom_range)
    axes = (row_axis, col_axis, channel_axis)
    return apply_affine_transform(
        x, 0, 0, 0, 0, zx, zy, *axes, fill_mode, cval, interpolation_order
    )


def draw_zoom(zoom_range: Sequence[float]) -> tuple[float, float]:
    """Return two random factors; nothing is drawn where the range is 1 alone."""
    if zoom_range[0] == zoom_range[1] == 1:
        return 1.0, 1.0
    zx, zy = np.random.uniform(zoom_range[0], zoom_range[1], 2)
    return float(zx), float(zy)
