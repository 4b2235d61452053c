"""How much bounding boxes overlap: intersection over union (IoU), and complete IoU."""

from __future__ import annotations

import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp

from podium._typing import TensorLike
from podium.core import Tensor, dispatch, epsilon, promote_dtypes
from podium.layers.preprocessing.bounding_boxes._formats import convert_format


def compute_iou(
    boxes1: TensorLike,
    boxes2: TensorLike,
    bounding_box_format: str,
    use_masking: bool = False,
    mask_val: float = -1,
    image_shape: Sequence[int] | None = None,
) -> Tensor:
    """Compute the intersection over union of each of `boxes1` with each of `boxes2`.

    Args:
        boxes1: Boxes `(n, 4)` or `(batch, n, 4)`.
        boxes2: Boxes `(m, 4)` or `(batch, m, 4)`.
        bounding_box_format: The format of both; see `convert_format`.
        use_masking: Whether the results for padding, boxes of negative numbers, are `mask_val`.
        mask_val: The result for padding.
        image_shape: `(height, width, channels)`, for formats in fractions of the image.

    Returns:
        Numbers from 0 to 1: `(n, m)`, or `(batch, n, m)` if one of the arguments has a batch.

    Example:
        >>> boxes1, boxes2 = [[0.0, 0.0, 2.0, 2.0]], [[0.0, 0.0, 2.0, 1.0], [5.0, 5.0, 6.0, 6.0]]
        >>> podium.utils.bounding_boxes.compute_iou(boxes1, boxes2, "xyxy").numpy()
        array([[0.5, 0. ]], dtype=float32)
    """
    height, width = _size_of_image("compute_iou", bounding_box_format, image_shape)
    first, second = (
        convert_format(boxes, bounding_box_format, "xyxy", height, width)
        for boxes in (boxes1, boxes2)
    )
    for name, boxes in (("boxes1", first), ("boxes2", second)):
        if len(boxes.shape) not in (2, 3):
            raise ValueError(
                f"compute_iou was given {name} of shape {tuple(boxes.shape)}; (number, 4) or "
                "(batch, number, 4) was expected."
            )
    result: Tensor = dispatch(
        _iou, first, second, mask_val=mask_val if use_masking else None, epsilon=epsilon()
    )
    return result


def _size_of_image(
    function: str, bounding_box_format: str, image_shape: Sequence[int] | None
) -> tuple[int | None, int | None]:
    if image_shape is not None:
        return image_shape[0], image_shape[1]
    if "rel" in bounding_box_format:
        raise ValueError(
            f"{function} was given bounding_box_format={bounding_box_format!r} without "
            "`image_shape`, which formats in fractions of the image need: pass "
            "`image_shape=(height, width, channels)`."
        )
    return None, None


def _area(boxes: jax.Array) -> jax.Array:
    return (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])


def _intersection(boxes1: jax.Array, boxes2: jax.Array) -> jax.Array:
    """Return the area that boxes share, for boxes that broadcast against each other."""
    starts = jnp.maximum(boxes1[..., :2], boxes2[..., :2])
    sizes = jnp.maximum(jnp.minimum(boxes1[..., 2:], boxes2[..., 2:]) - starts, 0)
    return sizes[..., 0] * sizes[..., 1]


@promote_dtypes
def _iou(boxes1: jax.Array, boxes2: jax.Array, mask_val: float | None, epsilon: float) -> jax.Array:
    boxes1, boxes2 = boxes1[..., :, None, :], boxes2[..., None, :, :]
    shared = _intersection(boxes1, boxes2)
    result = shared / (_area(boxes1) + _area(boxes2) - shared + epsilon)
    if mask_val is None:
        return result
    is_padding = (boxes1.max(axis=-1) < 0) | (boxes2.max(axis=-1) < 0)
    return jnp.where(is_padding, jnp.asarray(mask_val, result.dtype), result)


def compute_ciou(
    boxes1: TensorLike,
    boxes2: TensorLike,
    bounding_box_format: str,
    image_shape: Sequence[int] | None = None,
) -> Tensor:
    """Compute the complete intersection over union of pairs of boxes.

    It is the IoU, less terms for the distance of the centers and the difference of the aspect
    ratios: https://arxiv.org/abs/1911.08287.

    Args:
        boxes1: Boxes `(..., 4)`.
        boxes2: Boxes of the same shape.
        bounding_box_format: The format of both; see `convert_format`.
        image_shape: `(height, width, channels)`, for formats in fractions of the image.

    Returns:
        Numbers from about -1 to 1, one for each pair.

    Example:
        >>> boxes1, boxes2 = [[0.0, 0.0, 2.0, 2.0]], [[0.0, 0.0, 2.0, 1.0]]
        >>> podium.utils.bounding_boxes.compute_ciou(boxes1, boxes2, "xyxy").numpy().round(3)
        array([0.466], dtype=float32)
    """
    height, width = _size_of_image("compute_ciou", bounding_box_format, image_shape)
    first, second = (
        convert_format(boxes, bounding_box_format, "xyxy", height, width)
        for boxes in (boxes1, boxes2)
    )
    result: Tensor = dispatch(_ciou, first, second, epsilon=epsilon())
    return result


@promote_dtypes
def _ciou(boxes1: jax.Array, boxes2: jax.Array, epsilon: float) -> jax.Array:
    width1, width2 = (boxes[..., 2] - boxes[..., 0] for boxes in (boxes1, boxes2))
    height1, height2 = (boxes[..., 3] - boxes[..., 1] + epsilon for boxes in (boxes1, boxes2))
    shared = _intersection(boxes1, boxes2)
    union = width1 * height1 + width2 * height2 - shared + epsilon
    iou = shared / (union + epsilon)
    hull = jnp.maximum(boxes1[..., 2:], boxes2[..., 2:]) - jnp.minimum(
        boxes1[..., :2], boxes2[..., :2]
    )
    centers1, centers2 = ((boxes[..., :2] + boxes[..., 2:]) / 2 for boxes in (boxes1, boxes2))
    distance = jnp.sum((centers1 - centers2) ** 2, axis=-1)
    diagonal = jnp.sum(hull**2, axis=-1) + epsilon
    angles = jnp.arctan(width2 / height2) - jnp.arctan(width1 / height1)
    aspect = 4 / math.pi**2 * angles**2
    weight = aspect / (aspect - iou + (1 + epsilon))
    return iou - (distance / diagonal + aspect * weight)
