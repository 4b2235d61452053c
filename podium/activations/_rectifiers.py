"""Rectifiers: activations that suppress negative inputs, such as relu and its smooth variants."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array, nn

from podium import ops
from podium._typing import T, TensorLike
from podium.core import Tensor, convert_to_tensor, dispatch, promote_dtypes


def linear(x: T) -> T:
    """Return the input unchanged; `activation=None` means this function.

    Args:
        x: Input tensor.

    Example:
        >>> podium.activations.linear(3.0)
        3.0
    """
    return x


def relu(
    x: TensorLike,
    negative_slope: float = 0.0,
    max_value: float | None = None,
    threshold: float = 0.0,
) -> Tensor:
    """Return `max(x, 0)`: the usual choice for hidden layers.

    Args:
        x: Input tensor.
        negative_slope: Slope below the threshold: there the result is `negative_slope * (x -
            threshold)`.
        max_value: Maximum of the result. None means no maximum.
        threshold: Value up to which inputs are suppressed.

    Example:
        >>> x = podium.convert_to_tensor([-10.0, -1.0, 0.0, 2.0, 10.0])
        >>> podium.activations.relu(x).numpy()
        array([ 0.,  0.,  0.,  2., 10.], dtype=float32)
        >>> podium.activations.relu(x, negative_slope=0.5, max_value=5.0).numpy()
        array([-5. , -0.5,  0. ,  2. ,  5. ], dtype=float32)
    """
    result: Tensor = dispatch(_relu, convert_to_tensor(x), negative_slope, max_value, threshold)
    return result


@promote_dtypes
def _relu(x: Array, negative_slope: float, max_value: float | None, threshold: float) -> Array:
    if negative_slope and threshold == 0 and max_value is None:
        return nn.leaky_relu(x, negative_slope)
    above = jnp.where(x > threshold, x, 0) if threshold else nn.relu(x)
    if max_value is not None:
        above = jnp.clip(above, 0, max_value).astype(x.dtype)
    return above - negative_slope * nn.relu(threshold - x) if negative_slope else above


def leaky_relu(x: TensorLike, negative_slope: float = 0.2) -> Tensor:
    """Return `x`, or `negative_slope * x` below zero, so that negative units keep a gradient.

    Args:
        x: Input tensor.
        negative_slope: Slope below zero.

    Example:
        >>> podium.activations.leaky_relu(podium.convert_to_tensor([-1.0, 2.0])).numpy()
        array([-0.2,  2. ], dtype=float32)
    """
    return ops.leaky_relu(x, negative_slope=negative_slope)


def relu6(x: TensorLike) -> Tensor:
    """Return `min(max(x, 0), 6)`: a bounded relu, suited to low precision.

    Args:
        x: Input tensor.

    Example:
        >>> podium.activations.relu6(podium.convert_to_tensor([-1.0, 2.0, 9.0])).numpy()
        array([0., 2., 6.], dtype=float32)
    """
    return ops.relu6(x)


def elu(x: TensorLike, alpha: float = 1.0) -> Tensor:
    """Return `x`, or `alpha * (exp(x) - 1)` below zero.

    Args:
        x: Input tensor.
        alpha: Absolute value of the lower bound of the result.

    Example:
        >>> podium.activations.elu(podium.convert_to_tensor([-1.0, 2.0])).numpy().round(4)
        array([-0.6321,  2.    ], dtype=float32)
    """
    return ops.elu(x, alpha=alpha)


def celu(x: TensorLike, alpha: float = 1.0) -> Tensor:
    """Return `x`, or `alpha * (exp(x / alpha) - 1)` below zero: a continuously differentiable elu.

    Args:
        x: Input tensor.
        alpha: Absolute value of the lower bound of the result.

    Example:
        >>> x = podium.convert_to_tensor([-1.0, 2.0])
        >>> podium.activations.celu(x, alpha=2.0).numpy().round(4)
        array([-0.7869,  2.    ], dtype=float32)
    """
    return ops.celu(x, alpha=alpha)


def selu(x: TensorLike) -> Tensor:
    """Return a scaled elu that keeps mean 0 and variance 1 from layer to layer.

    Use it with the initializer `lecun_normal`.

    Args:
        x: Input tensor.

    Example:
        >>> podium.activations.selu(podium.convert_to_tensor([-1.0, 2.0])).numpy().round(4)
        array([-1.1113,  2.1014], dtype=float32)
    """
    return ops.selu(x)


def gelu(x: TensorLike, approximate: bool = False) -> Tensor:
    """Return `x * P(X <= x)` for a standard normal X: the usual choice in transformers.

    Args:
        x: Input tensor.
        approximate: Whether to compute it with a tanh, which is faster and differs by less than
            0.001.

    Example:
        >>> podium.activations.gelu(podium.convert_to_tensor([-1.0, 2.0])).numpy().round(4)
        array([-0.1587,  1.9545], dtype=float32)
    """
    return ops.gelu(x, approximate=approximate)


def silu(x: TensorLike) -> Tensor:
    """Return `x * sigmoid(x)`. Also called `swish`.

    Args:
        x: Input tensor.

    Example:
        >>> podium.activations.silu(podium.convert_to_tensor([-1.0, 2.0])).numpy().round(4)
        array([-0.2689,  1.7616], dtype=float32)
    """
    return ops.silu(x)


def hard_silu(x: TensorLike) -> Tensor:
    """Return `x * hard_sigmoid(x)`: a piecewise approximation of silu. Also called `hard_swish`.

    Args:
        x: Input tensor.

    Example:
        >>> x = podium.convert_to_tensor([-4.0, -1.0, 4.0])
        >>> podium.activations.hard_silu(x).numpy().round(4)
        array([-0.    , -0.3333,  4.    ], dtype=float32)
    """
    return ops.hard_silu(x)


def mish(x: TensorLike) -> Tensor:
    """Return `x * tanh(softplus(x))`.

    Args:
        x: Input tensor.

    Example:
        >>> podium.activations.mish(podium.convert_to_tensor([-1.0, 2.0])).numpy().round(4)
        array([-0.3034,  1.944 ], dtype=float32)
    """
    result: Tensor = dispatch(_mish, convert_to_tensor(x))
    return result


@promote_dtypes
def _mish(x: Array) -> Array:
    return nn.mish(x)


def softplus(x: TensorLike) -> Tensor:
    """Return `log(1 + exp(x))`: a smooth relu that is always positive.

    Args:
        x: Input tensor.

    Example:
        >>> podium.activations.softplus(podium.convert_to_tensor([-1.0, 2.0])).numpy().round(4)
        array([0.3133, 2.1269], dtype=float32)
    """
    return ops.softplus(x)


def sparse_plus(x: TensorLike) -> Tensor:
    """Return 0 up to -1, `x` from 1 on, and `(x + 1)**2 / 4` between.

    Args:
        x: Input tensor.

    Example:
        >>> podium.activations.sparse_plus(podium.convert_to_tensor([-2.0, 0.0, 2.0])).numpy()
        array([0.  , 0.25, 2.  ], dtype=float32)
    """
    return ops.sparse_plus(x)


def squareplus(x: TensorLike, b: float = 4) -> Tensor:
    """Return `(x + sqrt(x**2 + b)) / 2`: a smooth relu without exponentials.

    Args:
        x: Input tensor.
        b: Smoothness, zero or more; 0 means relu.

    Example:
        >>> podium.activations.squareplus(podium.convert_to_tensor([-1.5, 0.0, 1.5])).numpy()
        array([0.5, 1. , 2. ], dtype=float32)
    """
    return ops.squareplus(x, b=b)


def glu(x: TensorLike, axis: int = -1) -> Tensor:
    """Return the first half of `axis` times the sigmoid of the second half (gated linear unit).

    Args:
        x: Input tensor; its size along `axis` must be even.
        axis: Axis to split in two halves.

    Example:
        >>> podium.activations.glu(podium.convert_to_tensor([1.0, 2.0, 0.0, 0.0])).numpy()
        array([0.5, 1. ], dtype=float32)
    """
    return ops.glu(x, axis=axis)
