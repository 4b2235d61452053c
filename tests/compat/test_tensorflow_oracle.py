"""Functions of `tf` give TensorFlow's values; recorded by `tests/oracle/record_compat.py`."""

import functools
import importlib.util
import pathlib

import numpy as np
import pytest
from one_program import evaluated

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


def test_the_fixture_is_of_these_cases():
    assert RECORDED["cases"].tolist() == MODULE.CASES


def leaves_of(case, arrays):
    result = eval(case, {"tf": tf, "np": np, **arrays})
    return (
        [result] if isinstance(result, tf.shape(np.zeros(1)).__class__) else tf.nest.flatten(result)
    )


TOGETHER = 30  # cases that go into one program


@functools.cache
def answers(first):
    arrays = {name: tf.convert_to_tensor(array) for name, array in MODULE.ARRAYS.items()}
    return evaluated(MODULE.CASES[first : first + TOGETHER], leaves_of, arrays)


@pytest.mark.parametrize("number", range(len(MODULE.CASES)), ids=MODULE.CASES)
def test_values_are_tensorflows(number):
    case = MODULE.CASES[number]
    leaves = answers(number - number % TOGETHER).get(case) or leaves_of(case, MODULE.ARRAYS)
    wanted = [RECORDED[key] for key in RECORDED if key.startswith(f"{number}.")]
    assert len(leaves) == len(wanted)
    for leaf, want in zip(leaves, wanted, strict=True):
        found = np.asarray(leaf)
        assert found.shape == want.shape and (
            found.dtype.kind == want.dtype.kind or not isinstance(leaf, tf.Tensor)
        )
        np.testing.assert_allclose(found, want, rtol=2e-5, atol=2e-5)
