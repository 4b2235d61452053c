"""Weights that `call` creates: once is fine, in every call is an error, not an endless trace."""

import numpy as np
import pytest

import podium
from podium import layers

X = np.ones((8, 3), "float32")


class CreatesOnce(layers.Layer):
    def __init__(self):
        super().__init__()
        self.scale = None

    def call(self, x):
        if self.scale is None:
            self.scale = self.add_weight(shape=(3,), initializer="ones", name="scale")
        return x * self.scale


class CreatesWeights(layers.Layer):
    def call(self, x):
        return x * self.add_weight(shape=(3,), initializer="ones", name="scale")


class CreatesLayers(layers.Layer):
    def call(self, x):
        return layers.Dense(3, name="inner")(x)


def fit(layer, **options):
    model = podium.Sequential([layer, layers.Dense(1)])
    model.compile("sgd", "mse", **options)
    model.fit(X, X[:, :1], verbose=0)
    return model


def test_a_weight_that_is_created_once_is_trained():
    assert len(fit(CreatesOnce()).trainable_weights) == 3


@pytest.mark.parametrize("run_eagerly", [False, True])
def test_a_weight_that_is_created_in_every_call_is_an_error_that_names_it(run_eagerly):
    with pytest.raises(ValueError, match=r"(?s)CreatesWeights.*creates a new Variable.*/scale'"):
        fit(CreatesWeights(), run_eagerly=run_eagerly)


def test_a_layer_that_is_created_in_every_call_is_an_error_that_names_it():
    with pytest.raises(ValueError, match=r"(?s)CreatesLayers.*creates a new Variable.*/kernel'"):
        fit(CreatesLayers())
