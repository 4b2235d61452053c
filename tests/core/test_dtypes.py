"""Dtypes, dtype policies and the settings of the process."""

import numpy as np
import pytest

import podium
from podium import core


def test_dtypes_have_one_canonical_name():
    for dtype, name in (
        (np.float64, "float32"),
        ("int64", "int32"),
        (float, "float32"),
        ("half", "float16"),
        (bool, "bool"),
        (None, "float32"),
    ):
        assert core.standardize_dtype(dtype) == name
    with pytest.raises(ValueError, match=r"Unknown dtype 'flaot32'. Did you mean 'float32'\?"):
        core.standardize_dtype("flaot32")


def test_policy_has_a_compute_dtype_and_a_variable_dtype():
    policy = core.DTypePolicy("mixed_float16")
    assert (policy.compute_dtype, policy.variable_dtype) == ("float16", "float32")
    assert (
        core.DTypePolicy.from_config(policy.get_config()) == policy != core.DTypePolicy("float32")
    )
    core.set_dtype_policy("mixed_bfloat16")
    assert podium.layers.Dense(1).dtype_policy.name == "mixed_bfloat16"


def test_invalid_settings_raise():
    for set_default, wrong in (
        (core.set_floatx, "int32"),
        (core.set_image_data_format, "channels_middle"),
    ):
        with pytest.raises(ValueError, match="Choices"):
            set_default(wrong)
    with pytest.raises(ValueError, match="above zero"):
        core.set_epsilon(0.0)


def test_int_and_float_are_names_of_the_default_dtypes():
    assert podium.ops.cast(1.5, "int").dtype == "int32"
    assert podium.ops.cast(1, "float").dtype == "float32"
    assert podium.layers.Dense(1, dtype="float").compute_dtype == "float32"
