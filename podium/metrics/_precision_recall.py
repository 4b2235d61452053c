"""Precision and recall at thresholds, or among the top k predictions."""

from __future__ import annotations

from typing import Any

from podium._typing import Config, DTypeLike
from podium.core import Variable, dispatch
from podium.metrics._alignment import divide_or_zero
from podium.metrics._confusion import (
    BELOW_ALL_THRESHOLDS,
    ConfusionCounter,
    ConfusionMetric,
    are_evenly_spaced,
    check_thresholds,
)
from podium.metrics._confusion_counts import squeeze_single


class _ShareOfRight(ConfusionMetric):
    """The base of both: true positives divided by them and one kind of mistake."""

    true_positives: Variable
    _direction = "up"
    _mistakes = ""

    def __init__(
        self,
        thresholds: Any = None,
        top_k: int | None = None,
        class_id: int | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
    ):
        super().__init__(name, dtype)
        self.init_thresholds = thresholds
        self.top_k = top_k
        self.class_id = class_id
        self.thresholds = check_thresholds(
            thresholds, default=0.5 if top_k is None else BELOW_ALL_THRESHOLDS
        )
        counter = ConfusionCounter(
            tuple(self.thresholds), are_evenly_spaced(self.thresholds), self.dtype, top_k, class_id
        )
        self._make_counts(counter, ["true_positives", self._mistakes], (len(self.thresholds),))

    def result(self) -> Any:
        """Return the share so far: a number, or one for each of several thresholds; 0 where there
        is nothing to share.
        """
        return dispatch(_share, self.true_positives, getattr(self, self._mistakes))

    def get_config(self) -> Config:
        """Return the arguments that make this metric again."""
        config = {
            "thresholds": self.init_thresholds,
            "top_k": self.top_k,
            "class_id": self.class_id,
        }
        return super().get_config() | config


class Precision(_ShareOfRight):
    """The share of positive predictions that are right.

    Args:
        thresholds: Predictions above it are positive: a number from 0 to 1 (0.5 by default), or
            several. For logits, 0.
        top_k: Count only the `k` largest predictions of each sample as positive.
        class_id: The only class (index of the last axis) to consider.
        name: The name of the metric.
        dtype: The dtype of the counts.

    Example:
        >>> metric = podium.metrics.Precision()
        >>> round(float(metric([0, 1, 1, 1], [1, 0, 1, 1])), 4)
        0.6667
        >>> metric = podium.metrics.Precision(top_k=1)
        >>> float(metric([[0, 1, 0], [0, 0, 1]], [[0.1, 0.4, 0.2], [0.1, 0.4, 0.3]]))
        0.5
    """

    false_positives: Variable
    _mistakes = "false_positives"


class Recall(_ShareOfRight):
    """The share of positive targets that are predicted.

    Args:
        thresholds: Predictions above it are positive: a number from 0 to 1 (0.5 by default), or
            several. For logits, 0.
        top_k: Count only the `k` largest predictions of each sample as positive.
        class_id: The only class (index of the last axis) to consider.
        name: The name of the metric.
        dtype: The dtype of the counts.

    Example:
        >>> metric = podium.metrics.Recall(thresholds=[0.2, 0.8])
        >>> metric([0, 1, 1, 1, 1], [0.9, 0.1, 0.5, 0.9, 0.3]).numpy()
        array([0.75, 0.25], dtype=float32)
    """

    false_negatives: Variable
    _mistakes = "false_negatives"


def _share(right: Any, mistakes: Any) -> Any:
    return squeeze_single(divide_or_zero(right, right + mistakes))
