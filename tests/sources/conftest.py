"""Fixtures of the tests of data sources of other libraries.

The tests need packages that Podium never imports: `make test-sources` installs them.
"""

import warnings

import numpy as np
import pytest

import podium
from podium.data import DataHandler

RNG = np.random.default_rng(0)
X = RNG.normal(size=(23, 3))
LABELS = RNG.integers(0, 3, 23)


@pytest.fixture(autouse=True)
def ignore_package_warnings():
    """The packages warn on their own account, of what they will change; our own warnings stay
    errors.
    """
    with warnings.catch_warnings():
        for package in ("tensorflow", "torch", "datasets", "zarr", "google", "keras"):
            warnings.filterwarnings("ignore", module=rf"{package}(\.|$)")
        yield


@pytest.fixture
def x():
    """Inputs: 23 rows of 3 float64 values."""
    return X.copy()


@pytest.fixture
def labels():
    """Class indices of the inputs, in int64."""
    return LABELS.copy()


@pytest.fixture
def batches():
    """Return all batches of arguments of `fit`, in batches of 8, shuffled by a fixed seed."""

    def read(*args, **kwargs):
        data = DataHandler(
            *args, **({"batch_size": 8, "shuffle": True, "shuffle_seed": 1} | kwargs)
        )
        return [list(iterator) for _, iterator in data.enumerate_epochs()]

    return read


@pytest.fixture
def same():
    """Compare structures of arrays: structure, dtypes, shapes and values."""

    def compare(actual, expected):
        if isinstance(expected, dict):
            assert list(actual) == list(expected)
            actual, expected = list(actual.values()), list(expected.values())
        if isinstance(expected, (tuple, list)):
            assert len(actual) == len(expected)
            for one, other in zip(actual, expected, strict=True):
                compare(one, other)
            return
        actual, expected = np.asarray(actual), np.asarray(expected)
        assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape)
        np.testing.assert_array_equal(actual, expected)

    return compare


@pytest.fixture
def trained():
    """Return the weights of a small model after two shuffled epochs."""

    def train(*args, **kwargs):
        podium.utils.set_random_seed(5)
        model = podium.Sequential([podium.Input((3,)), podium.layers.Dense(3)])
        model.compile("sgd", podium.losses.SparseCategoricalCrossentropy(from_logits=True))
        model.fit(*args, batch_size=8, epochs=2, verbose=0, **kwargs)
        return model.get_weights()

    return train


@pytest.fixture
def equal_to_arrays():
    """Compare a source of batches of five with its arrays: history, weights, evaluation and
    predictions, bit for bit.
    """

    def compare(make, model, x, y):
        ours, theirs = model(), model()
        history = theirs.fit(make(), epochs=3, verbose=0).history
        assert ours.fit(x, y, batch_size=5, epochs=3, shuffle=False, verbose=0).history == history
        for one, other in zip(ours.get_weights(), theirs.get_weights(), strict=True):
            np.testing.assert_array_equal(one, other)
        assert ours.evaluate(x, y, batch_size=5, verbose=0) == theirs.evaluate(make(), verbose=0)
        np.testing.assert_array_equal(
            ours.predict(x, batch_size=5, verbose=0), theirs.predict(make(), verbose=0)
        )

    return compare
