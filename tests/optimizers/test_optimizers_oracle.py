"""Optimizers against recorded results of Keras 3: updates, state, configs and schedules."""

import json
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from podium import optimizers
from podium.core import Variable

RECORDED = json.loads(
    (pathlib.Path(__file__).parents[1] / "oracle" / "fixtures" / "optimizers.json").read_text()
)
SHAPES = {"kernel": (4, 2), "wide": (2, 3), "bias": (2,)}
# Rounding adds up over fifty updates. In 16-bit dtypes Keras rounds after every operation, Podium
# after every update.
TOLERANCES = {
    "float32": {"rtol": 1e-6, "atol": 1e-7},
    "float16": {"rtol": 1e-2, "atol": 1e-2},
    "bfloat16": {"rtol": 3e-2, "atol": 3e-2},
}


@pytest.fixture
def compiler_optimizations():
    """Enable XLA optimizations: rounding matches only if operations are fused as in Keras."""
    before = jax.config.read("jax_disable_most_optimizations")
    jax.config.update("jax_disable_most_optimizations", False)
    yield
    jax.config.update("jax_disable_most_optimizations", before)


def case_id(case):
    arguments = [
        f"{key}={'...' if isinstance(value, dict) else value}"
        for key, value in case["arguments"].items()
    ]
    return "-".join(
        [case["optimizer"], *arguments, *(f"{key}" for key in ("scale", "dtype") if key in case)]
    )


def initial_variables(dtype="float32"):
    rng = np.random.default_rng(0)
    return [
        Variable(rng.normal(size=shape).astype("float32"), dtype=dtype, name=name)
        for name, shape in SHAPES.items()
    ]


def gradients(case):
    rng = np.random.default_rng(1)
    for step in range(50):
        values = [
            (rng.normal(size=shape) * case.get("scale", 0.5)).astype("float32")
            for shape in SHAPES.values()
        ]
        if step in case.get("infinite", ()):
            values[0][0, 0] = np.inf
        yield values


def assert_close(variables, expected, tolerance):
    for variable, values in zip(variables, expected, strict=True):
        np.testing.assert_allclose(
            variable.numpy().astype("float32").ravel(), values, **tolerance, err_msg=variable.name
        )


@pytest.mark.parametrize("case", RECORDED["cases"], ids=case_id)
def test_fifty_updates_equal_those_of_keras(case, compiler_optimizations):
    dtype = case.get("dtype", "float32")
    tolerance = TOLERANCES[dtype]
    optimizer = optimizers.deserialize(
        {"class_name": case["optimizer"], "config": case["arguments"]}
    )
    if "exclude" in case:
        optimizer.exclude_from_weight_decay(var_names=case["exclude"])
    variables = initial_variables(dtype)
    for step, grads in enumerate(gradients(case), start=1):
        optimizer.apply([jnp.asarray(gradient, dtype) for gradient in grads], variables)
        if str(step) in case["values"]:
            assert_close(variables, case["values"][str(step)], tolerance)
    if "final" in case["values"]:
        optimizer.finalize_variable_values(variables)
        assert_close(variables, case["values"]["final"], tolerance)
    assert [list(variable.shape) for variable in optimizer.variables] == [
        shape for shape, _ in case["state"]
    ]
    if dtype == "float32":
        loose = {"rtol": 1e-5, "atol": 1e-6 * max(1.0, case.get("scale", 1.0))}
        assert_close(optimizer.variables, [values for _, values in case["state"]], loose)


@pytest.mark.parametrize("case", RECORDED["cases"][:14], ids=case_id)
def test_state_and_configs_are_named_as_in_keras(case):
    optimizer = optimizers.get(case["optimizer"])
    optimizer.build(initial_variables())
    rate = case["config"].pop("learning_rate")
    config = optimizer.get_config()
    assert config.pop("learning_rate") == pytest.approx(rate, rel=1e-6)
    assert config == case["config"]
    # Keras's names are less specific for two optimizers: "variable", and "kernel" twice.
    if case["optimizer"] not in ("Nadam", "Adafactor"):
        assert [variable.name for variable in optimizer.variables] == case["names"]
    again = optimizers.deserialize(optimizers.serialize(optimizer))
    assert again.get_config() == optimizer.get_config()


@pytest.mark.parametrize("case", RECORDED["schedules"], ids=lambda case: str(case["config"])[1:-1])
def test_schedules_equal_those_of_keras(case):
    schedule = optimizers.schedules.deserialize(case)
    rates = [float(schedule(step)) for step in RECORDED["schedule_steps"]]
    # The angle of a cosine, up to 3 * 10^2, is rounded before the cosine is taken.
    np.testing.assert_allclose(rates, case["rates"], rtol=1e-5, atol=1e-7)
    again = optimizers.schedules.deserialize(optimizers.schedules.serialize(schedule))
    assert again.get_config() == schedule.get_config() and float(again(7)) == float(schedule(7))
