"""`get_state_tree` and `set_state_tree`: the values of a model by the parts of their paths."""

import jax
import numpy as np
import pytest

import podium
from podium import layers


def create_model():
    inputs = podium.Input((3,))
    hidden = layers.BatchNormalization(name="norm")(inputs)
    model = podium.Model(inputs, layers.Dense(1, name="out")(hidden))
    model.compile(podium.optimizers.Adam(name="adam"), "mse")
    model.fit(np.ones((4, 3)), np.ones((4, 1)), verbose=0)
    return model


def test_state_tree_has_all_values_by_path():
    model = create_model()
    tree = model.get_state_tree("numpy_array")
    assert set(tree["trainable_variables"]) == {"norm", "out"}
    kernel = tree["trainable_variables"]["out"]["kernel"]
    np.testing.assert_array_equal(kernel, model.get_layer("out").kernel)
    assert set(tree["non_trainable_variables"]["norm"]) == {"moving_mean", "moving_variance"}
    assert tree["optimizer_variables"]["adam"]["iteration"] == 1
    assert set(tree["metrics_variables"]["loss"]) == {"total", "count"}
    bias = model.get_state_tree()["trainable_variables"]["out"]["bias"]
    assert isinstance(bias, jax.Array)


def test_model_with_the_state_tree_of_another_one_is_equal():
    model, copy = create_model(), create_model()
    copy.set_state_tree(model.get_state_tree())
    pairs = [(model.weights, copy.weights), (model.optimizer.variables, copy.optimizer.variables)]
    for ours, theirs in pairs:
        assert all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))


def test_unknown_keys_and_paths_and_equal_paths_raise():
    model = create_model()
    before = model.get_weights()
    with pytest.raises(ValueError, match="the keys are trainable_variables, "):
        model.set_state_tree({"weights": {}})
    with pytest.raises(ValueError, match=r"none of the trainable_variables .* mean 'out/kernel'"):
        values = {"bias": [9.0], "kernels": np.ones((3, 1))}
        model.set_state_tree({"trainable_variables": {"out": values}})
    assert all(np.array_equal(a, b) for a, b in zip(before, model.get_weights(), strict=True))
    with pytest.raises(ValueError, match="value_format"):
        model.get_state_tree("list")

    class Twins(podium.Model):
        def __init__(self):
            super().__init__()
            self.first, self.second = layers.Dense(1, name="twin"), layers.Dense(1, name="twin")

        def call(self, inputs):
            return self.first(inputs) + self.second(inputs)

    twins = Twins()
    twins(np.ones((1, 2), "float32"))
    with pytest.raises(ValueError, match="Two Variables have the path"):
        twins.get_state_tree()
