"""Keeping numbers and gradients within bounds: `tf.clip_by_*`, norms."""

from typing import Any

import jax.numpy as jnp

from podium import ops
from podium.compat.tensorflow._table import alias
from podium.core import dispatch, lift, promote_dtypes


def _clip(x: Any, low: Any, high: Any) -> Any:
    @promote_dtypes
    def run(x: Any, low: Any, high: Any) -> Any:
        x = jnp.asarray(x)
        return jnp.clip(x, jnp.asarray(low).astype(x.dtype), jnp.asarray(high).astype(x.dtype))

    return dispatch(run, x, low, high)


clip_by_value = alias(
    "clip_by_value(t, clip_value_min, clip_value_max, name=None)",
    _clip,
    "tf.clip_by_value([-2.0, 0.5, 9.0], 0, 1).numpy()",
    "array([0. , 0.5, 1. ], dtype=float32)",
    "Bring every element between two bounds.",
)


def _by_norm(x: Any, limit: Any, axes: Any) -> Any:
    x = jnp.asarray(x)
    squares = jnp.sum(
        jnp.square(x), axis=tuple(axes) if isinstance(axes, list) else axes, keepdims=True
    )
    norm = jnp.where(squares > 0, jnp.sqrt(jnp.where(squares > 0, squares, 1)), squares)
    return x * jnp.asarray(limit, x.dtype) / jnp.maximum(norm, jnp.asarray(limit, x.dtype))


clip_by_norm = alias(
    "clip_by_norm(t, clip_norm, axes=None, name=None)",
    lift(promote_dtypes(_by_norm)),
    "tf.clip_by_norm([3.0, 4.0], 1.0).numpy()",
    "array([0.6, 0.8], dtype=float32)",
    "Scale a tensor down to a length, if it is longer.",
)


def global_norm(t_list: Any, name: str | None = None) -> Any:
    """The length of all tensors of a list taken together; None entries are skipped.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> float(tf.linalg.global_norm([[3.0], None, [4.0]]))
        5.0
    """
    squares = [ops.sum(ops.square(t)) for t in t_list if t is not None]
    return ops.sqrt(ops.sum(ops.stack(squares)))


def clip_by_global_norm(
    t_list: Any, clip_norm: Any, use_norm: Any = None, name: str | None = None
) -> tuple[list, Any]:
    """Scale a list of tensors down together to a length, if it is longer. Returns the list and the
    old length.

    Example:
        >>> from podium.compat import tensorflow as tf
        >>> clipped, norm = tf.clip_by_global_norm([[3.0], [4.0]], 1.0)
        >>> [float(t[0]) for t in clipped], float(norm)
        ([0.6..., 0.8...], 5.0)
    """
    norm = global_norm(t_list) if use_norm is None else use_norm
    scale = clip_norm / ops.maximum(norm, clip_norm)
    return [None if t is None else ops.multiply(t, scale) for t in t_list], norm


def _norm(x: Any, ord: Any, axis: Any, keepdims: bool) -> Any:
    x, axis = jnp.asarray(x), tuple(axis) if isinstance(axis, list) else axis
    if ord in ("euclidean", "fro", 2) and not (ord == 2 and isinstance(axis, tuple)):
        return jnp.sqrt(jnp.sum(jnp.square(jnp.abs(x)), axis=axis, keepdims=keepdims))
    if axis is None:
        flat = jnp.linalg.norm(x.reshape(-1), ord=ord)
        return flat.reshape((1,) * x.ndim) if keepdims else flat
    return jnp.linalg.norm(x, ord=ord, axis=axis, keepdims=keepdims)


norm = alias(
    "norm(tensor, ord='euclidean', axis=None, keepdims=None, name=None)",
    lift(lambda x, ord, axis, keepdims: promote_dtypes(_norm)(x, ord, axis, bool(keepdims))),
    "tf.norm([3.0, 4.0]).numpy()",
    "array(5., dtype=float32)",
    "The length of vectors, by default of the whole tensor as one.",
)


def _l2_normalize(x: Any, axis: Any, epsilon: float) -> Any:
    x = jnp.asarray(x)
    squares = jnp.sum(
        jnp.square(x), axis=tuple(axis) if isinstance(axis, list) else axis, keepdims=True
    )
    return x * (1 / jnp.sqrt(jnp.maximum(squares, jnp.asarray(epsilon, x.dtype))))


l2_normalize = alias(
    "l2_normalize(x, axis=None, epsilon=1e-12, name=None)",
    lift(promote_dtypes(_l2_normalize)),
    "tf.math.l2_normalize([3.0, 4.0]).numpy()",
    "array([0.6, 0.8], dtype=float32)",
    "Scale vectors along an axis to length one.",
)
