"""Regularizers: their values, gradients, configs and names."""

import re

import jax.numpy as jnp
import numpy as np
import pytest

from podium import regularizers
from podium.core import GradientTape, Tensor, Variable, convert_to_tensor

W = np.array([[1.0, -2.0, 0.5], [0.0, 3.0, -1.0]], "float32")


def mean_cosine(vectors):
    vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    pairs = [(i, j) for i in range(len(vectors)) for j in range(i)]
    return np.mean([abs(vectors[i] @ vectors[j]) for i, j in pairs])


CASES = [
    (regularizers.L1(0.3), 0.3 * np.abs(W).sum(), 0.3 * np.sign(W)),
    (regularizers.L2(0.3), 0.3 * (W**2).sum(), 0.6 * W),
    (
        regularizers.L1L2(0.1, 0.2),
        0.1 * np.abs(W).sum() + 0.2 * (W**2).sum(),
        0.1 * np.sign(W) + 0.4 * W,
    ),
    (regularizers.L1L2(l1=0.1), 0.1 * np.abs(W).sum(), 0.1 * np.sign(W)),
    (regularizers.L1L2(l2=0.2), 0.2 * (W**2).sum(), 0.4 * W),
]


@pytest.mark.parametrize(("regularizer", "value", "gradient"), CASES)
def test_values_and_gradients(regularizer, value, gradient):
    weight = Variable(W)
    with GradientTape() as tape:
        penalty = regularizer(weight)
    assert isinstance(penalty, Tensor)
    np.testing.assert_allclose(penalty.numpy(), value, rtol=1e-6)
    actual = tape.gradient(penalty, weight).numpy()
    np.testing.assert_allclose(
        actual[W != 0], gradient[W != 0], rtol=1e-6
    )  # abs has no gradient at 0


def test_gradients_reach_watched_tensors():
    x = convert_to_tensor(W)
    with GradientTape() as tape:
        tape.watch(x)
        penalty = regularizers.L2(0.5)(x * 2.0)
    np.testing.assert_allclose(tape.gradient(penalty, x).numpy(), 4.0 * W, rtol=1e-6)


def test_orthogonal_penalty_is_the_mean_cosine():
    rows, columns = (
        regularizers.OrthogonalRegularizer(0.5),
        regularizers.OrthogonalRegularizer(0.5, mode="columns"),
    )
    np.testing.assert_allclose(rows(convert_to_tensor(W)).numpy(), 0.5 * mean_cosine(W), rtol=1e-5)
    np.testing.assert_allclose(
        columns(convert_to_tensor(W)).numpy(), 0.5 * mean_cosine(W.T), rtol=1e-5
    )
    assert (
        float(rows(convert_to_tensor(W[:1]))) == 0.0
    )  # one vector has nothing to be orthogonal to


def test_orthogonal_gradient_equals_finite_differences_and_is_finite_at_zero():
    regularizer = regularizers.OrthogonalRegularizer(1.0)
    weight = Variable(W)
    with GradientTape() as tape:
        penalty = regularizer(weight)
    nudge = np.zeros_like(W)
    nudge[0, 1] = 1e-3
    slope = (
        float(regularizer(convert_to_tensor(W + nudge)))
        - float(regularizer(convert_to_tensor(W - nudge)))
    ) / 2e-3
    assert tape.gradient(penalty, weight).numpy()[0, 1] == pytest.approx(slope, rel=2e-2)
    zeros = Variable(np.zeros((2, 3), "float32"))
    with GradientTape() as tape:
        penalty = regularizer(zeros)
    assert np.isfinite(tape.gradient(penalty, zeros).numpy()).all()


def test_zero_factor_is_zero_for_infinite_weights():
    assert float(regularizers.L1L2()(convert_to_tensor([np.inf]))) == 0.0
    assert float(regularizers.L1L2(l1=None, l2=0.5)(convert_to_tensor([2.0]))) == 2.0


@pytest.mark.parametrize("name", ["l1", "l2", "l1_l2", "orthogonal_regularizer"])
def test_penalty_keeps_the_dtype(name):
    assert regularizers.get(name)(convert_to_tensor(W, "bfloat16")).dtype == jnp.bfloat16


@pytest.mark.parametrize(
    "original",
    [
        regularizers.L1(0.3),
        regularizers.L2(0.3),
        regularizers.L1L2(0.1, 0.2),
        regularizers.OrthogonalRegularizer(0.3, "columns"),
    ],
)
def test_round_trip_through_a_config(original):
    config = regularizers.serialize(original)
    assert config == {
        "module": "keras.regularizers",
        "class_name": type(original).__name__,
        "config": original.get_config(),
        "registered_name": None,
    }
    copy = regularizers.deserialize(config)
    assert type(copy) is type(original)
    assert copy.get_config() == original.get_config()


def test_get_accepts_names_classes_instances_functions_and_none():
    instance = regularizers.L2(0.3)
    assert regularizers.get(instance) is instance
    assert regularizers.get(len) is len
    assert regularizers.get(None) is None
    assert type(regularizers.get(regularizers.L1)) is regularizers.L1
    assert regularizers.get("L2").l2 == regularizers.get("l2").l2 == 0.01
    assert type(regularizers.get("l1_l2")) is regularizers.l1_l2 is regularizers.L1L2
    assert regularizers.get({"class_name": "L1L2", "config": {"l1": 0.5}}).l1 == 0.5


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: regularizers.get("orthogonal"), ValueError, "Unknown regularizer 'orthogonal'."),
        (
            lambda: regularizers.get("l1_l3"),
            ValueError,
            "Did you mean 'l1_l2'? Choices: 'l1', 'l1_l2'",
        ),
        (
            lambda: regularizers.L2(-0.1),
            ValueError,
            "l2=-0.1 was given; a finite number of at least 0 was expected",
        ),
        (lambda: regularizers.L1(float("nan")), ValueError, "l1=nan was given"),
        (
            lambda: regularizers.L1("0.1"),
            TypeError,
            "l1='0.1' was given; a finite number of at least 0 was expected",
        ),
        (
            lambda: regularizers.OrthogonalRegularizer(mode="row"),
            ValueError,
            "Unknown mode 'row'. Did you mean 'rows'?",
        ),
        (
            lambda: regularizers.OrthogonalRegularizer()(convert_to_tensor([1.0])),
            ValueError,
            "a value of shape (1,); a matrix",
        ),
        (
            lambda: regularizers.Regularizer().get_config(),
            NotImplementedError,
            "Regularizer has no `get_config`",
        ),
    ],
)
def test_invalid_arguments_raise(make, error, message):
    with pytest.raises(error, match=re.escape(message)):
        make()


def test_base_class_has_no_penalty():
    assert regularizers.Regularizer()(W) == 0.0
