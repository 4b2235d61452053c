"""The shape of the images that an architecture takes: the default, and what it accepts.

It owns the rules of `input_shape` and of padding before strided convolutions, in both data formats.
"""

from __future__ import annotations

from collections.abc import Sequence

from podium._typing import SymbolicShape
from podium.applications._weights_files import IMAGENET
from podium.core import KerasTensor, image_data_format, warn_user


def is_channels_first() -> bool:
    """Return whether channels are the first dimension of images."""
    return image_data_format() == "channels_first"


def image_channel_axis(last: int = 3) -> int:
    """Return the axis of the channels in a batch of images.

    Args:
        last: How to name the last axis: 3 or -1.
    """
    return 1 if is_channels_first() else last


def height_and_width(shape: SymbolicShape) -> SymbolicShape:
    """Return the sizes of an image of a shape without the batch dimension."""
    return shape[-2:] if is_channels_first() else shape[-3:-1]


def make_image_shape(
    height: int | None, width: int | None, channels: int | None = 3
) -> SymbolicShape:
    """Return the shape of an image in the data format."""
    return (channels, height, width) if is_channels_first() else (height, width, channels)


def check_input_shape(
    input_shape: Sequence[int | None] | None,
    default_size: int,
    min_size: int,
    require_static: bool,
    weights: object,
) -> SymbolicShape:
    """Return the shape of the images, without the batch dimension.

    Args:
        input_shape: What the caller passed; None for the default.
        default_size: The default height and width.
        min_size: The smallest height and width.
        require_static: Whether all sizes must be known, as a classifier needs it.
        weights: The argument of that name. "imagenet" needs three channels, and with a classifier
            the default size.

    Raises:
        ValueError: The shape is none that the architecture can take.
    """
    is_imagenet = isinstance(weights, str) and weights == IMAGENET
    shape = None if input_shape is None else tuple(input_shape)
    if not shape:
        sizes = (default_size,) * 2 if require_static else (None, None)
        return make_image_shape(*sizes)
    if len(shape) != 3:
        raise ValueError(
            f"input_shape={input_shape!r} was given; three sizes without the batch dimension were "
            f"expected, such as {make_image_shape(default_size, default_size)}."
        )
    channels = shape[0] if is_channels_first() else shape[2]
    if is_imagenet:
        _check_imagenet_shape(shape, channels, default_size, require_static)
    if any(size is not None and size < min_size for size in height_and_width(shape)):
        raise ValueError(
            f"input_shape={input_shape!r} was given; a height and a width of at least {min_size} "
            "were expected."
        )
    if require_static and None in shape:
        raise ValueError(
            f"input_shape={input_shape!r} was given with include_top=True; sizes without None were "
            f"expected. Pass `input_shape={make_image_shape(default_size, default_size)}`, or "
            "`include_top=False`."
        )
    if channels not in (1, 3):
        warn_user(
            f"input_shape={input_shape!r} has {channels} channels; images usually have 1 or 3."
        )
    return shape


def _check_imagenet_shape(
    shape: SymbolicShape, channels: int | None, default_size: int, require_static: bool
) -> None:
    default_shape = make_image_shape(default_size, default_size)
    if require_static and shape != default_shape:
        raise ValueError(
            f"input_shape={shape} was given with weights='imagenet' and include_top=True; "
            f"{default_shape}, on which the classifier was trained, was expected. Omit it, or pass "
            "`include_top=False` or `weights=None`."
        )
    if channels != 3:
        raise ValueError(
            f"input_shape={shape} was given with weights='imagenet'; 3 channels were expected."
        )


def strided_padding(x: KerasTensor, kernel_size: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the padding before a convolution of stride 2, which makes it reach all pixels.

    An even size gets one row less in front; of an unknown size, the padding is that of an even one.
    """
    margin = kernel_size // 2
    sizes = height_and_width(x.shape[1:])
    if sizes[0] is None:
        return ((margin - 1, margin),) * 2
    height, width = (margin - 1 + (size or 0) % 2 for size in sizes)
    return (height, margin), (width, margin)
