"""The four counts by themselves: true and false positives and negatives."""

from __future__ import annotations

from typing import Any

import jax

from podium._typing import Config, DTypeLike
from podium.core import Variable, dispatch
from podium.metrics._confusion import (
    ConfusionCounter,
    ConfusionMetric,
    are_evenly_spaced,
    check_thresholds,
)


class _Count(ConfusionMetric):
    """The base of the four: one count at one threshold or several."""

    accumulator: Variable
    _kind = ""

    def __init__(
        self, thresholds: Any = None, name: str | None = None, dtype: DTypeLike | None = None
    ):
        super().__init__(name, dtype)
        self.init_thresholds = thresholds
        self.thresholds = check_thresholds(thresholds)
        counter = ConfusionCounter(
            tuple(self.thresholds), are_evenly_spaced(self.thresholds), self.dtype
        )
        self._make_counts(counter, [self._kind], (len(self.thresholds),), name="accumulator")

    def result(self) -> Any:
        """Return the count so far: a number, or one for each of several thresholds."""
        return dispatch(squeeze_single, self.accumulator)

    def get_config(self) -> Config:
        """Return the arguments that make this metric again."""
        return super().get_config() | {"thresholds": self.init_thresholds}


class TruePositives(_Count):
    """How many positive predictions are right, or the sum of their weights.

    Args:
        thresholds: Predictions above it are positive: a number from 0 to 1 (0.5 by default), or
            several.
        name: The name of the metric.
        dtype: The dtype of the count.

    Example:
        >>> metric = podium.metrics.TruePositives()
        >>> float(metric([0, 1, 1, 1], [1, 0, 1, 1]))
        2.0
    """

    _kind = "true_positives"


class FalsePositives(_Count):
    """How many positive predictions are wrong, or the sum of their weights.

    Args:
        thresholds: Predictions above it are positive: a number from 0 to 1 (0.5 by default), or
            several.
        name: The name of the metric.
        dtype: The dtype of the count.

    Example:
        >>> metric = podium.metrics.FalsePositives(thresholds=[0.2, 0.8])
        >>> metric([0, 1, 0, 0], [0.1, 0.9, 0.5, 0.9]).numpy()
        array([2., 1.], dtype=float32)
    """

    _kind = "false_positives"


class TrueNegatives(_Count):
    """How many negative predictions are right, or the sum of their weights.

    Args:
        thresholds: Predictions above it are positive: a number from 0 to 1 (0.5 by default), or
            several.
        name: The name of the metric.
        dtype: The dtype of the count.

    Example:
        >>> metric = podium.metrics.TrueNegatives()
        >>> float(metric([0, 1, 0, 0], [1, 1, 0, 0], sample_weight=[0, 0, 1, 0]))
        1.0
    """

    _kind = "true_negatives"


class FalseNegatives(_Count):
    """How many negative predictions are wrong, or the sum of their weights.

    Args:
        thresholds: Predictions above it are positive: a number from 0 to 1 (0.5 by default), or
            several.
        name: The name of the metric.
        dtype: The dtype of the count.

    Example:
        >>> metric = podium.metrics.FalseNegatives()
        >>> float(metric([0, 1, 1, 1], [0, 1, 0, 0]))
        2.0
    """

    _kind = "false_negatives"


def squeeze_single(values: jax.Array) -> jax.Array:
    """Return the values, or the only one of them as a number."""
    return values[0] if len(values) == 1 else values * 1
