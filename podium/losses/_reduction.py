"""Reduction of values per sample to one number: weights, masks and reductions, as in Keras."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from podium.core import promote_dtypes, unknown_choice
from podium.losses._loss_function import squeeze_or_expand_to_same_rank

REDUCTIONS = ("sum_over_batch_size", "sum", "mean", "mean_with_sample_weight", "none")


class Reduction:
    """The reductions under the names of Keras 2: strings, which every loss accepts as well.

    Example:
        >>> podium.losses.Reduction.SUM
        'sum'
        >>> podium.losses.MeanSquaredError(reduction=podium.losses.Reduction.AUTO).reduction
        'sum_over_batch_size'
    """

    AUTO = "auto"
    NONE = "none"
    SUM = "sum"
    SUM_OVER_BATCH_SIZE = "sum_over_batch_size"

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """Return all reductions."""
        return (cls.AUTO, cls.NONE, cls.SUM, cls.SUM_OVER_BATCH_SIZE)

    @classmethod
    def validate(cls, key: object) -> None:
        """Raise ValueError if `key` is not a reduction."""
        check_reduction(key)


def check_reduction(reduction: object) -> str | None:
    """Return a valid reduction; `"auto"` means `"sum_over_batch_size"`."""
    if reduction is None or (isinstance(reduction, str) and reduction in REDUCTIONS):
        return reduction
    if reduction == Reduction.AUTO:
        return Reduction.SUM_OVER_BATCH_SIZE
    raise unknown_choice("reduction", reduction, (*REDUCTIONS, Reduction.AUTO, None))


@promote_dtypes
def reduce_weighted(
    values: jax.Array,
    sample_weight: jax.Array | None,
    mask: jax.Array | None,
    reduction: str | None,
    dtype: str,
) -> jax.Array:
    """Apply weights and mask to the values, and reduce: a pure function of arrays.

    Masked means are over the unmasked values; weighted ones divide by the number of values, as in
    Keras, except `"mean_with_sample_weight"`, which divides by the weights.
    """
    values = jnp.asarray(values).astype(dtype)
    weight = None if sample_weight is None else jnp.asarray(sample_weight).astype(dtype)
    if mask is not None:
        share = _mask_weights(jnp.asarray(mask), reduction, dtype)
        weight = share if weight is None else _multiply_weights(weight, share)
    if weight is not None:
        values, weight = _align_weights(
            values, weight, "sample_weight" if mask is None else "sample_weight and mask"
        )
        # A weight of zero removes a sample even if its value is NaN, as for a padded label.
        removed = (weight == 0) & ~jnp.isfinite(values)
        values = jnp.where(removed, jnp.zeros((), dtype), values * weight)
    if reduction in (None, "none") or not values.ndim:
        return values
    total = jnp.sum(values)
    if reduction == "sum":
        return total
    if reduction == "mean_with_sample_weight" and weight is not None:
        return _divide(total, jnp.sum(jnp.broadcast_to(weight, values.shape)))
    return total / max(values.size, 1)


def combine_masks(first: jax.Array | None, second: jax.Array | None) -> jax.Array | None:
    """Return the conjunction of two masks; None is a mask that is true everywhere."""
    if first is None or second is None:
        return second if first is None else first
    first, second = _match_lengths(
        jnp.asarray(first).astype(bool), jnp.asarray(second).astype(bool)
    )
    return first & second


def _mask_weights(mask: jax.Array, reduction: str | None, dtype: str) -> jax.Array:
    """Convert a mask to weights; for means they compensate for the masked values."""
    counts = mask.astype(bool).astype(dtype)
    if reduction in ("mean", "sum_over_batch_size"):
        return counts * _divide(jnp.asarray(mask.size, dtype), jnp.sum(counts))
    return counts


def _multiply_weights(weight: jax.Array, share: jax.Array) -> jax.Array:
    shapes = weight.shape, share.shape
    try:
        first, second = _match_lengths(weight, share)
        return first * second
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"sample_weight of shape {shapes[0]} does not match the mask of y_pred, of shape "
            f"{shapes[1]}; one weight for each sample, or one for each entry of the mask, was "
            "expected."
        ) from error


def _align_weights(values: jax.Array, weight: jax.Array, what: str) -> tuple[jax.Array, jax.Array]:
    """Return values and weights of one rank, aligned from the first axis (the samples)."""
    shapes = values.shape, weight.shape
    values, weight = squeeze_or_expand_to_same_rank(values, weight)
    if not values.ndim or not weight.ndim:
        return values, weight
    weight = _append_axes(weight, values.ndim)
    fits = weight.ndim == values.ndim and all(
        w in (1, v) for w, v in zip(weight.shape, values.shape, strict=True)
    )
    if not fits:
        raise ValueError(
            f"{what} of shape {shapes[1]} was given for losses of shape {shapes[0]}; one weight "
            f"for each sample (shape {shapes[0][:1]}) or for each value (shape {shapes[0]}) was "
            "expected, or 1 in place of a length."
        )
    return values, weight


def _match_lengths(first: jax.Array, second: jax.Array) -> tuple[jax.Array, jax.Array]:
    first, second = squeeze_or_expand_to_same_rank(first, second)
    rank = max(first.ndim, second.ndim)
    return _append_axes(first, rank), _append_axes(second, rank)


def _append_axes(x: jax.Array, rank: int) -> jax.Array:
    return x.reshape(x.shape + (1,) * (rank - x.ndim)) if 0 < x.ndim < rank else x


def _divide(x: jax.Array, y: jax.Array) -> jax.Array:
    """Divide, with 0 where the divisor is 0."""
    return jnp.where(y == 0, jnp.zeros_like(x), x / jnp.where(y == 0, jnp.ones_like(y), y))
