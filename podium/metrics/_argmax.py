"""The index of the largest value, which metrics of classes compute at every step.

`jnp.argmax` computes the same by a reduction of pairs: slower on CPU, and JAX keeps memory for
each compiled one until the process ends. The maximum is often computed by the loss as well.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp


def fast_argmax(values: jax.Array, axis: int = -1) -> jax.Array:
    """Return the index of the first of the largest values, or of the first NaN.

    Example:
        >>> from podium.metrics._argmax import fast_argmax
        >>> fast_argmax(jnp.array([[1.0, 3.0, 3.0], [5.0, 2.0, 4.0]])).tolist()
        [1, 0]
    """
    largest = (values == jnp.max(values, axis, keepdims=True)) | (values != values)
    positions = jax.lax.broadcasted_iota(jnp.int32, values.shape, axis % values.ndim)
    return jnp.min(jnp.where(largest, positions, values.shape[axis]), axis)
