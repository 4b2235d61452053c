"""Sorting: `tf.sort`, `tf.argsort`, `tf.searchsorted`, `tf.math.top_k`, `tf.unique`."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from podium import ops
from podium._typing import DTypeLike, TensorLike
from podium.compat.tensorflow._decorators import fold_constants
from podium.core import Tensor, convert_to_tensor


class TopK(NamedTuple):
    """The result of `top_k`: the values and their indices."""

    values: Tensor
    indices: Tensor


def top_k(
    input: TensorLike,
    k: int = 1,
    sorted: bool = True,
    index_type: DTypeLike = "int32",
    name: str | None = None,
) -> TopK:
    """Return the `k` largest elements along the last axis, and their indices.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> values, indices = tf.math.top_k([3.0, 9.0, 5.0], k=2)
        >>> values.numpy(), indices.numpy()
        (array([9., 5.], dtype=float32), array([1, 2], dtype=int32))
    """
    return TopK(*ops.top_k(input, int(k), sorted))


@fold_constants
def in_top_k(
    targets: TensorLike, predictions: TensorLike, k: int, name: str | None = None
) -> Tensor:
    """Return whether each target is among the `k` largest predictions.

    The same as `podium.ops.in_top_k`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.math.in_top_k([2, 0], [[0.1, 0.6, 0.3], [0.1, 0.6, 0.3]], k=2).numpy()
        array([ True, False])
    """
    return ops.in_top_k(targets, predictions, k)


def unique(
    x: TensorLike, out_idx: DTypeLike = "int32", name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Return the distinct values in order of appearance, and the index of each element's value.

    Works eagerly only: the number of distinct values depends on `x`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> values, indices = tf.unique([7, 3, 7])
        >>> values.numpy(), indices.numpy()
        (array([7, 3], dtype=int32), array([0, 1, 0], dtype=int32))
    """
    values, first, inverse = np.unique(np.asarray(x), return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return convert_to_tensor(values[order]), convert_to_tensor(rank[inverse].astype("int32"))


def _sort(op: Callable[..., Tensor], x: TensorLike, axis: int, direction: str) -> Tensor:
    if direction.upper() not in ("ASCENDING", "DESCENDING"):
        raise ValueError(
            f"direction={direction!r} was given; 'ASCENDING' or 'DESCENDING' was expected."
        )
    ascending = op(x, axis=axis)
    return ascending if direction.upper() == "ASCENDING" else ops.flip(ascending, axis)


@fold_constants
def sort(
    values: TensorLike, axis: int = -1, direction: str = "ASCENDING", name: str | None = None
) -> Tensor:
    """Sort elements along an axis.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.sort([2, 9, 5], direction="DESCENDING").numpy()
        array([9, 5, 2], dtype=int32)
    """
    return _sort(ops.sort, values, axis, direction)


@fold_constants
def argsort(
    values: TensorLike,
    axis: int = -1,
    direction: str = "ASCENDING",
    stable: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return the indices that sort elements along an axis.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.argsort([2, 9, 5], direction="DESCENDING").numpy()
        array([1, 2, 0], dtype=int32)
    """
    return _sort(ops.argsort, values, axis, direction)


@fold_constants
def searchsorted(
    sorted_sequence: TensorLike, values: TensorLike, side: str = "left", name: str | None = None
) -> Tensor:
    """Return the positions at which values would be inserted into a sorted sequence.

    The same as `podium.ops.searchsorted`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.searchsorted([1, 3, 5], [3, 4]).numpy()
        array([1, 2], dtype=int32)
    """
    return ops.searchsorted(sorted_sequence, values, side)
