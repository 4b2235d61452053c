"""Functions behind layers in `tf.nn`: `moments`, `batch_normalization`, `embedding_lookup`, ..."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from podium import ops
from podium._typing import Axis, TensorLike
from podium.compat.tensorflow._decorators import fold_constants, lift_with_promotion
from podium.core import Tensor, check_choice


def moments(
    x: TensorLike,
    axes: Axis,
    shift: TensorLike | None = None,
    keepdims: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Compute the mean and the variance along axes.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> mean, variance = tf.nn.moments(tf.constant([1.0, 3.0]), axes=[0])
        >>> float(mean), float(variance)
        (2.0, 1.0)
    """
    mean, variance = ops.moments(
        x,
        tuple(axes) if isinstance(axes, (list, tuple)) else (int(axes),),  # type: ignore[arg-type]
        keepdims,
    )
    return mean, variance


@lift_with_promotion
def _batch_normalization(
    x: TensorLike,
    mean: TensorLike,
    variance: TensorLike,
    offset: TensorLike | None,
    scale: TensorLike | None,
    epsilon: float,
) -> jax.Array:
    x = jnp.asarray(x)
    factor = 1 / jnp.sqrt(jnp.asarray(variance) + epsilon)
    factor = factor * (1 if scale is None else jnp.asarray(scale))
    shift = (0 if offset is None else jnp.asarray(offset)) - jnp.asarray(mean) * factor
    return (x * factor + shift).astype(x.dtype)


@fold_constants
def batch_normalization(
    x: TensorLike,
    mean: TensorLike,
    variance: TensorLike,
    offset: TensorLike | None,
    scale: TensorLike | None,
    variance_epsilon: float,
    name: str | None = None,
) -> Tensor:
    """Normalize with a given mean and variance, then scale and shift.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.nn.batch_normalization([3.0], 1.0, 4.0, None, None, 0.0).numpy()
        array([1.], dtype=float32)
    """
    return _batch_normalization(x, mean, variance, offset, scale, variance_epsilon)


@fold_constants
def bias_add(
    value: TensorLike, bias: TensorLike, data_format: str | None = None, name: str | None = None
) -> Tensor:
    """Add one value per channel.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.nn.bias_add([[1.0, 2.0]], [1.0, 1.0]).numpy()
        array([[2., 3.]], dtype=float32)
    """
    if data_format is None or not data_format.startswith("NC"):
        return ops.add(value, bias)
    return ops.add(value, ops.reshape(bias, (-1,) + (1,) * (len(ops.shape(value)) - 2)))


@fold_constants
def embedding_lookup(
    params: TensorLike, ids: TensorLike, max_norm: float | None = None, name: str | None = None
) -> Tensor:
    """Return rows of an embedding table.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.nn.embedding_lookup([[1.0, 2.0], [3.0, 4.0]], [1]).numpy()
        array([[3., 4.]], dtype=float32)
    """
    return ops.take(params, ids, axis=0)


def _keras_data_format(data_format: str | None) -> str:
    return {"NHWC": "channels_last", "NCHW": "channels_first"}[
        check_choice("data_format", data_format or "NHWC", ("NHWC", "NCHW"))
    ]


@fold_constants
def depth_to_space(
    input: TensorLike, block_size: int, data_format: str | None = "NHWC", name: str | None = None
) -> Tensor:
    """Rearrange channels into blocks of pixels.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.nn.depth_to_space(tf.zeros((1, 2, 2, 8)), 2).shape
        (1, 4, 4, 2)
    """
    return ops.depth_to_space(input, block_size, _keras_data_format(data_format))


@fold_constants
def space_to_depth(
    input: TensorLike, block_size: int, data_format: str | None = "NHWC", name: str | None = None
) -> Tensor:
    """Rearrange blocks of pixels into channels.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.nn.space_to_depth(tf.zeros((1, 4, 4, 2)), 2).shape
        (1, 2, 2, 8)
    """
    return ops.space_to_depth(input, block_size, _keras_data_format(data_format))
