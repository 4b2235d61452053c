"""F-scores: the weighted harmonic mean of precision and recall, by class or averaged."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from podium._typing import Config, DTypeLike, TensorLike
from podium.core import Variable, dispatch, epsilon, unknown_choice
from podium.metrics._alignment import broadcast_weights, match_shapes
from podium.metrics._metric import Metric, stop_gradient_of

AVERAGES = ("micro", "macro", "weighted")
_STATE = ("true_positives", "false_positives", "false_negatives", "intermediate_weights")


class FBetaScore(Metric):
    """The F-beta score `(1 + b²) · precision · recall / (b² · precision + recall)`, for classes or
    labels.

    Args:
        average: None for a score for each class; `"micro"` for one from all counts together,
            `"macro"` for the mean of the classes' scores, `"weighted"` for their mean weighted by
            how often each class occurs.
        beta: The weight of recall relative to precision.
        threshold: Predictions above it are positive; None for the largest of each sample.
        name: The name of the metric.
        dtype: The dtype of the counts.

    Example:
        >>> metric = podium.metrics.FBetaScore(beta=2.0, threshold=0.5)
        >>> y_true = np.array([[1, 1, 1], [1, 0, 0], [1, 1, 0]])
        >>> y_pred = np.array([[0.2, 0.6, 0.7], [0.2, 0.6, 0.6], [0.6, 0.8, 0.0]])
        >>> metric(y_true, y_pred).numpy().round(4)
        array([0.3846, 0.9091, 0.8333], dtype=float32)
    """

    true_positives: Variable
    false_positives: Variable
    false_negatives: Variable
    intermediate_weights: Variable
    _direction = "up"

    def __init__(
        self,
        average: str | None = None,
        beta: float = 1.0,
        threshold: float | None = None,
        name: str | None = "fbeta_score",
        dtype: DTypeLike | None = None,
    ):
        super().__init__(dtype, name)
        if average is not None and average not in AVERAGES:
            raise unknown_choice("average", average, (None, *AVERAGES))
        if isinstance(beta, bool) or not isinstance(beta, (int, float)) or beta <= 0:
            raise ValueError(
                f"{type(self).__name__} was given beta={beta!r}; a number above zero was expected."
            )
        is_number = isinstance(threshold, (int, float)) and not isinstance(threshold, bool)
        if threshold is not None and not (is_number and 0 < threshold <= 1):
            raise ValueError(
                f"{type(self).__name__} was given threshold={threshold!r}; a number with "
                "0 < threshold <= 1, or None, was expected."
            )
        self.average = average
        self.beta = beta
        self.threshold = threshold
        self._built = False

    def update_state(
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
    ) -> None:
        """Count a batch.

        Args:
            y_true: The targets, 0 or 1, of shape `(samples, classes)`.
            y_pred: The predictions, of the same shape.
            sample_weight: A weight for each sample.
        """
        targets, predictions = stop_gradient_of(y_true), stop_gradient_of(y_pred)
        if len(targets.shape) != 2 or len(predictions.shape) != 2:
            raise ValueError(
                f"{type(self).__name__} {self.name!r} was given y_true of shape "
                f"{tuple(targets.shape)} and y_pred of shape "
                f"{tuple(predictions.shape)}; (samples, classes) was expected for both. Convert "
                "class "
                "indices with `podium.ops.one_hot` first."
            )
        if not self._built:
            shape = () if self.average == "micro" else (predictions.shape[1],)
            for name in _STATE:
                setattr(self, name, self.add_variable(shape, name=name))
            self._built = True
        parts = dispatch(self._count, targets, predictions, stop_gradient_of(sample_weight))
        for name, part in zip(_STATE, parts, strict=True):
            getattr(self, name).assign_add(part)

    def _count(
        self, y_true: jax.Array, y_pred: jax.Array, weight: jax.Array | None
    ) -> tuple[jax.Array, ...]:
        y_true, y_pred = match_shapes(y_true.astype(self.dtype), y_pred.astype(self.dtype))
        if self.threshold is None:
            largest = jnp.max(y_pred, axis=-1, keepdims=True)
            positive = (y_pred >= largest) & (
                jnp.abs(y_pred) > 1e-9
            )  # a row of zeros predicts nothing
        else:
            positive = y_pred > self.threshold
        guess = positive.astype(self.dtype)
        weight = (
            jnp.ones_like(y_true)
            if weight is None
            else broadcast_weights(weight.astype(self.dtype), y_true.shape)
        )
        axis = None if self.average == "micro" else 0
        counts = guess * y_true, guess * (1 - y_true), (1 - guess) * y_true, y_true
        return tuple(jnp.sum(count * weight, axis=axis) for count in counts)

    def result(self) -> Any:
        """Return the score so far: a number, or one for each class if there is no `average`."""
        if not self._built:
            raise RuntimeError(
                f"{type(self).__name__} {self.name!r} has no state yet. Call `update_state` first."
            )
        return dispatch(
            _f_score, *[getattr(self, name) for name in _STATE], self.beta, self.average
        )

    def get_config(self) -> Config:
        """Return the arguments that make this metric again."""
        return super().get_config() | {
            "average": self.average,
            "beta": self.beta,
            "threshold": self.threshold,
        }


class F1Score(FBetaScore):
    """The F1 score, the harmonic mean of precision and recall, for classes or labels.

    Args:
        average: None for a score for each class; `"micro"`, `"macro"` or `"weighted"` for one
            score; see `FBetaScore`.
        threshold: Predictions above it are positive; None for the largest of each sample.
        name: The name of the metric.
        dtype: The dtype of the counts.

    Example:
        >>> metric = podium.metrics.F1Score(average="macro", threshold=0.5)
        >>> y_true = np.array([[1, 1, 1], [1, 0, 0], [1, 1, 0]])
        >>> y_pred = np.array([[0.2, 0.6, 0.7], [0.2, 0.6, 0.6], [0.6, 0.8, 0.0]])
        >>> round(float(metric(y_true, y_pred)), 4)
        0.6556
    """

    def __init__(
        self,
        average: str | None = None,
        threshold: float | None = None,
        name: str | None = "f1_score",
        dtype: DTypeLike | None = None,
    ):
        super().__init__(average, 1.0, threshold, name, dtype)

    def get_config(self) -> Config:
        """Return the arguments that make this metric again."""
        config = super().get_config()
        del config["beta"]
        return config


def _f_score(
    tp: jax.Array,
    fp: jax.Array,
    fn: jax.Array,
    support: jax.Array,
    beta: float,
    average: str | None,
) -> jax.Array:
    tiny, square = epsilon(), float(beta) ** 2
    precision = tp / (tp + fp + tiny)
    recall = tp / (tp + fn + tiny)
    score = precision * recall / (square * precision + recall + tiny) * (1 + square)
    if average == "weighted":
        return jnp.sum(score * (support / (jnp.sum(support) + tiny)))
    return score if average is None else jnp.mean(score)
