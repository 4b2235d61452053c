"""Names of Keras 2 with tf_keras's results, which `record_keras2_names.py` recorded."""

import json
from pathlib import Path

import keras2_backend_cases
import keras2_layer_cases
import keras2_preprocessing_cases
import numpy as np
import pytest

from podium.compat import keras

RECORDED = json.loads((Path(__file__).parent / "fixtures" / "keras2_names.json").read_text())


@pytest.fixture(scope="module")
def backend_results():
    return keras2_backend_cases.run(keras)


@pytest.mark.parametrize("case", keras2_backend_cases.CASES)
def test_backend_functions_return_what_tf_keras_returns(case, backend_results):
    assert_equal(backend_results[case], RECORDED["backend"][case])


@pytest.mark.parametrize("case", keras2_preprocessing_cases.CASES, ids=lambda case: case.__name__)
def test_preprocessing_returns_what_tf_keras_returns(case):
    if case is keras2_preprocessing_cases.tables:
        pytest.importorskip("pandas")
    actual = keras2_preprocessing_cases.run(case, keras)
    assert_structure_equal(actual, RECORDED["preprocessing"][case.__name__])


@pytest.mark.parametrize("case", keras2_layer_cases.CASES, ids=lambda case: case.__name__)
def test_layers_return_what_tf_keras_returns(case):
    actual = keras2_preprocessing_cases.run(case, keras)
    assert_structure_equal(actual, RECORDED["layers"][case.__name__])


def assert_structure_equal(actual, expected):
    """Compare nested lists and dictionaries; all lists of numbers are compared up to rounding."""
    if isinstance(expected, dict):
        assert list(actual) == list(expected)
        actual, expected = list(actual.values()), list(expected.values())
    if isinstance(expected, float):
        assert actual == pytest.approx(expected, rel=2e-5, abs=3e-4)
    elif isinstance(expected, list):
        assert len(actual) == len(expected)
        for part, expected_part in zip(actual, expected, strict=True):
            assert_structure_equal(part, expected_part)
    else:
        assert actual == expected


def assert_equal(actual, expected):
    """Compare nested lists; parts of a tuple may have different shapes."""
    if isinstance(expected, list) and expected and _is_ragged(expected):
        assert len(actual) == len(expected)
        for part, expected_part in zip(actual, expected, strict=True):
            assert_equal(part, expected_part)
    else:
        assert np.shape(actual) == np.shape(expected)
        np.testing.assert_allclose(actual, expected, rtol=2e-5, atol=4e-6)


def _is_ragged(value):
    try:
        np.asarray(value)
    except ValueError:
        return True
    return False
