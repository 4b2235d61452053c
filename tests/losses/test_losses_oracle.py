"""Losses against recorded numbers of Keras 3, and where tf_keras differs."""

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
# Sums of numbers of both signs: a last digit of the terms is more than a last digit of the result.
CLOSE = {"rtol": 1e-6, "atol": 2e-7}


@pytest.mark.parametrize("key", KERAS["functions"])
def test_functions_give_keras_values_for_each_sample(key):
    case, shape = key.split("/")
    function, _, _, options = CASES[case]
    found = getattr(losses, function)(*inputs(case, shape), **options)
    assert isinstance(found, Tensor) and found.dtype == np.float32
    np.testing.assert_allclose(found.numpy(), KERAS["functions"][key], **CLOSE)


@pytest.mark.parametrize("key", KERAS["objects"])
def test_objects_give_keras_value_and_gradient(key):
    case, shape = key.split("/")
    _, cls, _, options = CASES[case]
    y_true, y_pred = inputs(case, shape)
    y_pred = convert_to_tensor(y_pred)
    with GradientTape() as tape:
        if key in KERAS["gradients"]:
            tape.watch(y_pred)
        found = getattr(losses, cls)(**options)(y_true, y_pred)
    np.testing.assert_allclose(found.numpy(), KERAS["objects"][key], **CLOSE)
    if key in KERAS["gradients"]:
        np.testing.assert_allclose(
            tape.gradient(found, y_pred).numpy(), KERAS["gradients"][key], rtol=2e-6, atol=2e-7
        )


def broadcasts_in_a_weighted_mean(case, shape, weight, mask, reduction):
    """Keras divides by the sum of the weights as given; here a weight counts once for each value it
    is used for.
    """
    return (
        reduction == "mean_with_sample_weight" and not mask and weight in ((), (1,), (4, 1), (1, 5))
    )


COMPARED = [
    (index, given)
    for index, given in enumerate(WEIGHTS)
    if not broadcasts_in_a_weighted_mean(*given)
]


@pytest.mark.parametrize(
    ("index", "given"), COMPARED, ids=["-".join(map(str, w)).replace(" ", "") for _, w in COMPARED]
)
def test_weights_masks_and_reductions_are_those_of_keras(index, given):
    case, shape, weight, mask, reduction = given
    y_true, y_pred = inputs(case, shape)
    sample_weight, keep = weights_and_mask(shape, weight, mask)
    y_pred = convert_to_tensor(y_pred)
    y_pred._keras_mask = None if keep is None else convert_to_tensor(keep)
    loss = getattr(losses, CASES[case][1])(reduction=reduction, **CASES[case][3])
    found = loss(y_true, y_pred, sample_weight).numpy()
    expected = np.array(KERAS["weights"][index], "float32")
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, **CLOSE)


@pytest.mark.parametrize("case", KERAS["configs"])
def test_configs_hold_what_keras_writes(case):
    _, cls, _, options = CASES[case]
    config = getattr(losses, cls)(**options).get_config()
    written = KERAS["configs"][case]
    assert {key: config[key] for key in written} == written
    assert set(config) - set(written) <= {"delta", "axis"}  # which Keras forgets to write


def test_tf_keras_differs_only_for_saturated_probabilities():
    """Keras 2 adds epsilon inside the logarithm of binary_crossentropy, so being sure and wrong
    costs 15.4 instead of 16.1.
    """
    differs = set()
    for form in ("functions", "objects"):
        for key, value in TF_KERAS[form].items():
            ours, theirs = np.array(KERAS[form][key]), np.array(value)
            if ours.shape != theirs.shape or not np.allclose(ours, theirs, rtol=2e-6, atol=3e-7):
                differs.add(key.split("/")[0])
    assert differs == {"bce_saturated"}
