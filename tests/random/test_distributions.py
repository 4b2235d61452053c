"""Random draws: shapes, ranges, moments, and how seeds repeat or move on."""

import numpy as np
import pytest

import podium
from podium import random

DRAWS = {
    "normal": lambda seed: random.normal((4, 3), seed=seed),
    "uniform": lambda seed: random.uniform((4, 3), seed=seed),
    "truncated_normal": lambda seed: random.truncated_normal((4, 3), seed=seed),
    "randint": lambda seed: random.randint((4, 3), 0, 1000, seed=seed),
    "gamma": lambda seed: random.gamma((4, 3), 2.0, seed=seed),
    "beta": lambda seed: random.beta((4, 3), 2.0, 3.0, seed=seed),
    "binomial": lambda seed: random.binomial((4, 3), 50.0, 0.5, seed=seed),
    "categorical": lambda seed: random.categorical(np.zeros((4, 100)), 3, seed=seed),
    "shuffle": lambda seed: random.shuffle(np.arange(12).reshape(12, 1), seed=seed),
    "dropout": lambda seed: random.dropout(np.ones((6, 6), "float32"), 0.5, seed=seed),
}


@pytest.mark.parametrize("name", DRAWS)
def test_int_seed_repeats_values_and_generator_draws_new_ones(name):
    draw = DRAWS[name]
    np.testing.assert_array_equal(draw(1).numpy(), draw(1).numpy())
    generator = random.SeedGenerator(1)
    assert not np.array_equal(draw(generator).numpy(), draw(generator).numpy())
    assert not np.array_equal(draw(None).numpy(), draw(None).numpy())


@pytest.mark.parametrize(
    ("sample", "mean", "variance"),
    [
        (lambda: random.normal((20000,), 1.0, 2.0, seed=0), 1.0, 4.0),
        (lambda: random.uniform((20000,), -1.0, 3.0, seed=0), 1.0, 16 / 12),
        (lambda: random.gamma((20000,), 3.0, seed=0), 3.0, 3.0),
        (lambda: random.beta((20000,), 2.0, 2.0, seed=0), 0.5, 0.05),
        (lambda: random.binomial((20000,), 10, 0.3, seed=0), 3.0, 2.1),
        (lambda: random.dropout(np.ones(20000, "float32"), 0.25, seed=0), 1.0, 1 / 3),
    ],
)
def test_moments_equal_those_of_the_distribution(sample, mean, variance):
    x = sample().numpy()
    assert x.mean() == pytest.approx(mean, abs=0.06)
    assert x.var() == pytest.approx(variance, rel=0.08)


def test_samples_have_the_requested_dtype():
    assert random.normal((2,), dtype="bfloat16", seed=0).dtype == "bfloat16"
    assert random.randint((2,), 0, 5, dtype="uint8", seed=0).dtype == "uint8"


def test_dropout_broadcasts_noise_shape():
    x = random.dropout(np.ones((4, 5), "float32"), 0.5, noise_shape=(None, 1), seed=2).numpy()
    assert (x == x[:, :1]).all()


def test_dropout_gradient_uses_the_same_mask():
    x = podium.Variable(np.ones(50, "float32"))
    with podium.GradientTape() as tape:
        y = random.dropout(x, 0.5, seed=0)
        total = podium.ops.sum(y)
    np.testing.assert_array_equal(tape.gradient(total, x).numpy(), y.numpy())


def test_samples_differ_between_calls_of_a_compiled_function():
    generator = random.SeedGenerator(0)
    draw = podium.function(lambda: random.normal((3,), seed=generator))
    first, second = draw().numpy(), draw().numpy()
    assert not np.array_equal(first, second)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: random.uniform((2,), dtype="int32"), "random.randint"),
        (lambda: random.randint((2,), 0, 5, dtype="float32"), "dtype"),
        (lambda: random.dropout([1.0], 1.5), "rate=1.5"),
        (lambda: random.categorical([0.0, 1.0], 2), "2D"),
    ],
)
def test_errors_state_the_argument_and_the_expected_value(call, message):
    with pytest.raises(ValueError, match=message):
        call()
