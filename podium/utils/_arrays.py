"""Preparing arrays: one-hot classes, unit vectors, sequences of one length. Everything here is
NumPy.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from podium import ops
from podium.core import check_choice, is_tensor
from podium.core.internal import check_int


def to_categorical(
    x: Any = None, num_classes: int | None = None, dtype: Any = "float32", *, y: Any = None
) -> Any:
    """Turn class numbers into one-hot rows.

    Args:
        x: Whole numbers from 0; a last axis of length 1 is dropped.
        num_classes: Length of a row; by default the largest number plus one.
        dtype: Type of the result.
        y: Keras 2's name of `x`.

    Returns:
        An array with one axis more; a Tensor if `x` is one and `num_classes` is given.

    Raises:
        ValueError: A number is not whole, negative, or not below `num_classes`. (Rows of a Tensor
            are zeros instead.)

    Example:
        >>> podium.utils.to_categorical([0, 2], 3)
        array([[1., 0., 0.],
               [0., 0., 1.]], dtype=float32)
    """
    x = y if x is None else x
    if num_classes is not None:
        num_classes = check_int("num_classes", num_classes, 0, integral_floats=True)
    if is_tensor(x) and num_classes:
        x = ops.squeeze(x, -1) if len(x.shape) > 1 and x.shape[-1] == 1 else x
        return ops.one_hot(ops.cast(x, "int32"), num_classes, dtype=dtype)
    numbers = np.asarray(x)
    if numbers.dtype.kind not in "iubf" or not np.array_equal(numbers, np.floor(numbers)):
        raise ValueError(
            f"to_categorical() was given numbers of type {numbers.dtype} that are not whole; "
            "class numbers were expected."
        )
    if not numbers.size and not num_classes:
        raise ValueError(
            "to_categorical() was given no numbers and no num_classes; one of them says how "
            "long the rows are."
        )
    numbers = numbers.astype("int64")
    shape = numbers.shape[:-1] if numbers.ndim > 1 and numbers.shape[-1] == 1 else numbers.shape
    numbers = numbers.reshape(-1)
    size = int(num_classes or numbers.max() + 1)
    if numbers.size and (numbers.min() < 0 or numbers.max() >= size):
        raise ValueError(
            f"to_categorical() was given classes from {numbers.min()} to {numbers.max()} with "
            f"num_classes={size}; numbers from 0 to {size - 1} were expected."
        )
    hot = np.zeros((numbers.size, size), dtype=dtype)
    hot[np.arange(numbers.size), numbers] = 1
    return hot.reshape((*shape, size))


def normalize(x: Any, axis: int | tuple[int, int] | None = -1, order: int = 2) -> Any:
    """Scale vectors along an axis to length one; vectors of zeros stay.

    Args:
        x: Numbers. An array of one axis comes back as one row, as in Keras.
        axis: Axis of the vectors. A pair of axes, or None for a matrix, takes the norm of matrices.
        order: Order of the norm: 1, 2, `np.inf`, ...

    Returns:
        An array; a Tensor if `x` is one.

    Example:
        >>> podium.utils.normalize(np.array([[3.0, 4.0]]))
        array([[0.6, 0.8]])
    """
    if is_tensor(x):
        return ops.normalize(x, axis=axis, order=order)
    x = np.asarray(x)
    length = np.atleast_1d(np.linalg.norm(x, order, axis))
    length[length == 0] = 1
    return x / np.expand_dims(length, -1 if axis is None else axis)


def pad_sequences(
    sequences: Sequence[Sequence[Any]],
    maxlen: int | None = None,
    dtype: Any = "int32",
    padding: str = "pre",
    truncating: str = "pre",
    value: Any = 0.0,
) -> np.ndarray:
    """Give sequences one length: fill up the short ones, cut the long ones.

    Args:
        sequences: Lists of numbers, or of arrays of one shape. Of text with `dtype=object` or
            `dtype=str`.
        maxlen: The length; by default that of the longest.
        dtype: Type of the result; `object` for text of any length.
        padding: Where to fill, "pre" or "post".
        truncating: Where to cut, "pre" or "post".
        value: What to fill with.

    Example:
        >>> podium.utils.pad_sequences([[1], [2, 3, 4]], maxlen=2)
        array([[0, 1],
               [3, 4]], dtype=int32)
    """
    check_choice("padding", padding, ("pre", "post"))
    check_choice("truncating", truncating, ("pre", "post"))
    _check_value(value, np.dtype(dtype))
    rows = [np.asarray(sequence) for sequence in _checked(sequences)]
    length = (
        max((len(row) for row in rows), default=0)
        if maxlen is None
        else check_int("maxlen", maxlen, 0, integral_floats=True)
    )
    inner = next((row.shape[1:] for row in rows if len(row)), ())
    cut: Callable = (
        (lambda row: row[len(row) - length :])
        if truncating == "pre"
        else (lambda row: row[:length])
    )
    padded = np.full((len(rows), length, *inner), value, dtype=dtype)
    for number, row in enumerate(rows):
        kept = cut(row) if len(row) > length else row
        if not len(kept):
            continue
        if kept.shape[1:] != inner:
            raise ValueError(
                f"Sequence {number} has steps of shape {kept.shape[1:]}; those before it have "
                f"{inner}. One shape was expected."
            )
        if padding == "pre":
            padded[number, length - len(kept) :] = kept
        else:
            padded[number, : len(kept)] = kept
    return padded


def _checked(sequences: Any) -> Any:
    if not hasattr(sequences, "__len__"):
        raise TypeError(f"sequences={sequences!r} was given; a list of lists was expected.")
    for number, sequence in enumerate(sequences):
        if not hasattr(sequence, "__len__") or isinstance(sequence, (str, bytes, dict)):
            raise ValueError(f"Sequence {number} is {sequence!r}; a list of numbers was expected.")
    return sequences


def _check_value(value: Any, dtype: np.dtype) -> None:
    if isinstance(value, (str, bytes)) and dtype.kind not in "OUS":
        raise ValueError(
            f"value={value!r} was given with dtype={str(dtype)!r}, which holds no text; "
            "dtype=object was expected for text."
        )
