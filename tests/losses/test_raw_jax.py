"""Losses and operations inside functions that raw JAX differentiates, as Keras's JAX guide does."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import podium
from podium import losses, ops

X, Y = jnp.ones((2, 3)), jnp.ones((2, 1))


@pytest.fixture(scope="module")
def model():
    return podium.Sequential([podium.Input((3,)), podium.layers.Dense(1)])


class Squared(losses.Loss):
    def call(self, y_true, y_pred):
        return ops.mean(ops.square(y_true - y_pred), axis=-1)


@pytest.mark.parametrize(
    "loss",
    [
        losses.MeanSquaredError(),
        Squared(),
        losses.LossFunctionWrapper(lambda y, p: ops.mean(ops.square(y - p), axis=-1)),
        lambda y, p: ops.mean(losses.mean_squared_error(y, p)),
        lambda y, p: ops.mean(ops.square(y - p)),
    ],
)
def test_value_and_grad_over_stateless_call(model, loss):
    def compute(weights, x, y):
        y_pred, state = model.stateless_call(weights, [], x)
        return loss(y, y_pred), state

    weights = [variable.value for variable in model.trainable_variables]
    (value, _), gradients = jax.value_and_grad(compute, has_aux=True)(weights, X, Y)
    with podium.GradientTape() as tape:
        expected = ops.mean(ops.square(Y - model(X)))
    assert isinstance(value, jax.Array) and float(value) == pytest.approx(float(expected))
    for gradient, other in zip(gradients, tape.gradient(expected, model.weights), strict=True):
        np.testing.assert_allclose(gradient, other.numpy(), rtol=1e-5)


def test_value_and_grad_inside_a_compiled_function(model):
    loss = losses.MeanSquaredError()

    @podium.function
    def gradient(x, y):
        def compute(weights):
            return loss(y, model.stateless_call(weights, [], x)[0])

        return jax.grad(compute)([variable.value for variable in model.trainable_variables])

    assert gradient(X, Y)[0].shape == (3, 1)


def test_values_outside_of_transformations_are_tensors():
    assert isinstance(ops.mean(X), podium.Tensor)
    assert isinstance(losses.MeanSquaredError()(X, X), podium.Tensor)
