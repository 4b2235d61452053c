"""Functions of `keras.utils` that only Keras 2 has."""

from __future__ import annotations

import pathlib
from collections.abc import Sequence
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from podium import initializers, ops, utils
from podium._typing import DTypeLike, PathLike, TensorLike
from podium.compat.keras._backend import get_value
from podium.core import Tensor, convert_to_tensor, warn_user

if TYPE_CHECKING:
    from PIL.Image import Image


def to_ordinal(
    y: TensorLike, num_classes: int | None = None, dtype: DTypeLike = "float32"
) -> np.ndarray[Any, Any]:
    """Encode class numbers for ordinal regression: class k as k ones, then zeros.

    Args:
        y: Class numbers from 0 to `num_classes - 1`; a last dimension of size 1 is removed.
        num_classes: The number of classes; by default the largest number plus 1.
        dtype: The dtype of the result.

    Returns:
        An array with a last dimension of size `num_classes - 1`.

    Example:
        >>> from podium.compat import keras
        >>> keras.utils.to_ordinal([0, 1, 2])
        array([[0., 0.],
               [1., 0.],
               [1., 1.]], dtype=float32)
    """
    numbers = np.asarray(y).astype("int64")
    if numbers.ndim > 1 and numbers.shape[-1] == 1:
        numbers = numbers[..., 0]
    count = num_classes or int(numbers.max()) + 1
    if numbers.size and (numbers.min() < 0 or numbers.max() >= count):
        raise ValueError(
            f"to_ordinal was given class numbers from {numbers.min()} to {numbers.max()} and "
            f"{count} classes; numbers from 0 to {count - 1} were expected."
        )
    return (np.arange(count - 1) < numbers[..., None]).astype(dtype)


def warmstart_embedding_matrix(
    base_vocabulary: PathLike | TensorLike | Sequence[Any],
    new_vocabulary: PathLike | TensorLike | Sequence[Any],
    base_embeddings: TensorLike,
    new_embeddings_initializer: Any = "uniform",
) -> Tensor:
    """Return the embeddings of a new vocabulary, with those of the words that the old one has.

    Args:
        base_vocabulary: The words of `base_embeddings`: a list, an array, or the path of a file
            with one word per line.
        new_vocabulary: The words of the result, in the same form.
        base_embeddings: The matrix of an Embedding layer.
        new_embeddings_initializer: The initializer of all other words.

    Example:
        >>> from podium.compat import keras
        >>> keras.utils.warmstart_embedding_matrix(
        ...     ["a", "b"], ["new", "b"], np.array([[1.0], [2.0]], "float32"), "zeros"
        ... ).numpy()
        array([[0.],
               [2.]], dtype=float32)
    """
    base, new = _read_vocabulary(base_vocabulary), _read_vocabulary(new_vocabulary)
    embeddings = get_value(base_embeddings)
    if embeddings.ndim != 2 or len(embeddings) < len(base):
        raise ValueError(
            f"base_embeddings of shape {embeddings.shape} were given for {len(base)} words; a "
            "matrix with a row for each word was expected."
        )
    initializer: Any = initializers.get(new_embeddings_initializer)
    matrix = initializer((len(new), embeddings.shape[1]), dtype=embeddings.dtype.name)
    rows = {word: row for row, word in enumerate(base)}
    shared = [row for row, word in enumerate(new) if word in rows]
    if not shared:
        unchanged: Tensor = convert_to_tensor(matrix)
        return unchanged
    values = embeddings[[rows[new[row]] for row in shared]]
    return ops.scatter_update(matrix, np.array(shared)[:, None], values)


def _read_vocabulary(vocabulary: PathLike | TensorLike | Sequence[Any]) -> list[Any]:
    if isinstance(vocabulary, (str, pathlib.Path)):
        words = pathlib.Path(vocabulary).read_text(encoding="utf-8").splitlines()
    else:
        array: Any = vocabulary
        words = get_value(array).tolist()
    if not isinstance(words, list) or not words:
        raise ValueError(
            f"The vocabulary {vocabulary!r} was given; a list of at least one word was expected."
        )
    return words


def load_img(
    path: PathLike | IO[bytes],
    grayscale: bool = False,
    color_mode: str = "rgb",
    target_size: tuple[int, int] | None = None,
    interpolation: str = "nearest",
    keep_aspect_ratio: bool = False,
) -> Image:
    """Load an image from a file, with Keras 2's order of arguments.

    Args:
        path: A path, or an open file.
        grayscale: The old form of `color_mode="grayscale"`.
        color_mode: "rgb", "rgba" or "grayscale".
        target_size: Height and width to resize to.
        interpolation: The resize method: "nearest", "bilinear", "bicubic", "hamming", "box" or
            "lanczos".
        keep_aspect_ratio: Whether to crop instead of distorting.

    Example:
        >>> import pathlib, tempfile
        >>> from podium.compat import keras
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "image.png"
        >>> keras.utils.save_img(path, np.zeros((6, 8, 3)))
        >>> keras.utils.load_img(path, target_size=(3, 4)).size
        (4, 3)
    """
    if not isinstance(grayscale, bool):
        raise TypeError(
            f"load_img was given grayscale={grayscale!r}; True or False was expected. Pass "
            f"`color_mode={grayscale!r}` by name."
        )
    if grayscale:
        warn_user('load_img was given grayscale=True: use `color_mode="grayscale"`.')
        color_mode = "grayscale"
    return utils.load_img(path, color_mode, target_size, interpolation, keep_aspect_ratio)
