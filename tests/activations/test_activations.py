"""Activations against their formulas in NumPy, on tapes and graphs, and the ways to name them."""

import math

import jax.numpy as jnp
import numpy as np
import pytest

from podium import activations
from podium.core import (
    GradientTape,
    KerasTensor,
    Tensor,
    Variable,
    convert_to_tensor,
    custom_object_scope,
    function,
)

X = np.linspace(-7, 7, 48).reshape(6, 8)
WEIGHT = np.random.default_rng(0).normal(size=X.shape)

normal_cdf = np.vectorize(lambda v: 0.5 * (1 + math.erf(v / math.sqrt(2))))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softplus(x):
    return np.log1p(np.exp(x))


def softmax(x, axis=-1):
    return np.exp(x) / np.exp(x).sum(axis=axis, keepdims=True)


def sparsemax(row):
    """The projection onto probabilities, by bisection on what must be taken off."""
    low, high = row.min() - 1, row.max()
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(row - middle, 0).sum() > 1 else (low, middle)
    return np.maximum(row - high, 0)


FORMULAS = {
    "celu": lambda x: np.where(x > 0, x, np.expm1(x)),
    "elu": lambda x: np.where(x > 0, x, np.expm1(x)),
    "exponential": np.exp,
    "gelu": lambda x: x * normal_cdf(x),
    "glu": lambda x: x[:, :4] * sigmoid(x[:, 4:]),
    "hard_shrink": lambda x: np.where(abs(x) > 0.5, x, 0),
    "hard_sigmoid": lambda x: np.clip(x / 6 + 0.5, 0, 1),
    "hard_silu": lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
    "hard_swish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
    "hard_tanh": lambda x: np.clip(x, -1, 1),
    "leaky_relu": lambda x: np.where(x > 0, x, 0.2 * x),
    "linear": lambda x: x,
    "log_sigmoid": lambda x: -softplus(-x),
    "log_softmax": lambda x: np.log(softmax(x)),
    "mish": lambda x: x * np.tanh(softplus(x)),
    "relu": lambda x: np.maximum(x, 0),
    "relu6": lambda x: np.clip(x, 0, 6),
    "selu": lambda x: 1.05070098 * np.where(x > 0, x, 1.67326324 * np.expm1(x)),
    "sigmoid": sigmoid,
    "silu": lambda x: x * sigmoid(x),
    "soft_shrink": lambda x: np.sign(x) * np.maximum(abs(x) - 0.5, 0),
    "softmax": softmax,
    "softplus": softplus,
    "softsign": lambda x: x / (1 + abs(x)),
    "sparse_plus": lambda x: np.where(x <= -1, 0, np.where(x >= 1, x, (x + 1) ** 2 / 4)),
    "sparse_sigmoid": lambda x: np.clip((x + 1) / 2, 0, 1),
    "sparsemax": lambda x: np.apply_along_axis(sparsemax, -1, x),
    "squareplus": lambda x: (x + np.sqrt(x**2 + 4)) / 2,
    "swish": lambda x: x * sigmoid(x),
    "tanh": np.tanh,
    "tanh_shrink": lambda x: x - np.tanh(x),
}


@pytest.fixture(scope="module")
def computed():
    """The value of every activation, and the gradient of its weighted sum, from one compiled
    call.
    """
    x = Variable(X.astype("float32"))

    @function
    def compute(weight):
        results = {}
        for name in FORMULAS:
            with GradientTape() as tape:
                y = activations.get(name)(x) * 1.0
                target = y * weight[: y.shape[0], : y.shape[1]]
            results[name] = y, tape.gradient(target, x)
        return results

    return compute(WEIGHT.astype("float32"))


@pytest.mark.parametrize("name", FORMULAS)
def test_values_equal_the_formula(name, computed):
    value, _ = computed[name]
    assert isinstance(value, Tensor)
    assert value.dtype == jnp.float32
    np.testing.assert_allclose(value.numpy(), FORMULAS[name](X), rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("name", FORMULAS)
def test_gradients_equal_finite_differences(name, computed):
    def weighted_sum(x):
        y = FORMULAS[name](x)
        return (y * WEIGHT[: y.shape[0], : y.shape[1]]).sum()

    direction = np.cos(np.arange(X.size)).reshape(X.shape)
    slope = (weighted_sum(X + 1e-5 * direction) - weighted_sum(X - 1e-5 * direction)) / 2e-5
    _, gradient = computed[name]
    assert (gradient.numpy() * direction).sum() == pytest.approx(slope, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("name", ["relu", "mish", "sparsemax"])
def test_eager_equals_compiled(name, computed):
    value, _ = computed[name]
    np.testing.assert_allclose(
        activations.get(name)(convert_to_tensor(X)).numpy(), value.numpy(), atol=1e-6
    )


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_symbolic_inputs_keep_their_dtype(name, dtype):
    symbol = activations.get(name)(KerasTensor((None, 8), dtype=dtype))
    assert isinstance(symbol, KerasTensor)
    assert tuple(symbol.shape) == (None, 4 if name == "glu" else 8)
    assert symbol.dtype == jnp.dtype(dtype)


@pytest.mark.parametrize("negative_slope", [0.0, 0.3])
@pytest.mark.parametrize("max_value", [None, 6, 2.5])
@pytest.mark.parametrize("threshold", [0.0, 1.0])
def test_relu_options(negative_slope, max_value, threshold):
    result = activations.relu(convert_to_tensor(X), negative_slope, max_value, threshold)
    expected = np.where(threshold < X, X, negative_slope * (X - threshold))
    expected = expected if max_value is None else np.minimum(expected, max_value)
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-6, atol=1e-6)


def test_relu_gradient_is_zero_where_relu_is_constant():
    x = Variable([-2.0, 0.0, 1.5, 9.0])
    with GradientTape() as tape:
        y = activations.relu(x, max_value=6.0)
    np.testing.assert_array_equal(tape.gradient(y, x).numpy(), [0, 0, 1, 0])


def test_options_of_other_activations():
    x = convert_to_tensor(X)
    close = {"rtol": 1e-5, "atol": 2e-6}
    np.testing.assert_allclose(
        activations.threshold(x, 1.0, -3.0).numpy(), np.where(X > 1.0, X, -3.0), **close
    )
    np.testing.assert_allclose(
        activations.elu(x, 2.0).numpy(), np.where(X > 0, X, 2 * np.expm1(X)), **close
    )
    np.testing.assert_allclose(
        activations.celu(x, 2.0).numpy(), np.where(X > 0, X, 2 * np.expm1(X / 2)), **close
    )
    np.testing.assert_allclose(
        activations.leaky_relu(x, 0.1).numpy(), np.where(X > 0, X, 0.1 * X), **close
    )
    np.testing.assert_allclose(activations.glu(x, axis=0).numpy(), X[:3] * sigmoid(X[3:]), **close)
    np.testing.assert_allclose(activations.squareplus(x, b=0).numpy(), np.maximum(X, 0), **close)
    np.testing.assert_allclose(
        activations.gelu(x, approximate=True).numpy(), X * normal_cdf(X), atol=1e-3
    )
    np.testing.assert_allclose(
        activations.softmax(x, axis=(0, 1)).numpy(), softmax(X, axis=(0, 1)), **close
    )
    np.testing.assert_allclose(
        activations.log_softmax(x, axis=0).numpy(), np.log(softmax(X, axis=0)), **close
    )


def test_logarithms_do_not_overflow():
    far = convert_to_tensor([-500.0, 0.0])
    np.testing.assert_allclose(activations.log_sigmoid(far).numpy(), [-500, -np.log(2)], rtol=1e-6)
    np.testing.assert_allclose(activations.log_softmax(far).numpy(), [-500, 0])


@pytest.mark.parametrize("axis", [-1, 0])
def test_sparsemax_returns_probabilities_with_the_expected_gradient(axis):
    values = np.random.default_rng(0).normal(size=(5, 4)).astype("float32")
    weight = np.random.default_rng(1).normal(size=(5, 4)).astype("float32")
    x = Variable(values)
    with GradientTape() as tape:
        p = activations.sparsemax(x, axis)
        loss = p * weight
    np.testing.assert_allclose(p.numpy().sum(axis=axis), 1.0, rtol=1e-6)
    np.testing.assert_allclose(p.numpy(), np.apply_along_axis(sparsemax, axis, values), atol=1e-6)
    support = (p.numpy() > 0).astype("float32")
    mean = (support * weight).sum(axis=axis, keepdims=True) / support.sum(axis=axis, keepdims=True)
    np.testing.assert_allclose(tape.gradient(loss, x).numpy(), support * (weight - mean), atol=1e-6)


def test_sparsemax_of_equal_inputs_is_uniform():
    np.testing.assert_allclose(
        activations.sparsemax(convert_to_tensor([2.0, 2.0, 0.0])).numpy(), [0.5, 0.5, 0.0]
    )


def test_python_numbers_and_lists_are_accepted():
    np.testing.assert_array_equal(activations.relu([-1.0, 2.0]).numpy(), [0, 2])
    np.testing.assert_array_equal(activations.relu(np.array([-1, 2], "int32")).numpy(), [0, 2])
    assert float(activations.sigmoid(0.0)) == 0.5


# --- names and configs


@pytest.mark.parametrize("name", FORMULAS)
def test_round_trip_through_a_name(name):
    activation = activations.get(name)
    assert activation is getattr(activations, name)
    assert activations.serialize(activation) == activation.__name__
    assert activations.deserialize(activations.serialize(activation)) is activation


def test_get_accepts_none_callables_and_configs():
    assert activations.get(None) is activations.linear
    assert activations.get(np.tanh) is np.tanh
    assert activations.get({"class_name": "function", "config": "relu"}) is activations.relu
    assert activations.deserialize("mine", {"mine": abs}) is abs
    config = {
        "module": "builtins",
        "class_name": "function",
        "config": "mine",
        "registered_name": "function",
    }
    assert activations.deserialize(config, {"mine": abs}) is abs
    with custom_object_scope({"mine": abs}):
        assert activations.get("mine") is abs


def test_unknown_name_lists_the_choices_and_the_nearest():
    with pytest.raises(
        ValueError,
        match=r"Unknown activation 'rellu'\. Did you mean 'relu'\? Choices: 'celu', 'elu'",
    ):
        activations.get("rellu")
    with pytest.raises(TypeError, match="3 was given as activation"):
        activations.get(3)
