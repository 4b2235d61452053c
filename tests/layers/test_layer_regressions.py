"""Mistakes that were found by review in layers and graphs, one test each."""

import collections
import threading

import numpy as np

import podium
from podium import layers, ops

X = np.arange(12.0, dtype="float32").reshape(4, 3)


def test_a_variable_among_a_layers_arguments_is_read_when_the_graph_runs():
    offset = podium.Variable(np.ones((4, 3), "float32"))
    x = podium.Input((3,))
    model = podium.Model(x, layers.Add()([x, offset]))
    offset.assign(np.full((4, 3), 3.0, "float32"))
    with podium.GradientTape() as tape:
        y = model(X)
    np.testing.assert_array_equal(y, X + 3)
    np.testing.assert_array_equal(tape.gradient(y, offset), np.ones((4, 3)))


def test_a_call_with_star_arguments_in_a_graph():
    class Total(layers.Layer):
        def call(self, *values):
            return sum(values)

    a, b = podium.Input((3,)), podium.Input((3,))
    model = podium.Model([a, b], Total()(a, b))
    np.testing.assert_array_equal(model([X, 2 * X]), 3 * X)


def test_outputs_keep_the_order_of_their_dictionary_under_a_tape_and_in_a_graph():
    class Heads(podium.Model):
        def __init__(self):
            super().__init__()
            self.first, self.second = layers.Dense(1), layers.Dense(2)

        def call(self, inputs):
            return {"second": self.second(inputs), "first": self.first(inputs)}

    model = Heads()
    with podium.GradientTape() as tape:
        outputs = model(X)
        loss = ops.sum(outputs["second"])
    assert list(outputs) == list(model(X)) == list(model(podium.Input((3,)))) == ["second", "first"]
    gradients = tape.gradient(loss, [model.second.kernel, model.first.kernel])
    np.testing.assert_allclose(gradients[0], X.T @ np.ones((4, 2)), rtol=1e-6)
    assert gradients[1] is None


def test_threads_that_call_a_layer_first_build_it_once():
    built = []

    class Slow(layers.Layer):
        def build(self, input_shape):
            built.append(input_shape)
            threading.Event().wait(0.05)
            self.scale = self.add_weight(shape=(), initializer="ones", name="scale")

        def call(self, inputs):
            return inputs * self.scale

    layer = Slow()
    threads = [threading.Thread(target=layer, args=(X,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(built) == 1 and len(layer.weights) == 1


def test_ordered_dictionaries_are_outputs_under_a_tape():
    class Heads(layers.Layer):
        def call(self, inputs):
            return collections.OrderedDict(b=2.0 * inputs, a=inputs)

    x = podium.Variable(1.0)
    with podium.GradientTape() as tape:
        outputs = Heads()(x * 1.0)
        y = 3.0 * outputs["b"]
    assert list(outputs) == ["b", "a"] and float(tape.gradient(y, x)) == 6.0


def test_activity_regularizer_adds_zero_for_an_empty_batch():
    class Same(layers.Layer):
        def call(self, inputs):
            return inputs

    layer = Same(activity_regularizer="l2")
    layer(podium.ops.ones((0, 5)))
    assert [float(loss) for loss in layer.losses] == [0.0]


def test_cast_between_layers_of_two_dtypes_is_not_an_operation_of_the_graph():
    start = podium.Input((3,))
    hidden = layers.Dense(4, dtype="mixed_float16")(start)
    model = podium.Model(start, layers.Dense(1, dtype="float32")(hidden))
    assert len(model.layers) == 3
    copy = podium.Model.from_config(model.get_config())
    copy.set_weights(model.get_weights())
    x = np.ones((2, 3), "float32")
    assert copy(x).dtype == "float32"
    np.testing.assert_array_equal(copy(x).numpy(), model(x).numpy())


def test_layer_without_weights_is_built_when_created_unless_a_subclass_defines_build():
    class Sized(layers.Dropout):
        def build(self, input_shape):
            self.size = input_shape[-1]

    plain = (layers.Dropout(0.5), layers.ReLU(), layers.MaxPooling1D(), layers.Identity())
    assert all(layer.built for layer in plain)
    sized = Sized(0.5)
    assert not sized.built and not layers.Dense(2).built
    sized(X)
    assert sized.size == 3


def test_autocast_is_an_attribute():
    assert layers.Dense(2).autocast and not layers.Dense(2, autocast=False).autocast
    assert not layers.LayerNormalization(autocast=True).autocast


def test_mask_of_attention_is_that_of_the_query():
    query = np.array([[True, False]])
    layer = layers.Attention()
    inputs = [np.ones((1, 2, 3), "float32"), np.ones((1, 4, 3), "float32")]
    assert layer.compute_mask(inputs, [None, np.ones((1, 4), bool)]) is None
    np.testing.assert_array_equal(layer.compute_mask(inputs, [query, None]), query)
