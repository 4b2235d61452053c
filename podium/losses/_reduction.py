"""From one value for each sample to one number: weights, masks and reductions, with Keras's
arithmetic.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from podium.core import promote_dtypes, unknown_choice
from podium.losses._inputs import same_rank

REDUCTIONS = ("sum_over_batch_size", "sum", "mean", "mean_with_sample_weight", "none")


class Reduction:
    """The reductions by Keras 2's names; plain strings, which every loss takes as well.

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
        """Return every reduction that has a name here."""
        return (cls.AUTO, cls.NONE, cls.SUM, cls.SUM_OVER_BATCH_SIZE)

    @classmethod
    def validate(cls, key: Any) -> None:
        """Raise ValueError if `key` is not a reduction."""
        checked_reduction(key)


def checked_reduction(reduction: Any) -> str | None:
    """Return a reduction as losses keep it: `"auto"` means `"sum_over_batch_size"`."""
    if reduction is None or (isinstance(reduction, str) and reduction in REDUCTIONS):
        return reduction
    if reduction == Reduction.AUTO:
        return Reduction.SUM_OVER_BATCH_SIZE
    raise unknown_choice("reduction", reduction, (*REDUCTIONS, Reduction.AUTO, None))


@promote_dtypes
def reduce_weighted(
    values: Any, sample_weight: Any, mask: Any, reduction: str | None, dtype: str
) -> Any:
    """Weigh the values, leave out what the mask hides, and reduce: a pure function of arrays.

    Masked means are over the values that count; weighted ones divide by the number of values, as in
    Keras, except `"mean_with_sample_weight"`, which divides by the weights.
    """
    values = jnp.asarray(values).astype(dtype)
    weight = None if sample_weight is None else jnp.asarray(sample_weight).astype(dtype)
    if mask is not None:
        share = _mask_weights(jnp.asarray(mask), reduction, dtype)
        weight = share if weight is None else _product(weight, share)
    if weight is not None:
        values, weight = _fitted(
            values, weight, "sample_weight" if mask is None else "sample_weight and mask"
        )
        # A weight of zero leaves a sample out even where its value is not a number: a padded label,
        # say.
        left_out = (weight == 0) & ~jnp.isfinite(values)
        values = jnp.where(left_out, jnp.zeros((), dtype), values * weight)
    if reduction in (None, "none") or not values.ndim:
        return values
    total = jnp.sum(values)
    if reduction == "sum":
        return total
    if reduction == "mean_with_sample_weight" and weight is not None:
        return _divide(total, jnp.sum(jnp.broadcast_to(weight, values.shape)))
    return total / max(values.size, 1)


def both_masks(first: Any, second: Any) -> Any:
    """Return the mask of what both masks let pass; None means everything."""
    if first is None or second is None:
        return second if first is None else first
    first, second = _same_length(jnp.asarray(first).astype(bool), jnp.asarray(second).astype(bool))
    return first & second


def _mask_weights(mask: Any, reduction: str | None, dtype: str) -> Any:
    """Turn a mask into weights; for means they make up for the values that do not count."""
    counts = mask.astype(bool).astype(dtype)
    if reduction in ("mean", "sum_over_batch_size"):
        return counts * _divide(jnp.asarray(mask.size, dtype), jnp.sum(counts))
    return counts


def _product(weight: Any, share: Any) -> Any:
    shapes = weight.shape, share.shape
    try:
        first, second = _same_length(weight, share)
        return first * second
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"sample_weight of shape {shapes[0]} does not fit the mask of y_pred, of shape "
            f"{shapes[1]}; one weight for each sample, or one for each entry of the mask, was "
            "expected."
        ) from error


def _fitted(values: Any, weight: Any, what: str) -> tuple[Any, Any]:
    """Give weights the rank of the values, the first axis (the samples) first; refuse what does not
    fit.
    """
    shapes = values.shape, weight.shape
    values, weight = same_rank(values, weight)
    if not values.ndim or not weight.ndim:
        return values, weight
    weight = _padded(weight, values.ndim)
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


def _same_length(first: Any, second: Any) -> tuple[Any, Any]:
    first, second = same_rank(first, second)
    rank = max(first.ndim, second.ndim)
    return _padded(first, rank), _padded(second, rank)


def _padded(x: Any, rank: int) -> Any:
    return x.reshape(x.shape + (1,) * (rank - x.ndim)) if 0 < x.ndim < rank else x


def _divide(x: Any, y: Any) -> Any:
    """Divide, with 0 where nothing counts."""
    return jnp.where(y == 0, jnp.zeros_like(x), x / jnp.where(y == 0, jnp.ones_like(y), y))
