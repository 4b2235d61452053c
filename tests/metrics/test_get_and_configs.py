"""`metrics.get` and configs of metrics; the choice of the accuracy by shapes."""

import numpy as np
import pytest

import podium
from podium import metrics

ARGUMENTS = {
    "SensitivityAtSpecificity": {"specificity": 0.5},
    "SpecificityAtSensitivity": {"sensitivity": 0.5, "num_thresholds": 9},
    "PrecisionAtRecall": {"recall": 0.5, "class_id": 1},
    "RecallAtPrecision": {"precision": 0.5},
    "IoU": {"num_classes": 3, "target_class_ids": [0, 1], "ignore_class": 2},
    "MeanIoU": {"num_classes": 3, "axis": 1},
    "OneHotIoU": {"num_classes": 3, "target_class_ids": [1]},
    "OneHotMeanIoU": {"num_classes": 3},
    "BinaryIoU": {"threshold": 0.2},
    "MeanRelativeError": {"normalizer": [1.0, 2.0]},
    "MeanMetricWrapper": {"fn": metrics.huber, "delta": 0.5},
    "AUC": {"thresholds": [0.5, 0.1], "curve": "pr", "multi_label": True, "label_weights": [1, 2]},
    "FBetaScore": {"beta": 2.0, "average": "micro"},
    "R2Score": {"num_regressors": 2, "class_aggregation": None},
    "Precision": {"thresholds": [0.2, 0.4], "top_k": 3},
    "SparseTopKCategoricalAccuracy": {"k": 2, "from_sorted_ids": True},
    "CategoricalCrossentropy": {"from_logits": True, "label_smoothing": 0.1, "axis": 1},
    "CosineSimilarity": {"axis": 1},
}
CLASSES = [
    v
    for v in vars(metrics).values()
    if isinstance(v, type) and issubclass(v, metrics.Metric) and v is not metrics.Metric
]


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_every_metric_is_restored_from_its_config(cls):
    metric = cls(name="custom", **ARGUMENTS.get(cls.__name__, {}))
    again = metrics.deserialize(metrics.serialize(metric))
    assert (
        type(again) is cls and again.get_config() == metric.get_config() and again.name == "custom"
    )
    assert [v.path for v in again.variables] == [v.path for v in metric.variables]


@pytest.mark.parametrize(
    ("name", "cls"),
    [
        ("acc", "Accuracy"),
        ("accuracy", "Accuracy"),
        ("mse", "MeanSquaredError"),
        ("MAE", "MeanAbsoluteError"),
        ("mape", "MeanAbsolutePercentageError"),
        ("msle", "MeanSquaredLogarithmicError"),
        ("bce", "BinaryCrossentropy"),
        ("kld", "KLDivergence"),
        ("kl_divergence", "KLDivergence"),
        ("cosine_similarity", "CosineSimilarity"),
        ("sparse_categorical_accuracy", "SparseCategoricalAccuracy"),
        ("auc", "AUC"),
        ("AUC", "AUC"),
        ("f1_score", "F1Score"),
        ("r2_score", "R2Score"),
        ("log_cosh", "LogCoshError"),
        ("true_positives", "TruePositives"),
    ],
)
def test_get_returns_a_new_metric_for_a_name(name, cls):
    assert type(metrics.get(name)).__name__ == cls and metrics.get(name) is not metrics.get(name)


def test_get_accepts_functions_classes_configs_and_none():
    assert metrics.get("huber") is metrics.huber and metrics.get(metrics.hinge) is metrics.hinge
    assert metrics.get(None) is None and type(metrics.get(metrics.Recall)) is metrics.Recall
    instance = metrics.Recall()
    assert metrics.get(instance) is instance
    function = {
        "class_name": "function",
        "config": "mean_squared_error",
        "registered_name": "mean_squared_error",
    }
    assert (
        metrics.get(function) is metrics.mse
        and metrics.serialize(metrics.mse) == "mean_squared_error"
    )
    with pytest.raises(ValueError, match=r"Unknown metric 'precison'. Did you mean 'precision'"):
        metrics.get("precison")
    with pytest.raises(TypeError, match="3 was given as metric"):
        metrics.get(3)


def test_custom_metrics_are_looked_up_by_name():
    class Custom(metrics.Mean):
        pass

    def custom(y_true, y_pred):
        return y_pred

    with podium.saving.custom_object_scope({"Custom": Custom, "custom": custom}):
        assert type(metrics.get("Custom")) is Custom and metrics.get("custom") is custom
        wrapped = metrics.MeanMetricWrapper(custom, "custom")
        assert type(metrics.deserialize(metrics.serialize(wrapped))) is metrics.MeanMetricWrapper
    config = {"class_name": "Custom", "config": {}}
    assert type(metrics.deserialize(config, {"Custom": Custom})) is Custom
    assert metrics.deserialize("custom", {"custom": custom}) is custom


@pytest.mark.parametrize(
    ("y_true", "y_pred", "kind"),
    [
        ((None,), (None, 1), "Binary"),
        ((None, 1), (None, 1), "Binary"),
        ((8, 7, 1), (8, 7, 1), "Binary"),
        ((None,), (None,), "Binary"),
        ((None,), (None, 10), "SparseCategorical"),
        ((None, 1), (None, 10), "SparseCategorical"),
        ((8, 7), (8, 7, 10), "SparseCategorical"),
        ((8, 7, 1), (8, 7, 10), "SparseCategorical"),
        ((None, 10), (None, 10), "Categorical"),
        ((8, 7, 10), (8, 7, 10), "Categorical"),
    ],
)
def test_accuracy_and_crossentropy_are_chosen_by_shape(y_true, y_pred, kind):
    for name, suffix in [
        ("accuracy", "Accuracy"),
        ("acc", "Accuracy"),
        ("crossentropy", "Crossentropy"),
        ("CE", "Crossentropy"),
    ]:
        cls = metrics.resolve_accuracy(name, y_true, y_pred)
        assert cls.__name__ == kind + suffix and cls(name=name).name == name


def test_other_names_are_not_resolved_by_shape():
    with pytest.raises(ValueError, match=r"Unknown metric 'accurcy'. Did you mean 'accuracy'"):
        metrics.resolve_accuracy("accurcy", (None,), (None, 2))


def test_short_names_are_aliases_of_functions():
    assert (
        metrics.MSE is metrics.mse is metrics.mean_squared_error
        and metrics.kld is metrics.kl_divergence
    )
    assert np.allclose(metrics.mae([[1.0, 2.0]], [[2.0, 4.0]]), [1.5])
