"""Initializers: their distributions, seeds, configs and names."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from podium import initializers
from podium.core import SeedGenerator, Tensor, Variable, custom_object_scope, set_random_seed
from podium.initializers._scaling import compute_fans

RANDOM = [
    "GlorotNormal",
    "GlorotUniform",
    "HeNormal",
    "HeUniform",
    "LecunNormal",
    "LecunUniform",
    "Orthogonal",
    "RandomNormal",
    "RandomUniform",
    "TruncatedNormal",
    "VarianceScaling",
]
DETERMINISTIC = ["Constant", "Identity", "Ones", "STFT", "Zeros"]


def numbers(initializer, shape=(3, 4), dtype=None):
    return initializer(shape, dtype=dtype).numpy()


# --- values


@pytest.mark.parametrize(
    ("initializer", "expected"),
    [
        (initializers.Zeros(), np.zeros((2, 3))),
        (initializers.Ones(), np.ones((2, 3))),
        (initializers.Constant(2.5), np.full((2, 3), 2.5)),
        (initializers.Constant([1.0, 2.0, 3.0]), [[1, 2, 3], [1, 2, 3]]),
        (initializers.Constant(np.arange(6.0).reshape(2, 3)), [[0, 1, 2], [3, 4, 5]]),
        (initializers.Identity(gain=2.0), [[2, 0, 0], [0, 2, 0]]),
    ],
)
def test_constant_values(initializer, expected):
    value = initializer((2, 3))
    assert isinstance(value, Tensor)
    assert value.dtype == jnp.float32
    np.testing.assert_array_equal(value.numpy(), expected)


@pytest.mark.parametrize(
    ("name", "variance"),
    [
        ("GlorotNormal", 2 / 200),
        ("GlorotUniform", 2 / 200),
        ("HeNormal", 2 / 80),
        ("HeUniform", 2 / 80),
        ("LecunNormal", 1 / 80),
        ("LecunUniform", 1 / 80),
    ],
)
def test_variance_depends_on_the_size_of_the_layer(name, variance):
    values = numbers(getattr(initializers, name)(seed=1), (80, 120))
    stddev = np.sqrt(variance)
    assert abs(values.mean()) < 4 * stddev / np.sqrt(values.size)
    assert values.std() == pytest.approx(stddev, rel=0.03)
    limit = np.sqrt(3) * stddev if "Uniform" in name else 2 * stddev / 0.87962566
    assert 0.97 * limit < abs(values).max() <= limit * 1.000001


@pytest.mark.parametrize(
    "distribution", ["normal", "truncated_normal", "untruncated_normal", "uniform"]
)
@pytest.mark.parametrize(("mode", "fan"), [("fan_in", 80), ("fan_out", 120), ("fan_avg", 100)])
def test_variance_scaling_modes(distribution, mode, fan):
    initializer = initializers.VarianceScaling(3.0, mode, distribution, seed=2)
    assert numbers(initializer, (80, 120)).std() == pytest.approx(np.sqrt(3.0 / fan), rel=0.04)


@pytest.mark.parametrize(
    ("shape", "axes", "fans"),
    [
        ((), (None, None), (1, 1)),
        ((5,), (None, None), (5, 5)),
        ((3, 4), (None, None), (3, 4)),
        ((3, 3, 8, 16), (None, None), (72, 144)),
        ((2, 3, 4), ([0], [1, 2]), (2, 12)),
        ((2, 3, 4), ([0], None), (6, 8)),
    ],
)
def test_compute_fans(shape, axes, fans):
    assert compute_fans(shape, *axes) == fans


def test_normal_and_uniform_parameters():
    values = numbers(initializers.RandomNormal(2.0, 0.5, seed=3), (80, 120))
    assert values.mean() == pytest.approx(2.0, abs=0.02)
    assert values.std() == pytest.approx(0.5, rel=0.02)
    values = numbers(initializers.RandomUniform(-1.0, 3.0, seed=3), (80, 120))
    assert -1.0 <= values.min() < -0.99 and 2.99 < values.max() < 3.0
    values = numbers(initializers.TruncatedNormal(1.0, 0.5, seed=3), (80, 120))
    assert values.min() >= 0.0 and values.max() <= 2.0
    assert values.std() == pytest.approx(0.5 * 0.87962566, rel=0.03)


@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (2, 2, 3)])
def test_orthogonal_has_orthonormal_rows_or_columns(shape):
    matrix = numbers(initializers.Orthogonal(gain=3.0, seed=4), shape).reshape(-1, shape[-1])
    product = matrix.T @ matrix if matrix.shape[0] >= matrix.shape[1] else matrix @ matrix.T
    np.testing.assert_allclose(product, 9.0 * np.eye(len(product)), atol=1e-5)


@pytest.mark.parametrize("scaling", ["density", "spectrum", None])
def test_stft_kernels_compute_a_fourier_transform(scaling):
    frame = np.random.default_rng(0).normal(size=16)
    window = np.hanning(16)
    norm = {"density": np.sqrt((window**2).sum()), "spectrum": window.sum(), None: 1.0}[scaling]
    expected = np.fft.rfft(frame * window / norm)
    real, imaginary = (
        numbers(initializers.STFT(side, "hann", scaling), (16, 1, 9))[:, 0]
        for side in ("real", "imag")
    )
    np.testing.assert_allclose(frame @ real, expected.real, atol=1e-5)
    np.testing.assert_allclose(frame @ imaginary, expected.imag, atol=1e-5)
    by_values = numbers(initializers.STFT("real", window, scaling), (16, 1, 9))[:, 0]
    np.testing.assert_allclose(by_values, real, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "GlorotUniform",
            [[-0.4146716594696045, -0.5443885922431946], [0.23757219314575195, 0.5544304847717285]],
        ),
        (
            "HeNormal",
            [[-0.473833829164505, -0.6362117528915405], [0.26622122526168823, 0.6492953300476074]],
        ),
        (
            "RandomNormal",
            [
                [-0.021897533908486366, -0.029476288706064224],
                [0.012277986854314804, 0.03008984588086605],
            ],
        ),
        (
            "Orthogonal",
            [[-0.8722449541091919, 0.48906928300857544], [0.48906928300857544, 0.8722449541091919]],
        ),
    ],
)
def test_seed_draws_the_same_values_as_keras(name, expected):  # recorded from Keras 3.15.1 on JAX
    np.testing.assert_allclose(
        numbers(getattr(initializers, name)(seed=7), (2, 2)), expected, rtol=1e-6
    )


@pytest.mark.parametrize("name", RANDOM + DETERMINISTIC)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_values_have_the_requested_shape_and_dtype(name, dtype):
    shape = (4, 1, 3) if name == "STFT" else (3, 2)
    value = jax.eval_shape(lambda: initializers.get(name)(shape, dtype=dtype))  # nothing to compile
    (array,) = jax.tree.leaves(value)
    assert (array.shape, array.dtype) == (shape, jnp.dtype(dtype))


@pytest.mark.parametrize("name", ["Zeros", "GlorotUniform", "Orthogonal"])
def test_variable_accepts_an_initializer(name):
    variable = Variable(initializers.get(name), shape=(3, 4), dtype="float32")
    assert variable.shape == (3, 4)


# --- seeds


@pytest.mark.parametrize("name", RANDOM)
def test_initializer_repeats_its_values_and_two_initializers_differ(name):
    cls = getattr(initializers, name)
    first, second, seeded = cls(), cls(), cls(seed=5)
    np.testing.assert_array_equal(numbers(first), numbers(first))
    np.testing.assert_array_equal(numbers(seeded), numbers(cls(seed=5)))
    assert not np.array_equal(numbers(first), numbers(second))
    assert not np.array_equal(numbers(first), numbers(first.clone()))
    np.testing.assert_array_equal(numbers(seeded), numbers(seeded.clone()))


def test_seed_generator_draws_new_values_at_every_call():
    initializer = initializers.GlorotUniform(seed=SeedGenerator(3))
    first, second = numbers(initializer), numbers(initializer)
    assert not np.array_equal(first, second)
    again = initializers.deserialize(initializers.serialize(initializer))
    np.testing.assert_array_equal(numbers(again), first)


def test_set_random_seed_makes_default_seeds_reproducible():
    set_random_seed(11)
    first = numbers(initializers.HeNormal())
    set_random_seed(11)
    np.testing.assert_array_equal(numbers(initializers.get("he_normal")), first)


@pytest.mark.parametrize("seed", [1.5, "1", True])
def test_seed_of_a_wrong_type_raises(seed):
    with pytest.raises(
        TypeError,
        match=re.escape(f"seed={seed!r} was given; None, an int or a SeedGenerator"),
    ):
        initializers.RandomNormal(seed=seed)


# --- names and configs


@pytest.mark.parametrize("name", RANDOM + DETERMINISTIC)
def test_round_trip_through_a_config(name):
    original = initializers.get(name)
    config = initializers.serialize(original)
    assert config["module"] == "keras.initializers"
    assert (config["class_name"], config["registered_name"]) == (name, None)
    copy = initializers.deserialize(config)
    assert type(copy) is type(original)
    assert copy.get_config() == original.get_config()
    assert type(initializers.get(config)) is type(original)


def test_config_equals_that_of_keras():
    assert initializers.serialize(initializers.GlorotUniform(seed=3)) == {
        "module": "keras.initializers",
        "class_name": "GlorotUniform",
        "config": {"seed": 3, "input_axes": None, "output_axes": None},
        "registered_name": None,
    }
    assert initializers.Constant(np.ones(2, "float32")).get_config() == {
        "value": {"class_name": "__numpy__", "config": {"value": [1.0, 1.0], "dtype": "float32"}}
    }


def test_constant_array_is_restored_from_its_config():
    copy = initializers.Constant(np.arange(3.0)).clone()
    np.testing.assert_array_equal(numbers(copy, (3,)), [0, 1, 2])


@pytest.mark.parametrize(
    ("name", "cls"),
    [
        ("glorot_uniform", "GlorotUniform"),
        ("he_normal", "HeNormal"),
        ("normal", "RandomNormal"),
        ("uniform", "RandomUniform"),
        ("zero", "Zeros"),
        ("one", "Ones"),
        ("stft", "STFT"),
        ("OrthogonalInitializer", "Orthogonal"),
        ("IdentityInitializer", "Identity"),
        ("STFTInitializer", "STFT"),
    ],
)
def test_get_accepts_names(name, cls):
    assert type(initializers.get(name)) is getattr(initializers, cls)


def test_get_accepts_classes_instances_functions_arrays_and_none():
    instance = initializers.Ones()
    assert initializers.get(instance) is instance
    assert type(initializers.get(initializers.Ones)) is initializers.Ones
    assert initializers.get(np.zeros) is np.zeros
    assert initializers.get(None) is None
    assert initializers.glorot_uniform is initializers.GlorotUniform
    initializer = initializers.get(np.arange(4.0))
    np.testing.assert_array_equal(initializer((4,), dtype="int32").numpy(), [0, 1, 2, 3])
    with pytest.raises(
        ValueError,
        match=r"array of shape \(4,\) was given as initializer of a weight of shape \(2,\)",
    ):
        initializer((2,))


def test_registered_initializers_have_names():
    class Sevens(initializers.Initializer):
        def __call__(self, shape, dtype=None):
            return initializers.Constant(7.0)(shape, dtype)

    with custom_object_scope({"Sevens": Sevens}):
        assert numbers(initializers.get("Sevens"), (1,)) == 7.0
    assert (
        type(initializers.deserialize({"class_name": "Sevens", "config": {}}, {"Sevens": Sevens}))
        is Sevens
    )


# --- mistakes


def test_unknown_name_lists_the_choices_and_the_nearest():
    with pytest.raises(
        ValueError,
        match=r"Unknown initializer 'he_norml'\. Did you mean 'he_normal'\? Choices: 'constant'",
    ):
        initializers.get("he_norml")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: initializers.get(3.5), "3.5 was given as initializer"),
        (
            lambda: initializers.VarianceScaling(scale=0.0),
            "scale=0.0 was given to VarianceScaling; a positive number",
        ),
        (lambda: initializers.VarianceScaling(mode="fan_max"), "Unknown mode 'fan_max'"),
        (lambda: initializers.VarianceScaling(distribution="even"), "Unknown distribution 'even'"),
        (lambda: initializers.STFT(side="reel"), "Unknown side 'reel'. Did you mean 'real'?"),
        (lambda: initializers.STFT(scaling="dense"), "Unknown scaling 'dense'"),
        (lambda: initializers.STFT(window="hanning "), "window='hanning ' was given to STFT"),
        (lambda: initializers.STFT(window=[1.0])((4, 1, 3)), "a window of shape (1,)"),
        (
            lambda: initializers.STFT()((4, 3)),
            "shape=(4, 3); (frame_length, 1, frequencies) was expected",
        ),
        (lambda: initializers.Identity()((2, 2, 2)), "shape=(2, 2, 2); a matrix"),
        (lambda: initializers.Orthogonal()((2,)), "shape=(2,); at least two dimensions"),
        (
            lambda: initializers.Constant([1.0, 2.0])((3,)),
            "does not broadcast to the weight's shape (3,)",
        ),
        (lambda: initializers.Zeros()((None, 3)), "shape=(None, 3) was given to an initializer"),
        (lambda: initializers.GlorotUniform()((2, 2), dtype="int32"), "dtype='int32' was given"),
    ],
)
def test_invalid_arguments_raise(make, message):
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        make()


def test_base_class_requires_call():
    with pytest.raises(NotImplementedError, match="Initializer has no `__call__`"):
        initializers.Initializer()((2,))
