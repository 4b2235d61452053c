"""Preparation of arrays: one-hot classes, unit vectors, padded sequences."""

import numpy as np
import pytest

import podium
from podium import utils


@pytest.mark.parametrize(
    ("labels", "num_classes", "shape"),
    [
        ([0, 2], None, (2, 3)),
        ([[0], [1]], 4, (2, 4)),
        (np.zeros((2, 3)), 2, (2, 3, 2)),
        (1, 2, (2,)),
    ],
)
def test_to_categorical_is_float32(labels, num_classes, shape):
    hot = utils.to_categorical(labels, num_classes)
    assert hot.shape == shape and hot.dtype == np.float32 and (hot.sum(-1) == 1).all()
    assert (hot.argmax(-1) == np.squeeze(labels)).all()


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 3], r"classes from 0 to 3 with num_classes=3"),
        ([-1], "from -1 to -1"),
        ([0.5], "not integers"),
    ],
)
def test_to_categorical_rejects_invalid_class_indices(labels, message):
    with pytest.raises(ValueError, match=message):
        utils.to_categorical(labels, 3)


def test_to_categorical_of_tensors_and_with_keyword_y():
    hot = utils.to_categorical(podium.convert_to_tensor([[1], [2]]), 3)
    assert isinstance(hot, podium.Tensor) and hot.numpy().tolist() == [[0, 1, 0], [0, 0, 1]]
    assert podium.function(lambda x: utils.to_categorical(x, 2))(
        podium.ops.arange(2)
    ).numpy().tolist() == [[1, 0], [0, 1]]
    assert utils.to_categorical(podium.convert_to_tensor([2])).shape == (1, 3)
    assert utils.to_categorical(y=[1], num_classes=2, dtype="int8").dtype == np.int8
    assert utils.to_categorical([True, False]).tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize(
    ("labels", "num_classes", "message"),
    [
        ([], None, "an empty array and no num_classes"),
        (["a"], 2, "values of dtype <U1 that are not integers"),
        ([float("nan")], 2, "not integers"),
        ([0], -1, "num_classes=-1 was given"),
    ],
)
def test_to_categorical_rejects_input_without_row_length(labels, num_classes, message):
    with pytest.raises(ValueError, match=message):
        utils.to_categorical(labels, num_classes)
    assert utils.to_categorical([], 3).shape == (0, 3)


def test_normalize_of_tensors_and_matrices():
    unit = utils.normalize(podium.convert_to_tensor([[3.0, 4.0]]))
    assert isinstance(unit, podium.Tensor)
    np.testing.assert_allclose(unit.numpy(), [[0.6, 0.8]], rtol=1e-6)
    np.testing.assert_allclose(utils.normalize(np.diag([2.0, 4.0]), axis=None), np.diag([0.5, 1.0]))
    np.testing.assert_allclose(
        utils.normalize(np.array([[1.0, -4.0]]), order=np.inf), [[0.25, -1.0]]
    )


def test_normalize_keeps_zero_vectors():
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


def test_pad_sequences_of_vectors_and_invalid_arguments():
    assert utils.pad_sequences([[[1.0, 2.0]], [[3.0, 4.0]] * 2], dtype="float32").shape == (2, 2, 2)
    with pytest.raises(ValueError, match="Sequence 1 is 2; a list of numbers"):
        utils.pad_sequences([[1], 2])
    with pytest.raises(ValueError, match="Unknown padding 'before'"):
        utils.pad_sequences([[1]], padding="before")
    with pytest.raises(ValueError, match="Sequence 0 is 'ab'; a list"):
        utils.pad_sequences(["ab"])
    with pytest.raises(
        ValueError, match="value='x' was given with dtype='int32', which cannot hold strings"
    ):
        utils.pad_sequences([[1]], value="x")
    with pytest.raises(ValueError, match="maxlen=-1 was given"):
        utils.pad_sequences([[1]], maxlen=-1)
    with pytest.raises(TypeError, match="a list of lists was expected"):
        utils.pad_sequences(iter([[1]]))
    assert utils.pad_sequences([[1], [2, 3]], maxlen=0).shape == (2, 0) and utils.pad_sequences(
        []
    ).shape == (0, 0)
    assert utils.pad_sequences(np.array([[1, 2]]), maxlen=3).tolist() == [[0, 1, 2]]
    with pytest.raises(ValueError, match="One shape was expected"):
        utils.pad_sequences([[[1, 2]], [[1, 2, 3]]])
