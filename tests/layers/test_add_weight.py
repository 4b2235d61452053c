"""`Layer.add_weight`: Keras 3's and Keras 2's orders of arguments, and what is refused."""

import numpy as np
import pytest

import podium
from podium import layers


@pytest.fixture
def layer():
    return layers.Layer(name="scale")


def test_keras_3_order(layer):
    weight = layer.add_weight((2, 3), "ones", "float16", False, False, None, None, "mean")
    assert weight.shape == (2, 3) and weight.dtype == "float16" and not weight.trainable
    assert not weight.autocast and weight.aggregation == "mean" and weight.numpy().all()


def test_keras_2_order(layer):
    penalty = podium.regularizers.L2(0.5)
    weight = layer.add_weight("w", (2,), "float16", "ones", penalty, False, podium.ops.abs)
    assert weight.name == "w" and weight.shape == (2,) and weight.dtype == "float16"
    assert weight.regularizer is penalty and not weight.trainable
    assert weight.constraint is podium.ops.abs and weight.numpy().all()


def test_keras_2_order_with_named_shape(layer):
    weight = layer.add_weight("w", shape=(3,), initializer="ones", trainable=None)
    assert weight.name == "w" and weight.trainable
    np.testing.assert_array_equal(weight.numpy(), np.ones(3))


def test_no_name_before_a_shape_is_keras_2_order(layer):
    assert layer.add_weight(None, (3,), "float16").dtype == "float16"
    assert layer.add_weight(None, "ones").shape == ()


def test_arguments_of_keras_2_without_a_meaning_are_accepted(layer):
    weight = layer.add_weight(
        "w", (2,), experimental_autocast=False, use_resource=True, synchronization="auto"
    )
    assert not weight.autocast


def test_name_followed_by_an_initializer_is_refused(layer):
    with pytest.raises(TypeError, match=r"add_weight was given 'w', 'ones' without names.*shape"):
        layer.add_weight("w", "ones")


def test_argument_by_position_and_by_name_is_refused(layer):
    with pytest.raises(TypeError, match=r"given 'name' by position, 'w', and by name, 'v'"):
        layer.add_weight("w", (2,), name="v")


def test_unknown_argument_is_refused(layer):
    with pytest.raises(TypeError, match=r"initialiser='ones'.*Did you mean 'initializer'"):
        layer.add_weight((2,), initialiser="ones")
    with pytest.raises(TypeError, match="11 arguments without names; at most 10"):
        layer.add_weight(*[None] * 11)


@pytest.mark.parametrize(
    "make",
    [
        lambda: layers.Dense(1, trainable="no"),
        lambda: setattr(layers.Dense(1), "trainable", "no"),
        lambda: layers.Layer().add_weight((1,), trainable="no"),
        lambda: podium.Variable(1.0, trainable="no"),
        lambda: podium.Sequential([layers.Dense(1)], trainable="no"),
    ],
)
def test_trainable_that_is_not_a_bool_is_refused(make):
    with pytest.raises(ValueError, match=r"trainable='no' \(str\); True or False was expected"):
        make()


def test_trainable_may_be_zero_or_one():
    layer = layers.Dense(1, trainable=np.bool_(False))
    assert layer.trainable is False
    layer.trainable = 1
    assert layer.trainable is True
