"""Records the results of Keras 3's metrics (on JAX) after each of several updates. Runs in the
Keras environment only:

KERAS_BACKEND=jax python tests/oracle/record_metrics.py --out tests/oracle/fixtures

The table of cases and the data are here too, and `tests/metrics` reads them: nothing but results is
stored.
"""

import argparse
import json
import os
import sys
import zlib
from pathlib import Path

import numpy as np

FIXTURE = "metrics.json"
SIZES = (6, 9, 9, 6)  # samples in each batch; the metric is reset before the third
COUNTING_SIZES = (9, 9, 9, 9)  # where only sums matter, one size avoids recompilation
RESET_BEFORE = 2


def _softmax(x):
    exp = np.exp(x - x.max(-1, keepdims=True))
    return exp / exp.sum(-1, keepdims=True)


def make_batch(kind, r, n):
    """Return `(y_true, y_pred)` of n samples."""
    if kind == "binary":
        return r.randint(0, 2, n), r.rand(n).astype("float32")
    if kind == "column":
        return r.randint(0, 2, (n,)), r.rand(n, 1).astype("float32")
    if kind == "tenths":  # many predictions equal thresholds
        return r.randint(0, 2, n), (r.randint(0, 11, n) / 10).astype("float32")
    if kind == "logits":
        return r.randint(0, 2, n), (3 * r.randn(n)).astype("float32")
    if kind == "logit_rows":
        return r.randint(0, 2, (n, 3)), (3 * r.randn(n, 3)).astype("float32")
    if kind == "labels":
        return r.randint(0, 2, (n, 4)), r.rand(n, 4).astype("float32")
    if kind == "one_hot":
        return np.eye(5, dtype="float32")[r.randint(0, 5, n)], _softmax(2 * r.randn(n, 5)).astype(
            "float32"
        )
    if kind == "one_hot_logits":
        return np.eye(5, dtype="float32")[r.randint(0, 5, n)], (2 * r.randn(n, 5)).astype("float32")
    if kind == "sparse":
        return r.randint(0, 5, n), _softmax(2 * r.randn(n, 5)).astype("float32")
    if kind == "sparse_column":
        return r.randint(0, 5, (n, 1)), _softmax(2 * r.randn(n, 5)).astype("float32")
    if kind == "sequence":
        return r.randint(0, 5, (n, 3)), _softmax(2 * r.randn(n, 3, 5)).astype("float32")
    if kind == "sorted_ids":
        return r.randint(0, 5, n), np.array([r.permutation(5)[:3] for _ in range(n)])
    if kind == "classes":
        return r.randint(0, 4, n), r.randint(0, 4, n)
    if kind == "picture":  # class indices, some of which are invalid
        return r.randint(-1, 4, (n, 3, 2)), r.randint(0, 4, (n, 3, 2))
    if kind == "numbers":
        return (1 + r.rand(n, 3)).astype("float32"), (1 + r.rand(n, 3)).astype("float32")
    if kind == "number_sequence":
        return (1 + r.rand(n, 3, 2)).astype("float32"), (1 + r.rand(n, 3, 2)).astype("float32")
    if kind == "signs":
        return 2 * r.randint(0, 2, (n, 3)) - 1, r.randn(n, 3).astype("float32")
    if kind == "values":
        return (r.randn(n).astype("float32"),)
    if kind == "value_rows":
        return (r.randn(n, 3).astype("float32"),)
    raise ValueError(kind)


def make_weight(kind, r, batch):
    """Return the weights of a batch, or None."""
    shape = {None: None, "sample": batch[-1].shape[:1], "column": (*batch[-1].shape[:1], 1)}
    shape |= {"step": batch[-1].shape[:2], "entry": batch[-1].shape, "scalar": ()}
    if kind is None:
        return None
    if kind.startswith("whole"):
        return r.randint(0, 4, batch[-1].shape if kind == "whole_entry" else batch[-1].shape[:1])
    return np.float32(r.random_sample(shape[kind]) * (r.random_sample(shape[kind]) > 0.2))


def make_mask(kind, r, batch):
    """Return the mask of a batch's predictions, or None."""
    if kind is None:
        return None
    shape = batch[-1].shape[:2] if kind == "step" else batch[-1].shape[:1]
    mask = r.rand(*shape) > 0.4
    mask[0] = True
    return mask


def batches_of(case):
    """Yield `(args, weight, mask)` for each update of a case."""
    r = np.random.RandomState(zlib.crc32(case["id"].encode()))
    averages = case["data"] in ("values", "value_rows", "numbers")
    for n in SIZES if averages else COUNTING_SIZES:
        args = make_batch(case["data"], r, n)
        yield args, make_weight(case["weight"], r, args), make_mask(case["mask"], r, args)


def _cases():
    def case(name, data, weights=(None,), mask=None, **config):
        for weight in weights:
            options = ",".join(f"{k}={v}" for k, v in config.items())
            title = f"{name}/{data}/{options}/{weight}" + (f"/mask={mask}" if mask else "")
            cases.append(
                {
                    "id": title,
                    "name": name,
                    "data": data,
                    "weight": weight,
                    "mask": mask,
                    "config": config,
                }
            )

    cases = []
    unweighted, both, all_of = (None,), (None, "sample"), (None, "sample", "entry")
    case("Mean", "values", (None, "sample", "scalar"))
    case("Mean", "value_rows", (None, "sample", "entry", "column", "scalar"))
    case("Sum", "value_rows", (None, "sample", "entry"))
    case("Accuracy", "classes", both)
    case("BinaryAccuracy", "column", (None, "sample", "entry"))
    case("BinaryAccuracy", "labels", all_of, threshold=0.3)
    for name, data in [("CategoricalAccuracy", "one_hot"), ("SparseCategoricalAccuracy", "sparse")]:
        case(name, data, both)
    case("SparseCategoricalAccuracy", "sparse_column", both)
    case("SparseCategoricalAccuracy", "sequence", (None, "sample", "step"))
    case("TopKCategoricalAccuracy", "one_hot", both, k=2)
    case("SparseTopKCategoricalAccuracy", "sparse", both, k=3)
    case("SparseTopKCategoricalAccuracy", "sequence", (None, "step"), k=2)
    case("SparseTopKCategoricalAccuracy", "sorted_ids", both, k=2, from_sorted_ids=True)
    for name in ("TruePositives", "TrueNegatives", "FalsePositives", "FalseNegatives"):
        case(name, "binary", both)
        case(name, "labels", all_of, thresholds=[0.9, 0.1, 0.45])
        case(name, "tenths", both, thresholds=[0.0, 0.25, 0.5, 0.75, 1.0])
    for name in ("Precision", "Recall"):
        case(name, "column", both)
        case(name, "logits", unweighted, thresholds=0)
        case(name, "labels", all_of, thresholds=[0.2, 0.7])
        case(name, "labels", both, top_k=2)
        case(name, "labels", both, class_id=1)
        case(name, "labels", both, top_k=2, class_id=3, thresholds=0.4)
        case(name, "tenths", both, thresholds=[0.0, 0.5, 1.0])
    for name, argument in [
        ("SensitivityAtSpecificity", "specificity"),
        ("SpecificityAtSensitivity", "sensitivity"),
        ("PrecisionAtRecall", "recall"),
        ("RecallAtPrecision", "precision"),
    ]:
        case(name, "binary", both, **{argument: 0.6})
        case(name, "tenths", both, **{argument: 0.4, "num_thresholds": 11})
        case(name, "labels", both, **{argument: 0.5, "num_thresholds": 1, "class_id": 2})
    for curve in ("ROC", "PR", "PRGAIN"):
        for method in ("interpolation", "minoring", "majoring"):
            case("AUC", "binary", both, curve=curve, summation_method=method)
        case("AUC", "tenths", both, curve=curve, num_thresholds=11)
        case("AUC", "labels", both, curve=curve, multi_label=True, num_thresholds=7)
    case("AUC", "labels", all_of)
    case("AUC", "labels", both, label_weights=[0.1, 2.0, 0.5, 1.0])
    case("AUC", "labels", both, label_weights=[0.1, 2.0, 0.5, 1.0], multi_label=True, num_labels=4)
    case("AUC", "labels", both, curve="PR", label_weights=[0.1, 2.0, 0.5, 1.0], multi_label=True)
    case("AUC", "labels", both, multi_label=True, thresholds=[0.1, 0.15, 0.8])
    case("AUC", "binary", both, thresholds=[0.8, 0.1, 0.3])
    case("AUC", "binary", both, thresholds=[0.25, 0.5, 0.75])
    case("AUC", "logits", both, from_logits=True)
    case("AUC", "binary", unweighted, num_thresholds=2)
    for average in (None, "micro", "macro", "weighted"):
        case("FBetaScore", "labels", both, average=average, beta=2.0, threshold=0.5)
        case("F1Score", "one_hot", both, average=average)
    int_weights, float32 = (None, "whole"), {"dtype": "float32"}
    case("IoU", "picture", (None, "whole_entry"), num_classes=4, target_class_ids=[0, 2])
    case("IoU", "picture", both[:1], num_classes=4, target_class_ids=[1], ignore_class=2)
    case("MeanIoU", "classes", ("sample", "whole"), num_classes=4, **float32)
    case("MeanIoU", "classes", int_weights, num_classes=4)
    case("MeanIoU", "classes", unweighted, num_classes=4, ignore_class=0)
    case("MeanIoU", "sparse", unweighted, num_classes=5, sparse_y_pred=False)
    case("BinaryIoU", "binary", int_weights, threshold=0.3)
    case("BinaryIoU", "binary", ("sample",), target_class_ids=[1], **float32)
    case("OneHotIoU", "one_hot", ("sample",), num_classes=5, target_class_ids=[0, 2], **float32)
    case("OneHotMeanIoU", "one_hot", int_weights, num_classes=5)
    for name in (
        "MeanSquaredError",
        "MeanAbsoluteError",
        "MeanAbsolutePercentageError",
        "MeanSquaredLogarithmicError",
        "LogCoshError",
        "CosineSimilarity",
        "PearsonCorrelation",
        "ConcordanceCorrelation",
        "Poisson",
        "KLDivergence",
    ):
        case(name, "numbers", both)
        case(name, "number_sequence", (None, "step"))
    case("CosineSimilarity", "number_sequence", both, axis=1)
    case("RootMeanSquaredError", "numbers", (None, "sample", "entry"))
    for aggregation in (None, "uniform_average", "variance_weighted_average"):
        case("R2Score", "numbers", both, class_aggregation=aggregation)
    case("R2Score", "numbers", both, num_regressors=2)
    for name in ("Hinge", "SquaredHinge"):
        case(name, "signs", both)
    case("CategoricalHinge", "one_hot", both)
    case("BinaryCrossentropy", "labels", both, label_smoothing=0.1)
    case("BinaryCrossentropy", "logit_rows", both, from_logits=True)
    case("CategoricalCrossentropy", "one_hot", both)
    case("CategoricalCrossentropy", "one_hot_logits", both, from_logits=True, label_smoothing=0.2)
    case("SparseCategoricalCrossentropy", "sparse", both)
    case("SparseCategoricalCrossentropy", "sequence", (None, "step"), ignore_class=2)
    case("SparseCategoricalAccuracy", "sequence", (None, "step"), mask="step")
    case("SparseCategoricalCrossentropy", "sequence", (None, "step"), mask="step", ignore_class=1)
    case("MeanSquaredError", "number_sequence", (None, "step"), mask="step")
    case("MeanAbsoluteError", "numbers", both, mask="sample")
    case("AUC", "labels", both, mask="sample")
    case("RootMeanSquaredError", "numbers", both, mask="sample")
    return cases


CASES = _cases()
FUNCTIONS = {  # name: (data, arguments)
    "binary_accuracy": ("labels", {"threshold": 0.4}),
    "categorical_accuracy": ("one_hot", {}),
    "sparse_categorical_accuracy": ("sequence", {}),
    "top_k_categorical_accuracy": ("one_hot", {"k": 2}),
    "sparse_top_k_categorical_accuracy": ("sequence", {"k": 2}),
    "pearson_correlation": ("numbers", {}),
    "concordance_correlation": ("number_sequence", {"axis": 1}),
    "binary_crossentropy": ("labels", {}),
    "binary_focal_crossentropy": ("labels", {"gamma": 1.5}),
    "categorical_crossentropy": ("one_hot", {}),
    "categorical_focal_crossentropy": ("one_hot", {}),
    "sparse_categorical_crossentropy": ("sparse", {}),
    "categorical_hinge": ("one_hot", {}),
    "hinge": ("signs", {}),
    "squared_hinge": ("signs", {}),
    "huber": ("numbers", {"delta": 0.2}),
    "kl_divergence": ("one_hot", {}),
    "log_cosh": ("numbers", {}),
    "mean_absolute_error": ("numbers", {}),
    "mean_absolute_percentage_error": ("numbers", {}),
    "mean_squared_error": ("numbers", {}),
    "mean_squared_logarithmic_error": ("numbers", {}),
    "poisson": ("numbers", {}),
}


def function_batch(name):
    """Return the batch for a function."""
    return make_batch(FUNCTIONS[name][0], np.random.RandomState(zlib.crc32(name.encode())), 7)


def run(metric, case, with_mask):
    """Return the results after each update, with a reset before the third."""
    results = []
    for step, (args, weight, mask) in enumerate(batches_of(case)):
        if step == RESET_BEFORE:
            metric.reset_state()
        *first, last = args
        metric.update_state(
            *first, last if mask is None else with_mask(last, mask), sample_weight=weight
        )
        results.append(np.asarray(metric.result(), "float64").tolist())
    return results


def _record():
    os.environ["KERAS_BACKEND"] = "jax"
    import jax.numpy as jnp
    import keras
    from keras.src import backend

    def with_mask(values, mask):
        values = jnp.asarray(values)
        backend.set_keras_mask(values, jnp.asarray(mask))
        return values

    recorded = {"keras": keras.__version__, "cases": {}, "functions": {}, "defaults": {}}
    for case in CASES:
        metric = getattr(keras.metrics, case["name"])(**case["config"])
        try:
            results = run(metric, case, with_mask)
        except Exception as error:
            raise RuntimeError(f"Keras cannot run {case['id']}") from error
        shapes = [
            [variable.name, list(variable.shape), variable.dtype] for variable in metric.variables
        ]
        recorded["cases"][case["id"]] = {
            "results": results,
            "variables": shapes,
            "direction": getattr(metric, "_direction", None),
        }
        config = metric.get_config()
        recorded["defaults"].setdefault(case["name"], sorted(config))
    for name, (_, options) in FUNCTIONS.items():
        values = getattr(keras.metrics, name)(*map(jnp.asarray, function_batch(name)), **options)
        recorded["functions"][name] = np.asarray(values, "float64").tolist()
    recorded["names"] = sorted(name for name in dir(keras.metrics) if not name.startswith("_"))
    return recorded


def _round_floats(value):
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, list):
        return [_round_floats(item) for item in value]
    return (
        {key: _round_floats(item) for key, item in value.items()}
        if isinstance(value, dict)
        else value
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    path = arguments.out / FIXTURE
    path.write_text(json.dumps(_round_floats(_record()), indent=None, separators=(",", ":")) + "\n")
    sys.stdout.write(f"{len(CASES)} cases, {path.stat().st_size // 1000} kB\n")
