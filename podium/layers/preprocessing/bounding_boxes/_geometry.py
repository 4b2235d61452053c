"""Geometry of bounding boxes "xyxy": clipping, cropping, padding and affine transforms."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp

from podium._typing import TensorLike
from podium.core import Tensor, check_choice, dispatch, promote_dtypes
from podium.layers.preprocessing.bounding_boxes._formats import LabeledBoxes


def clip_to_image_size(
    bounding_boxes: LabeledBoxes,
    height: TensorLike | None = None,
    width: TensorLike | None = None,
    bounding_box_format: str = "xyxy",
) -> LabeledBoxes:
    """Clip bounding boxes to the image, and set the labels of empty boxes to -1.

    Args:
        bounding_boxes: A dictionary with "boxes" `(..., 4)` and, optionally, "labels" `(...)`.
        height: The height of the image; needed for "xyxy".
        width: The width of the image; needed for "xyxy".
        bounding_box_format: "xyxy" or "rel_xyxy".

    Returns:
        A copy of the dictionary with the clipped boxes.

    Example:
        >>> boxes = {"boxes": [[-5.0, 0.0, 50.0, 10.0], [60.0, 0.0, 70.0, 10.0]], "labels": [3, 4]}
        >>> clipped = podium.utils.bounding_boxes.clip_to_image_size(boxes, height=20, width=40)
        >>> clipped["boxes"].numpy()
        array([[ 0.,  0., 40., 10.],
               [40.,  0., 40., 10.]], dtype=float32)
        >>> clipped["labels"].numpy()
        array([ 3, -1], dtype=int32)
    """
    check_choice("bounding_box_format", bounding_box_format, ("xyxy", "rel_xyxy"))
    if bounding_box_format == "rel_xyxy":
        height = width = 1.0
    if height is None or width is None:
        raise ValueError(
            f"clip_to_image_size was given height={height!r} and width={width!r}; the size of the "
            "image was expected, which the format 'xyxy' needs."
        )
    boxes = dispatch(_clip, bounding_boxes["boxes"], height, width)
    if bounding_boxes.get("labels") is None:
        return {**bounding_boxes, "boxes": boxes}
    labels = dispatch(_mark_empty_boxes, bounding_boxes["labels"], boxes)
    return {**bounding_boxes, "boxes": boxes, "labels": labels}


def _as_floats(boxes: jax.Array) -> jax.Array:
    boxes = jnp.asarray(boxes)
    return boxes if jnp.issubdtype(boxes.dtype, jnp.floating) else boxes.astype("float32")


@promote_dtypes
def _clip(boxes: jax.Array, height: jax.Array, width: jax.Array) -> jax.Array:
    boxes = _as_floats(boxes)
    x1, y1, x2, y2 = jnp.split(boxes, 4, axis=-1)
    height, width = (jnp.asarray(size).astype(boxes.dtype) for size in (height, width))
    return jnp.concatenate(
        [jnp.clip(x1, 0, width), jnp.clip(y1, 0, height)]
        + [jnp.clip(x2, 0, width), jnp.clip(y2, 0, height)],
        axis=-1,
    )


@promote_dtypes
def _mark_empty_boxes(labels: jax.Array, boxes: jax.Array) -> jax.Array:
    labels = jnp.asarray(labels)
    has_area = (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1]) > 0
    if labels.shape[: has_area.ndim] == has_area.shape:  # one label, or a vector, for each box
        has_area = has_area.reshape(has_area.shape + (1,) * (labels.ndim - has_area.ndim))
    return jnp.where(has_area, labels, -1)


def crop(
    boxes: TensorLike,
    top: TensorLike,
    left: TensorLike,
    height: TensorLike,
    width: TensorLike,
    bounding_box_format: str = "xyxy",
) -> Tensor:
    """Return the bounding boxes of a cropped image: shifted, and clipped to the crop.

    Args:
        boxes: Boxes `(..., 4)`.
        top: The first row of the crop.
        left: The first column of the crop.
        height: The height of the crop.
        width: The width of the crop.
        bounding_box_format: "xyxy".

    Example:
        >>> boxes = [[10.0, 20.0, 30.0, 60.0]]
        >>> podium.utils.bounding_boxes.crop(boxes, top=10, left=5, height=40, width=20).numpy()
        array([[ 5., 10., 20., 40.]], dtype=float32)
    """
    check_choice("bounding_box_format", bounding_box_format, ("xyxy",))
    result: Tensor = dispatch(
        lambda boxes, top, left, height, width: _clip(
            _shift_boxes(boxes, -top, -left), height, width
        ),
        boxes,
        top,
        left,
        height,
        width,
    )
    return result


def pad(
    boxes: TensorLike,
    top: TensorLike,
    left: TensorLike,
    height: TensorLike | None = None,
    width: TensorLike | None = None,
    bounding_box_format: str = "xyxy",
) -> Tensor:
    """Return the bounding boxes of a padded image.

    Args:
        boxes: Boxes `(..., 4)`.
        top: The number of rows that are added at the top.
        left: The number of columns that are added at the left.
        height: Accepted for Keras's signature.
        width: Accepted for Keras's signature.
        bounding_box_format: "xyxy".

    Example:
        >>> podium.utils.bounding_boxes.pad([[10.0, 20.0, 30.0, 60.0]], top=2, left=1).numpy()
        array([[11., 22., 31., 62.]], dtype=float32)
    """
    check_choice("bounding_box_format", bounding_box_format, ("xyxy",))
    result: Tensor = dispatch(_shift_boxes, boxes, top, left)
    return result


@promote_dtypes
def _shift_boxes(boxes: jax.Array, rows: jax.Array, columns: jax.Array) -> jax.Array:
    x1, y1, x2, y2 = jnp.split(_as_floats(boxes), 4, axis=-1)
    return jnp.concatenate([x1 + columns, y1 + rows, x2 + columns, y2 + rows], axis=-1)


def affine_transform(
    boxes: TensorLike,
    angle: TensorLike,
    translate_x: TensorLike,
    translate_y: TensorLike,
    scale: TensorLike,
    shear_x: TensorLike,
    shear_y: TensorLike,
    height: TensorLike,
    width: TensorLike,
    center_x: float | None = None,
    center_y: float | None = None,
    bounding_box_format: str = "xyxy",
) -> Tensor:
    """Return the bounding boxes of the corners of boxes after an affine transform of the images.

    Args:
        boxes: Boxes `(batch, number, 4)`.
        angle: For each image, the angle in degrees, counter-clockwise; as all of the following,
            `(batch,)`.
        translate_x: Shifts to the right, as fractions of the width.
        translate_y: Shifts down, as fractions of the height.
        scale: Factors by which coordinates are multiplied.
        shear_x: Shear angles along x in degrees.
        shear_y: Shear angles along y in degrees.
        height: The height of the images.
        width: The width of the images.
        center_x: The center of the rotation, as a fraction of the width; by default 0.5.
        center_y: The center of the rotation, as a fraction of the height; by default 0.5.
        bounding_box_format: "xyxy".

    Example:
        >>> zero, one = np.zeros(1, "float32"), np.ones(1, "float32")
        >>> podium.utils.bounding_boxes.affine_transform(
        ...     [[[0.0, 0.0, 2.0, 1.0]]], zero + 90.0, zero, zero, one, zero, zero, 11, 11
        ... ).numpy().round(3) + 0.0
        array([[[ 0.,  8.,  1., 10.]]], dtype=float32)
    """
    check_choice("bounding_box_format", bounding_box_format, ("xyxy",))
    center = (0.5 if center_x is None else center_x, 0.5 if center_y is None else center_y)
    parameters = (angle, translate_x, translate_y, scale, shear_x, shear_y)
    result: Tensor = dispatch(_transform_boxes, boxes, parameters, height, width, center)
    return result


@promote_dtypes
def _transform_boxes(
    boxes: jax.Array,
    parameters: tuple[jax.Array, ...],
    height: jax.Array,
    width: jax.Array,
    center: tuple[float, float],
) -> jax.Array:
    values = [jnp.asarray(value, "float32") for value in parameters]
    matrix = _inverse_matrix(values, jnp.asarray(height), jnp.asarray(width), center)
    x1, y1, x2, y2 = jnp.split(jnp.asarray(boxes).astype(matrix.dtype), 4, axis=-1)
    points = jnp.stack(
        [jnp.concatenate(point, axis=-1) for point in ((x1, y1), (x2, y1), (x2, y2), (x1, y2))],
        axis=-2,
    )
    moved = jnp.einsum("bnpx,byx->bnpy", points, matrix[:, :, :2]) + matrix[:, None, None, :, 2]
    return jnp.concatenate([moved.min(axis=-2), moved.max(axis=-2)], axis=-1)


def _inverse_matrix(
    parameters: list[jax.Array], height: jax.Array, width: jax.Array, center: tuple[float, float]
) -> jax.Array:
    """Return the matrices `(batch, 2, 3)` from positions in the inputs to those in the outputs."""
    angle, translate_x, translate_y, scale, shear_x, shear_y = parameters
    rotation, shear_x, shear_y = (-value * (math.pi / 180.0) for value in (angle, shear_x, shear_y))
    center_x, center_y = center[0] * (width - 1), center[1] * (height - 1)
    moved_x = center_x - translate_x * (width - 1)
    moved_y = center_y - translate_y * (height - 1)
    tilted = rotation - shear_y
    a = jnp.cos(tilted) / jnp.cos(shear_y)
    b = a * jnp.tan(shear_x) + jnp.sin(rotation)
    c = -jnp.sin(tilted) / jnp.cos(shear_y)
    d = jnp.cos(rotation) - c * jnp.tan(shear_x)
    a0, a1, b0, b1 = d * scale, -b * scale, -c * scale, a * scale
    a2 = center_x - a0 * moved_x - a1 * moved_y
    b2 = center_y - b0 * moved_x - b1 * moved_y
    return jnp.stack([jnp.stack([a0, a1, a2], -1), jnp.stack([b0, b1, b2], -1)], axis=-2)
