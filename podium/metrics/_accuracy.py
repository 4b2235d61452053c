"""Running accuracies, and which of them `"accuracy"` means for given shapes."""

from __future__ import annotations

from podium._typing import DTypeLike
from podium.metrics._accuracy_functions import (
    accuracy,
    binary_accuracy,
    categorical_accuracy,
    sparse_categorical_accuracy,
    sparse_top_k_categorical_accuracy,
    top_k_categorical_accuracy,
)
from podium.metrics._mean import MeanMetricWrapper


class Accuracy(MeanMetricWrapper):
    """How often predictions equal their targets.

    Args:
        name: The name of the metric.
        dtype: The dtype of the sums.

    Example:
        >>> metric = podium.metrics.Accuracy()
        >>> float(metric([1, 2, 3, 4], [0, 2, 3, 4]))
        0.75
    """

    _direction = "up"

    def __init__(self, name: str | None = "accuracy", dtype: DTypeLike | None = None):
        super().__init__(accuracy, name, dtype)


class BinaryAccuracy(MeanMetricWrapper):
    """How often predictions are on the right side of a threshold.

    Args:
        name: The name of the metric.
        dtype: The dtype of the sums.
        threshold: Predictions above it mean 1.

    Example:
        >>> metric = podium.metrics.BinaryAccuracy()
        >>> float(metric([1, 1, 0, 0], [0.98, 1, 0, 0.6], sample_weight=[1, 0, 0, 1]))
        0.5
    """

    _direction = "up"

    def __init__(
        self,
        name: str | None = "binary_accuracy",
        dtype: DTypeLike | None = None,
        threshold: float = 0.5,
    ):
        super().__init__(binary_accuracy, name, dtype, threshold=threshold)
        self.threshold = threshold


class CategoricalAccuracy(MeanMetricWrapper):
    """How often the largest prediction is at the index of the one-hot target.

    Args:
        name: The name of the metric.
        dtype: The dtype of the sums.

    Example:
        >>> metric = podium.metrics.CategoricalAccuracy()
        >>> float(metric([[0, 0, 1], [0, 1, 0]], [[0.1, 0.9, 0.8], [0.05, 0.95, 0]]))
        0.5
    """

    _direction = "up"

    def __init__(self, name: str | None = "categorical_accuracy", dtype: DTypeLike | None = None):
        super().__init__(categorical_accuracy, name, dtype)


class SparseCategoricalAccuracy(MeanMetricWrapper):
    """How often the largest prediction is at the index given by the target.

    Args:
        name: The name of the metric.
        dtype: The dtype of the sums.

    Example:
        >>> metric = podium.metrics.SparseCategoricalAccuracy()
        >>> float(metric([[2], [1]], [[0.1, 0.6, 0.3], [0.05, 0.95, 0]], sample_weight=[1, 3]))
        0.75
    """

    _direction = "up"

    def __init__(
        self, name: str | None = "sparse_categorical_accuracy", dtype: DTypeLike | None = None
    ):
        super().__init__(sparse_categorical_accuracy, name, dtype)


class TopKCategoricalAccuracy(MeanMetricWrapper):
    """How often the class of the one-hot target is among the `k` largest predictions.

    Args:
        k: The number of largest predictions to consider.
        name: The name of the metric.
        dtype: The dtype of the sums.

    Example:
        >>> metric = podium.metrics.TopKCategoricalAccuracy(k=1)
        >>> float(metric([[0, 0, 1], [0, 1, 0]], [[0.1, 0.9, 0.8], [0.05, 0.95, 0]]))
        0.5
    """

    _direction = "up"

    def __init__(
        self,
        k: int = 5,
        name: str | None = "top_k_categorical_accuracy",
        dtype: DTypeLike | None = None,
    ):
        super().__init__(top_k_categorical_accuracy, name, dtype, k=k)
        self.k = k


class SparseTopKCategoricalAccuracy(MeanMetricWrapper):
    """How often the target is among the `k` largest predictions.

    Args:
        k: The number of largest predictions to consider.
        name: The name of the metric.
        dtype: The dtype of the sums.
        from_sorted_ids: Whether predictions are class indices, the likeliest first, instead of
            scores.

    Example:
        >>> metric = podium.metrics.SparseTopKCategoricalAccuracy(k=1)
        >>> float(metric([2, 1], [[0.1, 0.9, 0.8], [0.05, 0.95, 0]]))
        0.5
    """

    _direction = "up"

    def __init__(
        self,
        k: int = 5,
        name: str | None = "sparse_top_k_categorical_accuracy",
        dtype: DTypeLike | None = None,
        from_sorted_ids: bool = False,
    ):
        super().__init__(
            sparse_top_k_categorical_accuracy, name, dtype, k=k, from_sorted_ids=from_sorted_ids
        )
        self.k = k
        self.from_sorted_ids = from_sorted_ids
