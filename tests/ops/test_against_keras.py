"""Values and dtypes of operations, compared with those that `record_keras_ops.py` recorded from
Keras 3.15.
"""

import functools
import importlib.util
import json
import pathlib

import jax
import numpy as np
import pytest
from one_program import evaluate_cases

from podium import ops
from podium.core import convert_to_tensor

_spec = importlib.util.spec_from_file_location(
    "record_keras_ops", pathlib.Path(__file__).with_name("record_keras_ops.py")
)
recorded = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(recorded)

KERAS = json.loads((recorded.FOLDER / "keras_ops.json").read_text())
ARRAYS = np.load(recorded.FOLDER / "keras_ops.npz")
CASES = recorded.cases()
VALUES = {name: convert_to_tensor(array) for name, array in recorded.inputs().items()}
# Sums of float32 in another order: stft windows and decompositions differ in the last digits.
LOOSE = (
    "stft",
    "istft",
    "ssim",
    "lstsq",
    "pinv",
    "cholesky_inverse",
    "inv",
    "conv_transpose",
    "image.perspective_transform",
)

# Keras 3.15 takes the wrong threshold here, and its result does not sum to one (`test_nn_ops.py`
# checks that ours does).
DEVIATIONS = ("sparsemax(x)", "sparsemax(batch, axis=-1)")


def tolerance(case, dtype):
    if dtype in ("float16", "bfloat16"):
        return 2e-3
    return 1e-4 if case.split("(")[0] in LOOSE else 1e-5


TOGETHER = 30  # cases that go into one program


@functools.cache
def answers(first):
    return evaluate_cases(
        CASES[first : first + TOGETHER],
        lambda case, values: recorded.evaluate(case, ops, values),
        VALUES,
    )


@pytest.mark.parametrize("number", range(len(CASES)), ids=CASES)
def test_operation_equals_keras(number):
    case = CASES[number]
    results = answers(number - number % TOGETHER).get(case)
    if results is None:
        results = recorded.evaluate(case, ops, VALUES)
    expected = KERAS["dtypes"][case]
    assert [recorded.name_of(result) for result in results] == expected
    for index, (result, dtype) in enumerate(zip(results, expected, strict=True)):
        want, limit = ARRAYS[f"{number}.{index}"], tolerance(case, dtype)
        assert np.shape(result) == want.shape
        got = np.asarray(result)
        if case in DEVIATIONS:
            assert not np.allclose(got, want)
        elif got.dtype.kind in "fcV":
            np.testing.assert_allclose(got.astype(want.dtype), want, rtol=limit, atol=limit)
        else:
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", sorted(KERAS["rules"]))
def test_dtypes_promote_as_in_keras(name):
    raw = getattr(ops, name).raw
    # Where Keras refuses a dtype (erf of integers, say) we may well answer.
    rules = {key: dtype for key, dtype in KERAS["rules"][name].items() if dtype is not None}
    assert {key: recorded.dtype_of(raw, jax, *key.split(",")) for key in rules} == rules


def test_names_and_signatures_equal_those_of_keras():
    ours = recorded.signatures(ops)
    theirs = {
        name: given for name, given in KERAS["signatures"].items() if name != "custom_gradient"
    }
    assert {name: ours.get(name) for name in theirs} == theirs
    assert set(ours) - set(theirs) == {"custom_gradient", "lift"}
