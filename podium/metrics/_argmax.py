"""The position of the largest value, as metrics of classes ask for it at every step.

`jnp.argmax` computes the same by a reduction of pairs: slower on CPU, and JAX keeps something of
each one that it compiles for as long as the process lives. The maximum is often at hand, as the
loss has computed it.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp


def position_of_largest(values: jax.Array, axis: int = -1) -> jax.Array:
    """Return where the first of the largest values is, or the first NaN if there is one.

    Example:
        >>> from podium.metrics._argmax import position_of_largest
        >>> position_of_largest(jnp.array([[1.0, 3.0, 3.0], [5.0, 2.0, 4.0]])).tolist()
        [1, 0]
    """
    largest = (values == jnp.max(values, axis, keepdims=True)) | (values != values)
    positions = jax.lax.broadcasted_iota(jnp.int32, values.shape, axis % values.ndim)
    return jnp.min(jnp.where(largest, positions, values.shape[axis]), axis)
