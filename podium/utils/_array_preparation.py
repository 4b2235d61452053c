"""Preparation of NumPy arrays: one-hot classes, unit vectors, padded sequences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from podium import ops
from podium._typing import DTypeLike, TensorLike
from podium.core import (
    KerasTensor,
    Tensor,
    check_choice,
    is_tensor,
)
from podium.core.internal import check_int


def to_categorical(
    x: TensorLike | None = None,
    num_classes: int | None = None,
    dtype: DTypeLike = "float32",
    *,
    y: TensorLike | None = None,
) -> np.ndarray[Any, Any] | Tensor:
    """Convert class indices to one-hot rows.

    Args:
        x: Ints from 0; a last axis of size 1 is dropped.
        num_classes: Length of a row; by default the largest index plus one.
        dtype: Dtype of the result.
        y: Keras 2's name of `x`.

    Returns:
        An array with one axis more; a Tensor if `x` is one and `num_classes` is given.

    Raises:
        ValueError: An index is not an integer, is negative, or not below `num_classes`. (For a
            Tensor, such rows are zeros instead.)

    Example:
        >>> podium.utils.to_categorical([0, 2], 3)
        array([[1., 0., 0.],
               [0., 0., 1.]], dtype=float32)
    """
    indices = y if x is None else x
    if num_classes is not None:
        num_classes = check_int("num_classes", num_classes, 0, integral_floats=True)
    if isinstance(indices, (Tensor, KerasTensor, jax.Array)) and num_classes:
        if len(indices.shape) > 1 and indices.shape[-1] == 1:
            indices = ops.squeeze(indices, -1)
        return ops.one_hot(ops.cast(indices, "int32"), num_classes, dtype=dtype)
    numbers = np.asarray(indices)
    if numbers.dtype.kind not in "iubf" or not np.array_equal(numbers, np.floor(numbers)):
        raise ValueError(
            f"to_categorical() was given values of dtype {numbers.dtype} that are not integers; "
            "class indices were expected."
        )
    if not numbers.size and not num_classes:
        raise ValueError(
            "to_categorical() was given an empty array and no num_classes; pass num_classes, the "
            "length of the rows."
        )
    numbers = numbers.astype("int64")
    shape = numbers.shape[:-1] if numbers.ndim > 1 and numbers.shape[-1] == 1 else numbers.shape
    numbers = numbers.reshape(-1)
    size = int(num_classes or numbers.max() + 1)
    if numbers.size and (numbers.min() < 0 or numbers.max() >= size):
        raise ValueError(
            f"to_categorical() was given classes from {numbers.min()} to {numbers.max()} with "
            f"num_classes={size}; ints from 0 to {size - 1} were expected."
        )
    hot = np.zeros((numbers.size, size), dtype=dtype)
    hot[np.arange(numbers.size), numbers] = 1
    return hot.reshape((*shape, size))


def normalize(
    x: TensorLike, axis: int | tuple[int, int] | None = -1, order: int = 2
) -> np.ndarray[Any, Any] | Tensor:
    """Scale vectors along an axis to norm 1; vectors of zeros are unchanged.

    Args:
        x: Values. A one-dimensional array is returned as one row, as in Keras.
        axis: Axis of the vectors. A pair of axes, or None for a matrix, uses the matrix norm.
        order: Order of the norm: 1, 2, `np.inf`, ...

    Returns:
        An array; a Tensor if `x` is one.

    Example:
        >>> podium.utils.normalize(np.array([[3.0, 4.0]]))
        array([[0.6, 0.8]])
    """
    if is_tensor(x):
        return ops.normalize(x, axis=axis, order=order)
    array = np.asarray(x)
    norm = np.atleast_1d(np.linalg.norm(array, order, axis))
    norm[norm == 0] = 1
    normalized: np.ndarray[Any, Any] = array / np.expand_dims(norm, -1 if axis is None else axis)
    return normalized


def pad_sequences(
    sequences: Sequence[Sequence[Any]],
    maxlen: int | None = None,
    dtype: DTypeLike = "int32",
    padding: str = "pre",
    truncating: str = "pre",
    value: float | str | bytes = 0.0,
) -> np.ndarray[Any, Any]:
    """Pad or truncate sequences to the same length.

    Args:
        sequences: Lists of numbers, or of arrays of one shape; lists of strings with
            `dtype=object` or `dtype=str`.
        maxlen: The length; by default that of the longest sequence.
        dtype: Dtype of the result; `object` for strings of any length.
        padding: Where to pad, "pre" or "post".
        truncating: Where to truncate, "pre" or "post".
        value: The padding value.

    Example:
        >>> podium.utils.pad_sequences([[1], [2, 3, 4]], maxlen=2)
        array([[0, 1],
               [3, 4]], dtype=int32)
    """
    check_choice("padding", padding, ("pre", "post"))
    check_choice("truncating", truncating, ("pre", "post"))
    _check_value(value, np.dtype(dtype))
    rows = [np.asarray(sequence) for sequence in _check_sequences(sequences)]
    length = (
        max((len(row) for row in rows), default=0)
        if maxlen is None
        else check_int("maxlen", maxlen, 0, integral_floats=True)
    )
    step_shape = next((row.shape[1:] for row in rows if len(row)), ())
    padded = np.full((len(rows), length, *step_shape), value, dtype=dtype)
    for index, row in enumerate(rows):
        if len(row) > length:
            row = row[len(row) - length :] if truncating == "pre" else row[:length]
        if not len(row):
            continue
        if row.shape[1:] != step_shape:
            raise ValueError(
                f"Sequence {index} has steps of shape {row.shape[1:]}; those before it have "
                f"{step_shape}. One shape was expected."
            )
        if padding == "pre":
            padded[index, length - len(row) :] = row
        else:
            padded[index, : len(row)] = row
    return padded


def _check_sequences(sequences: Sequence[Sequence[Any]]) -> Sequence[Sequence[Any]]:
    if not hasattr(sequences, "__len__"):
        raise TypeError(f"sequences={sequences!r} was given; a list of lists was expected.")
    for index, sequence in enumerate(sequences):
        if not hasattr(sequence, "__len__") or isinstance(sequence, (str, bytes, dict)):
            raise ValueError(f"Sequence {index} is {sequence!r}; a list of numbers was expected.")
    return sequences


def _check_value(value: float | str | bytes, dtype: np.dtype[Any]) -> None:
    if isinstance(value, (str, bytes)) and dtype.kind not in "OUS":
        raise ValueError(
            f"value={value!r} was given with dtype={str(dtype)!r}, which cannot hold "
            "strings; dtype=object was expected."
        )
