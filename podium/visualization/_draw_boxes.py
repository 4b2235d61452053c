"""`draw_bounding_boxes`.

Boxes are drawn with NumPy, the pixels that OpenCV draws for Keras; labels with Pillow, which is
imported when there are some.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from podium._typing import TensorLike
from podium.core import closest_match
from podium.core.internal import check_int
from podium.visualization._image_batches import Array, as_images, check_data_format, to_uint8

_FORMATS = (
    *("xyxy", "yxyx", "xywh", "center_xywh", "center_yxhw"),
    *("rel_xyxy", "rel_yxyx", "rel_xywh", "rel_center_xywh"),
)
_FONT_HEIGHT = 22  # of OpenCV's font at scale 1, in pixels


def draw_bounding_boxes(
    images: TensorLike,
    bounding_boxes: Mapping[str, TensorLike],
    bounding_box_format: str,
    class_mapping: Mapping[int, str] | None = None,
    color: Sequence[int] = (128, 128, 128),
    line_thickness: int = 2,
    text_thickness: int | None = 1,
    font_scale: float = 1.0,
    data_format: str | None = None,
) -> Array:
    """Draw bounding boxes, and the names of their classes, on a batch of images.

    Args:
        images: Images `(batch, height, width, channels)`; floats of at most 1 are scaled to 255.
        bounding_boxes: A dictionary with "boxes" `(batch, boxes, 4)`, "labels" `(batch, boxes)`,
            of which -1 means no box, and optionally "confidences" `(batch, boxes)`.
        bounding_box_format: "xyxy", "yxyx", "xywh", "center_xywh", "center_yxhw", or "rel_xyxy",
            "rel_yxyx", "rel_xywh" or "rel_center_xywh" for fractions of the size of the images.
        class_mapping: The names of classes by their number; boxes of other classes get no text.
        color: The color of boxes and texts, an int for each channel.
        line_thickness: The width of the lines in pixels.
        text_thickness: The width of the strokes of texts; None for `line_thickness`.
        font_scale: The size of the texts.
        data_format: "channels_last" or "channels_first".

    Returns:
        The images as uint8, in the data format of `images`.

    Raises:
        ImportError: There are names to draw, and Pillow is not installed.

    Example:
        >>> boxes = {"boxes": np.array([[[1, 1, 4, 3]]]), "labels": np.array([[0]])}
        >>> images = np.zeros((1, 5, 6, 1), "uint8")
        >>> drawn = podium.visualization.draw_bounding_boxes(
        ...     images, boxes, "xyxy", line_thickness=1)
        >>> drawn[0, 2, :, 0].tolist()
        [0, 128, 0, 0, 128, 0]
    """
    data_format = check_data_format(data_format)
    pixels = to_uint8(as_images("draw_bounding_boxes", images, data_format))
    check_int("line_thickness", line_thickness, 1)
    boxes, labels, confidences = _check_boxes(bounding_boxes, len(pixels))
    boxes = _to_corners(boxes, bounding_box_format, *pixels.shape[1:3]).astype("int32")
    names = class_mapping or {}
    ink = _ink(color, pixels.shape[-1])
    for index, image in enumerate(pixels):
        for position, label in enumerate(labels[index].astype("int32").tolist()):
            if label == -1:
                continue
            corners = boxes[index, position].tolist()
            image[_outline(image.shape[:2], corners, line_thickness)] = ink
            if label in names:
                text = names[label]
                if confidences is not None:
                    text = f"{text} | {confidences[index, position]:.2f}"
                stroke = text_thickness or line_thickness
                origin = _text_origin(corners, font_scale, stroke)
                image[_text_mask(image.shape[:2], text, origin, font_scale, stroke)] = ink
    return np.moveaxis(pixels, -1, 1) if data_format == "channels_first" else pixels


def _check_boxes(
    bounding_boxes: Mapping[str, TensorLike], batch_size: int
) -> tuple[Array, Array, Array | None]:
    if not isinstance(bounding_boxes, Mapping):
        raise TypeError(
            f"draw_bounding_boxes() was given bounding_boxes of type "
            f"{type(bounding_boxes).__name__}; a dictionary with 'boxes' and 'labels' was expected."
        )
    if not {"boxes", "labels"} <= set(bounding_boxes):
        raise ValueError(
            f"draw_bounding_boxes() was given bounding_boxes with {sorted(bounding_boxes)}; a "
            "dictionary with 'boxes' and 'labels' was expected."
        )
    boxes, labels = np.asarray(bounding_boxes["boxes"]), np.asarray(bounding_boxes["labels"])
    given = bounding_boxes.get("confidences")
    confidences = None if given is None else np.asarray(given)
    expected = (batch_size, *boxes.shape[1:-1])
    others = () if confidences is None else (confidences.shape,)
    shapes = {boxes.shape[:-1], labels.shape, *others}
    if boxes.ndim != 3 or boxes.shape[-1] != 4 or shapes != {expected}:
        raise ValueError(
            f"draw_bounding_boxes() was given {batch_size} images, 'boxes' of shape {boxes.shape}, "
            f"and 'labels' (and 'confidences') of shapes {[labels.shape, *others]}; "
            "(images, boxes, 4) and (images, boxes) were expected. Pad with boxes of label -1."
        )
    return boxes, labels, confidences


def _to_corners(boxes: Array, box_format: str, height: int, width: int) -> Array:
    """Return boxes as left, top, right and bottom in pixels."""
    name = box_format.lower() if isinstance(box_format, str) else box_format
    if name not in _FORMATS:
        nearest = closest_match(str(name), _FORMATS)
        hint = f" Did you mean {nearest!r}?" if nearest else ""
        raise ValueError(
            f"bounding_box_format={box_format!r} was given; one of {', '.join(_FORMATS)} was "
            f"expected.{hint}"
        )
    values = boxes.astype("float32")
    kind = name.removeprefix("rel_")
    if kind in ("yxyx", "center_yxhw"):
        values = values[..., [1, 0, 3, 2]]
    first, second = values[..., :2], values[..., 2:]
    if kind == "xywh":
        second = first + second
    elif kind.startswith("center"):
        first, second = first - second / 2, first + second / 2
    corners = np.concatenate([first, second], axis=-1)
    return corners * np.asarray([width, height] * 2, "float32") if kind != name else corners


def _ink(color: Sequence[int], channels: int) -> Array:
    values = [*color, *[255] * (channels - len(color))]
    return np.array([min(max(int(value), 0), 255) for value in values[:channels]], "uint8")


def _outline(shape: tuple[int, ...], corners: list[int], thickness: int) -> Array:
    """Return where the lines of a box are: all pixels that are near its outline."""
    left, right = sorted((corners[0], corners[2]))
    top, bottom = sorted((corners[1], corners[3]))
    y, x = np.ogrid[: shape[0], : shape[1]]
    inside = np.minimum(np.minimum(x - left, right - x), np.minimum(y - top, bottom - y))
    aside = np.maximum(np.maximum(left - x, x - right), 0)
    above = np.maximum(np.maximum(top - y, y - bottom), 0)
    radius = (thickness + 1) // 2 if thickness > 1 else 0
    near: Array = np.where(inside >= 0, inside <= radius, aside**2 + above**2 <= radius**2)
    return near


def _text_origin(corners: list[int], font_scale: float, thickness: int) -> tuple[int, int]:
    """Return the left end of the baseline: above the box, or inside of it at the upper border."""
    x, y = corners[:2]
    height = int(font_scale * 12)
    if y - 8 - 2 * height > 0:
        return x, y - 8
    return x + 3, y + 2 * height + thickness + 3


def _text_mask(
    shape: tuple[int, ...], text: str, origin: tuple[int, int], font_scale: float, thickness: int
) -> Array:
    try:
        import PIL.Image
        import PIL.ImageDraw
        import PIL.ImageFont
    except ImportError as error:
        raise ImportError(
            "draw_bounding_boxes() needs Pillow to write the names of classes. Install it with "
            "`pip install pillow` or `pip install 'podium[image]'`, or omit class_mapping."
        ) from error
    canvas = PIL.Image.new("L", (shape[1], shape[0]))
    font = PIL.ImageFont.load_default(max(1, round(_FONT_HEIGHT * font_scale)))
    PIL.ImageDraw.Draw(canvas).text(
        origin, text, fill=255, font=font, anchor="ls", stroke_width=(thickness - 1) / 2
    )
    return np.asarray(canvas) > 127
