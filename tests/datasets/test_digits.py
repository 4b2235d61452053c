"""The handwritten digits that come with scikit-learn."""

import builtins

import numpy as np
import pytest

from podium import datasets


def test_digits_are_small_images_in_a_fixed_order():
    (x_train, y_train), (x_test, y_test) = datasets.digits.load_data()
    assert (
        x_train.shape == (1437, 8, 8)
        and x_test.shape == (360, 8, 8)
        and y_train.shape == (1437,)
        and y_test.shape == (360,)
    )
    assert (
        x_train.dtype == y_train.dtype == np.uint8 and x_train.min() == 0 and x_train.max() == 255
    )
    assert sorted(set(y_train.tolist())) == sorted(set(y_test.tolist())) == list(range(10))
    again, _ = datasets.digits.load_data()
    np.testing.assert_array_equal(again[0], x_train)
    other, rest = datasets.digits.load_data(test_split=0.5, seed=1)
    assert len(other[0]) == 898 and len(rest[0]) == 899


def test_without_scikit_learn_it_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def refusing(name, *args, **kwargs):
        if name.split(".")[0] == "sklearn":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refusing)
    with pytest.raises(ImportError, match="pip install scikit-learn"):
        datasets.digits.load_data()


def test_a_split_that_cannot_be():
    with pytest.raises(ValueError, match="test_split=2 was given"):
        datasets.digits.load_data(test_split=2)
