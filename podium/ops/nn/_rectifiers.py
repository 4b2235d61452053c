"""Rectifiers: relu and related activation functions, over `jax.nn`."""

from __future__ import annotations

from jax import Array, nn

from podium._typing import TensorLike
from podium.core import Tensor
from podium.ops._operation import array_function, dispatch, operation
from podium.ops._promotion import to_float


@array_function()
def _relu(x: Array) -> Array:
    return nn.relu(x)


@operation(_relu)
def relu(x: TensorLike) -> Tensor:
    """Rectified linear unit: `max(x, 0)`.

    Args:
        x: Input tensor.

    Example:
        >>> ops.relu([-2.0, 0.0, 2.0]).numpy()
        array([0., 0., 2.], dtype=float32)
    """
    return dispatch(_relu, x)


@array_function()
def _relu6(x: Array) -> Array:
    return nn.relu6(x)


@operation(_relu6)
def relu6(x: TensorLike) -> Tensor:
    """Rectified linear unit clipped to the interval from 0 to 6.

    Args:
        x: Input tensor.

    Example:
        >>> ops.relu6([-2.0, 3.0, 9.0]).numpy()
        array([0., 3., 6.], dtype=float32)
    """
    return dispatch(_relu6, x)


@array_function()
def _leaky_relu(x: Array, negative_slope: float = 0.2) -> Array:
    return nn.leaky_relu(x, negative_slope)


@operation(_leaky_relu)
def leaky_relu(x: TensorLike, negative_slope: float = 0.2) -> Tensor:
    """Leaky rectified linear unit: `x`, or `negative_slope * x` below zero.

    Args:
        x: Input tensor.
        negative_slope: Slope of the negative part.

    Example:
        >>> ops.leaky_relu([-2.0, 0.0, 2.0]).numpy()
        array([-0.4,  0. ,  2. ], dtype=float32)
    """
    return dispatch(_leaky_relu, x, negative_slope)


@array_function()
def _elu(x: Array, alpha: float = 1.0) -> Array:
    return nn.elu(x, alpha)


@operation(_elu)
def elu(x: TensorLike, alpha: float = 1.0) -> Tensor:
    """Exponential linear unit: `x`, or `alpha * (exp(x) - 1)` below zero.

    Args:
        x: Input tensor.
        alpha: Scale of the negative part.

    Example:
        >>> ops.elu([-2.0, 0.0, 2.0]).numpy()
        array([-0.86466473,  0.        ,  2.        ], dtype=float32)
    """
    return dispatch(_elu, x, alpha)


@array_function()
def _celu(x: Array, alpha: float = 1.0) -> Array:
    return nn.celu(x, alpha)


@operation(_celu)
def celu(x: TensorLike, alpha: float = 1.0) -> Tensor:
    """Continuously differentiable exponential linear unit.

    Args:
        x: Input tensor.
        alpha: Scale of the negative part.

    Example:
        >>> ops.celu([-2.0, 0.0, 2.0]).numpy()
        array([-0.86466473,  0.        ,  2.        ], dtype=float32)
    """
    return dispatch(_celu, x, alpha)


@array_function()
def _selu(x: Array) -> Array:
    return nn.selu(x)


@operation(_selu)
def selu(x: TensorLike) -> Tensor:
    """Scaled exponential linear unit, for self-normalizing networks.

    Args:
        x: Input tensor.

    Example:
        >>> ops.selu([-2.0, 0.0, 2.0]).numpy()
        array([-1.5201665,  0.       ,  2.101402 ], dtype=float32)
    """
    return dispatch(_selu, x)


@array_function()
def _gelu(x: Array, approximate: bool = True) -> Array:
    return nn.gelu(to_float(x), approximate)


@operation(_gelu)
def gelu(x: TensorLike, approximate: bool = True) -> Tensor:
    """Gaussian error linear unit: `x` times the normal cumulative distribution function.

    Args:
        x: Input tensor.
        approximate: Whether to use the faster tanh approximation.

    Example:
        >>> ops.gelu([-2.0, 0.0, 2.0]).numpy()
        array([-0.04540235,  0.        ,  1.9545977 ], dtype=float32)
    """
    return dispatch(_gelu, x, approximate)


@array_function()
def _glu(x: Array, axis: int = -1) -> Array:
    return nn.glu(to_float(x), axis=axis)


@operation(_glu)
def glu(x: TensorLike, axis: int = -1) -> Tensor:
    """Gated linear unit: the first half of `axis` times the sigmoid of the second half.

    Args:
        x: Input tensor.
        axis: Axis to split in two halves.

    Example:
        >>> ops.glu([1.0, 2.0, 0.0, 0.0]).numpy()
        array([0.5, 1. ], dtype=float32)
    """
    return dispatch(_glu, x, axis)


@array_function()
def _silu(x: Array) -> Array:
    return nn.silu(x)


@operation(_silu)
def silu(x: TensorLike) -> Tensor:
    """Sigmoid linear unit: `x * sigmoid(x)`.

    Args:
        x: Input tensor.

    Example:
        >>> ops.silu([-2.0, 0.0, 2.0]).numpy()
        array([-0.23840584,  0.        ,  1.761594  ], dtype=float32)
    """
    return dispatch(_silu, x)


@array_function()
def _swish(x: Array) -> Array:
    return nn.silu(x)


@operation(_swish)
def swish(x: TensorLike) -> Tensor:
    """`x * sigmoid(x)`; an alias of `silu`.

    Args:
        x: Input tensor.

    Example:
        >>> ops.swish([-2.0, 0.0, 2.0]).numpy()
        array([-0.23840584,  0.        ,  1.761594  ], dtype=float32)
    """
    return dispatch(_swish, x)


@array_function()
def _hard_silu(x: Array) -> Array:
    return nn.hard_silu(x)


@operation(_hard_silu)
def hard_silu(x: TensorLike) -> Tensor:
    """`x * hard_sigmoid(x)`.

    Args:
        x: Input tensor.

    Example:
        >>> ops.hard_silu([-2.0, 0.0, 2.0]).numpy()
        array([-0.33333334,  0.        ,  1.6666667 ], dtype=float32)
    """
    return dispatch(_hard_silu, x)


@array_function()
def _hard_swish(x: Array) -> Array:
    return nn.hard_silu(x)


@operation(_hard_swish)
def hard_swish(x: TensorLike) -> Tensor:
    """`x * hard_sigmoid(x)`; an alias of `hard_silu`.

    Args:
        x: Input tensor.

    Example:
        >>> ops.hard_swish([-2.0, 0.0, 2.0]).numpy()
        array([-0.33333334,  0.        ,  1.6666667 ], dtype=float32)
    """
    return dispatch(_hard_swish, x)


@array_function()
def _softplus(x: Array) -> Array:
    return nn.softplus(x)


@operation(_softplus)
def softplus(x: TensorLike) -> Tensor:
    """Smooth approximation of relu: `log(1 + exp(x))`.

    Args:
        x: Input tensor.

    Example:
        >>> ops.softplus([-2.0, 0.0, 2.0]).numpy()
        array([0.126928 , 0.6931472, 2.126928 ], dtype=float32)
    """
    return dispatch(_softplus, x)


@array_function()
def _sparse_plus(x: Array) -> Array:
    return nn.sparse_plus(x)


@operation(_sparse_plus)
def sparse_plus(x: TensorLike) -> Tensor:
    """Approximation of relu that is quadratic between -1 and 1.

    Args:
        x: Input tensor.

    Example:
        >>> ops.sparse_plus([-2.0, 0.0, 2.0]).numpy()
        array([0.  , 0.25, 2.  ], dtype=float32)
    """
    return dispatch(_sparse_plus, x)


@array_function()
def _squareplus(x: Array, b: float = 4) -> Array:
    return nn.squareplus(to_float(x), b)


@operation(_squareplus)
def squareplus(x: TensorLike, b: float = 4) -> Tensor:
    """Smooth approximation of relu without exponentials: `(x + sqrt(x**2 + b)) / 2`.

    Args:
        x: Input tensor.
        b: Smoothness; 0 means relu.

    Example:
        >>> ops.squareplus([-2.0, 0.0, 2.0]).numpy()
        array([0.41421354, 1.        , 2.4142137 ], dtype=float32)
    """
    return dispatch(_squareplus, x, b)
