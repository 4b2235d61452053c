"""Encodings of integer labels: one-hot and multi-hot vectors."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from podium._typing import DTypeLike, TensorLike
from podium.core import Tensor
from podium.ops._arguments import dtype_or_default, reject_sparse
from podium.ops._operation import array_function, dispatch, operation


@array_function("x")
def _one_hot(
    x: Array, num_classes: int, axis: int = -1, dtype: DTypeLike | None = None, sparse: bool = False
) -> Array:
    reject_sparse(sparse)
    if not jnp.issubdtype(x.dtype, jnp.integer):
        x = x.astype("int32")
    return jax.nn.one_hot(x, num_classes, axis=axis, dtype=dtype_or_default(dtype))


@operation(_one_hot)
def one_hot(
    x: TensorLike,
    num_classes: int,
    axis: int = -1,
    dtype: DTypeLike | None = None,
    sparse: bool = False,
) -> Tensor:
    """Encode integer labels as one-hot vectors. Labels out of range are encoded as zeros.

    Args:
        x: Integer tensor.
        num_classes: Number of classes.
        axis: Position of the new axis.
        dtype: Dtype of the result. `None` means the default float dtype.
        sparse: Sparse results are not supported: must be `False`.

    Example:
        >>> ops.one_hot([1, 0], 3).numpy()
        array([[0., 1., 0.],
               [1., 0., 0.]], dtype=float32)
    """
    return dispatch(_one_hot, x, num_classes, axis, dtype, sparse)


@array_function("inputs")
def _multi_hot(
    inputs: Array,
    num_classes: int | None = None,
    axis: int = -1,
    dtype: DTypeLike | None = None,
    sparse: bool = False,
    **kwargs: int,
) -> Array:
    reject_sparse(sparse)
    num_classes = kwargs.pop("num_tokens", None) if num_classes is None else num_classes
    if num_classes is None or kwargs:
        raise ValueError("`num_classes` must be given, and no unknown arguments.")
    one_hot = jax.nn.one_hot(
        inputs.astype("int32"), num_classes, axis=axis, dtype=dtype_or_default(dtype)
    )
    return jnp.max(one_hot, axis=1 if inputs.ndim > 1 else 0)


@operation(_multi_hot)
def multi_hot(
    inputs: TensorLike,
    num_classes: int | None = None,
    axis: int = -1,
    dtype: DTypeLike | None = None,
    sparse: bool = False,
    **kwargs: int,
) -> Tensor:
    """Encode sets of integer labels as multi-hot vectors.

    Args:
        inputs: Integer tensor of labels, `(batch, labels)` or `(labels,)`.
        num_classes: Number of classes.
        axis: Position of the class axis in the one-hot encoding.
        dtype: Dtype of the result. `None` means the default float dtype.
        sparse: Sparse results are not supported: must be `False`.
        **kwargs: `num_tokens`, the old name of `num_classes`.

    Example:
        >>> ops.multi_hot([[0, 2], [1, 1]], 3).numpy()
        array([[1., 0., 1.],
               [0., 1., 0.]], dtype=float32)
    """
    return dispatch(_multi_hot, inputs, num_classes, axis, dtype, sparse, **kwargs)
