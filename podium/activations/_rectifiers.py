"""Activations that pass large inputs on and hold negative ones back: relu and its smooth
relatives.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import nn

from podium import ops
from podium.core import convert_to_tensor, dispatch, promote_dtypes


def linear(x: Any) -> Any:
    """Return the input unchanged: what `activation=None` means.

    Args:
        x: Input tensor.

    Example:
        >>> podium.activations.linear(3.0)
        3.0
    """
    return x


def relu(
    x: Any, negative_slope: float = 0.0, max_value: float | None = None, threshold: float = 0.0
) -> Any:
    """Return `x` where it is positive and 0 elsewhere: the plain choice for hidden layers.

    Args:
        x: Input tensor.
        negative_slope: Slope below the threshold: there the result is `negative_slope * (x -
            threshold)`.
        max_value: Where the result stops growing. None means nowhere.
        threshold: The value up to which inputs are held back.

    Example:
        >>> x = podium.convert_to_tensor([-10.0, -1.0, 0.0, 2.0, 10.0])
        >>> podium.activations.relu(x).numpy()
        array([ 0.,  0.,  0.,  2., 10.], dtype=float32)
        >>> podium.activations.relu(x, negative_slope=0.5, max_value=5.0).numpy()
        array([-5. , -0.5,  0. ,  2. ,  5. ], dtype=float32)
    """
    return dispatch(_relu, convert_to_tensor(x), negative_slope, max_value, threshold)


@promote_dtypes
def _relu(x: Any, negative_slope: float, max_value: float | None, threshold: float) -> Any:
    if negative_slope and threshold == 0 and max_value is None:
        return nn.leaky_relu(x, negative_slope)
    above = jnp.where(x > threshold, x, 0) if threshold else nn.relu(x)
    if max_value is not None:
        above = jnp.clip(above, 0, max_value).astype(x.dtype)
    return above - negative_slope * nn.relu(threshold - x) if negative_slope else above


def leaky_relu(x: Any, negative_slope: float = 0.2) -> Any:
    """Return `x`, or `negative_slope * x` below zero, so that negative units keep a gradient.

    Args:
        x: Input tensor.
        negative_slope: Slope below zero.

    Example:
        >>> podium.activations.leaky_relu(podium.convert_to_tensor([-1.0, 2.0])).numpy()
        array([-0.2,  2. ], dtype=float32)
    """
    return ops.leaky_relu(x, negative_slope=negative_slope)


def relu6(x: Any) -> Any:
    """Return `min(max(x, 0), 6)`: a relu with a ceiling, kind to low precision.

    Args:
        x: Input tensor.

    Example:
        >>> podium.activations.relu6(podium.convert_to_tensor([-1.0, 2.0, 9.0])).numpy()
        array([0., 2., 6.], dtype=float32)
    """
    return ops.relu6(x)


def elu(x: Any, alpha: float = 1.0) -> Any:
    """Return `x`, or `alpha * (exp(x) - 1)` below zero.

    Args:
        x: Input tensor.
        alpha: How far below zero the result can get.

    Example:
        >>> podium.activations.elu(podium.convert_to_tensor([-1.0, 2.0])).numpy().round(4)
        array([-0.6321,  2.    ], dtype=float32)
    """
    return ops.elu(x, alpha=alpha)


def celu(x: Any, alpha: float = 1.0) -> Any:
    """Return `x`, or `alpha * (exp(x / alpha) - 1)` below zero: an elu without a kink for any
    `alpha`.

    Args:
        x: Input tensor.
        alpha: How far below zero the result can get.

    Example:
        >>> podium.activations.celu(podium.convert_to_tensor([-1.0, 2.0]), alpha=2.0).numpy().round(4)
        array([-0.7869,  2.    ], dtype=float32)
    """
    return ops.celu(x, alpha=alpha)


def selu(x: Any) -> Any:
    """Return a scaled elu that keeps mean 0 and variance 1 from layer to layer. Use it with
    `lecun_normal`.

    Args:
        x: Input tensor.

    Example:
        >>> podium.activations.selu(podium.convert_to_tensor([-1.0, 2.0])).numpy().round(4)
        array([-1.1113,  2.1014], dtype=float32)
    """
    return ops.selu(x)


def gelu(x: Any, approximate: bool = False) -> Any:
    """Return `x * P(X <= x)` for a unit normal X: the choice of transformers.

    Args:
        x: Input tensor.
        approximate: Whether to compute it with a tanh, which is faster and differs by less than
            0.001.

    Example:
        >>> podium.activations.gelu(podium.convert_to_tensor([-1.0, 2.0])).numpy().round(4)
        array([-0.1587,  1.9545], dtype=float32)
    """
    return ops.gelu(x, approximate=approximate)


def silu(x: Any) -> Any:
    """Return `x * sigmoid(x)`. Also called `swish`.

    Args:
        x: Input tensor.

    Example:
        >>> podium.activations.silu(podium.convert_to_tensor([-1.0, 2.0])).numpy().round(4)
        array([-0.2689,  1.7616], dtype=float32)
    """
    return ops.silu(x)


def hard_silu(x: Any) -> Any:
    """Return `x * hard_sigmoid(x)`: a silu of straight lines. Also called `hard_swish`.

    Args:
        x: Input tensor.

    Example:
        >>> podium.activations.hard_silu(podium.convert_to_tensor([-4.0, -1.0, 4.0])).numpy().round(4)
        array([-0.    , -0.3333,  4.    ], dtype=float32)
    """
    return ops.hard_silu(x)


def mish(x: Any) -> Any:
    """Return `x * tanh(softplus(x))`.

    Args:
        x: Input tensor.

    Example:
        >>> podium.activations.mish(podium.convert_to_tensor([-1.0, 2.0])).numpy().round(4)
        array([-0.3034,  1.944 ], dtype=float32)
    """
    return dispatch(_mish, convert_to_tensor(x))


@promote_dtypes
def _mish(x: Any) -> Any:
    return nn.mish(x)


def softplus(x: Any) -> Any:
    """Return `log(1 + exp(x))`: a smooth relu that is always positive.

    Args:
        x: Input tensor.

    Example:
        >>> podium.activations.softplus(podium.convert_to_tensor([-1.0, 2.0])).numpy().round(4)
        array([0.3133, 2.1269], dtype=float32)
    """
    return ops.softplus(x)


def sparse_plus(x: Any) -> Any:
    """Return 0 up to -1, `x` from 1 on, and `(x + 1)**2 / 4` between.

    Args:
        x: Input tensor.

    Example:
        >>> podium.activations.sparse_plus(podium.convert_to_tensor([-2.0, 0.0, 2.0])).numpy()
        array([0.  , 0.25, 2.  ], dtype=float32)
    """
    return ops.sparse_plus(x)


def squareplus(x: Any, b: float = 4) -> Any:
    """Return `(x + sqrt(x**2 + b)) / 2`: a smooth relu without exponentials.

    Args:
        x: Input tensor.
        b: Smoothness, zero or more; 0 gives relu.

    Example:
        >>> podium.activations.squareplus(podium.convert_to_tensor([-1.5, 0.0, 1.5])).numpy()
        array([0.5, 1. , 2. ], dtype=float32)
    """
    return ops.squareplus(x, b=b)


def glu(x: Any, axis: int = -1) -> Any:
    """Return the first half of `axis` times the sigmoid of the second half: a gate.

    Args:
        x: Input tensor; its size along `axis` must be even.
        axis: The axis to cut in two.

    Example:
        >>> podium.activations.glu(podium.convert_to_tensor([1.0, 2.0, 0.0, 0.0])).numpy()
        array([0.5, 1. ], dtype=float32)
    """
    return ops.glu(x, axis=axis)
