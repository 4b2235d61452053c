"""Snapshots of variables: restored completely or not at all."""

import numpy as np
import pytest

import podium
from podium.state import restore, snapshot, summarize


def make_variables():
    return {"a": podium.Variable([1.0, 2.0]), "b": podium.Variable(3)}


def test_restored_equals_saved():
    variables = make_variables()
    values = snapshot(variables)
    variables["a"].assign([5.0, 6.0])
    restore(variables, values, "A snapshot")
    np.testing.assert_array_equal(variables["a"].numpy(), [1.0, 2.0])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"a": np.float32([5, 6])}, "'b' is missing"),
        ({"a": np.float32([5, 6]), "b": np.int32(1), "c": np.int32(1)}, r"'c' \(\) is unexpected"),
        ({"a": np.float32([5]), "b": np.int32(1)}, r"'a' is float32\[1\] there, and float32\[2\]"),
        ({"a": np.float64([5, 6]), "b": np.int32(1)}, r"'a' is float64\[2\] there"),
    ],
)
def test_nothing_is_assigned_unless_everything_fits(values, message):
    variables = make_variables()
    with pytest.raises(ValueError, match=f"A file does not fit the model.*{message}"):
        restore(variables, values, "A file")
    np.testing.assert_array_equal(variables["a"].numpy(), [1.0, 2.0])


def test_unexpected_values_are_ignored_when_not_strict():
    variables = make_variables()
    values = {**snapshot(variables), "c": np.int32(1)}
    restore(variables, values, "A file", strict=False)


def test_long_lists_of_problems_are_shortened():
    assert summarize([str(number) for number in range(7)]) == "0; 1; 2; 3; 4; and 2 more"
    assert summarize([]) == "none"
