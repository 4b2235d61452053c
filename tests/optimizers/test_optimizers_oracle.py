"""Fifty updates by fixed gradients equal those of Keras 3, for every optimizer; and so do
schedules, state and configs.
"""

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
# Fifty roundings. In short types Keras rounds after every operation, and Podium after every update.
TOLERANCES = {
    "float32": {"rtol": 1e-6, "atol": 1e-7},
    "float16": {"rtol": 1e-2, "atol": 1e-2},
    "bfloat16": {"rtol": 3e-2, "atol": 3e-2},
}


@pytest.fixture
def optimized():
    """Fifty updates round as in Keras only if multiplications and additions are fused as there."""
    before = jax.config.read("jax_disable_most_optimizations")
    jax.config.update("jax_disable_most_optimizations", False)
    yield
    jax.config.update("jax_disable_most_optimizations", before)


def name_of(case):
    words = [
        f"{key}={'...' if isinstance(value, dict) else value}"
        for key, value in case["arguments"].items()
    ]
    return "-".join(
        [case["optimizer"], *words, *(f"{key}" for key in ("scale", "dtype") if key in case)]
    )


def first_values(dtype="float32"):
    rng = np.random.default_rng(0)
    return [
        Variable(rng.normal(size=shape).astype("float32"), dtype=dtype, name=name)
        for name, shape in SHAPES.items()
    ]


def gradients(case):
    rng = np.random.default_rng(1)
    for step in range(50):
        made = [
            (rng.normal(size=shape) * case.get("scale", 0.5)).astype("float32")
            for shape in SHAPES.values()
        ]
        if step in case.get("infinite", ()):
            made[0][0, 0] = np.inf
        yield made


def close(variables, expected, tolerance):
    for variable, numbers in zip(variables, expected, strict=True):
        np.testing.assert_allclose(
            variable.numpy().astype("float32").ravel(), numbers, **tolerance, err_msg=variable.name
        )


@pytest.mark.parametrize("case", RECORDED["cases"], ids=name_of)
def test_fifty_updates_equal_those_of_keras(case, optimized):
    dtype = case.get("dtype", "float32")
    tolerance = TOLERANCES[dtype]
    optimizer = optimizers.deserialize(
        {"class_name": case["optimizer"], "config": case["arguments"]}
    )
    if "exclude" in case:
        optimizer.exclude_from_weight_decay(var_names=case["exclude"])
    variables = first_values(dtype)
    for step, made in enumerate(gradients(case), start=1):
        optimizer.apply([jnp.asarray(gradient, dtype) for gradient in made], variables)
        if str(step) in case["values"]:
            close(variables, case["values"][str(step)], tolerance)
    if "final" in case["values"]:
        optimizer.finalize_variable_values(variables)
        close(variables, case["values"]["final"], tolerance)
    assert [list(variable.shape) for variable in optimizer.variables] == [
        shape for shape, _ in case["state"]
    ]
    if dtype == "float32":
        loose = {"rtol": 1e-5, "atol": 1e-6 * max(1.0, case.get("scale", 1.0))}
        close(optimizer.variables, [numbers for _, numbers in case["state"]], loose)


@pytest.mark.parametrize("case", RECORDED["cases"][:14], ids=name_of)
def test_state_and_configs_are_named_as_in_keras(case):
    optimizer = optimizers.get(case["optimizer"])
    optimizer.build(first_values())
    rate = case["config"].pop("learning_rate")
    config = optimizer.get_config()
    assert config.pop("learning_rate") == pytest.approx(rate, rel=1e-6)
    assert config == case["config"]
    if case["optimizer"] not in (
        "Nadam",
        "Adafactor",
    ):  # whose names in Keras say less: "variable", and "kernel" twice
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
