"""Layers, objects and functions as activations, initializers, regularizers and constraints in files
and configs.
"""

import numpy as np
import pytest

import podium
from podium import layers, ops


@podium.saving.register_keras_serializable("test_callable_arguments")
class Scale:
    def __init__(self, factor=2.0):
        self.factor = factor

    def __call__(self, x, dtype=None):
        return (ops.ones(x, dtype) if isinstance(x, tuple) else x) * self.factor

    def get_config(self):
        return {"factor": self.factor}


@podium.saving.register_keras_serializable("test_callable_arguments")
class ScaleLayer(layers.Layer):
    def __init__(self, factor=2.0, **kwargs):
        super().__init__(**kwargs)
        self.factor = factor

    def call(self, x):
        return x * self.factor

    def get_config(self):
        return super().get_config() | {"factor": self.factor}


@podium.saving.register_keras_serializable("test_callable_arguments")
def total(x):
    return ops.sum(x)


class Unregistered(layers.Layer):
    def call(self, x):
        return -x


def leaky():
    return layers.LeakyReLU(0.3)


CASES = {
    "dense": (lambda: layers.Dense(2, activation=leaky()), (3,)),
    "einsum": (lambda: layers.EinsumDense("ab,bc->ac", 2, activation=leaky()), (3,)),
    "convolution": (lambda: layers.Conv1D(2, 2, activation=leaky()), (4, 3)),
    "transposed": (lambda: layers.Conv1DTranspose(2, 2, activation=leaky()), (4, 3)),
    "depthwise": (lambda: layers.DepthwiseConv1D(2, activation=leaky()), (4, 3)),
    "separable": (lambda: layers.SeparableConv1D(2, 2, activation=leaky()), (4, 3)),
    "activation": (lambda: layers.Activation(leaky()), (3,)),
    "simple_rnn": (lambda: layers.SimpleRNN(2, activation=leaky()), (4, 3)),
    "lstm": (lambda: layers.LSTM(2, activation=leaky(), recurrent_activation=leaky()), (4, 3)),
    "gru": (lambda: layers.GRU(2, activation=leaky(), recurrent_activation=leaky()), (4, 3)),
    "wrapped": (lambda: layers.Bidirectional(layers.LSTM(2, activation=leaky())), (4, 3)),
    "cell": (lambda: layers.RNN(layers.LSTMCell(2, activation=leaky())), (4, 3)),
    "with_weights": (lambda: layers.Dense(2, activation=layers.PReLU("uniform")), (3,)),
    "softmax": (lambda: layers.Dense(2, activation=layers.Softmax()), (3,)),
    "model": (lambda: layers.Dense(2, activation=podium.Sequential([leaky()])), (3,)),
    "own_layer": (lambda: layers.Dense(2, activation=ScaleLayer(3.0)), (3,)),
    "own_object": (lambda: layers.Dense(2, activation=Scale(3.0)), (3,)),
    "initializer": (lambda: layers.Dense(2, kernel_initializer=Scale(3.0)), (3,)),
    "array": (lambda: layers.Dense(2, kernel_initializer=np.ones((3, 2))), (3,)),
    "constraint": (lambda: layers.Dense(2, kernel_constraint=Scale(0.5)), (3,)),
    "regularizer": (lambda: layers.Dense(2, bias_regularizer=total), (3,)),
}


@pytest.mark.parametrize("case", CASES)
def test_a_loaded_layer_computes_what_the_saved_one_does(case, tmp_path):
    make, shape = CASES[case]
    model = podium.Sequential([podium.Input(shape), make()])
    x = np.random.default_rng(0).normal(size=(2, *shape)).astype("float32")
    expected = np.asarray(model(x))
    copies = [podium.models.model_from_json(model.to_json()), podium.models.clone_model(model)]
    for copy in copies:
        copy.set_weights(model.get_weights())
    for name in ("model.keras", "model.h5"):
        model.save(tmp_path / name)
        copies.append(podium.saving.load_model(tmp_path / name))
    for copy in copies:
        np.testing.assert_allclose(np.asarray(copy(x)), expected, rtol=1e-6)
        assert copy.get_config()["layers"][1]["config"] == model.get_config()["layers"][1]["config"]


def test_a_layer_as_activation_is_described_as_in_keras():
    config = layers.Dense(2, activation=leaky()).get_config()["activation"]
    assert (config["module"], config["class_name"]) == ("keras.layers", "LeakyReLU")
    assert config["config"]["negative_slope"] == 0.3
    for module in ("keras.layers", "keras.activations"):  # the second was written before
        layer = podium.activations.get(config | {"module": module})
        assert isinstance(layer, layers.LeakyReLU) and layer.negative_slope == 0.3


def test_classes_that_are_not_registered_need_custom_objects(tmp_path):
    model = podium.Sequential([podium.Input((3,)), layers.Dense(2, activation=Unregistered())])
    path = tmp_path / "model.keras"
    model.save(path)
    with pytest.raises(ValueError, match=r"Unknown activation 'Unregistered'.*register_keras_seri"):
        podium.saving.load_model(path)
    loaded = podium.saving.load_model(path, custom_objects={"Unregistered": Unregistered})
    x = np.ones((1, 3), "float32")
    np.testing.assert_array_equal(loaded(x).numpy(), model(x).numpy())


@pytest.mark.parametrize("name", ["Tensor", "_call", "get", "InputSpec", "os"])
def test_only_layers_are_found_by_the_name_of_a_class(name):
    with pytest.raises(ValueError, match=f"Unknown activation {name!r}"):
        podium.activations.get({"module": "keras.layers", "class_name": name, "config": {}})


@pytest.mark.parametrize("argument", ["activation", "kernel_initializer", "bias_regularizer"])
def test_a_lambda_is_an_error_when_the_model_is_saved(argument, tmp_path):
    function = {
        "kernel_initializer": lambda shape, dtype=None: ops.ones(shape, dtype),
        "bias_regularizer": lambda x: ops.sum(x),
    }.get(argument, lambda x: x)
    model = podium.Sequential([podium.Input((3,)), layers.Dense(2, **{argument: function})])
    with pytest.raises(TypeError, match=rf"Dense 'dense.*`{argument}` is a lambda.*with `def`"):
        model.save(tmp_path / "model.keras")
    assert podium.models.clone_model(model)(np.ones((1, 3))).shape == (1, 2)
