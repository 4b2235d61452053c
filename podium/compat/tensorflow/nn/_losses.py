"""Losses on logits of `tf.nn`."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from podium._typing import TensorLike
from podium.compat.tensorflow._decorators import fold_constants, lift_with_promotion
from podium.core import Tensor


@lift_with_promotion
def _l2_loss(t: TensorLike) -> jax.Array:
    return jnp.sum(jnp.square(jnp.asarray(t))) / 2


@fold_constants
def l2_loss(t: TensorLike, name: str | None = None) -> Tensor:
    """Compute half the sum of squares.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.nn.l2_loss([3.0, 4.0]).numpy()
        array(12.5, dtype=float32)
    """
    return _l2_loss(t)


@lift_with_promotion
def _sigmoid_cross_entropy(labels: TensorLike | None, logits: TensorLike | None) -> jax.Array:
    z, x = jnp.asarray(labels), jnp.asarray(logits)
    return jnp.maximum(x, 0) - x * z + jnp.log1p(jnp.exp(-jnp.abs(x)))


@fold_constants
def sigmoid_cross_entropy_with_logits(
    labels: TensorLike | None = None, logits: TensorLike | None = None, name: str | None = None
) -> Tensor:
    """Compute the binary cross-entropy of each element, from logits.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.nn.sigmoid_cross_entropy_with_logits(labels=[1.0], logits=[0.0]).numpy().round(4)
        array([0.6931], dtype=float32)
    """
    return _sigmoid_cross_entropy(labels, logits)


@lift_with_promotion
def _weighted_cross_entropy(
    labels: TensorLike, logits: TensorLike, weight: TensorLike
) -> jax.Array:
    z, x = jnp.asarray(labels), jnp.asarray(logits)
    return (1 - z) * x + (1 + (jnp.asarray(weight) - 1) * z) * jax.nn.softplus(-x)


@fold_constants
def weighted_cross_entropy_with_logits(
    labels: TensorLike, logits: TensorLike, pos_weight: TensorLike, name: str | None = None
) -> Tensor:
    """Compute the binary cross-entropy from logits, with a weight for positive labels.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.nn.weighted_cross_entropy_with_logits([1.0], [0.0], 2.0).numpy().round(4)
        array([1.3863], dtype=float32)
    """
    return _weighted_cross_entropy(labels, logits, pos_weight)


@lift_with_promotion
def _softmax_cross_entropy(labels: TensorLike, logits: TensorLike, axis: int) -> jax.Array:
    return -jnp.sum(jnp.asarray(labels) * jax.nn.log_softmax(jnp.asarray(logits), axis), axis)


@fold_constants
def softmax_cross_entropy_with_logits(
    labels: TensorLike, logits: TensorLike, axis: int = -1, name: str | None = None
) -> Tensor:
    """Compute the cross-entropy of each row with a distribution, from logits.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.nn.softmax_cross_entropy_with_logits([[1.0, 0.0]], [[0.0, 0.0]]).numpy().round(4)
        array([0.6931], dtype=float32)
    """
    return _softmax_cross_entropy(labels, logits, axis)


@lift_with_promotion
def _sparse_softmax_cross_entropy(labels: TensorLike, logits: TensorLike) -> jax.Array:
    logits, labels = jnp.asarray(logits), jnp.asarray(labels).astype("int32")
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], -1)[..., 0]


@fold_constants
def sparse_softmax_cross_entropy_with_logits(
    labels: TensorLike, logits: TensorLike, name: str | None = None
) -> Tensor:
    """Compute the cross-entropy of each row with a class index, from logits.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.nn.sparse_softmax_cross_entropy_with_logits([0], [[0.0, 0.0]]).numpy().round(4)
        array([0.6931], dtype=float32)
    """
    return _sparse_softmax_cross_entropy(labels, logits)
