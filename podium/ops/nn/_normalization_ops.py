"""Normalization: moments, and batch, layer, RMS and vector normalization."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import jax.numpy as jnp
from jax import Array, lax

from podium._typing import Axis, TensorLike
from podium.core import Tensor
from podium.core import epsilon as default_epsilon
from podium.ops._arguments import hashable_axis
from podium.ops._operation import array_function, dispatch, operation
from podium.ops._promotion import is_integer, result_type, to_float


def _axis_list(axis: int | Sequence[int]) -> list[int]:
    return sorted(axis) if isinstance(axis, (list, tuple)) else [cast(int, axis)]


def _mean_and_variance(x: Array, axes: int | Sequence[int], keepdims: bool) -> tuple[Array, Array]:
    """Return mean and variance, computed in float32 or wider."""
    axes = hashable_axis(axes)
    x = x.astype(result_type(x.dtype, jnp.float32))
    return jnp.mean(x, axis=axes, keepdims=keepdims), jnp.var(x, axis=axes, keepdims=keepdims)


@array_function("x")
def _moments(
    x: Array, axes: int | Sequence[int], keepdims: bool = False, synchronized: bool = False
) -> tuple[Array, Array]:
    mean, variance = _mean_and_variance(x, axes, keepdims)
    if x.dtype in (jnp.float16, jnp.bfloat16):
        limits = jnp.finfo(jnp.float16)
        low, high = float(limits.min), float(limits.max)
        mean = jnp.clip(mean, low, high).astype(x.dtype)
        variance = jnp.clip(variance, low, high).astype(x.dtype)
    return mean, variance


@operation(_moments)
def moments(
    x: TensorLike, axes: int | Sequence[int], keepdims: bool = False, synchronized: bool = False
) -> tuple[Tensor, Tensor]:
    """Mean and variance over axes.

    Args:
        x: Input tensor. Half-precision inputs are summed in float32.
        axes: Axis or axes to compute over.
        keepdims: Whether those axes are kept, with size 1.
        synchronized: Accepted as in Keras. The batch is one global array here, so its moments
            always span all devices.

    Returns:
        The mean and the variance.

    Example:
        >>> mean, variance = ops.moments([1.0, 3.0], axes=0)
        >>> float(mean), float(variance)
        (2.0, 1.0)
    """
    return dispatch(_moments, x, axes, keepdims, synchronized)


@array_function("x mean variance offset scale")
def _batch_normalization(
    x: Array,
    mean: Array,
    variance: Array,
    axis: int,
    offset: Array | None = None,
    scale: Array | None = None,
    epsilon: float = 0.001,
) -> Array:
    if mean.ndim != 1 or mean.shape[0] != x.shape[axis]:
        raise ValueError(
            f"`mean` of shape {mean.shape} must be 1D and as long as axis {axis} of `x`, of "
            f"shape {x.shape}."
        )
    shape = [1] * x.ndim
    shape[axis] = mean.shape[0]
    factor = lax.rsqrt(to_float(jnp.reshape(variance, shape)) + epsilon)
    if scale is not None:
        factor = factor * jnp.reshape(scale, shape)
    shift = -jnp.reshape(mean, shape) * factor
    if offset is not None:
        shift = shift + jnp.reshape(offset, shape)
    return x * factor + shift


@operation(_batch_normalization)
def batch_normalization(
    x: TensorLike,
    mean: TensorLike,
    variance: TensorLike,
    axis: int,
    offset: TensorLike | None = None,
    scale: TensorLike | None = None,
    epsilon: float = 0.001,
) -> Tensor:
    """Normalize by a given mean and variance.

    Computes `(x - mean) / sqrt(variance + epsilon) * scale + offset`.

    Args:
        x: Input tensor.
        mean: 1D tensor, as long as `axis`.
        variance: 1D tensor, as long as `axis`.
        axis: Axis of the features.
        offset: 1D tensor to add. `None` means 0.
        scale: 1D tensor to multiply by. `None` means 1.
        epsilon: Small value that keeps the division finite.

    Example:
        >>> x, mean, variance = [[1.0], [3.0]], [2.0], [1.0]
        >>> ops.batch_normalization(x, mean, variance, axis=-1, epsilon=0.0).numpy()
        array([[-1.],
               [ 1.]], dtype=float32)
    """
    return dispatch(_batch_normalization, x, mean, variance, axis, offset, scale, epsilon)


@array_function("x gamma beta")
def _layer_normalization(
    x: Array,
    gamma: Array | None = None,
    beta: Array | None = None,
    axis: int | Sequence[int] = -1,
    epsilon: float | None = None,
    **kwargs: bool,
) -> Array:
    rms_scaling = kwargs.pop("rms_scaling", False)
    if kwargs:
        raise TypeError(f"unknown arguments {sorted(kwargs)}.")
    epsilon = default_epsilon() if epsilon is None else epsilon
    dtype = x.dtype
    x = x.astype(result_type(dtype, jnp.float32))
    axes = [a % x.ndim for a in _axis_list(axis)]
    shape = [x.shape[i] if i in axes else 1 for i in range(x.ndim)]

    def align(v: Array) -> Array:
        v = v.astype(x.dtype)
        return v if v.ndim == x.ndim or axes == [x.ndim - 1] else jnp.reshape(v, shape)

    mean, variance = _mean_and_variance(x, axes, keepdims=True)
    factor = lax.rsqrt(variance + epsilon)
    if gamma is not None:
        factor = factor * align(gamma)
    if rms_scaling:
        return (x * factor).astype(dtype)
    shift = -mean * factor
    if beta is not None:
        shift = shift + align(beta)
    return (x * factor + shift).astype(dtype)


@operation(_layer_normalization)
def layer_normalization(
    x: TensorLike,
    gamma: TensorLike | None = None,
    beta: TensorLike | None = None,
    axis: int | Sequence[int] = -1,
    epsilon: float | None = None,
    **kwargs: bool,
) -> Tensor:
    """Normalize each sample over its features to mean 0 and variance 1, then scale and shift.

    Args:
        x: Input tensor.
        gamma: Scale, shaped like the axes in `axis`. `None` means 1.
        beta: Shift, shaped like the axes in `axis`. `None` means 0.
        axis: Axis or axes of the features.
        epsilon: Small value that keeps the division finite. `None` means `podium.core.epsilon()`.
        **kwargs: `rms_scaling`, of earlier versions of Keras: divide by the standard deviation
            without subtracting the mean.

    Example:
        >>> ops.layer_normalization([[1.0, 3.0]], epsilon=0.0).numpy()
        array([[-1.,  1.]], dtype=float32)
    """
    return dispatch(_layer_normalization, x, gamma, beta, axis, epsilon, **kwargs)


@array_function("x scale")
def _rms_normalization(
    x: Array,
    scale: Array | None = None,
    axis: int | Sequence[int] = -1,
    epsilon: float | None = None,
) -> Array:
    epsilon = default_epsilon() if epsilon is None else epsilon
    wide = jnp.atleast_1d(x.astype(result_type(x.dtype, jnp.float32)))
    factor = lax.rsqrt(
        jnp.mean(jnp.square(wide), axis=tuple(_axis_list(axis)), keepdims=True) + epsilon
    )
    out = wide * factor if scale is None else wide * factor * scale.astype(wide.dtype)
    return out.astype(x.dtype)


@operation(_rms_normalization)
def rms_normalization(
    x: TensorLike,
    scale: TensorLike | None = None,
    axis: int | Sequence[int] = -1,
    epsilon: float | None = None,
) -> Tensor:
    """Divide each sample by the root mean square of its features.

    Args:
        x: Input tensor.
        scale: Factor, broadcast against `x`. `None` means 1.
        axis: Axis or axes of the features.
        epsilon: Small value that keeps the division finite. `None` means `podium.core.epsilon()`.

    Example:
        >>> ops.rms_normalization([[3.0, 4.0]]).numpy()
        array([[0.84852815, 1.1313709 ]], dtype=float32)
    """
    return dispatch(_rms_normalization, x, scale, axis, epsilon)


@array_function("x")
def _normalize(x: Array, axis: Axis = -1, order: int = 2, epsilon: float | None = None) -> Array:
    if not isinstance(order, int) or order < 1:
        raise ValueError("`order` must be an int of at least 1.")
    epsilon = default_epsilon() if epsilon is None else epsilon
    x = jnp.atleast_1d(to_float(x) if is_integer(x) else x)
    axis = hashable_axis(axis)
    if order == 2:  # the norm has no gradient at 0; its clipped reciprocal has
        return x * jnp.minimum(
            lax.rsqrt(jnp.sum(jnp.square(x), axis=axis, keepdims=True)), 1.0 / epsilon
        )
    return x / jnp.maximum(jnp.linalg.norm(x, ord=order, axis=axis, keepdims=True), epsilon)


@operation(_normalize)
def normalize(
    x: TensorLike, axis: Axis = -1, order: int = 2, epsilon: float | None = None
) -> Tensor:
    """Scale vectors along an axis to unit norm.

    Args:
        x: Input tensor.
        axis: Axis or axes of the vectors.
        order: Order of the norm, an int of at least 1.
        epsilon: Minimum norm to divide by. `None` means `podium.core.epsilon()`.

    Example:
        >>> ops.normalize([[3.0, 4.0]]).numpy()
        array([[0.6, 0.8]], dtype=float32)
    """
    return dispatch(_normalize, x, axis, order, epsilon)
