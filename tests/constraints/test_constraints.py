"""Constraints: the bounds they keep, and the ways to name them."""

import jax.numpy as jnp
import numpy as np
import pytest

from podium import constraints
from podium.core import Tensor, Variable, convert_to_tensor

W = np.random.default_rng(0).normal(size=(4, 6)).astype("float32") * 2


def lengths(w, axis=0):
    return np.sqrt((np.asarray(w) ** 2).sum(axis=axis))


def test_non_neg_clips_at_zero():
    np.testing.assert_array_equal(constraints.NonNeg()(Variable(W)).numpy(), np.maximum(W, 0))


@pytest.mark.parametrize("axis", [0, 1, [0, 1]])
def test_max_norm_scales_longer_vectors_only(axis):
    axes = tuple(axis) if isinstance(axis, list) else axis
    limit = float(np.median(lengths(W, axes))) if axis != [0, 1] else 1.0
    result = constraints.MaxNorm(limit, axis)(convert_to_tensor(W))
    assert isinstance(result, Tensor)
    np.testing.assert_allclose(
        lengths(result, axes), np.minimum(lengths(W, axes), limit), rtol=1e-5
    )


def test_unit_norm_scales_to_length_one_and_keeps_zeros():
    np.testing.assert_allclose(
        lengths(constraints.UnitNorm(axis=1)(Variable(W)), 1), 1.0, rtol=1e-5
    )
    np.testing.assert_array_equal(constraints.UnitNorm()(np.zeros((2, 2), "float32")).numpy(), 0.0)


@pytest.mark.parametrize("rate", [1.0, 0.25])
def test_min_max_norm_applies_a_fraction_of_the_correction(rate):
    before = lengths(W)
    after = lengths(constraints.MinMaxNorm(3.0, 4.0, rate)(convert_to_tensor(W)))
    np.testing.assert_allclose(
        after, rate * np.clip(before, 3.0, 4.0) + (1 - rate) * before, rtol=1e-5
    )


@pytest.mark.parametrize("name", ["max_norm", "min_max_norm", "non_neg", "unit_norm"])
def test_dtype_is_kept(name):
    assert constraints.get(name)(convert_to_tensor(W, "bfloat16")).dtype == jnp.bfloat16


@pytest.mark.parametrize(
    "original",
    [
        constraints.MaxNorm(3, axis=[0, 1]),
        constraints.MinMaxNorm(0.5, 1.5, 0.5, axis=1),
        constraints.NonNeg(),
        constraints.UnitNorm(axis=1),
    ],
)
def test_round_trip_through_a_config(original):
    config = constraints.serialize(original)
    assert config == {
        "module": "keras.constraints",
        "class_name": type(original).__name__,
        "config": original.get_config(),
        "registered_name": None,
    }
    copy = constraints.deserialize(config)
    assert type(copy) is type(original)
    assert copy.get_config() == original.get_config()


def test_get_accepts_names_classes_instances_functions_and_none():
    instance = constraints.MaxNorm()
    assert constraints.get(instance) is instance
    assert constraints.get(abs) is abs
    assert constraints.get(None) is None
    assert type(constraints.get(constraints.NonNeg)) is constraints.NonNeg
    assert type(constraints.get("NonNeg")) is constraints.non_neg is constraints.NonNeg
    assert constraints.Constraint()(3) == 3


def test_unknown_name_lists_the_choices_and_the_nearest():
    message = (
        r"Unknown constraint 'maxnorm'\. Did you mean 'max_norm'\? "
        "Choices: 'max_norm', 'min_max_norm', 'non_neg'"
    )
    with pytest.raises(ValueError, match=message):
        constraints.get("maxnorm")
