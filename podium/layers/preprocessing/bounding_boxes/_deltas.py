"""Boxes relative to anchors, as detectors predict them: encoding and decoding of deltas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, overload

import jax
import jax.numpy as jnp
import numpy as np

from podium._typing import TensorLike
from podium.core import Tensor, check_choice, dispatch, epsilon, promote_dtypes
from podium.layers.preprocessing.bounding_boxes._formats import convert_format

_ENCODINGS = ("center_xywh", "center_yxhw")


def encode_box_to_deltas(
    anchors: TensorLike,
    boxes: TensorLike,
    anchor_format: str,
    box_format: str,
    encoding_format: str = "center_yxhw",
    variance: Sequence[float] | None = None,
    image_shape: Sequence[int] | None = None,
) -> Tensor:
    """Encode boxes relative to anchors: shifts in units of the anchors, and logarithms of sizes.

    Args:
        anchors: Anchors `(n, 4)`.
        boxes: Boxes `(n, 4)` or `(batch, n, 4)`.
        anchor_format: The format of the anchors; see `convert_format`.
        box_format: The format of the boxes.
        encoding_format: The order of the deltas: "center_yxhw" or "center_xywh".
        variance: Four numbers by which the deltas are divided.
        image_shape: `(height, width, channels)`, for formats in fractions of the image.

    Example:
        >>> anchors, boxes = [[0.0, 0.0, 10.0, 10.0]], [[5.0, 0.0, 15.0, 10.0]]
        >>> podium.utils.bounding_boxes.encode_box_to_deltas(anchors, boxes, "xyxy", "xyxy").numpy()
        array([[0. , 0.5, 0. , 0. ]], dtype=float32)
    """
    check_choice("encoding_format", encoding_format, _ENCODINGS)
    height, width = (None, None) if image_shape is None else image_shape[:2]
    anchors = convert_format(anchors, anchor_format, encoding_format, height, width)
    boxes = convert_format(boxes, box_format, encoding_format, height, width)
    result: Tensor = dispatch(_encode, anchors, boxes, _check_variance(variance), epsilon())
    return result


@promote_dtypes
def _encode(
    anchors: jax.Array, boxes: jax.Array, variance: tuple[float, ...], epsilon: float
) -> jax.Array:
    anchor_sizes, sizes = (jnp.maximum(values[..., 2:], epsilon) for values in (anchors, boxes))
    shifts = (boxes[..., :2] - anchors[..., :2]) / anchor_sizes
    deltas = jnp.concatenate([shifts, jnp.log(sizes / anchor_sizes)], axis=-1)
    return deltas / jnp.asarray(variance, deltas.dtype)


def _check_variance(variance: Sequence[float] | None) -> tuple[float, ...]:
    if variance is None:
        return (1.0,) * 4
    if np.shape(variance) != (4,):
        raise ValueError(f"variance={variance!r} was given; four numbers were expected.")
    return tuple(float(value) for value in variance)


@overload
def decode_deltas_to_boxes(
    anchors: TensorLike,
    boxes_delta: TensorLike,
    anchor_format: str,
    box_format: str,
    encoded_format: str = "center_yxhw",
    variance: Sequence[float] | None = None,
    image_shape: Sequence[int] | None = None,
) -> Tensor: ...


@overload
def decode_deltas_to_boxes(
    anchors: Mapping[Any, TensorLike],
    boxes_delta: Mapping[Any, TensorLike],
    anchor_format: str,
    box_format: str,
    encoded_format: str = "center_yxhw",
    variance: Sequence[float] | None = None,
    image_shape: Sequence[int] | None = None,
) -> dict[Any, Tensor]: ...


def decode_deltas_to_boxes(
    anchors: TensorLike | Mapping[Any, TensorLike],
    boxes_delta: TensorLike | Mapping[Any, TensorLike],
    anchor_format: str,
    box_format: str,
    encoded_format: str = "center_yxhw",
    variance: Sequence[float] | None = None,
    image_shape: Sequence[int] | None = None,
) -> Tensor | dict[Any, Tensor]:
    """Decode deltas that are relative to anchors: the inverse of `encode_box_to_deltas`.

    Args:
        anchors: Anchors `(n, 4)`, or a dictionary of them by level.
        boxes_delta: Deltas `(n, 4)` or `(batch, n, 4)`, or a dictionary of them by level.
        anchor_format: The format of the anchors; see `convert_format`.
        box_format: The format of the result.
        encoded_format: The order of the deltas: "center_yxhw" or "center_xywh".
        variance: Four numbers by which the deltas are multiplied.
        image_shape: `(height, width, channels)`, for formats in fractions of the image.

    Returns:
        The boxes; a dictionary of them by level if both arguments are dictionaries.

    Example:
        >>> anchors, deltas = [[0.0, 0.0, 10.0, 10.0]], [[0.0, 0.5, 0.0, 0.0]]
        >>> podium.utils.bounding_boxes.decode_deltas_to_boxes(
        ...     anchors, deltas, "xyxy", "xyxy").numpy()
        array([[ 5.,  0., 15., 10.]], dtype=float32)
    """
    check_choice("encoded_format", encoded_format, _ENCODINGS)
    formats = (anchor_format, box_format, encoded_format)
    if isinstance(anchors, Mapping) and isinstance(boxes_delta, Mapping):
        return {
            level: decode_deltas_to_boxes(
                values, boxes_delta[level], *formats, variance, image_shape
            )
            for level, values in anchors.items()
        }
    if isinstance(anchors, Mapping) or isinstance(boxes_delta, Mapping):
        raise TypeError(
            f"decode_deltas_to_boxes was given anchors of type {type(anchors).__name__} and "
            f"boxes_delta of type {type(boxes_delta).__name__}; two dictionaries, or none, were "
            "expected."
        )
    height, width = (None, None) if image_shape is None else image_shape[:2]
    encoded = convert_format(anchors, anchor_format, encoded_format, height, width)
    boxes: Tensor = dispatch(_decode, encoded, boxes_delta, _check_variance(variance))
    return convert_format(boxes, encoded_format, box_format, height, width)


@promote_dtypes
def _decode(anchors: jax.Array, deltas: jax.Array, variance: tuple[float, ...]) -> jax.Array:
    deltas = jnp.asarray(deltas).astype(anchors.dtype) * jnp.asarray(variance, anchors.dtype)
    shifts, sizes = deltas[..., :2], deltas[..., 2:]
    return jnp.concatenate(
        [shifts * anchors[..., 2:] + anchors[..., :2], jnp.exp(sizes) * anchors[..., 2:]], axis=-1
    )
