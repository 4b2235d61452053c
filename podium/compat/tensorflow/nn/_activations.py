"""Activation functions and dropout of `tf.nn`."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from podium import ops, random
from podium._typing import ShapeLike, TensorLike
from podium.compat.tensorflow._decorators import fold_constants, lift_with_promotion
from podium.compat.tensorflow._shapes import static_shape
from podium.compat.tensorflow.random._random import seed_generator
from podium.core import Tensor


@fold_constants
def relu(features: TensorLike, name: str | None = None) -> Tensor:
    """Compute `max(x, 0)`.

    The same as `podium.ops.relu`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.nn.relu([-2.0, 0.0, 2.0]).numpy()
        array([0., 0., 2.], dtype=float32)
    """
    return ops.relu(features)


@fold_constants
def relu6(features: TensorLike, name: str | None = None) -> Tensor:
    """Compute `min(max(x, 0), 6)`.

    The same as `podium.ops.relu6`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.nn.relu6([-2.0, 3.0, 9.0]).numpy()
        array([0., 3., 6.], dtype=float32)
    """
    return ops.relu6(features)


@fold_constants
def elu(features: TensorLike, name: str | None = None) -> Tensor:
    """Compute `x`, or `exp(x) - 1` where `x` is negative.

    The same as `podium.ops.elu`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.nn.elu([-2.0, 0.0, 2.0]).numpy()
        array([-0.86466473,  0.        ,  2.        ], dtype=float32)
    """
    return ops.elu(features)


@fold_constants
def selu(features: TensorLike, name: str | None = None) -> Tensor:
    """Compute the scaled exponential linear unit.

    The same as `podium.ops.selu`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.nn.selu([-2.0, 0.0, 2.0]).numpy()
        array([-1.5201665,  0.       ,  2.101402 ], dtype=float32)
    """
    return ops.selu(features)


@fold_constants
def gelu(features: TensorLike, approximate: bool = False, name: str | None = None) -> Tensor:
    """Compute `x` times the standard normal cumulative distribution of `x`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.nn.gelu([-1.0, 1.0]).numpy().round(4)
        array([-0.1587,  0.8413], dtype=float32)
    """
    return ops.gelu(features, approximate)


def leaky_relu(features: TensorLike, alpha: float = 0.2, name: str | None = None) -> Tensor:
    """Compute `x`, or `alpha * x` where `x` is negative.

    The same as `podium.ops.leaky_relu`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.nn.leaky_relu([-2.0, 0.0, 2.0]).numpy()
        array([-0.4,  0. ,  2. ], dtype=float32)
    """
    return ops.leaky_relu(features, alpha)


@lift_with_promotion
def _silu(x: TensorLike, beta: float) -> jax.Array:
    return jnp.asarray(x) * jax.nn.sigmoid(jnp.asarray(x) * beta)


def silu(features: TensorLike, beta: float = 1.0, name: str | None = None) -> Tensor:
    """Compute `x * sigmoid(beta * x)`.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.nn.silu([0.0, 2.0]).numpy().round(4)
        array([0.    , 1.7616], dtype=float32)
    """
    return _silu(features, beta)


swish = silu


@fold_constants
def softmax(logits: TensorLike, axis: int | None = -1, name: str | None = None) -> Tensor:
    """Convert logits to probabilities along an axis.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.nn.softmax([0.0, 0.0]).numpy()
        array([0.5, 0.5], dtype=float32)
    """
    return ops.softmax(logits, -1 if axis is None else axis)


@fold_constants
def log_softmax(logits: TensorLike, axis: int | None = -1, name: str | None = None) -> Tensor:
    """Compute the logarithm of the softmax.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.nn.log_softmax([0.0, 0.0]).numpy().round(4)
        array([-0.6931, -0.6931], dtype=float32)
    """
    return ops.log_softmax(logits, -1 if axis is None else axis)


@lift_with_promotion
def _crelu(x: TensorLike, axis: int) -> jax.Array:
    return jnp.concatenate([jax.nn.relu(jnp.asarray(x)), jax.nn.relu(-jnp.asarray(x))], axis)


@fold_constants
def crelu(features: TensorLike, axis: int = -1, name: str | None = None) -> Tensor:
    """Concatenate the positive part and the negative part along an axis.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.nn.crelu([-1.0, 2.0]).numpy()
        array([0., 2., 1., 0.], dtype=float32)
    """
    return _crelu(features, axis)


def dropout(
    x: TensorLike,
    rate: float,
    noise_shape: ShapeLike | None = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Set a random fraction `rate` of the elements to zero, and scale the others to keep the mean.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> sorted(set(tf.nn.dropout(tf.ones(100), 0.5).numpy().tolist()))
        [0.0, 2.0]
    """
    result: Tensor = random.dropout(
        x,
        rate,
        None if noise_shape is None else static_shape(noise_shape),
        seed_generator("dropout", seed),
    )
    return result
