"""Preparing arrays: one-hot classes, unit vectors, sequences of one length."""

import numpy as np
import pytest

from podium import utils


@pytest.mark.parametrize(
    ("given", "classes", "shape"),
    [([0, 2], None, (2, 3)), ([[0], [1]], 4, (2, 4)), (np.zeros((2, 3)), 2, (2, 3, 2)), (1, 2, (2,))],
)
def test_to_categorical_is_float32(given, classes, shape):
    hot = utils.to_categorical(given, classes)
    assert hot.shape == shape and hot.dtype == np.float32 and (hot.sum(-1) == 1).all()
    assert (hot.argmax(-1) == np.squeeze(given)).all()


@pytest.mark.parametrize(
    ("given", "message"), [([0, 3], r"classes from 0 to 3 with num_classes=3"), ([-1], "from -1 to -1"), ([0.5], "not whole")]
)
def test_to_categorical_refuses_what_is_no_class(given, message):
    with pytest.raises(ValueError, match=message):
        utils.to_categorical(given, 3)


def test_normalize_keeps_zeros():
    np.testing.assert_allclose(utils.normalize([[3.0, 4.0], [0.0, 0.0]]), [[0.6, 0.8], [0.0, 0.0]])
    np.testing.assert_allclose(utils.normalize([[3.0], [1.0]], axis=0, order=1), [[0.75], [0.25]])


@pytest.mark.parametrize(
    ("options", "rows"),
    [
        ({}, [[0, 0, 1], [2, 3, 4], [0, 0, 0]]),
        ({"padding": "post"}, [[1, 0, 0], [2, 3, 4], [0, 0, 0]]),
        ({"maxlen": 2}, [[0, 1], [3, 4], [0, 0]]),
        ({"maxlen": 2, "truncating": "post", "value": 9}, [[9, 1], [2, 3], [9, 9]]),
    ],
)
def test_pad_sequences(options, rows):
    assert utils.pad_sequences([[1], [2, 3, 4], []], **options).tolist() == rows


def test_pad_sequences_of_vectors_and_mistakes():
    assert utils.pad_sequences([[[1.0, 2.0]], [[3.0, 4.0]] * 2], dtype="float32").shape == (2, 2, 2)
    with pytest.raises(ValueError, match="Sequence 1 is 2; a list of numbers"):
        utils.pad_sequences([[1], 2])
    with pytest.raises(ValueError, match="Unknown padding 'before'"):
        utils.pad_sequences([[1]], padding="before")
    with pytest.raises(ValueError, match="One shape was expected"):
        utils.pad_sequences([[[1, 2]], [[1, 2, 3]]])
