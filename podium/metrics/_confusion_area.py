"""Areas under curves whose points are counts at rising thresholds: pure functions of arrays."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from podium.metrics._alignment import ratio


def area(curve: str, summation: str, label_weights: Any, tp: Any, fp: Any, tn: Any, fn: Any) -> Any:
    """Return the area under the curve.

    Counts have shape `(thresholds,)`, or `(thresholds, labels)`: then the areas of the labels are
    averaged, weighted if `label_weights` are given.
    """
    if curve == "PR" and summation == "interpolation":
        pieces = _precision_recall_pieces(tp, fp, fn)
    else:
        x, y = _points(curve, tp, fp, tn, fn)
        pieces = (x[:-1] - x[1:]) * _heights(summation, y[:-1], y[1:])
    areas = jnp.sum(pieces, axis=0)
    if areas.ndim == 0:
        return areas
    if label_weights is None:
        return jnp.mean(areas)
    weights = jnp.asarray(label_weights, areas.dtype)
    return ratio(jnp.sum(areas * weights), jnp.sum(weights))


def _points(curve: str, tp: Any, fp: Any, tn: Any, fn: Any) -> tuple[Any, Any]:
    """Return the coordinates of the curve's points, at rising thresholds."""
    recall = ratio(tp, tp + fn)
    if curve == "ROC":
        return ratio(fp, fp + tn), recall
    if curve == "PR":
        return recall, ratio(tp, tp + fp)
    odds = ratio(tp + fn, tn + fp)
    found = tp != 0
    recall_gain = jnp.where(found, 1 - odds * ratio(fn, tp), jnp.zeros_like(tp))
    precision_gain = jnp.where(found, 1 - odds * ratio(fp, tp), jnp.ones_like(tp))
    return jnp.maximum(recall_gain, 0), precision_gain


def _heights(summation: str, left: Any, right: Any) -> Any:
    if summation == "interpolation":
        return (left + right) / 2
    return jnp.minimum(left, right) if summation == "minoring" else jnp.maximum(left, right)


def _precision_recall_pieces(tp: Any, fp: Any, fn: Any) -> Any:
    """Return the area between each two thresholds, true and false positives (not precision)
    changing linearly.

    Between A and B, with P = TP + FP and slope = dTP / dP, precision is slope + (TP_B - slope *
    P_B) / P. Its integral over recall is slope * (dTP + (TP_B - slope * P_B) * log(P_A / P_B)) /
    positives; see Davis & Goadrich (2006).
    """
    predicted = tp + fp
    change = tp[:-1] - tp[1:]
    slope = ratio(change, jnp.maximum(predicted[:-1] - predicted[1:], 0))
    intercept = tp[1:] - slope * predicted[1:]
    both = (predicted[:-1] > 0) & (predicted[1:] > 0)
    growth = jnp.where(both, ratio(predicted[:-1], predicted[1:]), jnp.ones_like(slope))
    return ratio(slope * (change + intercept * jnp.log(growth)), jnp.maximum(tp[1:] + fn[1:], 0))
