"""Bounding boxes as a user passes them: lists of different lengths become arrays with padding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from podium._typing import Array
from podium.core import as_number_array, convert_to_tensor, is_symbolic
from podium.layers.preprocessing.bounding_boxes._formats import LabeledBoxes

_NO_BOX, _NO_LABEL = 0, -1  # what pads images with fewer boxes


def densify_boxes(owner: str, bounding_boxes: Mapping[str, Any]) -> LabeledBoxes:
    """Return "boxes" (float32) and "labels" as tensors with the same number of boxes per image.

    Args:
        owner: The name of the layer, for messages.
        bounding_boxes: A dictionary with "boxes", an array or a list of the boxes of each image,
            and "labels". Images with fewer boxes get boxes of zeros with the label -1.
    """
    if set(bounding_boxes) != {"boxes", "labels"}:
        raise ValueError(
            f"{owner} was given bounding boxes with the keys {sorted(bounding_boxes)}; 'boxes' and "
            "'labels' were expected."
        )
    boxes, labels = bounding_boxes["boxes"], bounding_boxes["labels"]
    if not is_symbolic(bounding_boxes):
        boxes, labels = _pad_lists(boxes, (0, 4), _NO_BOX), _pad_lists(labels, (0,), _NO_LABEL)
        boxes, labels = convert_to_tensor(boxes, "float32"), convert_to_tensor(labels)
    ranks = len(boxes.shape), len(labels.shape)
    if ranks[0] not in (2, 3) or ranks[1] not in (ranks[0] - 1, ranks[0]):
        raise ValueError(
            f"{owner} was given boxes of shape {tuple(boxes.shape)} and their labels of shape "
            f"{tuple(labels.shape)}; (number, 4) and (number,), or (batch, number, 4) and (batch, "
            "number), were expected."
        )
    is_one_image = ranks == (2, 2) and labels.shape[0] == 1  # labels with a batch axis
    per_box = labels.shape[1:] if is_one_image else labels.shape[: ranks[0] - 1]
    if boxes.shape[: ranks[0] - 1] != per_box:
        raise ValueError(
            f"{owner} was given boxes of shape {tuple(boxes.shape)} and their labels of shape "
            f"{tuple(labels.shape)}; one label for each box was expected."
        )
    return {"boxes": boxes, "labels": labels}


def _pad_lists(value: Any, empty_shape: tuple[int, ...], fill: int) -> Any:
    """Return a list of arrays of different lengths as one array; anything else as it is.

    Args:
        value: The boxes or the labels of one image, or a list of those of several images.
        empty_shape: The shape of an image without boxes.
        fill: The padding.
    """
    if not isinstance(value, (list, tuple)) or not value:
        return value
    rows: list[Array] = [as_number_array(row) if len(np.shape(row)) else row for row in value]
    if any(np.ndim(row) == 0 or np.shape(row)[1:] != np.shape(rows[0])[1:] for row in rows):
        rows = [np.reshape(row, empty_shape) if np.size(row) == 0 else row for row in rows]
    if any(np.ndim(row) < len(empty_shape) for row in rows):
        return value  # of one image
    length = max(len(row) for row in rows)
    padding = [(0, 0)] * (len(empty_shape) - 1)
    return np.stack(
        [np.pad(row, [(0, length - len(row)), *padding], constant_values=fill) for row in rows]
    )
