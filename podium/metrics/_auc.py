"""AUC: the area under the ROC, precision-recall or precision-recall-gain curve, from counts in
buckets.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from podium._typing import Config, DTypeLike, TensorLike
from podium.core import Variable, dispatch, epsilon, unknown_choice
from podium.metrics._confusion import (
    KINDS,
    ConfusionCounter,
    ConfusionMetric,
    are_evenly_spaced,
    charge_thresholds,
    check_thresholds,
)
from podium.metrics._confusion_area import area

CURVES = ("ROC", "PR", "PRGAIN")
SUMMATIONS = ("interpolation", "minoring", "majoring")


class AUC(ConfusionMetric):
    """The area under the ROC or precision-recall curve, computed from counts at fixed thresholds.

    Memory does not grow with the data. The result is more exact with more thresholds, and
    with thresholds that split the predictions evenly. `"minoring"` and `"majoring"` return a lower
    and an upper bound.

    Args:
        num_thresholds: How many thresholds, at least 2; ignored if `thresholds` is given.
        curve: `"ROC"`, `"PR"` (precision over recall) or `"PRGAIN"` (their gains).
        summation_method: `"interpolation"`, `"minoring"` or `"majoring"`.
        name: The name of the metric.
        dtype: The dtype of the counts.
        thresholds: Custom thresholds between 0 and 1; one below and one above all predictions
            are added.
        multi_label: Whether to compute an area for each label (entry of the last axis) and
            average them.
        num_labels: How many labels, if `multi_label`; by default found at the first update.
        label_weights: A weight for each label: for the average if `multi_label`, for the counts
            otherwise.
        from_logits: Whether predictions are logits.

    Example:
        >>> metric = podium.metrics.AUC(num_thresholds=3)
        >>> float(metric([0, 0, 1, 1], [0, 0.5, 0.3, 0.9]))
        0.75
        >>> podium.metrics.AUC(curve="RCO")
        Traceback (most recent call last):
        ValueError: Unknown curve 'RCO'. Did you mean 'ROC'? Choices: 'PR', 'PRGAIN', 'ROC'.
    """

    true_positives: Variable
    false_positives: Variable
    true_negatives: Variable
    false_negatives: Variable
    _direction = "up"

    def __init__(
        self,
        num_thresholds: int = 200,
        curve: str = "ROC",
        summation_method: str = "interpolation",
        name: str | None = None,
        dtype: DTypeLike | None = None,
        thresholds: Sequence[float] | None = None,
        multi_label: bool = False,
        num_labels: int | None = None,
        label_weights: Any = None,
        from_logits: bool = False,
    ):
        super().__init__(name, dtype)
        self.curve = _check_choice("curve", curve, CURVES)
        self.summation_method = _check_choice("summation_method", summation_method, SUMMATIONS)
        self._initial_thresholds = (
            None if thresholds is None else sorted(check_thresholds(thresholds))
        )
        self._thresholds, self._evenly = _add_end_points(num_thresholds, self._initial_thresholds)
        self.num_thresholds = len(self._thresholds)
        self.multi_label = multi_label
        self.num_labels = num_labels
        self.label_weights = None if label_weights is None else np.asarray(label_weights, "float32")
        self._from_logits = from_logits
        if num_labels and not multi_label:
            raise ValueError(
                f"AUC was given num_labels={num_labels}, which only counts with `multi_label=True`."
            )
        if not multi_label:
            self._build((self.num_thresholds,))
        elif num_labels:
            self._build((self.num_thresholds, num_labels))

    @property
    def thresholds(self) -> list[float]:
        """The thresholds, the one below and the one above all predictions included."""
        return list(self._thresholds)

    def _build(self, shape: tuple[int, ...]) -> None:
        weights = (
            None
            if self.multi_label or self.label_weights is None
            else tuple(self.label_weights.tolist())
        )
        options: dict[str, Any] = {
            "by_label": self.multi_label,
            "label_weights": weights,
            "from_logits": self._from_logits,
        }
        self._make_counts(
            ConfusionCounter(tuple(self._thresholds), self._evenly, self.dtype, **options),
            KINDS,
            shape,
        )

    def update_state(
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
    ) -> None:
        """Count a batch.

        Args:
            y_true: The targets; what is not 0 is positive.
            y_pred: The predictions, of the same shape; `(samples, labels)` if `multi_label`.
            sample_weight: A weight for each sample, or for each entry.
        """
        if self.multi_label:
            shape = tuple(np.shape(y_pred))
            labels = self.true_positives.shape[1] if self._counts else "labels"
            if len(shape) != 2 or (self._counts and shape[1] != labels):
                raise ValueError(
                    f"AUC {self.name!r} with multi_label=True was given y_pred of shape {shape}; "
                    f"(samples, {labels}) was expected."
                )
            if self._counter is None:
                self._build((self.num_thresholds, shape[1]))
        super().update_state(y_true, y_pred, sample_weight)

    def result(self) -> Any:
        """Return the area so far; 0 before the first batch."""
        if self._counter is None:
            raise RuntimeError(f"AUC {self.name!r} has no state yet. Call `update_state` first.")
        weights = self.label_weights if self.multi_label else None
        return dispatch(area, self.curve, self.summation_method, weights, *self._counts.values())

    def get_config(self) -> Config:
        """Return the arguments that make this metric again."""
        config: dict[str, Any] = super().get_config() | {
            "num_thresholds": self.num_thresholds,
            "curve": self.curve,
            "summation_method": self.summation_method,
            "multi_label": self.multi_label,
            "num_labels": self.num_labels,
            "label_weights": None if self.label_weights is None else self.label_weights.tolist(),
            "from_logits": self._from_logits,
        }
        if self._initial_thresholds is not None:
            config["thresholds"] = self._initial_thresholds
        return config


def _check_choice(argument: str, value: object, choices: Sequence[str]) -> str:
    """Return the choice that equals `value`, ignoring case."""
    for choice in choices:
        if str(value).lower() == choice.lower():
            return choice
    raise unknown_choice(argument, value, choices)


def _add_end_points(number: int, thresholds: list[float] | None) -> tuple[list[float], bool]:
    """Return the thresholds with one just below 0 and one just above 1, and whether they are evenly
    spread.
    """
    if thresholds is None and number < 2:
        raise ValueError(f"AUC was given num_thresholds={number!r}; an int above 1 was expected.")
    charge_thresholds("AUC", number if thresholds is None else 0)
    middle = (
        [step / (number - 1) for step in range(1, number - 1)] if thresholds is None else thresholds
    )
    evenly = thresholds is None or are_evenly_spaced([0.0, *middle, 1.0])
    return [-epsilon(), *middle, 1.0 + epsilon()], evenly
