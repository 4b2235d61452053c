"""Cropping and padding of images."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from podium._typing import TensorLike
from podium.core import Tensor
from podium.ops._arguments import (
    check_images,
    from_channels_last,
    resolve_data_format,
    to_channels_last,
)
from podium.ops._operation import array_function, dispatch, operation


def _check_one_missing(what: str, **sizes: int | None) -> None:
    """Raise unless exactly one of before, after and target is None, and none is negative."""
    if list(sizes.values()).count(None) != 1:
        raise ValueError(f"pass exactly two of {', '.join(sizes)}, and got {sizes}.")
    if any(size is not None and size < 0 for size in sizes.values()):
        raise ValueError(f"{what} must not be negative, and got {sizes}.")


def _padding_of_axis(
    size: int, before: int | None, after: int | None, target: int | None, what: str
) -> tuple[int, int]:
    """Return the padding before and after, computing the value that is None from the others."""
    if before is None:
        assert target is not None and after is not None
        before = target - after - size
    if after is None:
        assert target is not None
        after = target - before - size
    if before < 0 or after < 0:
        raise ValueError(
            f"the target {what} {target} is too small for images of {what} {size} with that "
            "padding."
        )
    return before, after


def _cropped_slice(
    size: int, before: int | None, after: int | None, target: int | None, what: str
) -> slice:
    """Return the slice that cropping keeps, computing the value that is None from the others."""
    if before is None:
        assert target is not None and after is not None
        before = size - target - after
    if target is None:
        assert after is not None
        target = size - before - after
    if before < 0 or target < 0 or before + target > size:
        raise ValueError(f"that cropping does not fit into images of {what} {size}.")
    return slice(before, before + target)


@array_function("images")
def _pad_images(
    images: Array,
    top_padding: int | None = None,
    left_padding: int | None = None,
    bottom_padding: int | None = None,
    right_padding: int | None = None,
    target_height: int | None = None,
    target_width: int | None = None,
    data_format: str | None = None,
) -> Array:
    data_format = resolve_data_format(data_format)
    check_images(images)
    _check_one_missing(
        "padding",
        top_padding=top_padding,
        bottom_padding=bottom_padding,
        target_height=target_height,
    )
    _check_one_missing(
        "padding", left_padding=left_padding, right_padding=right_padding, target_width=target_width
    )
    x = to_channels_last(images, data_format, axis=-3)
    rows = _padding_of_axis(x.shape[-3], top_padding, bottom_padding, target_height, "height")
    columns = _padding_of_axis(x.shape[-2], left_padding, right_padding, target_width, "width")
    return from_channels_last(
        jnp.pad(x, [(0, 0)] * (x.ndim - 3) + [rows, columns, (0, 0)]), data_format, axis=-3
    )


@operation(_pad_images)
def pad_images(
    images: TensorLike,
    top_padding: int | None = None,
    left_padding: int | None = None,
    bottom_padding: int | None = None,
    right_padding: int | None = None,
    target_height: int | None = None,
    target_width: int | None = None,
    data_format: str | None = None,
) -> Tensor:
    """Pad images with zeros. For each direction, pass exactly two of its three arguments.

    Args:
        images: One image or a batch.
        top_padding: Rows to add above.
        left_padding: Columns to add on the left.
        bottom_padding: Rows to add below.
        right_padding: Columns to add on the right.
        target_height: Height of the result.
        target_width: Width of the result.
        data_format: `channels_last` or `channels_first`. `None` means the default.

    Example:
        >>> image = np.ones((2, 2, 1))
        >>> tuple(ops.image.pad_images(image, 1, 0, target_height=4, target_width=3).shape)
        (4, 3, 1)
    """
    return dispatch(
        _pad_images,
        images,
        top_padding,
        left_padding,
        bottom_padding,
        right_padding,
        target_height,
        target_width,
        data_format,
    )


@array_function("images")
def _crop_images(
    images: Array,
    top_cropping: int | None = None,
    left_cropping: int | None = None,
    bottom_cropping: int | None = None,
    right_cropping: int | None = None,
    target_height: int | None = None,
    target_width: int | None = None,
    data_format: str | None = None,
) -> Array:
    data_format = resolve_data_format(data_format)
    check_images(images)
    _check_one_missing(
        "cropping",
        top_cropping=top_cropping,
        bottom_cropping=bottom_cropping,
        target_height=target_height,
    )
    _check_one_missing(
        "cropping",
        left_cropping=left_cropping,
        right_cropping=right_cropping,
        target_width=target_width,
    )
    x = to_channels_last(images, data_format, axis=-3)
    rows = _cropped_slice(x.shape[-3], top_cropping, bottom_cropping, target_height, "height")
    columns = _cropped_slice(x.shape[-2], left_cropping, right_cropping, target_width, "width")
    return from_channels_last(x[..., rows, columns, :], data_format, axis=-3)


@operation(_crop_images)
def crop_images(
    images: TensorLike,
    top_cropping: int | None = None,
    left_cropping: int | None = None,
    bottom_cropping: int | None = None,
    right_cropping: int | None = None,
    target_height: int | None = None,
    target_width: int | None = None,
    data_format: str | None = None,
) -> Tensor:
    """Crop images. For each direction, pass exactly two of its three arguments.

    Args:
        images: One image or a batch.
        top_cropping: Rows to cut off above.
        left_cropping: Columns to cut off on the left.
        bottom_cropping: Rows to cut off below.
        right_cropping: Columns to cut off on the right.
        target_height: Height of the result.
        target_width: Width of the result.
        data_format: `channels_last` or `channels_first`. `None` means the default.

    Example:
        >>> image = np.arange(9).reshape(3, 3, 1)
        >>> ops.image.crop_images(image, 1, 1, target_height=2, target_width=2).numpy()[..., 0]
        array([[4, 5],
               [7, 8]], dtype=int32)
    """
    return dispatch(
        _crop_images,
        images,
        top_cropping,
        left_cropping,
        bottom_cropping,
        right_cropping,
        target_height,
        target_width,
        data_format,
    )
