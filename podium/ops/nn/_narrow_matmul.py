"""A product with a matrix of few columns, such as that of a classifier's last layer, whose gradient
is quick on CPU too.

XLA computes the gradient of a 512 x 10 matrix from 128 samples in 0.2 ms, because it writes ten
numbers at a time; that of the transposed matrix takes a quarter. So the matrix is turned over
first, which costs next to nothing, and the barrier keeps XLA from turning it back. Nothing else is
special: it can be differentiated in any way, as often as one likes.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp

from podium.core.internal import context

_COLUMNS = range(2, 33)  # one column is a vector, and quick; from 64 on there is nothing to gain
_LEAST = 2**13  # numbers in x; below, the call costs more than the product


def narrow_matmul(x: jax.Array, kernel: jax.Array) -> jax.Array:
    """Return `x @ kernel`, for a kernel of two dimensions.

    Example:
        >>> import jax.numpy as jnp
        >>> narrow_matmul(jnp.ones((128, 512)), jnp.ones((512, 10))).shape
        (128, 10)
    """
    if not _is_narrow(x, kernel):
        return jnp.matmul(x, kernel)
    across = jax.lax.optimization_barrier(kernel.T)
    return jax.lax.dot_general(x, across, (((x.ndim - 1,), (1,)), ((), ())))


def _is_narrow(x: Any, kernel: Any) -> bool:
    if (
        x.dtype != kernel.dtype
        or kernel.shape[1] not in _COLUMNS
        or kernel.shape[0] < 4 * kernel.shape[1]
    ):
        return False
    known = all(
        isinstance(length, int) for length in x.shape
    )  # an exported program has symbols for some
    return (
        known
        and math.prod(x.shape) >= _LEAST
        and context.layout is None
        and jax.default_backend() == "cpu"
    )
