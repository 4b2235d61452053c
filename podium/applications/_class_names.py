"""The names of ImageNet's classes: `decode_predictions`."""

from __future__ import annotations

import functools
import json
from typing import TypeAlias

import numpy as np

from podium._typing import TensorLike
from podium.applications import _weights_files
from podium.core import convert_to_tensor
from podium.core.internal import check_int
from podium.utils import get_file

_PATH = "download.tensorflow.org/data/imagenet_class_index.json"
_HASH = "c2c37ea517e94d9795004a39431a14cb"
_NUM_CLASSES = 1000

# The identifier in WordNet, the name, and the probability.
Prediction: TypeAlias = tuple[str, str, np.floating]


def decode_predictions(preds: TensorLike, top: int = 5) -> list[list[Prediction]]:
    """Name the most probable classes of ImageNet.

    The names are read from `imagenet_class_index.json` in `~/.keras/models`, which is downloaded
    if it is missing.

    Args:
        preds: Probabilities, as the model returned them: shape `(samples, 1000)`.
        top: How many classes are returned for each sample.

    Returns:
        For each sample a list of `(identifier, name, probability)`, the most probable first.

    Raises:
        ValueError: `preds` has another shape.

    Example:
        >>> podium.applications.imagenet_utils.decode_predictions(np.zeros((1, 10)))
        Traceback (most recent call last):
        ValueError: decode_predictions was given values of shape (1, 10); (samples, 1000) was \
expected, as a model with ImageNet's classes returns it.
    """
    values = preds if isinstance(preds, np.ndarray) else convert_to_tensor(preds).numpy()
    if values.ndim != 2 or values.shape[1] != _NUM_CLASSES:
        raise ValueError(
            f"decode_predictions was given values of shape {values.shape}; (samples, "
            f"{_NUM_CLASSES}) was expected, as a model with ImageNet's classes returns it."
        )
    check_int("top", top)
    path = get_file(
        "imagenet_class_index.json",
        _weights_files.ORIGIN + _PATH,
        cache_subdir="models",
        file_hash=_HASH,
    )
    names = _read_class_names(path)
    return [[(*names[index], row[index]) for index in row.argsort()[-top:][::-1]] for row in values]


@functools.cache
def _read_class_names(path: str) -> list[tuple[str, str]]:
    """Read the identifier and the name of each class, in the order of the outputs."""
    with open(path, encoding="utf-8") as file:
        by_index = json.load(file)
    return [tuple(by_index[str(index)]) for index in range(_NUM_CLASSES)]
