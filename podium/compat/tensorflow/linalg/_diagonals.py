"""Diagonals and bands of matrices: `tf.linalg.diag`, `tf.linalg.band_part`, ..."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from podium._typing import TensorLike
from podium.compat.tensorflow._decorators import fold_constants, lift_with_promotion
from podium.core import Tensor


@lift_with_promotion
def _diag(x: TensorLike) -> jax.Array:
    x = jnp.asarray(x)
    return x[..., None] * jnp.eye(x.shape[-1], dtype=x.dtype)


@fold_constants
def diag(diagonal: TensorLike, name: str = "diag") -> Tensor:
    """Create matrices with a diagonal and zeros elsewhere.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.linalg.diag([1, 2]).numpy()
        array([[1, 0],
               [0, 2]], dtype=int32)
    """
    return _diag(diagonal)


@lift_with_promotion
def _diag_part(x: TensorLike, k: int) -> jax.Array:
    diagonal: jax.Array = jnp.diagonal(jnp.asarray(x), k, -2, -1)
    return diagonal


@fold_constants
def diag_part(input: TensorLike, name: str = "diag_part", k: int = 0) -> Tensor:
    """Return the diagonal of matrices.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.linalg.diag_part([[1, 2], [3, 4]]).numpy()
        array([1, 4], dtype=int32)
    """
    return _diag_part(input, k)


@lift_with_promotion
def _set_diag(x: TensorLike, diagonal: TensorLike, k: int) -> jax.Array:
    x = jnp.asarray(x)
    length = jnp.shape(jnp.diagonal(x, k, -2, -1))[-1]
    positions = jnp.arange(length)
    return x.at[..., positions + max(-k, 0), positions + max(k, 0)].set(
        jnp.asarray(diagonal).astype(x.dtype)
    )


@fold_constants
def set_diag(input: TensorLike, diagonal: TensorLike, name: str = "set_diag", k: int = 0) -> Tensor:
    """Return a copy with another diagonal.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.linalg.set_diag([[1, 2], [3, 4]], [0, 0]).numpy()
        array([[0, 2],
               [3, 0]], dtype=int32)
    """
    return _set_diag(input, diagonal, k)


def band_part(input: TensorLike, num_lower: int, num_upper: int, name: str | None = None) -> Tensor:
    """Keep `num_lower` diagonals below and `num_upper` above the main one; -1 keeps all of them.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.linalg.band_part([[1, 2], [3, 4]], -1, 0).numpy()
        array([[1, 0],
               [3, 4]], dtype=int32)
    """
    below, above = int(num_lower), int(num_upper)

    @lift_with_promotion
    def keep_band(x: TensorLike) -> jax.Array:
        x = jnp.asarray(x)
        offset = jnp.arange(x.shape[-1])[None, :] - jnp.arange(x.shape[-2])[:, None]
        inside = ((below < 0) | (-offset <= below)) & ((above < 0) | (offset <= above))
        return jnp.where(inside, x, jnp.zeros((), x.dtype))

    return keep_band(input)
