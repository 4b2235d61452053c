"""Attributes of Keras 2's Model that training loops written for it read and set."""

import numpy as np
import pytest

import podium
from podium import distribute, metrics

X, Y = np.ones((8, 1), "float32"), np.zeros((8, 1), "float32")


def make_model(cls=podium.Sequential):
    return cls([podium.Input((1,)), podium.layers.Dense(1)])


def test_train_tf_function_is_the_compiled_train_function():
    model = make_model()
    assert model.train_tf_function is None
    model.compile("sgd", "mse")
    function = model.make_train_function()
    assert model.train_tf_function is function is model.train_function
    model.compile("sgd", "mse", run_eagerly=True)
    assert model.train_tf_function is None
    model.make_train_function()
    assert model.train_tf_function is None and model.train_function is not None


def test_eval_step_is_another_name_of_test_step():
    class Constant(podium.Sequential):
        def eval_step(self, data):
            return {"constant": 7.0}

    model, renamed = make_model(), make_model(Constant)
    for each in (model, renamed):
        each.compile("sgd", "mse")
    assert renamed.evaluate(X, Y, verbose=0, return_dict=True) == {"constant": 7.0}
    assert list(model.eval_step((X, Y))) == ["loss"]


def test_is_compiled_is_set_by_compile_or_by_hand():
    model = make_model()
    assert not model._is_compiled and not model._jit_compile
    model._is_compiled = True
    assert model.compiled
    model._is_compiled = False
    assert not model.compiled
    model.compile("sgd", "mse", jit_compile=True)
    assert model._is_compiled and model._jit_compile


def test_validate_compile_is_called_with_the_arguments_of_compile():
    calls = []

    class Recording(podium.Sequential):
        def _validate_compile(self, optimizer, metrics, **kwargs):
            calls.append((optimizer, metrics))
            super()._validate_compile(optimizer, metrics, **kwargs)

    model = make_model(Recording)
    model.compile("sgd", "mse", metrics=["mae"])
    assert calls == [("sgd", [["mae"], None])]
    with pytest.raises(TypeError, match="object"):
        model._validate_compile(object(), None)
    with distribute.MirroredStrategy(2).scope():
        elsewhere = metrics.Mean(name="elsewhere")
    with pytest.raises(ValueError, match="metric 'elsewhere' was made in the scope of"):
        model._validate_compile("sgd", [elsewhere])


def test_compile_accepts_the_class_of_an_optimizer():
    model = make_model()
    model.compile(podium.optimizers.SGD, "mse")
    assert isinstance(model.optimizer, podium.optimizers.SGD)
