"""Scales of training in float8: the largest magnitudes of recent steps, and rounding to float8."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import ml_dtypes

from podium._typing import DType, TensorLike
from podium.core import Tensor, dispatch


def compute_float8_scale(
    amax: TensorLike, scale: TensorLike, dtype_max: TensorLike, margin: int = 0
) -> Tensor:
    """Return the scale with which values up to a magnitude use the whole range of a float8 dtype.

    Args:
        amax: The largest magnitude; if it is 0 or not finite, the scale stays.
        scale: The scale so far.
        dtype_max: The largest value of the float8 dtype.
        margin: The number of powers of two that are left free.

    Example:
        >>> float(podium.quantizers.compute_float8_scale(224.0, 1.0, 448.0))
        0.5
    """
    result: Tensor = dispatch(_scale_for, amax, scale, dtype_max, margin)
    return result


def _scale_for(amax: jax.Array, scale: jax.Array, dtype_max: jax.Array, margin: int) -> jax.Array:
    inverse = jnp.reciprocal(jnp.asarray(scale, "float32"))
    new = jnp.divide(dtype_max, jnp.asarray(amax, "float32")) / 2**margin
    new = jnp.where(jnp.greater(amax, 0.0), new, inverse)
    return jnp.reciprocal(jnp.where(jnp.isfinite(amax), new, inverse))


def compute_float8_amax_history(x: TensorLike, amax_history: TensorLike) -> Tensor:
    """Return the history of largest magnitudes with that of `x` in its first place.

    Args:
        x: The values of a step.
        amax_history: The largest magnitudes of recent steps. It is rolled by one place.

    Example:
        >>> podium.quantizers.compute_float8_amax_history([-3.0, 1.0], np.array([4.0, 5.0, 6.0]))
        <podium.Tensor shape=(3,), dtype=float32, value=[3. 6. 4.]>
    """
    result: Tensor = dispatch(_extend_history, x, amax_history)
    return result


def _extend_history(x: jax.Array, history: jax.Array) -> jax.Array:
    history = jnp.asarray(history)
    largest = jnp.max(jnp.abs(jnp.asarray(x))).astype(history.dtype)
    return jnp.roll(history, -1).at[0].set(largest)


def quantize_and_dequantize(
    inputs: TensorLike, scale: TensorLike, quantized_dtype: DType, compute_dtype: DType
) -> Tensor:
    """Round values to what a float8 dtype can represent.

    Args:
        inputs: The values.
        scale: Values are divided by it before rounding, and multiplied afterwards.
        quantized_dtype: "float8_e4m3fn" or "float8_e5m2".
        compute_dtype: The dtype of the result.

    Example:
        >>> values = podium.quantizers.quantize_and_dequantize(
        ...     [1.1, 500.0], 1.0, "float8_e4m3fn", "float32")
        >>> values.numpy()
        array([  1.125, 448.   ], dtype=float32)
    """
    result: Tensor = dispatch(_round_to, inputs, scale, quantized_dtype, compute_dtype)
    return result


def _round_to(x: jax.Array, scale: jax.Array, quantized: DType, compute: DType) -> jax.Array:
    largest = jnp.asarray(float(ml_dtypes.finfo(quantized).max), compute)
    scale = jnp.asarray(scale, compute)
    values = jnp.clip(jnp.asarray(x, compute) / scale, -largest, largest)
    return values.astype(quantized).astype(compute) * scale
