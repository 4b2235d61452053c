"""Small models, recorded results of tf_keras, and the texts of the documents' engines."""

import functools
import json
from pathlib import Path

import numpy as np
import pytest
from requirement_cases import CASES
from seed_engines import run_text

import podium
from podium.compat import tensorflow as tf
from podium.compat.keras.engine import data_adapter, training

keras = tf.keras
FIXTURES = Path(__file__).parents[1] / "oracle" / "fixtures"


@functools.cache
def load_record():
    """Return what tf_keras did, by case."""
    return json.loads((FIXTURES / "requirements.json").read_text())


def approximately(expected):
    """Return nested results whose floats compare equal within float32's precision."""
    if isinstance(expected, dict):
        return {key: approximately(value) for key, value in expected.items()}
    if isinstance(expected, list):
        return [approximately(value) for value in expected]
    if isinstance(expected, float):
        return pytest.approx(expected, rel=1e-5, abs=1e-6)
    return expected


def compare(name, **different):
    """Run a case on Podium and compare it with tf_keras; return the result.

    Args:
        name: The case.
        **different: The expected result under a key, where Podium differs on purpose.
    """
    result, expected = CASES[name](tf), load_record()[name]
    if different:
        assert different.keys() <= expected.keys()
        assert all(expected[key] != value for key, value in different.items())
        expected = {**expected, **different}
    assert result == approximately(expected)
    return result


def make_network(seed=0, inputs=3, units=1, model_class=None):
    """Return a functional model of two layers, with weights that a seed determines."""
    symbol = keras.Input((inputs,))
    hidden = keras.layers.Dense(4, "tanh")(symbol)
    model = (model_class or keras.Model)(symbol, keras.layers.Dense(units)(hidden))
    rng = np.random.default_rng(seed)
    model.set_weights([rng.normal(size=weight.shape).astype("float32") for weight in model.weights])
    return model


def make_samples(count=12, inputs=3):
    """Return random inputs, and targets that depend on them."""
    x = np.random.default_rng(1).normal(size=(count, inputs)).astype("float32")
    return x, (x[:, :1] * x[:, 1:2]).astype("float32")


def flat_weights(model):
    """Return all weights as one array."""
    return np.concatenate([np.ravel(weight) for weight in model.get_weights()])


def make_engine(number, model_class=None):
    """Return the `Engine` of a document, unmodified, as a subclass of Keras's `Model`."""
    namespace = {
        "Model": model_class or keras.Model,
        "tf": tf,
        "ops": tf,
        "math_ops": tf,
        "def_function": tf,
        "backprop": tf,
        "data_adapter": data_adapter,
        "reduce_per_replica": training.reduce_per_replica,
        "_minimum_control_deps": training._minimum_control_deps,
        "write_scalar_summaries": training.write_scalar_summaries,
    }
    return run_text(f"engine_{number}", namespace)["Engine"]


def make_fork():
    """Return the `SimplifiedModel` of the walkthrough, unmodified: a `Layer` with its own `fit`."""
    podium.compat.install()  # it imports tensorflow
    try:
        namespace = run_text("walkthrough_final_1", {"optimizers": keras.optimizers})
    finally:
        podium.compat.uninstall()
    return namespace["SimplifiedModel"]
