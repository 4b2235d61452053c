"""`draw_segmentation_masks`: classes of pixels as colors over images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from podium._typing import TensorLike
from podium.core.internal import check_number
from podium.visualization._image_batches import Array, as_images, check_data_format


def draw_segmentation_masks(
    images: TensorLike,
    segmentation_masks: TensorLike,
    num_classes: int | None = None,
    color_mapping: Mapping[int, Sequence[int]] | None = None,
    alpha: float = 0.8,
    blend: bool = True,
    ignore_index: int = -1,
    data_format: str | None = None,
) -> Array:
    """Draw segmentation masks over a batch of images, one color for each class.

    Args:
        images: Images `(batch, height, width, channels)` with values from 0 to 255.
        segmentation_masks: Class numbers `(batch, height, width)` or `(batch, height, width, 1)`.
        num_classes: The number of classes, those from 0 to `num_classes - 1` are drawn; None to
            draw every class in the masks.
        color_mapping: The RGB colors by class number; a class without one is not drawn. None for
            generated colors, of which that of class 0 is black.
        alpha: The opacity of the masks.
        blend: Whether to blend masks and images. False replaces the pixels.
        ignore_index: The class number whose pixels stay as they are, if `blend` is True.
        data_format: "channels_last" or "channels_first", of images and masks.

    Returns:
        The images `(batch, height, width, channels)`, as uint8 if blended, else as float32.

    Example:
        >>> images, masks = np.zeros((1, 1, 2, 3)), np.array([[[0, 1]]])
        >>> podium.visualization.draw_segmentation_masks(images, masks, alpha=1.0)[0, 0].tolist()
        [[0, 0, 0], [1, 127, 31]]
    """
    data_format = check_data_format(data_format)
    pixels = as_images("draw_segmentation_masks", images, data_format).astype("float32")
    check_number("alpha", alpha, 0, 1)
    masks = _check_masks(segmentation_masks, pixels.shape[:3], data_format)
    if num_classes is None:
        num_classes = int(masks.max()) + 1 if masks.size else 0
    drawn = pixels.copy()
    for number in range(num_classes):
        color = _generated_color(number) if color_mapping is None else color_mapping.get(number)
        if color is not None:
            drawn[masks == number] = np.asarray(color, "float32")
    if not blend:
        return drawn
    mixed = pixels * (1 - alpha) + drawn * alpha
    return np.where((masks != ignore_index)[..., None], mixed, pixels).astype("uint8")


def _check_masks(masks: TensorLike, shape: tuple[int, ...], data_format: str) -> Array:
    """Return masks as `(batch, height, width)`."""
    values = np.asarray(masks)
    if values.dtype.kind not in "iu":
        raise TypeError(
            f"draw_segmentation_masks() was given masks of dtype {values.dtype.name}; class "
            "numbers of an integer dtype were expected. Convert them with `masks.astype('int32')`."
        )
    if values.ndim == 4:
        axis = 1 if data_format == "channels_first" else -1
        values = np.squeeze(values, axis) if values.shape[axis] == 1 else values
    if values.shape != shape:
        raise ValueError(
            f"draw_segmentation_masks() was given masks of shape {np.shape(masks)}; one class "
            f"number for each pixel of the images was expected: {shape} or {(*shape, 1)}."
        )
    return values


def _generated_color(number: int) -> Array:
    return number * np.array([2**25 - 1, 2**15 - 1, 2**21 - 1], "int64") % 255
