"""`keras.backend`, the functions that Keras 2 scripts call `K.something`, and Keras's version."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from podium import ops, random
from podium._typing import DTypeLike, SymbolicShape, TensorLike
from podium.core import (
    Tensor,
    Variable,
    convert_to_tensor,
    floatx,
    standardize_dtype,
)
from podium.ops.internal import result_type

# The version of Keras whose API `podium.compat.keras` follows.
__version__ = "2.15.0"

uids: collections.Counter[str] = collections.Counter()


def version() -> str:
    """Return the version of Keras whose API this is.

    Example:
        >>> from podium.compat import keras
        >>> keras.version()
        '2.15.0'
    """
    return __version__


def backend() -> str:
    """Return the name of the backend whose API a script can use: "tensorflow".

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.backend()
        'tensorflow'
    """
    return "tensorflow"


def get_uid(prefix: str = "") -> int:
    """Return a number that is unique for a prefix: 1, then 2, ...

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.get_uid("example"), keras.backend.get_uid("example")
        (1, 2)
    """
    uids[prefix] += 1
    return uids[prefix]


def result_dtype(*dtypes: DTypeLike | None) -> str:
    """Return the dtype of an operation on values of several dtypes.

    Args:
        *dtypes: Names or dtypes; `int` and `float` mean Python's numbers, None the default float
            dtype.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.result_type("bfloat16", int), keras.backend.result_type("int32", float)
        ('bfloat16', 'float32')
    """
    if any(str(dtype).startswith("float8") for dtype in dtypes):
        raise ValueError(
            f"result_type was given {dtypes}: values of a float8 dtype are not converted "
            "implicitly. Cast them first, with `ops.cast`."
        )
    if not dtypes:
        return floatx()
    weak = {int: int, float: float, "int": int, "float": float}
    return result_type(*(weak.get(d) or standardize_dtype(d) for d in dtypes))


def get_value(x: TensorLike) -> np.ndarray[Any, Any]:
    """Return a value as a NumPy array.

    Example:
        >>> from podium.compat import keras
        >>> float(keras.backend.get_value(podium.Variable(2.0)))
        2.0
    """
    array: np.ndarray[Any, Any] = x.numpy() if hasattr(x, "numpy") else np.asarray(x)
    return array


def set_value(x: Variable, value: TensorLike) -> None:
    """Assign a value to a Variable.

    Example:
        >>> from podium.compat import keras
        >>> rate = podium.Variable(0.1)
        >>> keras.backend.set_value(rate, 0.01)
        >>> round(float(rate), 3)
        0.01
    """
    if not hasattr(x, "assign"):
        raise TypeError(
            f"set_value() was given {x!r}; a Variable was expected. Assign to the attribute that "
            "holds it instead."
        )
    x.assign(np.asarray(value, dtype=x.dtype))


def batch_get_value(tensors: Iterable[TensorLike]) -> list[np.ndarray[Any, Any]]:
    """Return several values as NumPy arrays.

    Example:
        >>> from podium.compat import keras
        >>> [float(value) for value in keras.backend.batch_get_value([podium.Variable(2.0)])]
        [2.0]
    """
    return [get_value(x) for x in tensors]


def batch_set_value(tuples: Iterable[tuple[Variable, TensorLike]]) -> None:
    """Assign values to several Variables, given as pairs of Variable and value.

    Example:
        >>> from podium.compat import keras
        >>> rate = podium.Variable(0.1)
        >>> keras.backend.batch_set_value([(rate, 0.5)])
        >>> float(rate)
        0.5
    """
    for x, value in tuples:
        set_value(x, value)


def int_shape(x: TensorLike) -> SymbolicShape:
    """Return the shape as a tuple; None for an unknown size.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.int_shape(podium.Input((3,)))
        (None, 3)
    """
    return tuple(ops.shape(x))


def ndim(x: TensorLike) -> int:
    """Return the number of dimensions.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.ndim(np.zeros((2, 3)))
        2
    """
    return len(ops.shape(x))


def variable(
    value: TensorLike,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    constraint: Callable[[Tensor], Tensor] | None = None,
) -> Variable:
    """Create a Variable.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.variable([1.0, 2.0]).shape
        (2,)
    """
    return Variable(value, dtype=dtype, name=name, constraint=constraint)


def constant(
    value: TensorLike,
    dtype: DTypeLike | None = None,
    shape: Sequence[int] | None = None,
    name: str | None = None,
) -> Tensor:
    """Create a Tensor from a value.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.constant(1.0, shape=(2,)).numpy()
        array([1., 1.], dtype=float32)
    """
    tensor: Tensor = convert_to_tensor(value, dtype)
    return tensor if shape is None else ops.broadcast_to(tensor, shape)


def random_normal(
    shape: Sequence[int],
    mean: float = 0.0,
    stddev: float = 1.0,
    dtype: DTypeLike | None = None,
    seed: int | None = None,
) -> Tensor:
    """Sample from a normal distribution.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.random_normal(shape=(2, 3)).shape
        (2, 3)
    """
    sizes = tuple(int(size) for size in shape)
    sample: Tensor = random.normal(sizes, mean, stddev, dtype, seed)
    return sample


def random_uniform(
    shape: Sequence[int],
    minval: float = 0.0,
    maxval: float = 1.0,
    dtype: DTypeLike | None = None,
    seed: int | None = None,
) -> Tensor:
    """Sample uniformly from an interval.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.random_uniform(shape=(2, 3)).shape
        (2, 3)
    """
    sizes = tuple(int(size) for size in shape)
    sample: Tensor = random.uniform(sizes, minval, maxval, dtype, seed)
    return sample


def l2_normalize(x: TensorLike, axis: int | None = None) -> Tensor:
    """Scale vectors along an axis to norm 1.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.l2_normalize([3.0, 4.0]).numpy().round(2)
        array([0.6, 0.8], dtype=float32)
    """
    return ops.multiply(
        x, ops.rsqrt(ops.maximum(ops.sum(ops.square(x), axis=axis, keepdims=True), 1e-12))
    )


def batch_flatten(x: TensorLike) -> Tensor:
    """Flatten each sample to one row.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.batch_flatten(np.zeros((2, 3, 4))).shape
        (2, 12)
    """
    return ops.reshape(x, (ops.shape(x)[0], -1))


def flatten(x: TensorLike) -> Tensor:
    """Flatten to one dimension.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.flatten(np.zeros((2, 3))).shape
        (6,)
    """
    return ops.reshape(x, (-1,))


def ctc_batch_cost(
    y_true: TensorLike, y_pred: TensorLike, input_length: TensorLike, label_length: TensorLike
) -> Tensor:
    """Compute the CTC loss of each sample, from probabilities.

    Args:
        y_true: Labels `(samples, max_label_length)`.
        y_pred: Probabilities `(samples, steps, classes)`; the last class is the blank.
        input_length: Number of steps of each sample, `(samples, 1)`.
        label_length: Length of each label, `(samples, 1)`.

    Returns:
        Tensor `(samples, 1)`.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.ctc_batch_cost([[0]], np.full((1, 2, 2), 0.5), [[2]], [[1]]).shape
        (1, 1)
    """
    blank = _blank_index(y_pred)
    logits = ops.log(ops.add(ops.cast(y_pred, "float32"), 1e-7))
    label_lengths, input_lengths = (
        ops.cast(ops.reshape(length, (-1,)), "int32") for length in (label_length, input_length)
    )
    labels = ops.cast(y_true, "int32")
    losses = ops.ctc_loss(labels, logits, label_lengths, input_lengths, mask_index=blank)
    return ops.expand_dims(losses, 1)


def _blank_index(y_pred: TensorLike) -> int:
    """Return the index of the last class."""
    num_classes = ops.shape(y_pred)[-1]
    if num_classes is None:
        raise ValueError("y_pred has an unknown number of classes; a known last axis was expected.")
    return num_classes - 1


def ctc_decode(
    y_pred: TensorLike,
    input_length: TensorLike,
    greedy: bool = True,
    beam_width: int = 100,
    top_paths: int = 1,
) -> tuple[list[Tensor], Tensor]:
    """Decode the most likely labels from probabilities; the last class is the blank.

    Returns:
        A list with the labels of each path, padded with -1, and the log probabilities of the paths.

    Example:
        >>> from podium.compat import keras
        >>> paths, scores = keras.backend.ctc_decode(np.array([[[0.9, 0.1], [0.2, 0.8]]]), [2])
        >>> paths[0].numpy()[0, :1]
        array([0], dtype=int32)
    """
    blank = _blank_index(y_pred)
    logits = ops.log(ops.add(ops.cast(y_pred, "float32"), 1e-7))
    lengths = ops.cast(ops.reshape(input_length, (-1,)), "int32")
    if greedy:
        paths, scores = ops.ctc_decode(logits, lengths, strategy="greedy", mask_index=blank)
    else:
        paths, scores = ops.ctc_decode(
            logits,
            lengths,
            strategy="beam_search",
            mask_index=blank,
            beam_width=beam_width,
            top_paths=top_paths,
        )
    return list(ops.unstack(paths)), scores
