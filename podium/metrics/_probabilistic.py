"""Probabilistic metrics: the running means of crossentropies, KL divergence and Poisson loss."""

from __future__ import annotations

from podium._typing import DTypeLike
from podium.losses import (
    binary_crossentropy,
    categorical_crossentropy,
    kl_divergence,
    poisson,
    sparse_categorical_crossentropy,
)
from podium.metrics._mean import MeanMetricWrapper


class KLDivergence(MeanMetricWrapper):
    """The mean Kullback-Leibler divergence `y_true · log(y_true / y_pred)`.

    Args:
        name: The name of the metric.
        dtype: The dtype of the sums.

    Example:
        >>> metric = podium.metrics.KLDivergence()
        >>> round(float(metric([[0, 1], [0, 0]], [[0.6, 0.4], [0.4, 0.6]])), 4)
        0.4581
    """

    _direction = "down"

    def __init__(self, name: str | None = "kl_divergence", dtype: DTypeLike | None = None):
        super().__init__(kl_divergence, name, dtype)


class Poisson(MeanMetricWrapper):
    """The mean of `y_pred - y_true · log(y_pred)`.

    Args:
        name: The name of the metric.
        dtype: The dtype of the sums.

    Example:
        >>> metric = podium.metrics.Poisson()
        >>> round(float(metric([[0, 1], [0, 0]], [[1, 1], [0, 0]])), 4)
        0.5
    """

    _direction = "down"

    def __init__(self, name: str | None = "poisson", dtype: DTypeLike | None = None):
        super().__init__(poisson, name, dtype)


class BinaryCrossentropy(MeanMetricWrapper):
    """The mean crossentropy of targets 0 and 1.

    Args:
        name: The name of the metric.
        dtype: The dtype of the sums.
        from_logits: Whether predictions are logits.
        label_smoothing: How far, from 0 to 1, targets are moved towards one half.

    Example:
        >>> metric = podium.metrics.BinaryCrossentropy()
        >>> round(float(metric([[0, 1], [0, 0]], [[0.6, 0.4], [0.4, 0.6]])), 4)
        0.8149
    """

    _direction = "down"

    def __init__(
        self,
        name: str | None = "binary_crossentropy",
        dtype: DTypeLike | None = None,
        from_logits: bool = False,
        label_smoothing: float = 0,
    ):
        super().__init__(
            binary_crossentropy,
            name,
            dtype,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
        )
        self.from_logits = from_logits
        self.label_smoothing = label_smoothing


class CategoricalCrossentropy(MeanMetricWrapper):
    """The mean crossentropy of one-hot targets.

    Args:
        name: The name of the metric.
        dtype: The dtype of the sums.
        from_logits: Whether predictions are logits.
        label_smoothing: How far, from 0 to 1, targets are moved towards even shares.
        axis: The dimension of the classes.

    Example:
        >>> metric = podium.metrics.CategoricalCrossentropy()
        >>> round(float(metric([[0, 1, 0], [0, 0, 1]], [[0.05, 0.95, 0], [0.1, 0.8, 0.1]])), 4)
        1.1769
    """

    _direction = "down"

    def __init__(
        self,
        name: str | None = "categorical_crossentropy",
        dtype: DTypeLike | None = None,
        from_logits: bool = False,
        label_smoothing: float = 0,
        axis: int = -1,
    ):
        options = {"from_logits": from_logits, "label_smoothing": label_smoothing, "axis": axis}
        super().__init__(categorical_crossentropy, name, dtype, **options)
        self.from_logits = from_logits
        self.label_smoothing = label_smoothing
        self.axis = axis


class SparseCategoricalCrossentropy(MeanMetricWrapper):
    """The mean crossentropy of targets that are class indices.

    Args:
        name: The name of the metric.
        dtype: The dtype of the sums.
        from_logits: Whether predictions are logits.
        ignore_class: A class index whose targets count as 0.
        axis: The dimension of the classes.

    Example:
        >>> metric = podium.metrics.SparseCategoricalCrossentropy()
        >>> round(float(metric([1, 2], [[0.05, 0.95, 0], [0.1, 0.8, 0.1]])), 4)
        1.1769
    """

    _direction = "down"

    def __init__(
        self,
        name: str | None = "sparse_categorical_crossentropy",
        dtype: DTypeLike | None = None,
        from_logits: bool = False,
        ignore_class: int | None = None,
        axis: int = -1,
    ):
        options = {"from_logits": from_logits, "ignore_class": ignore_class, "axis": axis}
        super().__init__(sparse_categorical_crossentropy, name, dtype, **options)
        self.from_logits = from_logits
        self.ignore_class = ignore_class
        self.axis = axis
