"""Array creation: `tf.constant`, `tf.zeros`, `tf.range`, `tf.one_hot`, `tf.cast`, ..."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from podium import ops
from podium._typing import DTypeLike, ShapeLike, TensorLike
from podium.compat.tensorflow._decorators import fold_constants, lift_with_promotion
from podium.compat.tensorflow._dtypes import canonical_dtype, canonical_dtype_or_none
from podium.compat.tensorflow._shapes import ShapeVector, static_shape
from podium.core import Tensor
from podium.core import convert_to_tensor as to_tensor


@fold_constants
def constant(
    value: TensorLike,
    dtype: DTypeLike | None = None,
    shape: ShapeLike | None = None,
    name: str = "Const",
) -> Tensor:
    """Create a Tensor from a value, with an optional dtype and shape.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.constant([[1, 2], [3, 4]], dtype=tf.float32).shape
        (2, 2)
    """
    tensor = _to_tensor(value, dtype)
    if shape is None:
        return tensor
    sizes = static_shape(shape)
    return ops.reshape(tensor, sizes) if tensor.ndim else ops.broadcast_to(tensor, sizes)


@fold_constants
def convert_to_tensor(
    value: TensorLike,
    dtype: DTypeLike | None = None,
    dtype_hint: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Convert a value to a Tensor.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.convert_to_tensor([1.0, 2.0]).numpy()
        array([1., 2.], dtype=float32)
    """
    return _to_tensor(value, dtype)


def _to_tensor(value: TensorLike, dtype: DTypeLike | None) -> Tensor:
    value = list(value) if isinstance(value, ShapeVector) else value
    tensor: Tensor = to_tensor(value, canonical_dtype_or_none(dtype))
    return tensor


@lift_with_promotion
def _identity(x: TensorLike) -> jax.Array:
    return jnp.array(x, copy=True)


@fold_constants
def identity(input: TensorLike, name: str | None = None) -> Tensor:
    """Return a copy.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.identity([1.0, 2.0]).numpy()
        array([1., 2.], dtype=float32)
    """
    return _identity(input)


@fold_constants
def cast(x: TensorLike, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """Convert to another dtype.

    The same as `podium.ops.cast`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.cast([1.7, 2.2], "int32").numpy()
        array([1, 2], dtype=int32)
    """
    return ops.cast(x, canonical_dtype(dtype))


@fold_constants
def saturate_cast(value: TensorLike, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """Convert to another dtype, clipping to its range.

    The same as `podium.ops.saturate_cast`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.saturate_cast([-5, 300], "uint8").numpy()
        array([  0, 255], dtype=uint8)
    """
    return ops.saturate_cast(value, canonical_dtype(dtype))


@lift_with_promotion
def _complex(real: TensorLike, imag: TensorLike) -> jax.Array:
    return jax.lax.complex(
        *jnp.broadcast_arrays(jnp.asarray(real, float), jnp.asarray(imag, float))
    )


@fold_constants
def complex(real: TensorLike, imag: TensorLike, name: str | None = None) -> Tensor:
    """Create complex numbers from real and imaginary parts.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.complex(1.0, 2.0).numpy()
        array(1.+2.j, dtype=complex64)
    """
    return _complex(real, imag)


def zeros(shape: ShapeLike, dtype: DTypeLike = "float32", name: str | None = None) -> Tensor:
    """Create a tensor of zeros.

    The same as `podium.ops.zeros`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.zeros((2, 2)).numpy()
        array([[0., 0.],
               [0., 0.]], dtype=float32)
    """
    return ops.zeros(static_shape(shape), canonical_dtype_or_none(dtype))


def ones(shape: ShapeLike, dtype: DTypeLike = "float32", name: str | None = None) -> Tensor:
    """Create a tensor of ones.

    The same as `podium.ops.ones`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.ones((2, 2)).numpy()
        array([[1., 1.],
               [1., 1.]], dtype=float32)
    """
    return ops.ones(static_shape(shape), canonical_dtype_or_none(dtype))


@fold_constants
def zeros_like(
    input: TensorLike, dtype: DTypeLike | None = None, name: str | None = None
) -> Tensor:
    """Create zeros of the shape and dtype of `input`.

    The same as `podium.ops.zeros_like`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.zeros_like([3, 4]).numpy()
        array([0, 0], dtype=int32)
    """
    return ops.zeros_like(input, canonical_dtype_or_none(dtype))


@fold_constants
def ones_like(input: TensorLike, dtype: DTypeLike | None = None, name: str | None = None) -> Tensor:
    """Create ones of the shape and dtype of `input`.

    The same as `podium.ops.ones_like`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.ones_like([3, 4]).numpy()
        array([1, 1], dtype=int32)
    """
    return ops.ones_like(input, canonical_dtype_or_none(dtype))


def fill(dims: ShapeLike, value: TensorLike, name: str | None = None) -> Tensor:
    """Create a tensor filled with one value.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.fill([2, 2], 7).numpy()
        array([[7, 7],
               [7, 7]], dtype=int32)
    """

    @lift_with_promotion
    def full(value: TensorLike) -> jax.Array:
        return jnp.full(static_shape(dims), jnp.asarray(value))

    return full(to_tensor(value))


def linspace(
    start: TensorLike, stop: TensorLike, num: int, name: str | None = None, axis: int = 0
) -> Tensor:
    """Return evenly spaced numbers; both ends are included.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.linspace(0.0, 1.0, 3).numpy()
        array([0. , 0.5, 1. ], dtype=float32)
    """
    return ops.linspace(start, stop, int(num), axis=axis)


def range(
    start: TensorLike,
    limit: TensorLike | None = None,
    delta: TensorLike = 1,
    dtype: DTypeLike | None = None,
    name: str = "range",
) -> Tensor:
    """Return evenly spaced numbers from `start` to `limit`, which is excluded.

    With one bound, the numbers start at 0.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.range(3).numpy(), tf.range(1, 6, 2).numpy()
        (array([0, 1, 2], dtype=int32), array([1, 3, 5], dtype=int32))
    """
    start, limit = (0, start) if limit is None else (start, limit)
    bounds = [_static_number(bound) for bound in (start, limit, delta)]
    if dtype is None and any(isinstance(bound, float) for bound in bounds):
        dtype = "float32"
    first, last, step = bounds
    return fold_constants(ops.arange)(first, last, step, dtype=canonical_dtype_or_none(dtype))


def _static_number(bound: TensorLike) -> int | float:
    """Convert a bound to a Python number, since the size of the result must be known."""
    if isinstance(bound, (int, float)):
        return bound
    is_int = np.dtype(getattr(bound, "dtype", "float32")).kind in "iub"
    return int(bound) if is_int else float(bound)  # type: ignore[arg-type]


def eye(
    num_rows: int,
    num_columns: int | None = None,
    batch_shape: ShapeLike | None = None,
    dtype: DTypeLike = "float32",
    name: str | None = None,
) -> Tensor:
    """Create an identity matrix, or a batch of them.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.eye(2, batch_shape=[3]).shape
        (3, 2, 2)
    """
    rows = static_shape(num_rows)[0]
    columns = static_shape(num_rows if num_columns is None else num_columns)[0]
    matrix = ops.eye(rows, columns, dtype=canonical_dtype(dtype))
    if batch_shape is None:
        return matrix
    return ops.broadcast_to(matrix, (*static_shape(batch_shape), rows, columns))


def meshgrid(*args: TensorLike, indexing: str = "xy", name: str | None = None) -> list[Tensor]:
    """Return the coordinates of a grid, one array for each axis.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> [part.shape for part in tf.meshgrid([1, 2, 3], [4, 5])]
        [(2, 3), (2, 3)]
    """
    return list(ops.meshgrid(*args, indexing=indexing))


def one_hot(
    indices: TensorLike,
    depth: int,
    on_value: TensorLike | None = None,
    off_value: TensorLike | None = None,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Return 1 (`on_value`) at the position of each index and 0 (`off_value`) elsewhere.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.one_hot([0, 2], depth=3).numpy()
        array([[1., 0., 0.],
               [0., 0., 1.]], dtype=float32)
    """
    result_dtype = canonical_dtype(dtype if dtype is not None else getattr(on_value, "dtype", None))
    hot = ops.one_hot(
        ops.cast(indices, "int32"),
        static_shape(depth)[0],
        axis=-1 if axis is None else axis,
        dtype=result_dtype,
    )
    if on_value is None and off_value is None:
        return hot
    on, off = 1 if on_value is None else on_value, 0 if off_value is None else off_value
    return ops.cast(ops.where(ops.equal(hot, 1), on, off), result_dtype)


def sequence_mask(
    lengths: TensorLike,
    maxlen: int | None = None,
    dtype: DTypeLike = "bool",
    name: str | None = None,
) -> Tensor:
    """Return a mask that is true for the first `lengths` positions of each row.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.sequence_mask([1, 3], 3).numpy()
        array([[ True, False, False],
               [ True,  True,  True]])
    """
    max_length = int(ops.max(lengths)) if maxlen is None else int(maxlen)

    @lift_with_promotion
    def mask(lengths: TensorLike) -> jax.Array:
        positions = jnp.arange(max_length)
        return (positions < jnp.asarray(lengths)[..., None]).astype(canonical_dtype(dtype))

    return mask(lengths)
