"""Formats of bounding boxes: which numbers describe a box, and in which unit.

A format is an order of coordinates ("xyxy", "center_xywh", ...), in pixels or, with the prefix
"rel_", as fractions of the width and the height of the image.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, overload

import jax
import jax.numpy as jnp

from podium._typing import DTypeLike, TensorLike
from podium.core import Tensor, check_choice, dispatch, promote_dtypes, standardize_dtype

# `{"boxes": ..., "labels": ...}`, as layers take and return them.
LabeledBoxes: TypeAlias = dict[str, Any]

FORMATS = (
    "xyxy",
    "yxyx",
    "xywh",
    "center_xywh",
    "center_yxhw",
    "rel_xyxy",
    "rel_yxyx",
    "rel_xywh",
    "rel_center_xywh",
)

_Converter: TypeAlias = Callable[[jax.Array], jax.Array]


def _split_coordinates(boxes: jax.Array) -> list[jax.Array]:
    return jnp.split(boxes, 4, axis=-1)


def _join_coordinates(*coordinates: jax.Array) -> jax.Array:
    return jnp.concatenate(coordinates, axis=-1)


def _swap_axes(boxes: jax.Array) -> jax.Array:
    """Exchange x and y in each pair of coordinates."""
    first, second, third, fourth = _split_coordinates(boxes)
    return _join_coordinates(second, first, fourth, third)


def _corner_and_size_to_corners(boxes: jax.Array) -> jax.Array:
    x, y, width, height = _split_coordinates(boxes)
    return _join_coordinates(x, y, x + width, y + height)


def _center_to_corners(boxes: jax.Array) -> jax.Array:
    x, y, width, height = _split_coordinates(boxes)
    return _join_coordinates(x - width / 2, y - height / 2, x + width / 2, y + height / 2)


def _corners_to_corner_and_size(boxes: jax.Array) -> jax.Array:
    left, top, right, bottom = _split_coordinates(boxes)
    return _join_coordinates(left, top, right - left, bottom - top)


def _corners_to_center(boxes: jax.Array) -> jax.Array:
    left, top, width, height = _split_coordinates(_corners_to_corner_and_size(boxes))
    return _join_coordinates(left + width / 2, top + height / 2, width, height)


# To corners "xyxy", and back.
_CONVERTERS: dict[str, tuple[_Converter, _Converter]] = {
    "xyxy": (lambda boxes: boxes, lambda boxes: boxes),
    "yxyx": (_swap_axes, _swap_axes),
    "xywh": (_corner_and_size_to_corners, _corners_to_corner_and_size),
    "center_xywh": (_center_to_corners, _corners_to_center),
    "center_yxhw": (
        lambda boxes: _center_to_corners(_swap_axes(boxes)),
        lambda boxes: _swap_axes(_corners_to_center(boxes)),
    ),
}


@overload
def convert_format(
    boxes: LabeledBoxes,
    source: str,
    target: str,
    height: TensorLike | None = None,
    width: TensorLike | None = None,
    dtype: DTypeLike = "float32",
) -> LabeledBoxes: ...


@overload
def convert_format(
    boxes: TensorLike,
    source: str,
    target: str,
    height: TensorLike | None = None,
    width: TensorLike | None = None,
    dtype: DTypeLike = "float32",
) -> Tensor: ...


def convert_format(
    boxes: TensorLike | LabeledBoxes,
    source: str,
    target: str,
    height: TensorLike | None = None,
    width: TensorLike | None = None,
    dtype: DTypeLike = "float32",
) -> Tensor | LabeledBoxes:
    """Convert bounding boxes from one format to another.

    Args:
        boxes: Boxes `(..., 4)`, or a dictionary whose entry "boxes" is converted.
        source: The format of the boxes: "xyxy", "yxyx", "xywh", "center_xywh", "center_yxhw", in
            pixels, or "rel_xyxy", "rel_yxyx", "rel_xywh", "rel_center_xywh", in fractions of the
            image.
        target: The format of the result.
        height: The height of the image, for conversions between pixels and fractions.
        width: The width of the image.
        dtype: The dtype of the result.

    Returns:
        The boxes in the format `target`; for a dictionary, a copy of it with them.

    Example:
        >>> boxes = [[10.0, 20.0, 30.0, 60.0]]
        >>> podium.utils.bounding_boxes.convert_format(boxes, "xyxy", "center_xywh").numpy()
        array([[20., 40., 20., 40.]], dtype=float32)
    """
    if isinstance(boxes, dict):
        converted = convert_format(boxes["boxes"], source, target, height, width, dtype)
        return {**boxes, "boxes": converted}
    source = check_choice("source", source.lower(), FORMATS)
    target = check_choice("target", target.lower(), FORMATS)
    relative = source.startswith("rel_"), target.startswith("rel_")
    if any(relative) and (height is None or width is None):
        raise ValueError(
            f"convert_format was given source={source!r}, target={target!r}, height={height!r} and "
            f"width={width!r}; the size of the image was expected, which conversions to and from "
            "fractions need."
        )
    result: Tensor = dispatch(
        _convert_boxes,
        boxes,
        height,
        width,
        source=source.removeprefix("rel_"),
        target=target.removeprefix("rel_"),
        relative=relative,
        dtype=standardize_dtype(dtype),
    )
    return result


@promote_dtypes
def _convert_boxes(
    boxes: jax.Array,
    height: jax.Array | None,
    width: jax.Array | None,
    source: str,
    target: str,
    relative: tuple[bool, bool],
    dtype: str,
) -> jax.Array:
    boxes = jnp.asarray(boxes).astype(dtype)
    if boxes.ndim == 0 or boxes.shape[-1] != 4:
        raise ValueError(
            f"convert_format was given boxes of shape {boxes.shape}; 4 numbers for each box were "
            "expected, as the last axis."
        )
    if source == target and relative[0] == relative[1]:
        return boxes
    corners = _CONVERTERS[source][0](boxes)
    if relative[0] and not relative[1]:
        corners = corners * _scale("xyxy", height, width, dtype)
    converted = _CONVERTERS[target][1](corners)
    if relative[1] and not relative[0]:
        converted = converted / _scale(target, height, width, dtype)
    return converted


def _scale(order: str, height: jax.Array | None, width: jax.Array | None, dtype: str) -> jax.Array:
    """Return what the four numbers of a relative format are multiplied by.

    The sizes are scalars, or end in an axis of size 1 if images of a batch differ in them.
    """
    rows, columns = (jnp.atleast_1d(jnp.asarray(size, dtype)) for size in (height, width))
    x_first = not order.split("_")[-1].startswith("y")
    return (
        _join_coordinates(columns, rows, columns, rows)
        if x_first
        else _join_coordinates(rows, columns, rows, columns)
    )
