"""Freezing before a layer is built: what `build` makes is frozen, as if it were frozen afterwards.

The numbers of weights are those of tf_keras 2.21.
"""

import numpy as np
import pytest

import podium
from podium import layers

SEQUENCE = np.ones((2, 3, 4), "float32")


class Block(layers.Layer):
    """Creates a weight, a sublayer, and a sublayer that creates another one, all in `build`."""

    def __init__(self, depth=1, **kwargs):
        super().__init__(**kwargs)
        self.depth = depth

    def build(self, input_shape):
        self.scale = self.add_weight(shape=(input_shape[-1],), trainable=True, name="scale")
        self.dense = layers.Dense(4)
        self.normalization = layers.BatchNormalization()
        self.inner = Block(self.depth - 1) if self.depth else None

    def call(self, inputs):
        outputs = self.normalization(self.dense(inputs * self.scale))
        return outputs if self.inner is None else self.inner(outputs)


def counts(layer):
    return len(layer.trainable_weights), len(layer.non_trainable_weights)


def frozen_by_setter(make, **kwargs):
    layer = make(**kwargs)
    layer.trainable = False
    return layer


def frozen_by_argument(make, **kwargs):
    return make(**kwargs, trainable=False)


@pytest.mark.parametrize("freeze", [frozen_by_setter, frozen_by_argument])
@pytest.mark.parametrize(
    ("make", "total"),
    [
        (Block, 14),
        (lambda **kw: layers.Bidirectional(layers.LSTM(2), **kw), 6),
        (lambda **kw: layers.TimeDistributed(layers.Dense(2), **kw), 2),
        (lambda **kw: layers.RNN(layers.LSTMCell(2), **kw), 3),
        (lambda **kw: layers.RNN([layers.GRUCell(2), layers.LSTMCell(2)], **kw), 6),
        (lambda **kw: layers.LSTM(2, **kw), 3),
    ],
    ids=["block", "bidirectional", "time_distributed", "rnn", "stacked_rnn", "lstm"],
)
def test_layer_frozen_before_build_has_no_trainable_weights(freeze, make, total):
    layer = freeze(make)
    model = podium.Sequential([podium.Input(SEQUENCE.shape[1:]), layer])
    model(SEQUENCE)
    assert counts(layer) == counts(model) == (0, total)
    layer.trainable = True
    statistics = 4 if make is Block else 0
    assert counts(layer) == counts(model) == (total - statistics, statistics)


@pytest.mark.parametrize("freeze", [frozen_by_setter, frozen_by_argument])
@pytest.mark.parametrize("run_eagerly", [False, True])
def test_attention_frozen_before_build_does_not_move(freeze, run_eagerly):
    attention = freeze(lambda **kw: layers.MultiHeadAttention(2, 2, **kw))
    start = podium.Input((3, 4))
    outputs = layers.Dense(1)(attention(start, start))
    model = podium.Model(start, outputs)
    assert counts(attention) == (0, 8) and counts(model) == (2, 8)
    model.compile("sgd", "mse", run_eagerly=run_eagerly)
    before = model.get_weights()
    model.fit(np.ones((8, 3, 4)), np.zeros((8, 3, 1)), verbose=0)
    moved = [bool((a != b).any()) for a, b in zip(before, model.get_weights(), strict=True)]
    assert moved == [False] * 8 + [True] * 2
    attention.trainable = True
    assert counts(model) == (10, 0)


def test_normalization_made_in_the_build_of_a_frozen_layer_keeps_its_statistics():
    early, late = Block(), Block()
    early.trainable = False
    x = np.random.default_rng(0).normal(size=(8, 4)).astype("float32")
    early(x, training=True)
    late(x, training=False)
    late.trainable = False
    late(x, training=True)
    for block in (early, late):
        np.testing.assert_array_equal(block.normalization.moving_mean.numpy(), np.zeros(4))


def test_model_frozen_before_its_first_call_has_no_trainable_weights():
    class Lazy(podium.Model):
        def __init__(self):
            super().__init__()
            self.first = layers.Dense(2)
            self.last = None

        def build(self, input_shape):
            self.second = Block(depth=0)

        def call(self, inputs):
            if self.last is None:
                self.last = layers.Dense(1)
            return self.last(self.second(self.first(inputs)))

    model = Lazy()
    model.trainable = False
    model(np.ones((1, 2), "float32"))
    assert counts(model) == (0, 11)
    model.trainable = True
    assert counts(model) == (9, 2)


def test_layer_added_to_a_frozen_stack_is_frozen():
    model = podium.Sequential([layers.Dense(2), layers.Dense(1)])
    model.trainable = False
    model.add(layers.Dense(3))
    model.build((None, 2))
    assert counts(model) == (0, 6)
    model.trainable = True
    assert counts(model) == (6, 0)


def test_layer_shared_with_a_frozen_wrapper_trains_through_its_other_use():
    dense = layers.Dense(2)
    wrapper = layers.TimeDistributed(dense, trainable=False)
    start = podium.Input((3, 4))
    model = podium.Model(start, [wrapper(start), dense(start)])
    assert (counts(wrapper), counts(dense), counts(model)) == ((0, 2), (2, 0), (2, 0))


def test_layer_unfrozen_inside_a_frozen_one_is_not_trained_from_outside():
    block = Block(depth=0, trainable=False)
    block(SEQUENCE)
    block.dense.trainable = True
    assert counts(block) == (0, 7) and counts(block.dense) == (2, 0)


def test_frozen_layers_with_trainable_variables_run_once_under_a_tape():
    calls = []

    class Counted(layers.Layer):
        def __init__(self, layer, **kwargs):
            super().__init__(**kwargs)
            self.layer = layer

        def call(self, inputs):
            calls.append(1)
            return self.layer(inputs)

    counted = Counted(layers.Dense(1), trainable=False)
    counted(SEQUENCE)
    calls.clear()
    with podium.GradientTape() as tape:
        loss = podium.ops.sum(counted(SEQUENCE))
    assert calls == [1]
    assert tape.gradient(loss, counted.layer.kernel).shape == (4, 1)
