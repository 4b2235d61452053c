"""`datasets.digits`, which reads the files of scikit-learn."""

import builtins

import numpy as np
import pytest

from podium import datasets


def test_digits_are_small_images_in_reproducible_order():
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
    second_train, _ = datasets.digits.load_data()
    np.testing.assert_array_equal(second_train[0], x_train)
    train, test = datasets.digits.load_data(test_split=0.5, seed=1)
    assert len(train[0]) == 898 and len(test[0]) == 899


def test_load_data_names_the_missing_package(monkeypatch):
    original_import = builtins.__import__

    def import_without_sklearn(name, *args, **kwargs):
        if name.split(".")[0] == "sklearn":
            raise ImportError(name)
        return original_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", import_without_sklearn)
    with pytest.raises(ImportError, match="pip install scikit-learn"):
        datasets.digits.load_data()


def test_load_data_rejects_test_split_out_of_range():
    with pytest.raises(ValueError, match="test_split=2 was given"):
        datasets.digits.load_data(test_split=2)
