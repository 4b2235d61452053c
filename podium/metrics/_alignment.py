"""Alignment of targets, predictions, weights and masks: pure functions of arrays.

Nothing is broadcast silently. Targets take the shape of the predictions up to a last axis of size
1; weights and masks are aligned from the first axis, the samples.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp


def match_shapes(
    y_true: jax.Array, y_pred: jax.Array, hint: str = ""
) -> tuple[jax.Array, jax.Array]:
    """Add or drop a last axis of size 1 where the ranks differ by one; then the shapes
    must be equal.
    """
    shapes = y_true.shape, y_pred.shape
    if y_true.ndim == y_pred.ndim + 1 and y_true.shape[-1] == 1:
        y_true, y_pred = (y_true, y_pred[:, None]) if y_pred.ndim == 1 else (y_true[..., 0], y_pred)
    elif y_pred.ndim == y_true.ndim + 1 and y_pred.shape[-1] == 1:
        y_true, y_pred = (y_true[:, None], y_pred) if y_true.ndim == 1 else (y_true, y_pred[..., 0])
    if y_true.shape != y_pred.shape:
        raise ValueError(
            f"y_true has shape {shapes[0]} and y_pred has shape {shapes[1]}; equal shapes were "
            "expected (a last axis of size 1 may be missing), since neither is broadcast "
            f"to the other. {hint or 'Reshape one of them.'}"
        )
    return y_true, y_pred


def broadcast_weights(weight: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    """Stretch weights to `shape`, lined up from the first axis: one weight for all that
    follows it.
    """
    weight_shape = weight.shape
    while weight.ndim > len(shape) and weight.shape[-1] == 1:
        weight = weight[..., 0]
    if weight.ndim <= len(shape):
        weight = weight.reshape(weight.shape + (1,) * (len(shape) - weight.ndim))
        if all(actual in (1, size) for actual, size in zip(weight.shape, shape, strict=True)):
            return jnp.broadcast_to(weight, shape)
    raise ValueError(
        f"sample_weight (or the mask) has shape {weight_shape} for values of shape {shape}; a "
        f"number was expected, or a shape that starts like theirs, such as {shape[:1]}."
    )


def apply_mask(weight: jax.Array | None, mask: jax.Array | None, dtype: str) -> jax.Array | None:
    """Return the weights times the mask (0 for what it hides), with the longer of the two shapes;
    None for neither.
    """
    if mask is None:
        return None if weight is None else weight.astype(dtype)
    mask = mask.astype(dtype)
    return mask if weight is None else _multiply_aligned(weight.astype(dtype), mask)


def _multiply_aligned(weight: jax.Array, mask: jax.Array) -> jax.Array:
    if weight.ndim > mask.ndim:
        return weight * broadcast_weights(mask, weight.shape)
    return broadcast_weights(weight, mask.shape) * mask


def total_and_count(
    values: jax.Array,
    weight: jax.Array | None,
    mask: jax.Array | None,
    values_mask: jax.Array | None,
    dtype: str,
) -> tuple[jax.Array, jax.Array]:
    """Return the sums over samples of the (weighted) values and of the weights, each sample
    averaged first.

    A sample is an entry of the first axis. `values_mask` is the mask that travels with the
    values themselves; like Keras, it only counts where weights or a mask of the predictions are
    there too.
    """
    values = values.astype(dtype)
    weight = apply_mask(weight, mask, dtype)
    if weight is None:
        return jnp.sum(_mean_per_sample(values)), jnp.asarray(
            values.shape[0] if values.ndim else 1, dtype
        )
    if values_mask is not None:
        weight = _multiply_aligned(weight, values_mask.astype(dtype))
    if values.ndim > weight.ndim:
        values = jnp.mean(values, axis=tuple(range(weight.ndim, values.ndim)))
    weight = broadcast_weights(weight, values.shape)
    return jnp.sum(_mean_per_sample(multiply_weights(values, weight))), jnp.sum(
        _mean_per_sample(weight)
    )


def weighted_total(
    values: jax.Array, weight: jax.Array | None, values_mask: jax.Array | None, dtype: str
) -> jax.Array:
    """Return the sum of the (weighted) values."""
    values = values.astype(dtype)
    if weight is None:
        return jnp.sum(values)
    weight = weight.astype(dtype)
    if values_mask is not None:
        weight = _multiply_aligned(weight, values_mask.astype(dtype))
    return jnp.sum(multiply_weights(values, broadcast_weights(weight, values.shape)))


def multiply_weights(values: jax.Array, weight: jax.Array) -> jax.Array:
    """Multiply; a weight of zero leaves a value out even where it is not a number, such as that of
    a padded sample.
    """
    return jnp.where((weight == 0) & ~jnp.isfinite(values), jnp.zeros_like(values), values * weight)


def divide_or_zero(numerator: jax.Array, denominator: jax.Array) -> jax.Array:
    """Divide, with 0 where the denominator is 0, as before the first update."""
    empty = denominator == 0
    safe = jnp.where(empty, jnp.ones_like(denominator), denominator)
    return jnp.where(empty, jnp.zeros_like(numerator), numerator / safe)


def _mean_per_sample(values: jax.Array) -> jax.Array:
    return values if values.ndim < 2 else jnp.mean(values, axis=tuple(range(1, values.ndim)))
