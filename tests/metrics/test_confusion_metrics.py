"""Metrics of confusion counts: counts at thresholds, AUC, F-scores, IoU; invalid arguments."""

import jax
import numpy as np
import pytest

import podium
from podium import metrics
from podium.metrics._confusion import KINDS, ConfusionCounter, are_evenly_spaced

RANDOM = np.random.RandomState(0)


def reference_counts(y_true, y_pred, weight, thresholds):
    above = y_pred[None] > np.asarray(thresholds, "float32")[:, None]
    truth = y_true.astype(bool)[None]
    pairs = (above & truth, above & ~truth, ~above & ~truth, ~above & truth)
    return [np.sum(pair * weight, axis=1) for pair in pairs]


@pytest.mark.parametrize(
    "thresholds",
    [[0.5], [0.9, 0.1, 0.45], [0.3, 0.3, 0.7], list(np.linspace(0, 1, 9))],
    ids=["one", "mixed", "twice", "even"],
)
def test_counts_in_buckets_equal_comparison_with_every_threshold(thresholds):
    y_true, y_pred = RANDOM.randint(0, 2, 50), RANDOM.rand(50).astype("float32")
    y_pred[:4] = [0.0, 1.0, 0.5, 0.3]
    weight = RANDOM.rand(50).astype("float32")
    counter = ConfusionCounter(tuple(thresholds), are_evenly_spaced(thresholds), "float32")
    counts = counter(y_true, y_pred, weight)
    for kind, expected in zip(
        KINDS, reference_counts(y_true, y_pred, weight, thresholds), strict=True
    ):
        np.testing.assert_allclose(counts[kind], expected, rtol=1e-5, atol=1e-5)


def largest_array(jaxpr):
    inner = [p.jaxpr for eqn in jaxpr.eqns for p in eqn.params.values() if hasattr(p, "jaxpr")]
    return max(
        [np.prod(v.aval.shape) for eqn in jaxpr.eqns for v in eqn.outvars]
        + [largest_array(j) for j in inner]
    )


def test_no_array_of_size_thresholds_times_samples_is_created():
    for metric in (
        metrics.AUC(),
        metrics.AUC(thresholds=list(RANDOM.rand(198))),
        metrics.SensitivityAtSpecificity(0.5),
    ):
        samples = 1000
        program = jax.make_jaxpr(metric._counter)(
            np.ones(samples, "int32"), np.ones(samples, "float32"), None
        )
        assert 2 * samples <= largest_array(program.jaxpr) <= 4 * samples and all(
            v.shape == (200,) for v in metric.variables
        )


def test_nan_predictions_count_as_negative():
    for thresholds in ([0.5], [0.2, 0.7], [0.0, 0.5, 1.0]):
        metric = metrics.TruePositives(thresholds=thresholds)
        assert np.all(
            np.asarray(metric([1, 1], [float("nan"), 0.9]))
            == np.float32([t < 0.9 for t in thresholds])
        )


def test_compiled_auc_equals_eager_auc():
    eager, compiled = (
        metrics.AUC(multi_label=True, curve="PR"),
        metrics.AUC(multi_label=True, curve="PR"),
    )
    step = podium.function(lambda y, p, w: compiled(y, p, w))
    for _ in range(3):
        y, p = RANDOM.randint(0, 2, (6, 2)), RANDOM.rand(6, 2).astype("float32")
        w = RANDOM.rand(6).astype("float32")
        result = step(podium.Tensor(y), podium.Tensor(p), podium.Tensor(w))
        assert abs(float(eager(y, p, w)) - float(result)) < 1e-6
    assert step.trace_count <= 2 and [v.shape for v in compiled.variables] == [(200, 2)] * 4


@pytest.mark.parametrize(
    "make", [lambda: metrics.F1Score(average="macro"), metrics.R2Score], ids=["F1Score", "R2Score"]
)
def test_state_of_the_first_update_can_be_created_in_a_function(make):
    eager, compiled = make(), make()
    with pytest.raises(RuntimeError, match="has no state yet"):
        eager.result()
    step = podium.function(lambda y, p: compiled(y, p))
    for _ in range(2):
        y, p = (
            np.eye(3, dtype="float32")[RANDOM.randint(0, 3, 5)],
            RANDOM.rand(5, 3).astype("float32"),
        )
        assert abs(float(eager(y, p)) - float(step(podium.Tensor(y), podium.Tensor(p)))) < 1e-5


def test_metrics_stop_gradients():
    x = podium.Variable(np.float32([[0.2, 0.9], [0.7, 0.1]]))
    y = np.float32([[0, 1], [1, 0]])
    all_metrics = [
        metrics.AUC(num_thresholds=3),
        metrics.Precision(),
        metrics.F1Score(),
        metrics.R2Score(),
        metrics.MeanSquaredError(),
    ]
    all_metrics += [metrics.RootMeanSquaredError(), metrics.OneHotMeanIoU(2), metrics.Sum()]
    with podium.GradientTape() as tape:
        p = x * 1.0
        results = [
            metric(p) if type(metric) is metrics.Sum else metric(y, p) for metric in all_metrics
        ]
    with pytest.raises(ValueError, match="this tape did not record"):
        tape.gradient(results, x)
    assert all(variable.source is None for metric in all_metrics for variable in metric.variables)


MISMATCHED_SHAPES = [
    (metrics.BinaryAccuracy, (4, 3), (4, 1)),
    (metrics.BinaryAccuracy, (4, 1), (4, 3)),
    (metrics.BinaryAccuracy, (3,), (4,)),
    (metrics.Accuracy, (1,), (4,)),
    (metrics.CategoricalAccuracy, (4, 1), (4, 3)),
    (metrics.CategoricalAccuracy, (4,), (4, 3)),
    (metrics.SparseCategoricalAccuracy, (4, 3), (4, 3)),
    (metrics.SparseCategoricalAccuracy, (1,), (4, 3)),
    (metrics.TopKCategoricalAccuracy, (4, 2), (4, 3)),
    (metrics.SparseTopKCategoricalAccuracy, (4, 2), (4, 3)),
    (metrics.Precision, (4, 1), (4, 3)),
    (metrics.TruePositives, (4,), (4, 3)),
    (metrics.AUC, (4, 1), (4, 3)),
    (metrics.RecallAtPrecision, (3,), (4,)),
    (metrics.F1Score, (4, 1), (4, 3)),
    (metrics.R2Score, (4, 1), (4, 3)),
    (metrics.RootMeanSquaredError, (4, 1), (4, 3)),
    (metrics.MeanSquaredError, (4, 1), (4, 3)),
    (metrics.CosineSimilarity, (4, 1), (4, 3)),
    (metrics.PearsonCorrelation, (1, 3), (4, 3)),
    (metrics.BinaryCrossentropy, (4, 1), (4, 3)),
    (metrics.Hinge, (4, 1), (4, 3)),
    (metrics.KLDivergence, (4, 1), (4, 3)),
    (metrics.BinaryIoU, (4, 1), (4, 3)),
]


@pytest.mark.parametrize(
    ("cls", "y_true", "y_pred"),
    MISMATCHED_SHAPES,
    ids=[f"{c.__name__}-{t}-{p}" for c, t, p in MISMATCHED_SHAPES],
)
def test_targets_of_another_shape_raise_instead_of_broadcasting(cls, y_true, y_pred):
    metric = cls(0.5) if cls is metrics.RecallAtPrecision else cls()
    with pytest.raises(ValueError) as caught:
        metric.update_state(np.ones(y_true, "int32"), np.full(y_pred, 0.5, "float32"))
    assert str(y_true) in str(caught.value) and str(y_pred) in str(caught.value)
    assert all(not np.any(variable.numpy()) for variable in metric.variables)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: metrics.AUC(num_thresholds=1), "num_thresholds=1; an int above 1"),
        (lambda: metrics.AUC(summation_method="middle"), "Unknown summation_method 'middle'"),
        (lambda: metrics.AUC(num_labels=3), "only counts with `multi_label=True`"),
        (lambda: metrics.AUC(thresholds=[0.5, 1.5]), r"which \[1.5\] are not"),
        (
            lambda: metrics.Precision(thresholds=-0.1),
            "thresholds=-0.1 were given; numbers from 0 to 1",
        ),
        (lambda: metrics.RecallAtPrecision(1.2), "precision=1.2; a number from 0 to 1"),
        (
            lambda: metrics.PrecisionAtRecall(0.5, num_thresholds=0),
            "num_thresholds=0; an int above zero",
        ),
        (lambda: metrics.FBetaScore(beta=0.0), "beta=0.0; a number above zero"),
        (lambda: metrics.F1Score(threshold=2.0), "threshold=2.0; a number with 0 < threshold <= 1"),
        (lambda: metrics.FBetaScore(threshold="a"), "threshold='a'; a number with 0 < threshold"),
        (lambda: metrics.F1Score(average="micr"), "Unknown average 'micr'. Did you mean 'micro'"),
        (lambda: metrics.R2Score(class_aggregation="mean"), "Unknown class_aggregation 'mean'"),
        (lambda: metrics.R2Score(num_regressors=-1), "num_regressors=-1; zero or more"),
        (
            lambda: metrics.IoU(2, [2]),
            r"target_class_ids=\[2\] for num_classes=2; numbers from 0 to 1",
        ),
    ],
)
def test_invalid_arguments_raise(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("make", "y", "message"),
    [
        (
            lambda: metrics.Precision(class_id=3),
            (2, 3),
            r"class_id=3 was given for predictions of shape \(2, 3\)",
        ),
        (
            lambda: metrics.Recall(top_k=4),
            (2, 3),
            r"top_k=4 was given for predictions of shape \(2, 3\)",
        ),
        (
            lambda: metrics.AUC(label_weights=[1, 2]),
            (2, 3),
            r"label_weights has 2 numbers for predictions of shape \(2, 3\)",
        ),
        (
            lambda: metrics.AUC(multi_label=True),
            (2,),
            r"y_pred of shape \(2,\); \(samples, labels\) was expected",
        ),
        (
            lambda: metrics.AUC(multi_label=True, num_labels=2),
            (2, 3),
            r"shape \(2, 3\); \(samples, 2\) was expected",
        ),
        (metrics.F1Score, (2,), r"y_pred of shape \(2,\); \(samples, classes\) was expected"),
        (metrics.R2Score, (2,), r"y_pred of shape \(2,\); \(samples, outputs\) was expected"),
    ],
)
def test_shapes_that_do_not_match_the_arguments_raise(make, y, message):
    with pytest.raises(ValueError, match=message):
        make().update_state(np.ones(y, "int32"), np.full(y, 0.5, "float32"))


def test_iou_warns_once_about_float_weights_and_skips_invalid_classes():
    metric = metrics.MeanIoU(num_classes=2)
    with pytest.warns(UserWarning, match='counts in int32 .* dtype="float32"'):
        metric.update_state([0, 1], [0, 1], sample_weight=np.float32([1, 1]))
    metric.update_state([0, 5, -1, 1], [7, 1, 0, 1], sample_weight=np.float32([1, 1, 1, 1]))
    assert (
        np.array_equal(metric.total_cm, [[1, 0], [0, 2]])
        and round(float(metric.result()), 5) == 1.0
    )
    assert float(metrics.MeanIoU(num_classes=2).result()) == 0.0


def test_adjusted_r2_score_falls_back_to_r2_for_too_few_samples():
    y, p = np.float32([[1], [4], [3]]), np.float32([[2], [4], [4]])
    unadjusted = float(metrics.R2Score()(y, p))
    assert (
        float(metrics.R2Score(num_regressors=2)(y, p))
        == float(metrics.R2Score(num_regressors=5)(y, p))
        == unadjusted
    )
    assert float(metrics.R2Score(num_regressors=1)(y, p)) < unadjusted
