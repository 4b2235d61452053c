"""How targets, predictions, weights and masks line up: pure functions of arrays.

Nothing is stretched to fit silently. Targets get the predictions' shape up to one last dimension of
length one; weights and masks are lined up from the first dimension, the one that counts samples.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp


def same_shape(y_true: Any, y_pred: Any, hint: str = "") -> tuple[Any, Any]:
    """Add or drop a last dimension of length one where the ranks differ by one; then the shapes
    must be equal.
    """
    given = y_true.shape, y_pred.shape
    if y_true.ndim == y_pred.ndim + 1 and y_true.shape[-1] == 1:
        y_true, y_pred = (y_true, y_pred[:, None]) if y_pred.ndim == 1 else (y_true[..., 0], y_pred)
    elif y_pred.ndim == y_true.ndim + 1 and y_pred.shape[-1] == 1:
        y_true, y_pred = (y_true[:, None], y_pred) if y_true.ndim == 1 else (y_true, y_pred[..., 0])
    if y_true.shape != y_pred.shape:
        raise ValueError(
            f"y_true has shape {given[0]} and y_pred has shape {given[1]}; equal shapes were "
            "expected (a last dimension of length one may be missing), since neither is stretched "
            f"to fit the other. {hint or 'Reshape one of them.'}"
        )
    return y_true, y_pred


def stretched(weight: Any, shape: tuple[int, ...]) -> Any:
    """Stretch weights to `shape`, lined up from the first dimension: one weight for all that
    follows it.
    """
    given = weight.shape
    while weight.ndim > len(shape) and weight.shape[-1] == 1:
        weight = weight[..., 0]
    if weight.ndim <= len(shape):
        weight = weight.reshape(weight.shape + (1,) * (len(shape) - weight.ndim))
        if all(mine in (1, wanted) for mine, wanted in zip(weight.shape, shape, strict=True)):
            return jnp.broadcast_to(weight, shape)
    raise ValueError(
        f"sample_weight (or the mask) has shape {given} for values of shape {shape}; a number was "
        f"expected, or a shape that begins like theirs, such as {shape[:1]}."
    )


def masked(weight: Any, mask: Any, dtype: str) -> Any:
    """Return the weights times the mask (0 for what it hides), with the longer of the two shapes;
    None for neither.
    """
    if mask is None:
        return None if weight is None else weight.astype(dtype)
    mask = mask.astype(dtype)
    if weight is None:
        return mask
    weight = weight.astype(dtype)
    if weight.ndim > mask.ndim:
        return weight * stretched(mask, weight.shape)
    return stretched(weight, mask.shape) * mask


def total_and_count(
    values: Any, weight: Any, mask: Any, values_mask: Any, dtype: str
) -> tuple[Any, Any]:
    """Return the sums over samples of the (weighted) values and of the weights, each sample
    averaged first.

    A sample is an entry of the first dimension. `values_mask` is the mask that travels with the
    values themselves; like Keras, it only counts where weights or a mask of the predictions are
    there too.
    """
    values = values.astype(dtype)
    weight = masked(weight, mask, dtype)
    if weight is None:
        return jnp.sum(_by_sample(values)), jnp.asarray(
            values.shape[0] if values.ndim else 1, dtype
        )
    weight = masked(weight, values_mask, dtype)
    if values.ndim > weight.ndim:
        values = jnp.mean(values, axis=tuple(range(weight.ndim, values.ndim)))
    weight = stretched(weight, values.shape)
    return jnp.sum(_by_sample(weighted(values, weight))), jnp.sum(_by_sample(weight))


def weighted_total(values: Any, weight: Any, values_mask: Any, dtype: str) -> Any:
    """Return the sum of the (weighted) values."""
    values = values.astype(dtype)
    if weight is None:
        return jnp.sum(values)
    return jnp.sum(weighted(values, stretched(masked(weight, values_mask, dtype), values.shape)))


def weighted(values: Any, weight: Any) -> Any:
    """Multiply; a weight of zero leaves a value out even where it is not a number, such as that of
    a padded sample.
    """
    return jnp.where((weight == 0) & ~jnp.isfinite(values), jnp.zeros_like(values), values * weight)


def ratio(part: Any, whole: Any) -> Any:
    """Divide, with 0 where the whole is 0: nothing was seen yet."""
    empty = whole == 0
    return jnp.where(
        empty, jnp.zeros_like(part), part / jnp.where(empty, jnp.ones_like(whole), whole)
    )


def _by_sample(values: Any) -> Any:
    return values if values.ndim < 2 else jnp.mean(values, axis=tuple(range(1, values.ndim)))
