"""StatelessScope and SymbolicScope."""

import jax
import numpy as np
import pytest

import podium
from podium.compat import keras


def test_scope_gives_values_and_keeps_writes_apart():
    layer = podium.layers.BatchNormalization()
    layer.build((None, 2))
    before = [variable.numpy() for variable in layer.variables]
    mapping = [(variable, np.full(variable.shape, 2.0)) for variable in layer.variables]
    x = np.arange(4.0, dtype="float32").reshape(2, 2)
    with keras.StatelessScope(mapping) as scope:
        output = layer(x, training=True)
    assert float(output.numpy().mean()) == pytest.approx(2.0)
    mean = scope.get_current_value(layer.moving_mean)
    np.testing.assert_allclose(mean, 0.99 * 2.0 + 0.01 * x.mean(axis=0))
    assert scope.get_current_value(podium.Variable(1.0)) is None
    for variable, value in zip(layer.variables, before, strict=True):
        np.testing.assert_array_equal(variable.numpy(), value)


def test_scope_works_inside_jax_transformations():
    weight = podium.Variable(3.0)

    def square(value):
        with keras.StatelessScope([(weight, value)]):
            return podium.core.internal.unwrap_result(weight * weight)

    assert float(jax.jit(jax.grad(square))(5.0)) == 10.0
    assert float(weight) == 3.0


def test_updates_and_losses_can_be_added():
    weight = podium.Variable(3.0)
    with keras.StatelessScope(collect_losses=True) as scope:
        scope.add_update((weight, 4.0))
        scope.add_loss(1.0)
        assert float(weight) == 4.0
    assert (float(scope.get_current_value(weight)), scope.losses, float(weight)) == (4.0, [1.0], 3)


def test_values_must_fit_their_variables():
    with pytest.raises(ValueError, match="pairs of a Variable and its value"):
        keras.StatelessScope([("kernel", 1.0)])
    with pytest.raises(ValueError, match=r"a value of shape \(2,\) for the Variable 'w' of shape"):
        keras.StatelessScope([(podium.Variable(1.0, name="w"), [1.0, 2.0])])


def test_operation_is_a_node_of_a_graph():
    class Power(keras.Operation):
        def __init__(self, exponent, name=None):
            super().__init__(name)
            self.exponent = exponent

        def call(self, x):
            return keras.ops.power(x, self.exponent)

    power = Power(3.0)
    with pytest.raises(AttributeError, match="has not been called on an `Input`"):
        _ = power.output
    x = keras.Input((2,))
    model = keras.Model(x, keras.layers.Dense(1, kernel_initializer="ones")(power(x)))
    assert power.output.shape == (None, 2) and power.input is x
    np.testing.assert_allclose(model.predict(np.array([[1.0, 2.0]]), verbose=0), [[9.0]])
    assert isinstance(keras.layers.Dense(1), keras.Operation) and power.name == "power"


def test_operation_checks_its_name_and_needs_a_call():
    with pytest.raises(ValueError, match="a string without '/' was expected"):
        keras.Operation("a/b")
    with pytest.raises(NotImplementedError, match="has no `call` method"):
        keras.Operation()(1.0)
