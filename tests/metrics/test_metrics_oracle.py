"""Metrics against recorded results of Keras 3, after every update; the table of cases is in
tests/oracle/record_metrics.py.
"""

import importlib.util
import json
import pathlib

import jax.numpy as jnp
import numpy as np
import pytest

import podium
from podium import metrics

ORACLE = pathlib.Path(__file__).parents[1] / "oracle"
_spec = importlib.util.spec_from_file_location("record_metrics", ORACLE / "record_metrics.py")
oracle = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(oracle)
RECORDED = json.loads((ORACLE / "fixtures" / oracle.FIXTURE).read_text())


def with_mask(values, mask):
    values = podium.convert_to_tensor(values)
    values._keras_mask = podium.convert_to_tensor(mask)
    return values


@pytest.mark.parametrize("case", oracle.CASES, ids=[case["id"] for case in oracle.CASES])
def test_metric_results_equal_those_of_keras(case):
    recorded = RECORDED["cases"][case["id"]]
    metric = getattr(metrics, case["name"])(**case["config"])
    results = oracle.run(metric, case, with_mask)
    for result, expected in zip(results, recorded["results"], strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-6, atol=1e-6)
    assert [[v.name, list(v.shape), str(jnp.dtype(v.dtype))] for v in metric.variables] == recorded[
        "variables"
    ]
    assert metric._direction == recorded["direction"]


@pytest.mark.parametrize("name", list(oracle.FUNCTIONS))
def test_function_values_equal_those_of_keras(name):
    values = getattr(metrics, name)(*oracle.function_batch(name), **oracle.FUNCTIONS[name][1])
    np.testing.assert_allclose(values.numpy(), RECORDED["functions"][name], rtol=1e-6, atol=1e-6)


def test_every_name_of_keras_exists():
    assert [name for name in RECORDED["names"] if not hasattr(metrics, name)] == []


def test_configs_contain_every_key_of_keras():
    configs = {
        case["name"]: getattr(metrics, case["name"])(**case["config"]).get_config()
        for case in reversed(oracle.CASES)
    }
    missing = {
        name: sorted(set(keys) - set(configs[name])) for name, keys in RECORDED["defaults"].items()
    }
    assert {name: keys for name, keys in missing.items() if keys} == {}
