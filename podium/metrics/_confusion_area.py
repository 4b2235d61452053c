"""Areas under curves whose points are counts at rising thresholds: pure functions of arrays."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from podium.metrics._alignment import divide_or_zero


def area(
    curve: str,
    summation: str,
    label_weights: jax.Array | None,
    tp: jax.Array,
    fp: jax.Array,
    tn: jax.Array,
    fn: jax.Array,
) -> jax.Array:
    """Return the area under the curve.

    Counts have shape `(thresholds,)`, or `(thresholds, labels)`: then the areas of the labels are
    averaged, multiply_weights if `label_weights` are given.
    """
    if curve == "PR" and summation == "interpolation":
        pieces = _precision_recall_pieces(tp, fp, fn)
    else:
        x, y = _curve_points(curve, tp, fp, tn, fn)
        pieces = (x[:-1] - x[1:]) * _heights(summation, y[:-1], y[1:])
    areas = jnp.sum(pieces, axis=0)
    if areas.ndim == 0:
        return areas
    if label_weights is None:
        return jnp.mean(areas)
    weights = jnp.asarray(label_weights, areas.dtype)
    return divide_or_zero(jnp.sum(areas * weights), jnp.sum(weights))


def _curve_points(
    curve: str, tp: jax.Array, fp: jax.Array, tn: jax.Array, fn: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Return the coordinates of the curve's points, at rising thresholds."""
    recall = divide_or_zero(tp, tp + fn)
    if curve == "ROC":
        return divide_or_zero(fp, fp + tn), recall
    if curve == "PR":
        return recall, divide_or_zero(tp, tp + fp)
    odds = divide_or_zero(tp + fn, tn + fp)
    has_true_positives = tp != 0
    recall_gain = jnp.where(
        has_true_positives, 1 - odds * divide_or_zero(fn, tp), jnp.zeros_like(tp)
    )
    precision_gain = jnp.where(
        has_true_positives, 1 - odds * divide_or_zero(fp, tp), jnp.ones_like(tp)
    )
    return jnp.maximum(recall_gain, 0), precision_gain


def _heights(summation: str, left: jax.Array, right: jax.Array) -> jax.Array:
    if summation == "interpolation":
        return (left + right) / 2
    return jnp.minimum(left, right) if summation == "minoring" else jnp.maximum(left, right)


def _precision_recall_pieces(tp: jax.Array, fp: jax.Array, fn: jax.Array) -> jax.Array:
    """Return the area between each two thresholds, true and false positives (not precision)
    changing linearly.

    Between A and B, with P = TP + FP and slope = dTP / dP, precision is slope + (TP_B - slope *
    P_B) / P. Its integral over recall is slope * (dTP + (TP_B - slope * P_B) * log(P_A / P_B)) /
    positives; see Davis & Goadrich (2006).
    """
    predicted = tp + fp
    change = tp[:-1] - tp[1:]
    slope = divide_or_zero(change, jnp.maximum(predicted[:-1] - predicted[1:], 0))
    intercept = tp[1:] - slope * predicted[1:]
    both = (predicted[:-1] > 0) & (predicted[1:] > 0)
    growth = jnp.where(both, divide_or_zero(predicted[:-1], predicted[1:]), jnp.ones_like(slope))
    return divide_or_zero(
        slope * (change + intercept * jnp.log(growth)), jnp.maximum(tp[1:] + fn[1:], 0)
    )
