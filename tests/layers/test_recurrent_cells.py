"""Cells of the user whose states are nested or have several dimensions."""

import jax
import numpy as np
import pytest

import podium
from podium import layers, ops
from podium.compat import tensorflow as tf

X = np.random.default_rng(0).normal(size=(2, 4, 3)).astype("float32")


class NestedCell(layers.Layer):
    """Adds up its inputs, and counts steps in states of other widths."""

    state_size = ([3], (2, [1]))
    output_size = 3

    def call(self, inputs, states):
        """Compute one step."""
        [total], (twos, [count]) = states
        total = total + inputs
        return total * (1 + ops.mean(count)), ([total], (twos + 2, [count + 1]))


class ImageCell(layers.Layer):
    """Sums images; its state has their shape."""

    state_size = tf.TensorShape([4, 3])

    def call(self, inputs, states):
        """Compute one step."""
        total = states[0] + inputs
        return total, [total]


def test_nested_states_keep_their_structure():
    layer = layers.RNN(NestedCell(), return_sequences=True, return_state=True)
    outputs, total, rest = layer(X)
    sums = np.cumsum(X, 1)
    np.testing.assert_allclose(outputs, sums * np.arange(1, 5)[None, :, None], rtol=1e-5)
    np.testing.assert_allclose(total[0], sums[:, -1], rtol=1e-5)
    np.testing.assert_array_equal(rest[0], np.full((2, 2), 8))
    np.testing.assert_array_equal(rest[1][0], np.full((2, 1), 4))
    expected = ((2, 4, 3), [(2, 3)], ((2, 2), [(2, 1)]))
    assert layer.compute_output_shape((2, 4, 3)) == expected


def test_nested_states_start_from_those_of_the_caller():
    layer = layers.RNN(NestedCell(), return_state=True)
    initial = [[np.ones((2, 3), "float32")], (np.zeros((2, 2), "float32"), [X[:, 0, :1]])]
    for result in (layer(X, initial_state=initial), layer([X, *initial])):
        np.testing.assert_allclose(result[1][0], X.sum(1) + 1, rtol=1e-5)


def test_nested_states_in_a_model_and_in_a_stateful_layer():
    inputs = podium.Input((4, 3))
    layer = layers.RNN(NestedCell(), return_state=True)
    model = podium.Model(inputs, layer(inputs))
    for left, right in zip(
        jax.tree.leaves(model.predict(X, verbose=0)), podium.core.tree_leaves(layer(X)), strict=True
    ):
        np.testing.assert_allclose(left, right, rtol=1e-5)
    stateful = layers.RNN(NestedCell(), return_state=True, stateful=True)
    stateful(X)
    np.testing.assert_allclose(stateful(X)[1][0], 2 * X.sum(1), rtol=1e-5)
    stateful.reset_state()
    np.testing.assert_allclose(stateful(X)[1][0], X.sum(1), rtol=1e-5)


def test_a_stack_takes_a_cell_with_nested_states():
    layer = layers.RNN([NestedCell(), layers.GRUCell(2)], return_state=True)
    output, nested, gru = layer(X)
    assert output.shape == (2, 2) and nested[0][0].shape == (2, 3)
    assert podium.core.tree_leaves(gru)[0].shape == (2, 2)


def test_a_state_size_may_be_a_shape():
    images = np.random.default_rng(1).normal(size=(2, 5, 4, 3)).astype("float32")
    layer = layers.RNN(ImageCell(), return_sequences=True, return_state=True)
    outputs, state = layer(images)
    np.testing.assert_allclose(outputs, np.cumsum(images, 1), rtol=1e-4, atol=1e-5)
    assert layer.compute_output_shape((2, 5, 4, 3)) == (outputs.shape, state.shape)
    mask = np.arange(5)[None] < np.array([[5], [2]])
    masked = layer(images, mask=mask)[1]
    np.testing.assert_allclose(masked[1], images[1, :2].sum(0), rtol=1e-4, atol=1e-5)


def test_a_state_size_of_something_else_raises():
    class WrongCell(layers.Layer):
        state_size = "four"

    with pytest.raises(ValueError, match=r"ints were expected, or shapes as tf\.TensorShape"):
        layers.RNN(WrongCell())
