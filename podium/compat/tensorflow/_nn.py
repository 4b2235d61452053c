"""`tf.nn`: activations, losses on logits, normalisation and lookups."""

from typing import Any

import jax
import jax.numpy as jnp

from podium import ops, random
from podium.compat.tensorflow._random import _sequence
from podium.compat.tensorflow._sizes import sizes
from podium.compat.tensorflow._table import alias
from podium.core import check_choice, lift, promote_dtypes

relu = alias("relu(features, name=None)", ops.relu)
relu6 = alias("relu6(features, name=None)", ops.relu6)
elu = alias("elu(features, name=None)", ops.elu)
selu = alias("selu(features, name=None)", ops.selu)
gelu = alias(
    "gelu(features, approximate=False, name=None)",
    lambda x, approximate: ops.gelu(x, approximate),
    "tf.nn.gelu([-1.0, 1.0]).numpy().round(4)",
    "array([-0.1587,  0.8413], dtype=float32)",
    "`x` times the chance that a normal draw is below `x`.",
)
leaky_relu = alias("leaky_relu(features, alpha=0.2, name=None)", ops.leaky_relu)
silu = alias(
    "silu(features, beta=1.0, name=None)",
    lift(promote_dtypes(lambda x, beta: jnp.asarray(x) * jax.nn.sigmoid(jnp.asarray(x) * beta))),
    "tf.nn.silu([0.0, 2.0]).numpy().round(4)",
    "array([0.    , 1.7616], dtype=float32)",
    "`x * sigmoid(beta * x)`.",
)
swish = silu
softmax = alias(
    "softmax(logits, axis=-1, name=None)",
    lambda x, axis: ops.softmax(x, -1 if axis is None else axis),
    "tf.nn.softmax([0.0, 0.0]).numpy()",
    "array([0.5, 0.5], dtype=float32)",
    "Exponentials divided by their sum: probabilities from logits.",
)
log_softmax = alias(
    "log_softmax(logits, axis=-1, name=None)",
    lambda x, axis: ops.log_softmax(x, -1 if axis is None else axis),
    "tf.nn.log_softmax([0.0, 0.0]).numpy().round(4)",
    "array([-0.6931, -0.6931], dtype=float32)",
    "The logarithm of the softmax.",
)
crelu = alias(
    "crelu(features, axis=-1, name=None)",
    lift(
        lambda x, axis: jnp.concatenate(
            [jax.nn.relu(jnp.asarray(x)), jax.nn.relu(-jnp.asarray(x))], axis
        )
    ),
    "tf.nn.crelu([-1.0, 2.0]).numpy()",
    "array([0., 2., 1., 0.], dtype=float32)",
    "The positive part and the negative part, side by side.",
)


def dropout(
    x: Any, rate: float, noise_shape: Any = None, seed: int | None = None, name: str | None = None
) -> Any:
    """Zero a random part of the elements, and scale the others up so that the mean stays.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> sorted(set(tf.nn.dropout(tf.ones(100), 0.5).numpy().tolist()))
        [0.0, 2.0]
    """
    return random.dropout(
        x, rate, None if noise_shape is None else sizes(noise_shape), _sequence("dropout", seed)
    )


def moments(
    x: Any, axes: Any, shift: Any = None, keepdims: bool = False, name: str | None = None
) -> tuple[Any, Any]:
    """The mean and the variance along axes.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> mean, variance = tf.nn.moments(tf.constant([1.0, 3.0]), axes=[0])
        >>> float(mean), float(variance)
        (2.0, 1.0)
    """
    return ops.moments(
        x, tuple(axes) if isinstance(axes, (list, tuple)) else (int(axes),), keepdims
    )


def _batch_normalization(
    x: Any, mean: Any, variance: Any, offset: Any, scale: Any, epsilon: float
) -> Any:
    x = jnp.asarray(x)
    factor = 1 / jnp.sqrt(jnp.asarray(variance) + epsilon) * (1 if scale is None else scale)
    return (x * factor + ((0 if offset is None else offset) - jnp.asarray(mean) * factor)).astype(
        x.dtype
    )


batch_normalization = alias(
    "batch_normalization(x, mean, variance, offset, scale, variance_epsilon, name=None)",
    lift(promote_dtypes(_batch_normalization)),
    "tf.nn.batch_normalization([3.0], 1.0, 4.0, None, None, 0.0).numpy()",
    "array([1.], dtype=float32)",
    "Subtract the mean, divide by the deviation, scale and shift.",
)
l2_loss = alias(
    "l2_loss(t, name=None)",
    lift(lambda t: jnp.sum(jnp.square(jnp.asarray(t))) / 2),
    "tf.nn.l2_loss([3.0, 4.0]).numpy()",
    "array(12.5, dtype=float32)",
    "Half the sum of squares.",
)
bias_add = alias(
    "bias_add(value, bias, data_format=None, name=None)",
    lambda value, bias, data_format: _bias_add(value, bias, data_format),
    "tf.nn.bias_add([[1.0, 2.0]], [1.0, 1.0]).numpy()",
    "array([[2., 3.]], dtype=float32)",
    "Add one number for each channel.",
)


def _bias_add(value: Any, bias: Any, data_format: str | None) -> Any:
    if data_format is None or not data_format.startswith("NC"):
        return ops.add(value, bias)
    return ops.add(value, ops.reshape(bias, (-1,) + (1,) * (len(ops.shape(value)) - 2)))


# --- losses on logits


@promote_dtypes
def _sigmoid_loss(labels: Any, logits: Any) -> Any:
    z, x = jnp.asarray(labels), jnp.asarray(logits)
    return jnp.maximum(x, 0) - x * z + jnp.log1p(jnp.exp(-jnp.abs(x)))


sigmoid_cross_entropy_with_logits = alias(
    "sigmoid_cross_entropy_with_logits(labels=None, logits=None, name=None)",
    lift(_sigmoid_loss),
    "tf.nn.sigmoid_cross_entropy_with_logits(labels=[1.0], logits=[0.0]).numpy().round(4)",
    "array([0.6931], dtype=float32)",
    "Binary cross-entropy of each element, from logits.",
)


@promote_dtypes
def _weighted_loss(labels: Any, logits: Any, weight: Any) -> Any:
    z, x = jnp.asarray(labels), jnp.asarray(logits)
    return (1 - z) * x + (1 + (weight - 1) * z) * jax.nn.softplus(-x)


weighted_cross_entropy_with_logits = alias(
    "weighted_cross_entropy_with_logits(labels, logits, pos_weight, name=None)",
    lift(_weighted_loss),
    "tf.nn.weighted_cross_entropy_with_logits([1.0], [0.0], 2.0).numpy().round(4)",
    "array([1.3863], dtype=float32)",
    "Binary cross-entropy from logits in which positive labels weigh more.",
)


@promote_dtypes
def _softmax_loss(labels: Any, logits: Any, axis: int) -> Any:
    return -jnp.sum(jnp.asarray(labels) * jax.nn.log_softmax(jnp.asarray(logits), axis), axis)


softmax_cross_entropy_with_logits = alias(
    "softmax_cross_entropy_with_logits(labels, logits, axis=-1, name=None)",
    lift(_softmax_loss),
    "tf.nn.softmax_cross_entropy_with_logits([[1.0, 0.0]], [[0.0, 0.0]]).numpy().round(4)",
    "array([0.6931], dtype=float32)",
    "Cross-entropy of each row with a distribution, from logits.",
)


def _sparse_loss(labels: Any, logits: Any) -> Any:
    logits, labels = jnp.asarray(logits), jnp.asarray(labels).astype("int32")
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], -1)[..., 0]


sparse_softmax_cross_entropy_with_logits = alias(
    "sparse_softmax_cross_entropy_with_logits(labels, logits, name=None)",
    lift(_sparse_loss),
    "tf.nn.sparse_softmax_cross_entropy_with_logits([0], [[0.0, 0.0]]).numpy().round(4)",
    "array([0.6931], dtype=float32)",
    "Cross-entropy of each row with a class number, from logits.",
)


# --- looking up and rearranging

embedding_lookup = alias(
    "embedding_lookup(params, ids, max_norm=None, name=None)",
    lambda params, ids, max_norm: ops.take(params, ids, axis=0),
    "tf.nn.embedding_lookup([[1.0, 2.0], [3.0, 4.0]], [1]).numpy()",
    "array([[3., 4.]], dtype=float32)",
    "The rows of a table.",
)


def _layout(data_format: str | None) -> str:
    return {"NHWC": "channels_last", "NCHW": "channels_first"}[
        check_choice("data_format", data_format or "NHWC", ("NHWC", "NCHW"))
    ]


depth_to_space = alias(
    "depth_to_space(input, block_size, data_format='NHWC', name=None)",
    lambda x, block, data_format: ops.depth_to_space(x, block, _layout(data_format)),
    "tf.nn.depth_to_space(tf.zeros((1, 2, 2, 8)), 2).shape",
    "(1, 4, 4, 2)",
    "Turn channels into blocks of pixels.",
)
space_to_depth = alias(
    "space_to_depth(input, block_size, data_format='NHWC', name=None)",
    lambda x, block, data_format: ops.space_to_depth(x, block, _layout(data_format)),
    "tf.nn.space_to_depth(tf.zeros((1, 4, 4, 2)), 2).shape",
    "(1, 2, 2, 8)",
    "Turn blocks of pixels into channels.",
)
