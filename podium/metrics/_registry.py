"""The registry of metrics and metric functions by name; "accuracy" is resolved by shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from podium import losses
from podium.core import NameRegistry, check_choice, get_registered_object
from podium.metrics import _accuracy_functions, _correlation
from podium.metrics._accuracy import (
    Accuracy,
    BinaryAccuracy,
    CategoricalAccuracy,
    SparseCategoricalAccuracy,
    SparseTopKCategoricalAccuracy,
    TopKCategoricalAccuracy,
)
from podium.metrics._at_value import (
    PrecisionAtRecall,
    RecallAtPrecision,
    SensitivityAtSpecificity,
    SpecificityAtSensitivity,
)
from podium.metrics._auc import AUC
from podium.metrics._confusion_counts import (
    FalseNegatives,
    FalsePositives,
    TrueNegatives,
    TruePositives,
)
from podium.metrics._correlation import ConcordanceCorrelation, PearsonCorrelation
from podium.metrics._f_score import F1Score, FBetaScore
from podium.metrics._hinge import CategoricalHinge, Hinge, SquaredHinge
from podium.metrics._iou import BinaryIoU, IoU, MeanIoU, OneHotIoU, OneHotMeanIoU
from podium.metrics._mean import Mean, MeanMetricWrapper, MeanTensor, Sum
from podium.metrics._metric import Metric
from podium.metrics._metric_function import function_name_of, functions_by_name
from podium.metrics._precision_recall import Precision, Recall
from podium.metrics._probabilistic import (
    BinaryCrossentropy,
    CategoricalCrossentropy,
    KLDivergence,
    Poisson,
    SparseCategoricalCrossentropy,
)
from podium.metrics._r2_score import R2Score
from podium.metrics._regression import (
    CosineSimilarity,
    LogCoshError,
    MeanAbsoluteError,
    MeanAbsolutePercentageError,
    MeanRelativeError,
    MeanSquaredError,
    MeanSquaredLogarithmicError,
    RootMeanSquaredError,
    cosine_similarity,
)

_ALIASES: dict[type[Metric], tuple[str, ...]] = {
    Accuracy: ("acc", "ACC"),
    BinaryCrossentropy: ("bce", "BCE"),
    CosineSimilarity: ("cosine", "cosine_proximity"),
    KLDivergence: ("kld", "KLD", "kullback_leibler_divergence"),
    LogCoshError: ("logcosh", "log_cosh"),
    MeanAbsoluteError: ("mae", "MAE"),
    MeanAbsolutePercentageError: ("mape", "MAPE"),
    MeanSquaredError: ("mse", "MSE"),
    MeanSquaredLogarithmicError: ("msle", "MSLE"),
    RootMeanSquaredError: ("rmse", "RMSE"),
}
_CLASSES = (
    AUC,
    BinaryAccuracy,
    BinaryIoU,
    CategoricalAccuracy,
    CategoricalCrossentropy,
    CategoricalHinge,
    ConcordanceCorrelation,
    F1Score,
    FBetaScore,
    FalseNegatives,
    FalsePositives,
    Hinge,
    IoU,
    Mean,
    MeanIoU,
    MeanMetricWrapper,
    MeanRelativeError,
    MeanTensor,
    OneHotIoU,
    OneHotMeanIoU,
    PearsonCorrelation,
    Poisson,
    Precision,
    PrecisionAtRecall,
    R2Score,
    Recall,
    RecallAtPrecision,
    SensitivityAtSpecificity,
    SparseCategoricalAccuracy,
    SparseCategoricalCrossentropy,
    SparseTopKCategoricalAccuracy,
    SpecificityAtSensitivity,
    SquaredHinge,
    Sum,
    TopKCategoricalAccuracy,
    TrueNegatives,
    TruePositives,
)
_FUNCTIONS = (
    _accuracy_functions.accuracy,
    _accuracy_functions.binary_accuracy,
    _accuracy_functions.categorical_accuracy,
    _accuracy_functions.sparse_categorical_accuracy,
    _accuracy_functions.sparse_top_k_categorical_accuracy,
    _accuracy_functions.top_k_categorical_accuracy,
    _correlation.concordance_correlation,
    _correlation.pearson_correlation,
    cosine_similarity,
    losses.binary_crossentropy,
    losses.binary_focal_crossentropy,
    losses.categorical_crossentropy,
    losses.categorical_focal_crossentropy,
    losses.categorical_hinge,
    losses.hinge,
    losses.huber,
    losses.kl_divergence,
    losses.log_cosh,
    losses.mean_absolute_error,
    losses.mean_absolute_percentage_error,
    losses.mean_squared_error,
    losses.mean_squared_logarithmic_error,
    losses.poisson,
    losses.sparse_categorical_crossentropy,
    losses.squared_hinge,
)

metrics_by_name = NameRegistry("metric", Metric, module="keras.metrics")
for _function in _FUNCTIONS:
    functions_by_name.add(_function.__name__, _function)
    metrics_by_name.add(_function.__name__, _function)  # a class of this name takes its place below
for _metric_class in _CLASSES:
    metrics_by_name.add_class(_metric_class)
for _class, _names in _ALIASES.items():
    metrics_by_name.add_class(_class, *_names)

_BY_SHAPE: dict[str, tuple[type[Metric], type[Metric], type[Metric]]] = {
    "accuracy": (BinaryAccuracy, SparseCategoricalAccuracy, CategoricalAccuracy),
    "acc": (BinaryAccuracy, SparseCategoricalAccuracy, CategoricalAccuracy),
    "crossentropy": (BinaryCrossentropy, SparseCategoricalCrossentropy, CategoricalCrossentropy),
    "ce": (BinaryCrossentropy, SparseCategoricalCrossentropy, CategoricalCrossentropy),
}


def resolve_accuracy(
    name: str, y_true_shape: Sequence[int | None], y_pred_shape: Sequence[int | None]
) -> type[Metric]:
    """Return the class that `"accuracy"`, `"acc"`, `"crossentropy"` or `"ce"` means for these
    shapes.

    Predictions with one number for each sample are binary. Otherwise targets with fewer dimensions
    than predictions, or with a last one of length one, are class indices; all others are one-hot.

    Args:
        name: The word, in upper or lower case.
        y_true_shape: The shape of the targets, None for unknown lengths.
        y_pred_shape: The shape of the predictions, None for unknown lengths.

    Returns:
        The class; make it with `name=name`, so that logs show the word that was given.

    Example:
        >>> podium.metrics.resolve_accuracy("acc", (None,), (None, 10))(name="acc")
        <SparseCategoricalAccuracy name=acc>
        >>> podium.metrics.resolve_accuracy("accuracy", (None, 1), (None, 1)).__name__
        'BinaryAccuracy'
    """
    binary, sparse, categorical = _BY_SHAPE[
        check_choice("metric", str(name).lower(), tuple(_BY_SHAPE))
    ]
    if len(y_pred_shape) < 2 or y_pred_shape[-1] == 1:
        return binary
    if len(y_true_shape) < len(y_pred_shape) or y_true_shape[-1] == 1:
        return sparse
    return categorical


def get(identifier: Any) -> Any:
    """Return the metric that an argument means.

    Args:
        identifier: A name (`"mse"`, `"mean_squared_error"` or `"MeanSquaredError"`), a config, a
            class, an instance, a function of targets and predictions, or None.

    Returns:
        A new metric for a name, a config or a class; an instance or function as it is; None for
        None.

    Example:
        >>> podium.metrics.get("mae")
        <MeanAbsoluteError name=mean_absolute_error>
        >>> podium.metrics.get({"class_name": "AUC", "config": {"curve": "PR"}}).curve
        'PR'
        >>> podium.metrics.get("mean_square_error")
        Traceback (most recent call last):
        ValueError: Unknown metric 'mean_square_error'. Did you mean 'mean_squared_error'? Choices:
            ...
    """
    return (
        deserialize(identifier)
        if isinstance(identifier, Mapping)
        else metrics_by_name.get(identifier)
    )


def serialize(metric: Any) -> Any:
    """Return a config that `deserialize` converts back to the metric.

    Example:
        >>> podium.metrics.serialize(podium.metrics.BinaryAccuracy(threshold=0.3))["config"]
        {'name': 'binary_accuracy', 'dtype': 'float32', 'threshold': 0.3}
    """
    return (
        metrics_by_name.serialize(metric)
        if isinstance(metric, Metric)
        else functions_by_name.serialize(metric)
    )


def deserialize(config: Any, custom_objects: Mapping[str, Any] | None = None) -> Any:
    """Make a metric from `serialize`'s result.

    Args:
        config: The config, or a name.
        custom_objects: Your own classes and functions by name.

    Example:
        >>> config = podium.metrics.serialize(podium.metrics.Precision(top_k=3))
        >>> podium.metrics.deserialize(config).top_k
        3
    """
    function = function_name_of(config)
    name = config if isinstance(config, str) else function
    registered = None if name is None else get_registered_object(name, custom_objects)
    if registered is not None:
        return registered() if isinstance(registered, type) else registered
    return (
        functions_by_name.get(function)
        if function
        else metrics_by_name.deserialize(config, custom_objects)
    )
