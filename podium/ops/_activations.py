"""Activation functions: a table over `jax.nn`, with the few that JAX lacks written out."""

import warnings

import jax
import jax.numpy as jnp
from jax import nn

from podium.ops._promotion import to_float
from podium.ops._table import op, row


def _over_axes(fn):
    """`fn(x, axis)` for an int, or for several axes taken as one."""

    def compute(x, axis):
        return fn(to_float(x), axis=tuple(axis) if isinstance(axis, list) else axis)

    return compute


def _sparsemax(x, axis):
    x = to_float(x)
    ordered = jnp.flip(jnp.sort(x, axis=axis), axis=axis)
    totals = jnp.cumsum(ordered, axis=axis)
    shape = [1] * x.ndim
    shape[axis] = -1
    rank = jnp.arange(1, x.shape[axis] + 1, dtype=x.dtype).reshape(shape)
    # The support is the longest prefix (of the sorted values) that stays above its own threshold.
    support = ordered - (totals - 1) / rank > 0
    count = jnp.sum(support, axis=axis, keepdims=True)
    threshold = (
        jnp.sum(jnp.where(support, ordered, 0), axis=axis, keepdims=True) - 1
    ) / count.astype(x.dtype)
    return jnp.maximum(x - threshold, 0)


_X = "[-2.0, 0.0, 2.0]"

celu = row(
    "celu(x, alpha=1.0)",
    nn.celu,
    "Continuously differentiable exponential linear unit.",
    f"ops.celu({_X})",
    "array([-0.86466473,  0.        ,  2.        ], dtype=float32)",
)
elu = row(
    "elu(x, alpha=1.0)",
    nn.elu,
    "Exponential linear unit: `x`, or `alpha * (exp(x) - 1)` below zero.",
    f"ops.elu({_X})",
    "array([-0.86466473,  0.        ,  2.        ], dtype=float32)",
)
gelu = row(
    "gelu(x, approximate=True)",
    lambda x, approximate: nn.gelu(to_float(x), approximate),
    "Gaussian error linear unit: `x` times the normal distribution function.",
    f"ops.gelu({_X})",
    "array([-0.04540235,  0.        ,  1.9545977 ], dtype=float32)",
)
glu = row(
    "glu(x, axis=-1)",
    lambda x, axis: nn.glu(to_float(x), axis=axis),
    "Gated linear unit: one half of `axis` times the sigmoid of the other.",
    "ops.glu([1.0, 2.0, 0.0, 0.0])",
    "array([0.5, 1. ], dtype=float32)",
)
hard_shrink = row(
    "hard_shrink(x, threshold=0.5)",
    lambda x, threshold: jnp.where(jnp.abs(x) > threshold, x, 0.0),
    "Zero values within the threshold.",
    "ops.hard_shrink([-2.0, 0.3, 2.0])",
    "array([-2.,  0.,  2.], dtype=float32)",
)
hard_sigmoid = row(
    "hard_sigmoid(x)",
    nn.hard_sigmoid,
    "A sigmoid of straight lines: `relu6(x + 3) / 6`.",
    f"ops.hard_sigmoid({_X})",
    "array([0.16666667, 0.5       , 0.8333334 ], dtype=float32)",
)
hard_silu = row(
    "hard_silu(x)",
    nn.hard_silu,
    "`x * hard_sigmoid(x)`.",
    f"ops.hard_silu({_X})",
    "array([-0.33333334,  0.        ,  1.6666667 ], dtype=float32)",
)
hard_swish = row(
    "hard_swish(x)",
    nn.hard_silu,
    "`x * hard_sigmoid(x)`; same as `hard_silu`.",
    f"ops.hard_swish({_X})",
    "array([-0.33333334,  0.        ,  1.6666667 ], dtype=float32)",
)
hard_tanh = row(
    "hard_tanh(x)",
    nn.hard_tanh,
    "Limit to the interval from -1 to 1.",
    f"ops.hard_tanh({_X})",
    "array([-1.,  0.,  1.], dtype=float32)",
)
leaky_relu = row(
    "leaky_relu(x, negative_slope=0.2)",
    nn.leaky_relu,
    "`x`, or `negative_slope * x` below zero.",
    f"ops.leaky_relu({_X})",
    "array([-0.4,  0. ,  2. ], dtype=float32)",
)
log_sigmoid = row(
    "log_sigmoid(x)",
    nn.log_sigmoid,
    "Logarithm of the sigmoid, without overflow.",
    f"ops.log_sigmoid({_X})",
    "array([-2.126928 , -0.6931472, -0.126928 ], dtype=float32)",
)
log_softmax = row(
    "log_softmax(x, axis=-1)",
    _over_axes(nn.log_softmax),
    "Logarithm of the softmax, without overflow.",
    "ops.log_softmax([1.0, 1.0])",
    "array([-0.6931472, -0.6931472], dtype=float32)",
)
relu = row(
    "relu(x)",
    nn.relu,
    "`x`, or 0 below zero.",
    f"ops.relu({_X})",
    "array([0., 0., 2.], dtype=float32)",
)
relu6 = row(
    "relu6(x)",
    nn.relu6,
    "Limit to the interval from 0 to 6.",
    "ops.relu6([-2.0, 3.0, 9.0])",
    "array([0., 3., 6.], dtype=float32)",
)
selu = row(
    "selu(x)",
    nn.selu,
    "Scaled exponential linear unit, which keeps activations normalised.",
    f"ops.selu({_X})",
    "array([-1.5201665,  0.       ,  2.101402 ], dtype=float32)",
)
sigmoid = row(
    "sigmoid(x)",
    lambda x: nn.sigmoid(to_float(x)),
    "`1 / (1 + exp(-x))`.",
    f"ops.sigmoid({_X})",
    "array([0.11920292, 0.5       , 0.880797  ], dtype=float32)",
)
silu = row(
    "silu(x)",
    nn.silu,
    "`x * sigmoid(x)`.",
    f"ops.silu({_X})",
    "array([-0.23840584,  0.        ,  1.761594  ], dtype=float32)",
)
soft_shrink = row(
    "soft_shrink(x, threshold=0.5)",
    lambda x, threshold: jnp.where(
        x > threshold, x - threshold, jnp.where(x < -threshold, x + threshold, 0.0)
    ),
    "Move values towards zero by the threshold.",
    "ops.soft_shrink([-2.0, 0.3, 2.0])",
    "array([-1.5,  0. ,  1.5], dtype=float32)",
)
softplus = row(
    "softplus(x)",
    nn.softplus,
    "`log(1 + exp(x))`: a smooth relu.",
    f"ops.softplus({_X})",
    "array([0.126928 , 0.6931472, 2.126928 ], dtype=float32)",
)
softsign = row(
    "softsign(x)",
    nn.soft_sign,
    "`x / (1 + abs(x))`.",
    f"ops.softsign({_X})",
    "array([-0.6666667,  0.       ,  0.6666667], dtype=float32)",
)
sparse_plus = row(
    "sparse_plus(x)",
    nn.sparse_plus,
    "A relu with a parabola between -1 and 1.",
    f"ops.sparse_plus({_X})",
    "array([0.  , 0.25, 2.  ], dtype=float32)",
)
sparse_sigmoid = row(
    "sparse_sigmoid(x)",
    nn.sparse_sigmoid,
    "A straight line between -1 and 1, then 0 and 1.",
    f"ops.sparse_sigmoid({_X})",
    "array([0. , 0.5, 1. ], dtype=float32)",
)
sparsemax = row(
    "sparsemax(x, axis=-1)",
    _sparsemax,
    "The nearest probabilities: like softmax, with exact zeros.",
    "ops.sparsemax([1.0, 1.5, -1.0])",
    "array([0.25, 0.75, 0.  ], dtype=float32)",
)
squareplus = row(
    "squareplus(x, b=4)",
    lambda x, b: nn.squareplus(to_float(x), b),
    "`(x + sqrt(x**2 + b)) / 2`: a smooth relu without exponentials.",
    f"ops.squareplus({_X})",
    "array([0.41421354, 1.        , 2.4142137 ], dtype=float32)",
    b="How smooth the bend is.",
)
swish = row(
    "swish(x)",
    nn.silu,
    "`x * sigmoid(x)`; same as `silu`.",
    f"ops.swish({_X})",
    "array([-0.23840584,  0.        ,  1.761594  ], dtype=float32)",
)
tanh_shrink = row(
    "tanh_shrink(x)",
    lambda x: x - jnp.tanh(x),
    "`x - tanh(x)`.",
    f"ops.tanh_shrink({_X})",
    "array([-1.0359724,  0.       ,  1.0359724], dtype=float32)",
)
threshold = row(
    "threshold(x, threshold, default_value)",
    lambda x, threshold, default_value: jnp.where(x > threshold, x, default_value),
    "`x` above the threshold, `default_value` elsewhere.",
    f"ops.threshold({_X}, 1.0, 0.0)",
    "array([0., 0., 2.], dtype=float32)",
)


_softmax = op()(lambda x, axis=-1: _over_axes(jax.nn.softmax)(x, axis))


def softmax(x, axis=-1):
    """Exponentials that sum to one along an axis.

    Args:
        x: Input tensor.
        axis: Axis, or several taken as one, along which the result sums to 1.

    Example:
        >>> ops.softmax([0.0, 0.0]).numpy()
        array([0.5, 0.5], dtype=float32)
    """
    shape = getattr(x, "shape", ())
    if isinstance(axis, int) and -len(shape) <= axis < len(shape) and shape[axis] == 1:
        warnings.warn(
            f"ops.softmax over axis {axis} of shape {tuple(shape)}: that axis has size 1, so the "
            "result is 1 everywhere. Did you mean `ops.sigmoid`?",
            stacklevel=2,
        )
    return _softmax(x, axis=axis)
