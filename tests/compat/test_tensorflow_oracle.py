"""Functions of `tf` return TensorFlow's values, recorded by `tests/oracle/record_compat.py`."""

import functools
import importlib.util
import pathlib

import numpy as np
import pytest
from one_program import evaluate_cases

from podium.compat import tensorflow as tf

ORACLE = pathlib.Path(__file__).parents[1] / "oracle"


def load_cases():
    spec = importlib.util.spec_from_file_location(
        "tensorflow_cases", ORACLE / "tensorflow_cases.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MODULE = load_cases()
with np.load(ORACLE / "fixtures" / "compat.npz") as recorded:
    RECORDED = dict(recorded)


def test_fixture_has_the_current_cases():
    assert RECORDED["cases"].tolist() == MODULE.CASES


def evaluate_case(case, arrays):
    result = eval(case, {"tf": tf, "np": np, **arrays})
    return (
        [result] if isinstance(result, tf.shape(np.zeros(1)).__class__) else tf.nest.flatten(result)
    )


CASES_PER_PROGRAM = 30


@functools.cache
def evaluate_program(first):
    arrays = {name: tf.convert_to_tensor(array) for name, array in MODULE.ARRAYS.items()}
    return evaluate_cases(MODULE.CASES[first : first + CASES_PER_PROGRAM], evaluate_case, arrays)


@pytest.mark.parametrize("index", range(len(MODULE.CASES)), ids=MODULE.CASES)
def test_values_equal_tensorflow(index):
    case = MODULE.CASES[index]
    leaves = evaluate_program(index - index % CASES_PER_PROGRAM).get(case) or evaluate_case(
        case, MODULE.ARRAYS
    )
    expected = [RECORDED[key] for key in RECORDED if key.startswith(f"{index}.")]
    assert len(leaves) == len(expected)
    for leaf, expected_leaf in zip(leaves, expected, strict=True):
        value = np.asarray(leaf)
        assert value.shape == expected_leaf.shape and (
            value.dtype.kind == expected_leaf.dtype.kind or not isinstance(leaf, tf.Tensor)
        )
        np.testing.assert_allclose(value, expected_leaf, rtol=2e-5, atol=2e-5)
