"""Crossentropies of a saturated softmax or sigmoid use the logits behind it, as tf_keras does.

The expected values are those of tf_keras 2.21: a loss of 200 and gradients of 1, where clipped
probabilities give 16.118 and 0.
"""

import numpy as np
import pytest

import podium
from podium import layers, losses, metrics, ops

X = np.array([[1.0, 0.0]], "float32")
ONE_HOT = np.array([[1.0, 0.0]], "float32")
CLIPPED = pytest.approx(16.118, abs=1e-3)


def saturated(*last, units=2, activation="softmax"):
    """Return a model whose logits for X are [0, 200], or 200 for a single unit."""
    dense = layers.Dense(units, None if last else activation, use_bias=False)
    model = podium.Sequential([podium.Input((2,)), dense, *last])
    dense.kernel.assign([[0.0, 200.0]] * 2 if units == 2 else [[200.0]] * 2)
    return model


def loss_and_gradient(model, loss, y):
    with podium.GradientTape() as tape:
        value = ops.sum(loss(y, model(X)))
    return float(value), tape.gradient(value, model.trainable_variables[0]).numpy()[0].tolist()


class Subclassed(podium.Model):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def call(self, inputs):
        return self.inner(inputs)


def functional(activation):
    start = podium.Input((2,))
    model = podium.Model(start, activation(layers.Dense(2, use_bias=False)(start)))
    model.weights[0].assign([[0.0, 200.0]] * 2)
    return model


@pytest.mark.parametrize(
    "make_model",
    [
        saturated,
        lambda: saturated(layers.Softmax()),
        lambda: saturated(layers.Activation("softmax")),
        lambda: saturated(layers.Lambda(ops.softmax)),
        lambda: Subclassed(saturated()),
        lambda: functional(ops.softmax),
        lambda: functional(layers.Softmax()),
    ],
    ids=["dense", "Softmax", "Activation", "Lambda", "subclass", "graph operation", "graph layer"],
)
def test_categorical_crossentropy_of_a_saturated_softmax_has_a_gradient(make_model):
    model = make_model()
    for loss in (losses.categorical_crossentropy, losses.CategoricalCrossentropy()):
        assert loss_and_gradient(model, loss, ONE_HOT) == (200.0, [-1.0, 1.0])


@pytest.mark.parametrize(
    ("loss", "y"),
    [
        (losses.sparse_categorical_crossentropy, [0]),
        (losses.SparseCategoricalCrossentropy(), [[0]]),
        (losses.SparseCategoricalCrossentropy(ignore_class=-1), [0]),
        (ops.sparse_categorical_crossentropy, [0]),
        (ops.categorical_crossentropy, ONE_HOT),
    ],
)
def test_other_crossentropies_of_a_softmax_use_the_logits(loss, y):
    assert loss_and_gradient(saturated(), loss, np.asarray(y)) == (200.0, [-1.0, 1.0])


@pytest.mark.parametrize(
    "loss",
    [
        losses.binary_crossentropy,
        losses.BinaryCrossentropy(),
        losses.binary_focal_crossentropy,
        losses.BinaryFocalCrossentropy(),
        ops.binary_crossentropy,
    ],
)
def test_binary_crossentropies_of_a_sigmoid_use_the_logits(loss):
    model = saturated(units=1, activation="sigmoid")
    assert loss_and_gradient(model, loss, np.zeros((1, 1), "float32")) == (200.0, [1.0])


def test_label_smoothing_is_applied_to_the_targets_of_logits():
    loss = losses.CategoricalCrossentropy(label_smoothing=0.1)
    assert loss_and_gradient(saturated(), loss, ONE_HOT)[0] == pytest.approx(190.0)


@pytest.mark.parametrize("run_eagerly", [False, True])
def test_fit_and_evaluate_leave_a_saturated_softmax(run_eagerly):
    model = saturated()
    model.compile(
        podium.optimizers.SGD(1.0),
        "categorical_crossentropy",
        metrics=[
            "categorical_crossentropy",
            metrics.CategoricalCrossentropy("metric"),
            losses.CategoricalCrossentropy(name="loss_object"),
        ],
        run_eagerly=run_eagerly,
    )
    assert model.evaluate(X, ONE_HOT, verbose=0) == [200.0, 200.0, 200.0, 200.0]
    model.fit(X, ONE_HOT, verbose=0)
    np.testing.assert_allclose(model.get_weights()[0][0], [1.0, 199.0], rtol=1e-6)


@pytest.mark.parametrize(
    "last",
    [
        lambda: layers.Activation("linear", dtype="float32"),
        lambda: layers.Lambda(lambda x: x, name="probabilities"),
        lambda: layers.Lambda(lambda x: ops.cast(x, "float32")),
        lambda: layers.Dropout(0.0),
    ],
    ids=["linear", "Lambda", "cast to the same dtype", "Dropout"],
)
def test_layers_that_return_their_input_keep_the_logits(last):
    model = saturated(layers.Softmax(), last())
    loss = losses.CategoricalCrossentropy()
    assert loss_and_gradient(model, loss, ONE_HOT) == (200.0, [-1.0, 1.0])
    assert float(loss(ONE_HOT, model(X))) == 200.0


def test_a_compiled_function_with_a_tape_uses_the_logits():
    model = saturated()

    @podium.function
    def step(x, y):
        with podium.GradientTape() as tape:
            loss = losses.CategoricalCrossentropy()(y, model(x, training=True))
        return loss, tape.gradient(loss, model.trainable_variables)[0]

    loss, gradient = step(X, ONE_HOT)
    assert (float(loss), gradient.numpy()[0].tolist()) == (200.0, [-1.0, 1.0])


def test_replicas_use_the_logits():
    strategy = podium.distribute.MirroredStrategy(["cpu:0", "cpu:1"])
    with strategy.scope():
        model = saturated()
        model.compile(podium.optimizers.SGD(1.0), "categorical_crossentropy")
    model.fit(np.repeat(X, 4, 0), np.repeat(ONE_HOT, 4, 0), batch_size=4, verbose=0)
    np.testing.assert_allclose(model.get_weights()[0][0], [1.0, 199.0], rtol=1e-6)


def test_only_the_output_of_the_right_activation_has_logits():
    logits = podium.convert_to_tensor([[0.0, 200.0]])
    loss = losses.CategoricalCrossentropy()
    assert float(loss(ONE_HOT, ops.softmax(logits))) == 200.0
    assert float(loss(ONE_HOT, ops.softmax(logits) * 1.0)) == CLIPPED
    assert float(loss(ONE_HOT, podium.convert_to_tensor(ops.softmax(logits).numpy()))) == CLIPPED
    assert float(losses.BinaryCrossentropy()(ONE_HOT, ops.softmax(logits))) != 200.0
    sigmoid = ops.sigmoid(logits)
    plain = podium.convert_to_tensor(sigmoid.numpy())
    assert float(loss(ONE_HOT, sigmoid)) == float(loss(ONE_HOT, plain))


def test_logits_of_a_softmax_over_another_axis_are_not_used():
    logits = podium.convert_to_tensor(np.full((2, 2), 200.0, "float32") * [[0, 1], [1, 1]])
    target = np.eye(2, dtype="float32")
    for axis, loss_axis in ((0, -1), (0, 1), ((0, 1), -1)):
        probabilities = ops.softmax(logits, axis=axis)
        expected = losses.categorical_crossentropy(target, probabilities.numpy(), axis=loss_axis)
        value = losses.categorical_crossentropy(target, probabilities, axis=loss_axis)
        np.testing.assert_array_equal(value.numpy(), expected.numpy())
    value = losses.categorical_crossentropy(target, ops.softmax(logits, axis=0), axis=0)
    assert value.numpy()[0] == 200.0


def test_declaring_probabilities_as_logits_warns_and_uses_the_logits():
    with pytest.warns(UserWarning, match=r"categorical_crossentropy was given from_logits=True"):
        value = losses.CategoricalCrossentropy(from_logits=True)(ONE_HOT, saturated()(X))
    assert float(value) == 200.0


def test_gradient_by_watched_probabilities_is_that_of_the_probabilities():
    probabilities = ops.softmax(podium.convert_to_tensor([[0.0, 1.0]]))
    with podium.GradientTape() as tape:
        tape.watch(probabilities)
        loss = losses.categorical_crossentropy(ONE_HOT, probabilities)
    assert tape.gradient(loss, probabilities) is not None


def test_logits_in_a_variable_are_read_when_the_softmax_is_computed():
    logits = podium.Variable([[0.0, 200.0]])
    with podium.GradientTape() as tape:
        probabilities = ops.softmax(logits)
        logits.assign([[0.0, 0.0]])
        loss = losses.categorical_crossentropy(ONE_HOT, probabilities)
    assert float(loss[0]) == 200.0
    assert tape.gradient(loss, logits).numpy().tolist() == [[-1.0, 1.0]]


def test_gradients_by_unused_and_inner_values_stay_as_they_are():
    class TwoHeads(podium.Model):
        def __init__(self):
            super().__init__()
            self.first = layers.Dense(2, "softmax")
            self.second = layers.Dense(2, "softmax")

        def call(self, inputs):
            return self.first(inputs), self.second(inputs)

    model = TwoHeads()
    with podium.GradientTape() as tape:
        first, _ = model(X)
        loss = losses.CategoricalCrossentropy()(ONE_HOT, first)
    gradients = tape.gradient(loss, [model.first.kernel, model.second.kernel])
    assert gradients[0] is not None
    assert gradients[1] is None

    with podium.GradientTape() as tape:
        first, _ = model(X)
        total = ops.sum(first * first)
    np.testing.assert_allclose(tape.gradient(total, first), 2 * first.numpy(), rtol=1e-6)


def test_mixed_precision_uses_the_logits_in_float32():
    dense = layers.Dense(2, "softmax", use_bias=False, dtype="mixed_float16")
    model = podium.Sequential([podium.Input((2,)), dense])
    dense.kernel.assign([[0.0, 200.0]] * 2)
    assert float(losses.CategoricalCrossentropy()(ONE_HOT, model(X))) == 200.0
