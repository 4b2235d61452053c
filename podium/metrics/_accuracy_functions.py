"""Accuracies of one batch: 1 where a prediction is right and 0 where it is wrong, sample by
sample.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from podium.core import floatx
from podium.metrics._alignment import match_shapes
from podium.metrics._argmax import fast_argmax
from podium.metrics._metric_function import Values, metric_function, to_wide_float

_SPARSE_HINT = "For targets that are class indices use the `sparse_` form of this accuracy."


@metric_function
def accuracy(y_true: Values, y_pred: Values) -> jax.Array:
    """Return where predictions equal their targets.

    Args:
        y_true: The targets.
        y_pred: The predictions, of the same shape.

    Returns:
        Ones and zeros of that shape.

    Example:
        >>> podium.metrics.accuracy([1, 2, 3], [1, 0, 3]).numpy()
        array([1., 0., 1.], dtype=float32)
    """
    y_true, y_pred = match_shapes(y_true, y_pred)
    return jnp.equal(y_true.astype(y_pred.dtype), y_pred).astype(floatx())


@metric_function
def binary_accuracy(y_true: Values, y_pred: Values, threshold: float = 0.5) -> jax.Array:
    """Return where predictions are on the right side of a threshold.

    Args:
        y_true: The targets, 0 or 1.
        y_pred: The predictions, of the same shape.
        threshold: Predictions above it mean 1.

    Returns:
        Ones and zeros of that shape.

    Example:
        >>> podium.metrics.binary_accuracy([1, 1, 0], [0.9, 0.2, 0.4]).numpy()
        array([1., 0., 1.], dtype=float32)
    """
    y_true, y_pred = match_shapes(
        y_true, y_pred, "For targets with several classes use `categorical_accuracy`."
    )
    predicted = (to_wide_float(y_pred) > threshold).astype(y_true.dtype)
    return jnp.equal(y_true, predicted).astype(floatx())


@metric_function
def categorical_accuracy(y_true: Values, y_pred: Values) -> jax.Array:
    """Return where the largest prediction is at the index of the largest target.

    Args:
        y_true: One-hot targets.
        y_pred: Probabilities or logits, of the same shape.

    Returns:
        Ones and zeros, without the last axis.

    Example:
        >>> podium.metrics.categorical_accuracy([[0, 1], [1, 0]], [[0.2, 0.8], [0.3, 0.7]]).numpy()
        array([1., 0.], dtype=float32)
    """
    y_true, y_pred = match_shapes(y_true, y_pred, _SPARSE_HINT)
    return (fast_argmax(y_true) == fast_argmax(y_pred)).astype(floatx())


@metric_function
def sparse_categorical_accuracy(y_true: Values, y_pred: Values) -> jax.Array:
    """Return where the largest prediction is at the index given by the target.

    Args:
        y_true: Class indices, with or without a last axis of size 1.
        y_pred: Probabilities or logits, with one dimension for the classes at the end.

    Returns:
        Ones and zeros, without the last axis.

    Example:
        >>> podium.metrics.sparse_categorical_accuracy([1, 0], [[0.2, 0.8], [0.3, 0.7]]).numpy()
        array([1., 0.], dtype=float32)
    """
    classes = _class_indices(y_true, y_pred)
    matches = (classes == fast_argmax(y_pred).astype(classes.dtype)).astype(floatx())
    return matches[..., 0] if matches.ndim > 1 and matches.shape[-1] == 1 else matches


@metric_function
def top_k_categorical_accuracy(y_true: Values, y_pred: Values, k: int = 5) -> jax.Array:
    """Return where the class of the largest target is among the `k` largest predictions.

    Args:
        y_true: One-hot targets.
        y_pred: Probabilities or logits, of the same shape.
        k: The number of largest predictions to consider.

    Returns:
        Ones and zeros, without the last axis.

    Example:
        >>> podium.metrics.top_k_categorical_accuracy([[0, 0, 1]], [[0.5, 0.1, 0.4]], k=2).numpy()
        array([1.], dtype=float32)
    """
    y_true, y_pred = match_shapes(y_true, y_pred, _SPARSE_HINT)
    return _in_top_k(fast_argmax(y_true), y_pred, k)


@metric_function
def sparse_top_k_categorical_accuracy(
    y_true: Values, y_pred: Values, k: int = 5, from_sorted_ids: bool = False
) -> jax.Array:
    """Return where the target is among the `k` largest predictions.

    Args:
        y_true: Class indices, with or without a last axis of size 1.
        y_pred: Probabilities or logits for all classes; with `from_sorted_ids`, class indices, the
            likeliest first.
        k: The number of largest predictions to consider.
        from_sorted_ids: Whether `y_pred` holds class indices.

    Returns:
        Ones and zeros, of the shape of `y_true`.

    Example:
        >>> y_pred = [[0.5, 0.1, 0.4], [0.5, 0.1, 0.4]]
        >>> podium.metrics.sparse_top_k_categorical_accuracy([2, 1], y_pred, k=2).numpy()
        array([1., 0.], dtype=float32)
    """
    classes = _class_indices(y_true, y_pred)
    if from_sorted_ids:
        matches = jnp.any(
            classes[..., None].astype(y_pred.dtype) == y_pred[..., :k], axis=-1
        ).astype(floatx())
    else:
        matches = _in_top_k(classes.astype("int32"), y_pred, k)
    return matches.reshape(y_true.shape)


def _class_indices(y_true: jax.Array, y_pred: jax.Array) -> jax.Array:
    """Return targets with one dimension less than the predictions, all of whose lengths are
    equal.
    """
    classes = y_true[..., 0] if y_true.ndim == y_pred.ndim and y_true.shape[-1:] == (1,) else y_true
    if classes.shape != y_pred.shape[:-1]:
        raise ValueError(
            f"y_true has shape {y_true.shape} and y_pred has shape {y_pred.shape}; class indices "
            f"of shape {y_pred.shape[:-1]} or {(*y_pred.shape[:-1], 1)} were expected. For one-hot "
            "targets use the form without `sparse_`."
        )
    return classes


def _in_top_k(classes: jax.Array, y_pred: jax.Array, k: int) -> jax.Array:
    """Return where fewer than `k` predictions are larger than that of the target's class."""
    score = jnp.take_along_axis(y_pred, classes[..., None], axis=-1)
    score = jnp.where(jnp.isnan(score), jnp.full_like(score, -jnp.inf), score)
    return (jnp.sum(y_pred > score, axis=-1) < k).astype(floatx())
