"""Products and reductions of `keras.backend`, with Keras 2's parameters."""

from __future__ import annotations

from collections.abc import Sequence

from podium import ops
from podium._typing import TensorLike
from podium.core import Tensor


def dot(x: TensorLike, y: TensorLike) -> Tensor:
    """Sum products over the last dimension of x and the last but one of y.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.dot(x=np.zeros((2, 3)), y=np.zeros((4, 3, 5))).shape
        (2, 4, 5)
    """
    return ops.dot(x, y)


def batch_dot(x: TensorLike, y: TensorLike, axes: int | Sequence[int] | None = None) -> Tensor:
    """Sum products over one dimension of x and one of y, sample by sample.

    Args:
        x: A batch with at least two dimensions.
        y: A batch of as many samples.
        axes: The dimension of x and that of y; an int for both. By default the last of x, and the
            last but one of y, or its last one if it has two dimensions.

    Returns:
        A Tensor with the batch dimension, the other dimensions of x and those of y; with shape
        `(batch, 1)` if there are no others.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.batch_dot(np.ones((32, 20, 1)), np.ones((32, 30, 20)), axes=(1, 2)).shape
        (32, 1, 30)
    """
    x_shape, y_shape = tuple(ops.shape(x)), tuple(ops.shape(y))
    x_axis, y_axis = _batch_dot_axes(x_shape, y_shape, axes)
    letters = "abcdefghijklmnopqrstuvw"
    x_letters = "z" + letters[: len(x_shape) - 1]
    y_letters = "z" + letters[len(x_shape) - 1 : len(x_shape) + len(y_shape) - 2]
    y_letters = y_letters[:y_axis] + x_letters[x_axis] + y_letters[y_axis + 1 :]
    summed = x_letters[x_axis]
    result = "z" + x_letters[1:].replace(summed, "") + y_letters[1:].replace(summed, "")
    product = ops.einsum(f"{x_letters},{y_letters}->{result}", x, y)
    return ops.expand_dims(product, -1) if len(result) == 1 else product


def _batch_dot_axes(
    x_shape: Sequence[int | None], y_shape: Sequence[int | None], axes: int | Sequence[int] | None
) -> tuple[int, int]:
    """Return the dimensions over which `batch_dot` sums, after checking all its arguments."""
    shapes = f"batch_dot was given values of shapes {x_shape} and {y_shape}"
    if len(x_shape) < 2 or len(y_shape) < 2:
        raise ValueError(f"{shapes}; at least two dimensions were expected. Add a batch dimension.")
    if None not in (x_shape[0], y_shape[0]) and x_shape[0] != y_shape[0]:
        raise ValueError(f"{shapes}; batches of the same size were expected.")
    if axes is None:
        axes = (-1, -1 if len(y_shape) == 2 else -2)
    pair = (axes, axes) if isinstance(axes, int) else tuple(axes)
    if len(pair) != 2 or not all(isinstance(axis, int) for axis in pair):
        raise ValueError(f"batch_dot was given axes={axes!r}; an int or two of them were expected.")
    x_axis, y_axis = pair[0] % len(x_shape), pair[1] % len(y_shape)
    if 0 in (x_axis, y_axis):
        raise ValueError(
            f"batch_dot was given axes={axes!r}, and dimension 0 is the batch. Add a batch "
            "dimension with `K.expand_dims(x, 0)`."
        )
    sizes = (x_shape[x_axis], y_shape[y_axis])
    if None not in sizes and sizes[0] != sizes[1]:
        raise ValueError(f"{shapes} with axes={axes!r}; their sizes there {sizes} differ.")
    return x_axis, y_axis


def argmax(x: TensorLike, axis: int = -1) -> Tensor:
    """Return the positions of the largest elements along an axis; by default the last one.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.argmax([[1, 5], [7, 2]]).numpy()
        array([1, 0], dtype=int32)
    """
    return ops.argmax(x, axis=axis)


def argmin(x: TensorLike, axis: int = -1) -> Tensor:
    """Return the positions of the smallest elements along an axis; by default the last one.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.argmin([[1, 5], [7, 2]]).numpy()
        array([0, 1], dtype=int32)
    """
    return ops.argmin(x, axis=axis)


def cumsum(x: TensorLike, axis: int = 0) -> Tensor:
    """Return the sums so far along an axis; by default the first one.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.cumsum([[1, 2], [3, 4]]).numpy()
        array([[1, 2],
               [4, 6]], dtype=int32)
    """
    return ops.cumsum(x, axis=axis)


def cumprod(x: TensorLike, axis: int = 0) -> Tensor:
    """Return the products so far along an axis; by default the first one.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.cumprod([[1, 2], [3, 4]]).numpy()
        array([[1, 2],
               [3, 8]], dtype=int32)
    """
    return ops.cumprod(x, axis=axis)


def in_top_k(predictions: TensorLike, targets: TensorLike, k: int) -> Tensor:
    """Return whether each target is among the `k` highest predictions.

    Example:
        >>> from podium.compat import keras
        >>> keras.backend.in_top_k([[0.1, 0.9], [0.8, 0.2]], targets=[1, 1], k=1).numpy()
        array([ True, False])
    """
    return ops.in_top_k(targets, predictions, k)
