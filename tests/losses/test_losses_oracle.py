"""Losses against recorded values of Keras 3, and the differences to tf_keras."""

import json
import pathlib
import sys

import numpy as np
import pytest

from podium import losses
from podium.core import GradientTape, Tensor, convert_to_tensor

ORACLE = pathlib.Path(__file__).parents[1] / "oracle"
sys.path.insert(0, str(ORACLE))

from record_losses import CASES, WEIGHTS, inputs, weights_and_mask  # noqa: E402

KERAS = json.loads((ORACLE / "fixtures" / "losses.json").read_text())
TF_KERAS = json.loads((ORACLE / "fixtures" / "losses_tf_keras.json").read_text())
# In sums of values of both signs, rounding of the terms exceeds the rounding of the result.
CLOSE = {"rtol": 1e-6, "atol": 2e-7}


@pytest.mark.parametrize("key", KERAS["functions"])
def test_functions_return_keras_values_for_each_sample(key):
    case, shape = key.split("/")
    function, _, _, options = CASES[case]
    values = getattr(losses, function)(*inputs(case, shape), **options)
    assert isinstance(values, Tensor) and values.dtype == np.float32
    np.testing.assert_allclose(values.numpy(), KERAS["functions"][key], **CLOSE)


@pytest.mark.parametrize("key", KERAS["objects"])
def test_objects_return_the_value_and_gradient_of_keras(key):
    case, shape = key.split("/")
    _, cls, _, options = CASES[case]
    y_true, y_pred = inputs(case, shape)
    y_pred = convert_to_tensor(y_pred)
    with GradientTape() as tape:
        if key in KERAS["gradients"]:
            tape.watch(y_pred)
        value = getattr(losses, cls)(**options)(y_true, y_pred)
    np.testing.assert_allclose(value.numpy(), KERAS["objects"][key], **CLOSE)
    if key in KERAS["gradients"]:
        np.testing.assert_allclose(
            tape.gradient(value, y_pred).numpy(), KERAS["gradients"][key], rtol=2e-6, atol=2e-7
        )


def has_broadcast_weighted_mean(case, shape, weight, mask, reduction):
    """Return whether the result differs by design: Keras divides by the sum of the weights before
    broadcasting, Podium by their sum after it.
    """
    return (
        reduction == "mean_with_sample_weight" and not mask and weight in ((), (1,), (4, 1), (1, 5))
    )


COMPARED = [
    (index, setting)
    for index, setting in enumerate(WEIGHTS)
    if not has_broadcast_weighted_mean(*setting)
]


@pytest.mark.parametrize(
    ("index", "setting"),
    COMPARED,
    ids=["-".join(map(str, w)).replace(" ", "") for _, w in COMPARED],
)
def test_weights_masks_and_reductions_equal_those_of_keras(index, setting):
    case, shape, weight, mask, reduction = setting
    y_true, y_pred = inputs(case, shape)
    sample_weight, keep = weights_and_mask(shape, weight, mask)
    y_pred = convert_to_tensor(y_pred)
    y_pred._keras_mask = None if keep is None else convert_to_tensor(keep)
    loss = getattr(losses, CASES[case][1])(reduction=reduction, **CASES[case][3])
    values = loss(y_true, y_pred, sample_weight).numpy()
    expected = np.array(KERAS["weights"][index], "float32")
    assert values.shape == expected.shape
    np.testing.assert_allclose(values, expected, **CLOSE)


@pytest.mark.parametrize("case", KERAS["configs"])
def test_configs_contain_the_keys_of_keras(case):
    _, cls, _, options = CASES[case]
    config = getattr(losses, cls)(**options).get_config()
    written = KERAS["configs"][case]
    assert {key: config[key] for key in written} == written
    assert set(config) - set(written) <= {"delta", "axis"}  # missing in Keras's configs


def test_tf_keras_differs_only_for_saturated_probabilities():
    """Keras 2 adds epsilon inside the logarithm of binary_crossentropy, so the loss of a
    confident wrong prediction is 15.4 instead of 16.1.
    """
    differs = set()
    for form in ("functions", "objects"):
        for key, value in TF_KERAS[form].items():
            keras, tf_keras = np.array(KERAS[form][key]), np.array(value)
            if keras.shape != tf_keras.shape or not np.allclose(
                keras, tf_keras, rtol=2e-6, atol=3e-7
            ):
                differs.add(key.split("/")[0])
    assert differs == {"bce_saturated"}
