"""Layers and constraints that only Keras 2 has: training, files and errors."""

import json
import subprocess
import sys

import numpy as np
import pytest

import podium
from podium.compat import keras


def test_models_with_legacy_layers_train_and_are_saved(tmp_path):
    model = podium.Sequential(
        [
            podium.Input((6, 2)),
            keras.layers.LocallyConnected1D(3, 2, kernel_regularizer="l2"),
            keras.layers.ThresholdedReLU(0.1),
            podium.layers.Reshape((5, 3, 1)),
            keras.layers.LocallyConnected2D(2, 2, implementation=3, padding="same"),
            podium.layers.Conv2D(1, 3, kernel_constraint=keras.constraints.RadialConstraint()),
            podium.layers.Flatten(),
        ]
    )
    x = np.random.default_rng(0).normal(size=(8, 6, 2)).astype("float32")
    model.compile("adam", "mse")
    losses = model.fit(x, np.ones((8, 3), "float32"), epochs=3, verbose=0).history["loss"]
    assert np.isfinite(losses).all()
    kernel = model.layers[4].kernel.numpy()[:, :, 0, 0]
    assert len(np.unique(np.delete(kernel.ravel(), 4))) == 1
    for name in ("model.keras", "model.h5"):
        model.save(tmp_path / name)
        loaded = podium.models.load_model(tmp_path / name)
        np.testing.assert_array_equal(loaded.predict(x, verbose=0), model.predict(x, verbose=0))


def test_configs_of_keras_2_name_the_layers():
    config = {"class_name": "LocallyConnected1D", "config": {"filters": 2, "kernel_size": [3]}}
    layer = podium.layers.deserialize(json.loads(json.dumps(config)))
    assert isinstance(layer, keras.layers.LocallyConnected1D) and layer.kernel_size == (3,)
    assert layer.compute_output_shape((None, 7, 4)) == (None, 5, 2)
    assert layer.compute_output_shape((None, None, 4)) == (None, None, 2)


def test_packages_with_names_of_keras_2_have_podiums_names_too():
    assert keras.layers.Dense is podium.layers.Dense
    assert keras.optimizers.legacy is podium.optimizers.legacy
    assert keras.optimizers.experimental.Adam is podium.optimizers.Adam
    assert keras.experimental.CosineDecay is podium.optimizers.schedules.CosineDecay
    assert {"LocallyConnected2D", "Dense"} <= set(dir(keras.layers))
    assert not hasattr(podium.layers, "LocallyConnected2D")


def test_configs_load_the_layers_when_they_are_needed():
    program = """import podium, sys
config = {"class_name": "ThresholdedReLU", "config": {"theta": 2.0}}
assert "podium.compat.keras.layers" not in sys.modules
print(podium.layers.deserialize(config).theta)"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.stdout == "2.0\n", result.stderr


def test_custom_cells_run_in_rnn_layers_and_by_hand():
    class Cell(keras.layers.AbstractRNNCell):
        state_size = (3, 3)
        output_size = 3

        def call(self, inputs, states):
            return inputs + states[0], [inputs, states[1] + 1]

    x = np.random.default_rng(0).normal(size=(2, 4, 3)).astype("float32")
    cell = Cell()
    outputs, last, count = keras.layers.RNN(cell, return_state=True)(x)
    np.testing.assert_allclose(outputs, x[:, 3] + x[:, 2], rtol=1e-5)
    np.testing.assert_array_equal(last, x[:, 3])
    np.testing.assert_array_equal(count, np.full((2, 3), 4.0))
    states = cell.get_initial_state(podium.ops.array(x[:, 0]))
    assert [tuple(state.shape) for state in states] == [(2, 3), (2, 3)]
    with pytest.raises(ValueError, match=r"neither `inputs` nor `batch_size`"):
        cell.get_initial_state()
    with pytest.raises(NotImplementedError, match=r"has no `state_size`: define it"):
        _ = keras.layers.AbstractRNNCell().state_size


def test_models_from_configs():
    model = podium.Sequential([podium.Input((3,)), podium.layers.Dense(2)])
    config = json.loads(model.to_json())
    assert keras.models.model_from_config(config).count_params() == 8
    with pytest.raises(TypeError, match=r"call `Model\.from_config` or `Sequential\.from_config`"):
        keras.models.model_from_config([1])
    with pytest.raises(TypeError, match=r"the config of a layer, 'Dense'"):
        keras.models.model_from_config(podium.layers.serialize(podium.layers.Dense(2)))
    with pytest.raises(RuntimeError, match=r"load them with `model_from_json`"):
        keras.models.model_from_yaml("a: 1")


def test_random_features_train_the_scale_alone():
    features = keras.layers.experimental.RandomFourierFeatures(64, "laplacian", 2.0, trainable=True)
    model = podium.Sequential([podium.Input((3,)), features, podium.layers.Dense(1)])
    model.compile("sgd", "mse")
    x = np.random.default_rng(0).normal(size=(16, 3)).astype("float32")
    before = features.get_weights()
    model.fit(x, x[:, :1], epochs=2, verbose=0)
    changed = [
        not np.array_equal(old, new)
        for old, new in zip(before, features.get_weights(), strict=True)
    ]
    names = [weight.name for weight in features.weights]
    assert {name for name, is_new in zip(names, changed, strict=True) if is_new} == {"kernel_scale"}
    assert np.abs(features.unscaled_kernel.numpy()).max() > 3  # Cauchy: heavy tails
    with pytest.raises(ValueError, match=r"'gaussian', 'laplacian' or an initializer"):
        keras.layers.experimental.RandomFourierFeatures(4, "rbf")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: keras.layers.LocallyConnected1D(2, 3, padding="same"), r"2 or 3 for padding"),
        (lambda: keras.layers.LocallyConnected1D(2, 3, implementation=4), r"1, 2 or 3 was"),
        (lambda: keras.layers.LocallyConnected2D(2, (3, 3, 3)), r"2 of them, was expected"),
        (
            lambda: keras.layers.LocallyConnected1D(2, 3)(podium.Input((None, 2))),
            r"all sizes but that of the batch must be known",
        ),
        (
            lambda: keras.layers.LocallyConnected1D(2, 5)(np.ones((1, 3, 2), "float32")),
            r"leave an empty output",
        ),
        (lambda: keras.layers.ThresholdedReLU(-1.0), r"theta"),
        (lambda: keras.constraints.RadialConstraint()(np.ones((2, 3, 1, 1))), r"square kernel"),
    ],
)
def test_wrong_arguments_raise(call, message):
    with pytest.raises(ValueError, match=message):
        call()
