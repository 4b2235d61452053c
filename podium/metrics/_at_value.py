"""The best of one rate where another reaches a required value: sensitivity at specificity etc."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from podium._typing import Config, DTypeLike
from podium.core import Variable, dispatch
from podium.metrics._alignment import divide_or_zero
from podium.metrics._confusion import (
    KINDS,
    ConfusionCounter,
    ConfusionMetric,
    charge_thresholds,
)


class _BestAtValue(ConfusionMetric):
    """The abstract base of the four: counts at `num_thresholds` thresholds from 0 to 1."""

    true_positives: Variable
    false_positives: Variable
    true_negatives: Variable
    false_negatives: Variable
    _direction = "up"
    _constraint = ""  # the rate that must reach the value; also the name of the argument
    _objective = ""  # the rate to return

    def __init__(
        self,
        value: float,
        num_thresholds: int,
        class_id: int | None,
        name: str | None,
        dtype: DTypeLike | None,
    ):
        super().__init__(name, dtype)
        if not 0 <= value <= 1:
            raise ValueError(
                f"{type(self).__name__} was given {self._constraint}={value!r}; a number from 0 "
                "to 1 "
                "was expected."
            )
        if num_thresholds < 1:
            raise ValueError(
                f"{type(self).__name__} was given num_thresholds={num_thresholds!r}; an int "
                "above zero was expected."
            )
        self.value = value
        self.num_thresholds = num_thresholds
        self.class_id = class_id
        charge_thresholds(type(self).__name__, num_thresholds)
        steps = range(1, num_thresholds - 1)
        middle = [step / (num_thresholds - 1) for step in steps]
        self.thresholds = [0.5] if num_thresholds == 1 else [0.0, *middle, 1.0]
        counter = ConfusionCounter(
            tuple(self.thresholds), num_thresholds > 1, self.dtype, class_id=class_id
        )
        self._make_counts(counter, KINDS, (num_thresholds,))

    def result(self) -> Any:
        """Return the best rate so far; 0 where no threshold reaches the required value."""
        counts = (
            self.true_positives,
            self.false_positives,
            self.true_negatives,
            self.false_negatives,
        )
        return dispatch(_best_objective, self._constraint, self._objective, self.value, *counts)

    def get_config(self) -> Config:
        """Return the arguments that make this metric again."""
        config = {
            "class_id": self.class_id,
            "num_thresholds": self.num_thresholds,
            self._constraint: self.value,
        }
        return super().get_config() | config


class SensitivityAtSpecificity(_BestAtValue):
    """The best sensitivity (share of positives found) where specificity (share of negatives found)
    is at least a value.

    Args:
        specificity: The required specificity, from 0 to 1.
        num_thresholds: The number of thresholds.
        class_id: The only class (index of the last axis) to consider.
        name: The name of the metric.
        dtype: The dtype of the counts.

    Example:
        >>> metric = podium.metrics.SensitivityAtSpecificity(0.5)
        >>> float(metric([0, 0, 0, 1, 1], [0, 0.3, 0.8, 0.3, 0.8]))
        0.5
    """

    _constraint, _objective = "specificity", "sensitivity"

    def __init__(
        self,
        specificity: float,
        num_thresholds: int = 200,
        class_id: int | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
    ):
        super().__init__(specificity, num_thresholds, class_id, name, dtype)
        self.specificity = specificity


class SpecificityAtSensitivity(_BestAtValue):
    """The best specificity (share of negatives found) where sensitivity (share of positives found)
    is at least a value.

    Args:
        sensitivity: The required sensitivity, from 0 to 1.
        num_thresholds: The number of thresholds.
        class_id: The only class (index of the last axis) to consider.
        name: The name of the metric.
        dtype: The dtype of the counts.

    Example:
        >>> metric = podium.metrics.SpecificityAtSensitivity(0.5)
        >>> round(float(metric([0, 0, 0, 1, 1], [0, 0.3, 0.8, 0.3, 0.8])), 4)
        0.6667
    """

    _constraint, _objective = "sensitivity", "specificity"

    def __init__(
        self,
        sensitivity: float,
        num_thresholds: int = 200,
        class_id: int | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
    ):
        super().__init__(sensitivity, num_thresholds, class_id, name, dtype)
        self.sensitivity = sensitivity


class PrecisionAtRecall(_BestAtValue):
    """The best precision where recall is at least a value.

    Args:
        recall: The required recall, from 0 to 1.
        num_thresholds: The number of thresholds.
        class_id: The only class (index of the last axis) to consider.
        name: The name of the metric.
        dtype: The dtype of the counts.

    Example:
        >>> metric = podium.metrics.PrecisionAtRecall(0.5)
        >>> float(metric([0, 0, 0, 1, 1], [0, 0.3, 0.8, 0.3, 0.8]))
        0.5
    """

    _constraint, _objective = "recall", "precision"

    def __init__(
        self,
        recall: float,
        num_thresholds: int = 200,
        class_id: int | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
    ):
        super().__init__(recall, num_thresholds, class_id, name, dtype)
        self.recall = recall


class RecallAtPrecision(_BestAtValue):
    """The best recall where precision is at least a value.

    Args:
        precision: The required precision, from 0 to 1.
        num_thresholds: The number of thresholds.
        class_id: The only class (index of the last axis) to consider.
        name: The name of the metric.
        dtype: The dtype of the counts.

    Example:
        >>> metric = podium.metrics.RecallAtPrecision(0.8)
        >>> float(metric([0, 0, 1, 1], [0, 0.5, 0.3, 0.9]))
        0.5
    """

    _constraint, _objective = "precision", "recall"

    def __init__(
        self,
        precision: float,
        num_thresholds: int = 200,
        class_id: int | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
    ):
        super().__init__(precision, num_thresholds, class_id, name, dtype)
        self.precision = precision


def _best_objective(
    constraint: str,
    objective: str,
    value: float,
    tp: jax.Array,
    fp: jax.Array,
    tn: jax.Array,
    fn: jax.Array,
) -> jax.Array:
    """Return the largest objective at a threshold where the constraint reaches the value."""
    rates = {
        "precision": (tp, fp),
        "recall": (tp, fn),
        "sensitivity": (tp, fn),
        "specificity": (tn, fp),
    }
    reached, offered = (
        divide_or_zero(right, right + mistakes)
        for right, mistakes in (rates[constraint], rates[objective])
    )
    return jnp.max(jnp.where(reached >= value, offered, jnp.zeros_like(offered)))
