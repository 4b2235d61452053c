"""Records what Keras computes for every case of `CASES`, as functions, as objects and with
gradients.

KERAS_BACKEND=jax python tests/oracle/record_losses.py --out tests/oracle/fixtures     (in an
environment with Keras 3) python tests/oracle/record_losses.py --tf-keras --out
tests/oracle/fixtures             (in one with tf_keras)

Writes losses.json and losses_tf_keras.json. The tests import this file for its cases: it imports
Keras only when it records.
"""

import argparse
import json
import pathlib
import zlib

import numpy as np

REGRESSION = ("real", "real")
PROBABLE = ("distribution", "distribution")
ONE_HOT = ("one_hot", "distribution")
YES_NO = ("bits", "probability")

# function, class, (kind of targets, kind of predictions), arguments of both
CASES = {
    "mse": ("mean_squared_error", "MeanSquaredError", REGRESSION, {}),
    "mae": ("mean_absolute_error", "MeanAbsoluteError", REGRESSION, {}),
    "mape": ("mean_absolute_percentage_error", "MeanAbsolutePercentageError", REGRESSION, {}),
    "msle": ("mean_squared_logarithmic_error", "MeanSquaredLogarithmicError", REGRESSION, {}),
    "huber": ("huber", "Huber", REGRESSION, {}),
    "huber_half": ("huber", "Huber", REGRESSION, {"delta": 0.5}),
    "log_cosh": ("log_cosh", "LogCosh", REGRESSION, {}),
    "cosine": ("cosine_similarity", "CosineSimilarity", REGRESSION, {}),
    "cosine_axis": ("cosine_similarity", "CosineSimilarity", REGRESSION, {"axis": 0}),
    "hinge": ("hinge", "Hinge", ("signs", "real"), {}),
    "hinge_bits": ("hinge", "Hinge", ("bits", "real"), {}),
    "squared_hinge": ("squared_hinge", "SquaredHinge", ("signs", "real"), {}),
    "categorical_hinge": ("categorical_hinge", "CategoricalHinge", ("one_hot", "real"), {}),
    "kl": ("kl_divergence", "KLDivergence", PROBABLE, {}),
    "poisson": ("poisson", "Poisson", ("counts", "probability"), {}),
    "bce": ("binary_crossentropy", "BinaryCrossentropy", YES_NO, {}),
    "bce_logits": (
        "binary_crossentropy",
        "BinaryCrossentropy",
        ("bits", "real"),
        {"from_logits": True},
    ),
    "bce_smooth": ("binary_crossentropy", "BinaryCrossentropy", YES_NO, {"label_smoothing": 0.2}),
    "bce_saturated": ("binary_crossentropy", "BinaryCrossentropy", ("bits", "hard"), {}),
    "focal": ("binary_focal_crossentropy", "BinaryFocalCrossentropy", YES_NO, {}),
    "focal_logits": (
        "binary_focal_crossentropy",
        "BinaryFocalCrossentropy",
        ("bits", "real"),
        {
            "from_logits": True,
            "apply_class_balancing": True,
            "alpha": 0.4,
            "gamma": 1.5,
            "label_smoothing": 0.1,
        },
    ),
    "cce": ("categorical_crossentropy", "CategoricalCrossentropy", ONE_HOT, {}),
    "cce_logits": (
        "categorical_crossentropy",
        "CategoricalCrossentropy",
        ("one_hot", "real"),
        {"from_logits": True},
    ),
    "cce_smooth": (
        "categorical_crossentropy",
        "CategoricalCrossentropy",
        ONE_HOT,
        {"label_smoothing": 0.1},
    ),
    "cce_unnormalized": (
        "categorical_crossentropy",
        "CategoricalCrossentropy",
        ("one_hot", "probability"),
        {},
    ),
    "cfocal": ("categorical_focal_crossentropy", "CategoricalFocalCrossentropy", ONE_HOT, {}),
    "cfocal_logits": (
        "categorical_focal_crossentropy",
        "CategoricalFocalCrossentropy",
        ("one_hot", "real"),
        {"from_logits": True, "alpha": [0.1, 0.2, 0.3], "gamma": 3.0, "label_smoothing": 0.1},
    ),
    "scce": (
        "sparse_categorical_crossentropy",
        "SparseCategoricalCrossentropy",
        ("labels", "distribution"),
        {},
    ),
    "scce_logits": (
        "sparse_categorical_crossentropy",
        "SparseCategoricalCrossentropy",
        ("labels", "real"),
        {"from_logits": True},
    ),
    "scce_column": (
        "sparse_categorical_crossentropy",
        "SparseCategoricalCrossentropy",
        ("label_column", "distribution"),
        {},
    ),
    "scce_ignore": (
        "sparse_categorical_crossentropy",
        "SparseCategoricalCrossentropy",
        ("labels", "distribution"),
        {"ignore_class": 1},
    ),
    "gce": (
        "categorical_generalized_cross_entropy",
        "CategoricalGeneralizedCrossEntropy",
        ("labels", "distribution"),
        {"q": 0.7},
    ),
    "dice": ("dice", "Dice", YES_NO, {}),
    "dice_axis": ("dice", "Dice", YES_NO, {"axis": -1}),
    "tversky": ("tversky", "Tversky", YES_NO, {"alpha": 0.3, "beta": 0.7}),
    "tversky_axis": ("tversky", "Tversky", YES_NO, {"alpha": 0.3, "axis": -1}),
    "circle": ("circle", "Circle", ("label_vector", "directions"), {"gamma": 8.0}),
    "circle_diagonal": (
        "circle",
        "Circle",
        ("label_vector", "directions"),
        {"margin": 0.2, "remove_diagonal": False, "gamma": 4.0},
    ),
    "ctc": ("ctc", "CTC", ("label_sequences", "logit_sequences"), {}),
}
SHAPES = {"flat": (6, 3), "sequence": (4, 5, 3)}
FLAT_ONLY = ("circle", "ctc")
REDUCTIONS = ("sum_over_batch_size", "sum", "mean", "mean_with_sample_weight", "none")
# One case each for many shapes of weights: name of the loss, shape of values' input, shape of
# weights, with a mask or not.
WEIGHTS = [
    (case, shape, weight, mask, reduction)
    for case in ("mse", "scce_ignore")
    for shape, weight, mask in (
        ("flat", None, False),
        ("flat", (), False),
        ("flat", (6,), False),
        ("flat", (6, 1), False),
        ("flat", (1,), False),
        ("flat", None, True),
        ("flat", (6,), True),
        ("sequence", None, True),
        ("sequence", (4, 5), False),
        ("sequence", (4, 5), True),
        ("sequence", (4, 5, 1), False),
        ("sequence", (4, 1), False),
        ("sequence", (1, 5), False),
        ("sequence", (4, 1), True),
    )
    for reduction in (REDUCTIONS if case == "mse" else REDUCTIONS[:1])
]


def sample_values(kind, shape, seed):
    """The numbers of a case: the same wherever they are values."""
    random = np.random.RandomState(zlib.crc32(f"{kind}{shape}{seed}".encode()))
    leading, classes = shape[:-1], shape[-1]
    labels = random.randint(0, classes, leading)
    exponents = np.exp(random.normal(size=shape))
    values = {
        "real": lambda: random.normal(size=shape),
        "probability": lambda: random.uniform(0.05, 0.95, shape),
        "hard": lambda: random.randint(0, 2, shape),
        "distribution": lambda: exponents / exponents.sum(-1, keepdims=True),
        "directions": lambda: exponents / np.linalg.norm(exponents, axis=-1, keepdims=True),
        "bits": lambda: random.randint(0, 2, shape),
        "signs": lambda: 2 * random.randint(0, 2, shape) - 1,
        "counts": lambda: random.poisson(2.0, shape),
        "one_hot": lambda: np.eye(classes)[labels],
        "labels": lambda: labels,
        "label_vector": lambda: random.randint(0, 2, shape[0]),
        "label_column": lambda: labels[..., None],
        "label_sequences": lambda: np.minimum(
            np.array([[1, 2, 2], [1, 0, 0], [2, 1, 0], [1, 1, 0], [2, 0, 0], [1, 2, 1]]),
            classes - 1,
        ),
        "logit_sequences": lambda: random.normal(size=(shape[0], 7, classes)),
    }[kind]()
    return values.astype("int32" if "label" in kind else "float32")


def inputs(case, shape):
    kinds = CASES[case][2]
    return sample_values(kinds[0], SHAPES[shape], "true"), sample_values(
        kinds[1], SHAPES[shape], "pred"
    )


def weights_and_mask(shape, weight, mask):
    random = np.random.RandomState(7)
    values = (
        None
        if weight is None
        else random.randint(0, 4, weight).astype("float32") + (0.5 if weight == () else 0.0)
    )
    leading = SHAPES[shape][:-1]
    return values, (np.random.RandomState(8).uniform(size=leading) < 0.6) if mask else None


def shapes_of(case):
    return ("flat",) if CASES[case][0] in FLAT_ONLY else tuple(SHAPES)


def to_list(value):
    return np.asarray(value, "float32").tolist()


def record_keras():
    import jax
    import keras

    recorded = {
        "version": keras.__version__,
        "functions": {},
        "objects": {},
        "gradients": {},
        "weights": [],
        "configs": {},
    }
    for case, (function, cls, _, options) in CASES.items():
        loss = getattr(keras.losses, cls)(**options)
        config = loss.get_config()
        recorded["configs"][case] = {key: config[key] for key in sorted(config)}
        for shape in shapes_of(case):
            y_true, y_pred = inputs(case, shape)
            key = f"{case}/{shape}"
            recorded["functions"][key] = to_list(
                getattr(keras.losses, function)(y_true, jax.numpy.asarray(y_pred), **options)
            )
            recorded["objects"][key] = to_list(loss(y_true, y_pred))
            if shape == "flat":
                gradient = jax.grad(lambda pred, loss=loss, y_true=y_true: loss(y_true, pred))(
                    jax.numpy.asarray(y_pred)
                )
                recorded["gradients"][key] = to_list(gradient)
    for case, shape, weight, mask, reduction in WEIGHTS:
        y_true, y_pred = inputs(case, shape)
        sample_weight, keep = weights_and_mask(shape, weight, mask)
        y_pred = keras.ops.convert_to_tensor(y_pred)
        if keep is not None:
            keras.src.backend.set_keras_mask(y_pred, keras.ops.convert_to_tensor(keep))
        loss = getattr(keras.losses, CASES[case][1])(reduction=reduction, **CASES[case][3])
        recorded["weights"].append(to_list(loss(y_true, y_pred, sample_weight)))
    return recorded


def record_tf_keras():
    import tf_keras

    recorded = {"version": tf_keras.__version__, "functions": {}, "objects": {}}
    for case, (function, cls, _, options) in CASES.items():
        if not hasattr(tf_keras.losses, cls):
            continue
        for shape in shapes_of(case):
            y_true, y_pred = inputs(case, shape)
            key = f"{case}/{shape}"
            recorded["functions"][key] = to_list(
                getattr(tf_keras.losses, function)(y_true, y_pred, **options)
            )
            recorded["objects"][key] = to_list(
                getattr(tf_keras.losses, cls)(**options)(y_true, y_pred)
            )
    return recorded


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--tf-keras", action="store_true")
    arguments = parser.parse_args()
    name, record = (
        ("losses_tf_keras.json", record_tf_keras)
        if arguments.tf_keras
        else ("losses.json", record_keras)
    )
    (arguments.out / name).write_text(
        json.dumps(record(), indent=None, separators=(",", ":"), sort_keys=True) + "\n"
    )
