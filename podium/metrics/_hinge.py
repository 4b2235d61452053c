"""Hinge metrics: the running means of the hinge losses."""

from __future__ import annotations

from podium._typing import DTypeLike
from podium.losses import categorical_hinge, hinge, squared_hinge
from podium.metrics._mean import MeanMetricWrapper


class Hinge(MeanMetricWrapper):
    """The mean of `max(1 - y_true · y_pred, 0)`; targets are -1 or 1 (0 is taken as -1).

    Args:
        name: The name of the metric.
        dtype: The dtype of the sums.

    Example:
        >>> metric = podium.metrics.Hinge()
        >>> round(float(metric([[0, 1], [0, 0]], [[0.6, 0.4], [0.4, 0.6]])), 4)
        1.3
    """

    _direction = "down"

    def __init__(self, name: str | None = "hinge", dtype: DTypeLike | None = None):
        super().__init__(hinge, name, dtype)


class SquaredHinge(MeanMetricWrapper):
    """The mean of `max(1 - y_true · y_pred, 0)²`; targets are -1 or 1 (0 is taken as -1).

    Args:
        name: The name of the metric.
        dtype: The dtype of the sums.

    Example:
        >>> metric = podium.metrics.SquaredHinge()
        >>> round(float(metric([[0, 1], [0, 0]], [[0.6, 0.4], [0.4, 0.6]])), 4)
        1.86
    """

    _direction = "down"

    def __init__(self, name: str | None = "squared_hinge", dtype: DTypeLike | None = None):
        super().__init__(squared_hinge, name, dtype)


class CategoricalHinge(MeanMetricWrapper):
    """The mean of how far the right class is from leading all others by one.

    Args:
        name: The name of the metric.
        dtype: The dtype of the sums.

    Example:
        >>> metric = podium.metrics.CategoricalHinge()
        >>> round(float(metric([[0, 1], [0, 0]], [[0.6, 0.4], [0.4, 0.6]])), 4)
        1.4
    """

    _direction = "down"

    def __init__(self, name: str | None = "categorical_hinge", dtype: DTypeLike | None = None):
        super().__init__(categorical_hinge, name, dtype)
