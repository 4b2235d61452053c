"""Norms, normalization and clipping: `tf.norm`, `tf.clip_by_*`, `tf.math.l2_normalize`."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp

from podium import ops
from podium._typing import Axis, TensorLike
from podium.compat.tensorflow._decorators import fold_constants, lift_with_promotion
from podium.core import Tensor


@lift_with_promotion
def _clip(x: TensorLike, low: TensorLike, high: TensorLike) -> jax.Array:
    x = jnp.asarray(x)
    return jnp.clip(x, jnp.asarray(low).astype(x.dtype), jnp.asarray(high).astype(x.dtype))


@fold_constants
def clip_by_value(
    t: TensorLike, clip_value_min: TensorLike, clip_value_max: TensorLike, name: str | None = None
) -> Tensor:
    """Clip elements to a range.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.clip_by_value([-2.0, 0.5, 9.0], 0, 1).numpy()
        array([0. , 0.5, 1. ], dtype=float32)
    """
    return _clip(t, clip_value_min, clip_value_max)


@lift_with_promotion
def _clip_by_norm(x: TensorLike, limit: TensorLike, axes: Axis) -> jax.Array:
    x = jnp.asarray(x)
    squares = jnp.sum(jnp.square(x), axis=_as_tuple(axes), keepdims=True)
    norm = jnp.where(squares > 0, jnp.sqrt(jnp.where(squares > 0, squares, 1)), squares)
    return x * jnp.asarray(limit, x.dtype) / jnp.maximum(norm, jnp.asarray(limit, x.dtype))


@fold_constants
def clip_by_norm(
    t: TensorLike, clip_norm: TensorLike, axes: Axis = None, name: str | None = None
) -> Tensor:
    """Scale a tensor down to a norm, if its norm is larger.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.clip_by_norm([3.0, 4.0], 1.0).numpy()
        array([0.6, 0.8], dtype=float32)
    """
    return _clip_by_norm(t, clip_norm, axes)


def _as_tuple(axis: Axis) -> int | tuple[int, ...] | None:
    return axis if axis is None or isinstance(axis, int) else tuple(axis)


def global_norm(t_list: Sequence[TensorLike | None], name: str | None = None) -> Tensor:
    """Compute the norm of all tensors of a list together; None entries are skipped.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> float(tf.linalg.global_norm([[3.0], None, [4.0]]))
        5.0
    """
    squares = [ops.sum(ops.square(t)) for t in t_list if t is not None]
    return ops.sqrt(ops.sum(ops.stack(squares)))


def clip_by_global_norm(
    t_list: Sequence[TensorLike | None],
    clip_norm: TensorLike,
    use_norm: TensorLike | None = None,
    name: str | None = None,
) -> tuple[list[Tensor | None], TensorLike]:
    """Scale a list of tensors down together, if their global norm is larger than `clip_norm`.

    Returns:
        The list, and the norm before scaling.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> clipped, norm = tf.clip_by_global_norm([[3.0], [4.0]], 1.0)
        >>> [float(t[0]) for t in clipped], float(norm)
        ([0.6..., 0.8...], 5.0)
    """
    norm = global_norm(t_list) if use_norm is None else use_norm
    scale = clip_norm / ops.maximum(norm, clip_norm)
    return [None if t is None else ops.multiply(t, scale) for t in t_list], norm


@lift_with_promotion
def _norm(x: TensorLike, ord: str | float, axis: Axis, keepdims: bool) -> jax.Array:
    x, axis = jnp.asarray(x), _as_tuple(axis)
    if ord in ("euclidean", "fro", 2) and not (ord == 2 and isinstance(axis, tuple)):
        return jnp.sqrt(jnp.sum(jnp.square(jnp.abs(x)), axis=axis, keepdims=keepdims))
    if axis is None:
        flat: jax.Array = jnp.linalg.norm(x.reshape(-1), ord=ord)
        return flat.reshape((1,) * x.ndim) if keepdims else flat
    norm: jax.Array = jnp.linalg.norm(x, ord=ord, axis=axis, keepdims=keepdims)
    return norm


@fold_constants
def norm(
    tensor: TensorLike,
    ord: str | float = "euclidean",
    axis: Axis = None,
    keepdims: bool | None = None,
    name: str | None = None,
) -> Tensor:
    """Compute the norm of vectors or matrices, by default of the flattened tensor.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.norm([3.0, 4.0]).numpy()
        array(5., dtype=float32)
    """
    return _norm(tensor, ord, axis, bool(keepdims))


@lift_with_promotion
def _l2_normalize(x: TensorLike, axis: Axis, epsilon: float) -> jax.Array:
    x = jnp.asarray(x)
    squares = jnp.sum(jnp.square(x), axis=_as_tuple(axis), keepdims=True)
    return x * (1 / jnp.sqrt(jnp.maximum(squares, jnp.asarray(epsilon, x.dtype))))


def l2_normalize(
    x: TensorLike, axis: Axis = None, epsilon: float = 1e-12, name: str | None = None
) -> Tensor:
    """Scale vectors along an axis to norm 1.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> tf.math.l2_normalize([3.0, 4.0]).numpy()
        array([0.6, 0.8], dtype=float32)
    """
    return _l2_normalize(x, axis, epsilon)


def normalize(
    tensor: TensorLike,
    ord: str | float = "euclidean",
    axis: Axis = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Scale vectors to norm 1.

    Returns:
        The scaled tensor, and the norms before scaling.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> unit, length = tf.linalg.normalize([3.0, 4.0])
        >>> unit.numpy(), length.numpy()
        (array([0.6, 0.8], dtype=float32), array([5.], dtype=float32))
    """
    if ord not in ("euclidean", "fro", 2):
        raise ValueError(
            f"ord={ord!r} was given; 'euclidean' was expected, the only norm that Podium's "
            "tf.linalg.normalize supports."
        )
    squares = ops.square(ops.abs(tensor))
    length = ops.sqrt(ops.sum(squares, axis=_as_tuple(axis), keepdims=True))
    return ops.divide(tensor, length), length
