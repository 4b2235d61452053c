"""Requirements 11-25: what a step receives, what it may do and what it returns."""

import numpy as np
import pytest
from requirement_cases import make_linear

import podium
from podium.compat import keras
from podium.compat import tensorflow as tf
from podium.compat.keras.engine import data_adapter

from .helpers import compare, flat_weights, load_record, make_engine, make_network, make_samples

X, Y = make_samples()


def recording_model(seen, **compile_options):
    """Return a model whose `train_step` appends what it receives to a list."""

    class Records(keras.Model):
        def train_step(self, data):
            seen.append(data)
            return {"zero": 0.0}

    model = make_linear(tf, inputs=3, model_class=Records, loss=None, **compile_options)
    return model


def test_requirement_11_train_step_receives_the_data_and_returns_logs():
    """`train_step(data)` can be overridden; it receives what the source yields, `(x, y)` for
    arrays, and returns a dictionary from names to values.
    """
    integers = {"data": [True, "float32", "int32"], "logs": ["anything"]}  # 64 bits become 32
    weighted = {"data": [True, "float32", "int32", "float32"], "logs": ["anything"]}
    compare(
        "step_arguments",
        **{"x, y": integers, "sample_weight": weighted, "class_weight": weighted},
    )
    seen = []
    model = recording_model(seen)
    dataset = tf.data.Dataset.from_tensor_slices(X)
    model.fit(dataset.batch(4), verbose=0)
    assert isinstance(seen[-1], tf.Tensor) and seen[-1].shape == (4, 3)
    one_tuple = tf.data.Dataset.from_tensor_slices((X,))
    model.fit(one_tuple.batch(4), verbose=0)
    assert type(seen[-1]) is tuple and [part.shape for part in seen[-1]] == [(4, 3)]
    nested = tf.data.Dataset.from_tensor_slices({"a": X, "b": (X, Y)})
    model.fit(nested.batch(4), verbose=0)
    assert type(seen[-1]) is dict and seen[-1]["b"][1].shape == (4, 1)
    with pytest.raises(TypeError, match=r"train_step.*returned.*a dictionary"):

        class ReturnsNone(keras.Model):
            def train_step(self, data):
                return None

        make_linear(tf, inputs=3, model_class=ReturnsNone).fit(X, Y, verbose=0)


def test_requirement_12_the_default_step_equals_its_text():
    """The default step expands, unpacks, differentiates `compiled_loss` with regularization losses,
    minimizes and updates the metrics, as the text of 002 does.
    """

    def train(model_class):
        symbol = keras.Input((1,))
        hidden = keras.layers.Dense(4, "tanh", kernel_regularizer="l2")(symbol)
        model = model_class(symbol, keras.layers.Dense(1)(hidden))
        rng = np.random.default_rng(0)
        model.set_weights([rng.normal(size=w.shape).astype("float32") for w in model.weights])
        model.compile("adam", "mse", metrics=["mae"], weighted_metrics=["mse"])
        x = np.linspace(-1, 1, 12)  # one dimension, which is expanded
        options = {"sample_weight": np.arange(12.0), "batch_size": 4, "epochs": 2}
        history = model.fit(x, np.square(x), shuffle=False, verbose=0, **options)
        return flat_weights(model), history.history

    weights, logs = train(keras.Model)
    text_weights, text_logs = train(make_engine("002"))
    np.testing.assert_allclose(weights, text_weights, rtol=1e-6)
    assert list(logs) == list(text_logs) == ["loss", "mae", "mse"]
    for name in logs:
        assert logs[name] == pytest.approx(text_logs[name], rel=1e-6)


def test_requirement_13_a_dictionary_as_result_of_a_metric_is_merged():
    """The items of a metric's result that is a dictionary become logs of their own; other results
    are logged under the name of the metric.
    """
    compare("metric_results")


def test_requirement_14_calling_compiled_loss_updates_the_loss_metric():
    """Calling `compiled_loss` updates its metric, so that the results of `self.metrics` start with
    `loss`.
    """

    class Custom(keras.Model):
        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                y_pred = self(x, training=True)
                loss = self.compiled_loss(y, y_pred, regularization_losses=self.losses)
            variables = self.trainable_variables
            self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
            self.compiled_metrics.update_state(y, y_pred)
            return {m.name: m.result() for m in self.metrics}

    model = make_linear(tf, 2.0, model_class=Custom, metrics=["mae"])
    x = np.array([[1.0], [2.0], [3.0]], "float32")
    model.optimizer.learning_rate = 0.0
    logs = model.fit(x, x, batch_size=2, shuffle=False, verbose=0).history
    assert list(logs) == ["loss", "mae"]
    assert logs["loss"] == [pytest.approx(14 / 3)] and logs["mae"] == [pytest.approx(2.0)]
    model.reset_metrics()
    y = tf.constant([[1.0]])
    model.compiled_loss(y, y + 3.0)
    model.compiled_loss(y, y + 1.0)
    assert float(model.metrics[0].result()) == 5.0 and model.metrics[0].name == "loss"


def test_requirement_15_apply_gradients_and_minimize_with_a_tape_are_equal():
    """`tape.gradient` with `apply_gradients(zip(gradients, variables))`, and `minimize(loss,
    variables, tape=tape)`, are the same update.
    """

    def apply(optimizer, tape, loss, variables):
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))

    def minimize(optimizer, tape, loss, variables):
        optimizer.minimize(loss, variables, tape=tape)

    def train(update):
        class Custom(keras.Model):
            def train_step(self, data):
                x, y = data
                with tf.GradientTape() as tape:
                    loss = self.compiled_loss(y, self(x, training=True))
                update(self.optimizer, tape, loss, self.trainable_variables)
                return {"loss": loss}

        model = make_network(model_class=Custom)
        model.compile(keras.optimizers.Adam(0.01, clipnorm=0.5), "mse")
        model.fit(X, Y, batch_size=4, epochs=2, shuffle=False, verbose=0)
        return flat_weights(model)

    reference = make_network()
    reference.compile(keras.optimizers.Adam(0.01, clipnorm=0.5), "mse")
    reference.fit(X, Y, batch_size=4, epochs=2, shuffle=False, verbose=0)
    for update in (apply, minimize):
        np.testing.assert_allclose(train(update), flat_weights(reference), rtol=1e-6)


def test_requirement_16_the_gradient_of_a_vector_is_that_of_its_sum():
    """The target of a tape may be a vector; its gradient is that of the sum, and a Mean averages
    it.
    """
    assert compare("vector_loss")["weights"] == pytest.approx([3.6])  # not 1.2, as of the mean
    variable = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        vector = variable * tf.constant([1.0, 2.0, 4.0])
    assert float(tape.gradient(vector, variable)) == 7.0


def test_requirement_17_a_phase_updates_only_its_weights():
    """A step may use several tapes and optimizers, and gradients of a subset of the weights; the
    other part does not change.
    """
    start = {}

    class Phases(keras.Model):
        def __init__(self, train_discriminator):
            super().__init__()
            self.discriminator = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
            self.generator = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
            self.train_discriminator = train_discriminator

        def train_step(self, data):
            real, noise = data
            if self.train_discriminator:
                weights = self.discriminator.trainable_weights
                with tf.GradientTape() as tape:
                    d_loss = tf.reduce_mean(
                        self.discriminator(real) - self.discriminator(self.generator(noise))
                    )
                self.optimizer.apply_gradients(zip(tape.gradient(d_loss, weights), weights))
            weights = self.generator.trainable_weights
            with tf.GradientTape() as tape:
                g_loss = tf.reduce_mean(self.discriminator(self.generator(noise)))
            gradients = tape.gradient(g_loss, weights)
            self.g_optimizer.apply_gradients(zip(gradients, weights))
            return {"g_loss": g_loss}

    for train_discriminator in (False, True):
        model = Phases(train_discriminator)
        model.compile(keras.optimizers.SGD(0.1))
        model.g_optimizer = keras.optimizers.Adam(0.1)
        start = [w.numpy() for w in model.discriminator.weights]
        generator = [w.numpy() for w in model.generator.weights]
        model.fit(X[:, :2], X, batch_size=4, verbose=0)
        changed = [
            not np.array_equal(before, weight.numpy())
            for before, weight in zip(
                start + generator,
                model.discriminator.weights + model.generator.weights,
                strict=True,
            )
        ]
        # The bias of the discriminator does not change the difference of its outputs.
        assert changed == [train_discriminator, False, True, True]


def test_requirement_18_randomness_in_a_compiled_step_differs_between_steps():
    """Random operations that look eager give new numbers in every step, fused ones too, and the
    same numbers with the same seed.
    """

    class Noise(keras.Model):
        def train_step(self, data):
            normal = tf.random.normal(shape=(tf.shape(data)[0], 2))
            uniform = tf.random.uniform(tf.shape(normal))
            return {"normal": tf.reduce_sum(normal), "uniform": tf.reduce_sum(uniform)}

    def draw(steps_per_execution):
        seen = []
        podium.utils.set_random_seed(5)
        model = make_linear(
            tf, model_class=Noise, loss=None, inputs=3, steps_per_execution=steps_per_execution
        )
        record = keras.callbacks.LambdaCallback(
            on_batch_end=lambda batch, logs: seen.append((logs["normal"], logs["uniform"]))
        )
        model.fit(X, batch_size=2, epochs=2, verbose=0, callbacks=[record])
        return [tuple(map(float, values)) for values in seen]

    single, fused = draw(1), draw(3)
    assert len(set(single)) == 12 and len(set(fused)) == 4
    assert all(0 <= uniform <= 4 for _, uniform in single)
    assert draw(1) == single


def test_requirement_19_the_dynamic_batch_size_is_that_of_a_partial_batch():
    """`tf.shape(x)[0]` sizes Tensors, and is right in a smaller last batch."""

    class Sizes(keras.Model):
        def train_step(self, data):
            size = tf.shape(data)[0]
            labels = tf.concat([tf.ones((size, 1)), tf.zeros((size, 1))], axis=0)
            labels += 0.0 * tf.random.uniform(tf.shape(labels))
            return {"size": size, "sum": tf.reduce_sum(labels), "rows": tf.shape(labels)[0]}

    seen = []
    record = keras.callbacks.LambdaCallback(
        on_batch_end=lambda batch, logs: seen.append(
            [int(logs[k]) for k in ("size", "sum", "rows")]
        )
    )
    model = make_linear(tf, model_class=Sizes, loss=None, inputs=3)
    model.fit(X[:10], batch_size=4, verbose=0, callbacks=[record])
    assert seen == [[4, 4, 8], [4, 4, 8], [2, 2, 4]]


loss_tracker = keras.metrics.Mean(name="loss")
mae_metric = keras.metrics.MeanAbsoluteError(name="mae")


def test_requirement_20_metrics_may_be_globals_of_a_module():
    """Metrics that only an overridden `metrics` property lists, such as globals, are found, updated
    by compiled steps and reset.
    """

    class Custom(keras.Model):  # of "Going lower-level" in 003
        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                y_pred = self(x, training=True)
                loss = keras.losses.mean_squared_error(y, y_pred)
            variables = self.trainable_variables
            self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
            loss_tracker.update_state(loss)
            mae_metric.update_state(y, y_pred)
            return {"loss": loss_tracker.result(), "mae": mae_metric.result()}

        @property
        def metrics(self):
            return [loss_tracker, mae_metric]

    model = make_linear(tf, 2.0, model_class=Custom, loss=None)
    model.compile(keras.optimizers.SGD(0.0))
    x = np.array([[1.0], [2.0], [3.0]], "float32")
    logs = model.fit(x, x, batch_size=2, epochs=2, verbose=0).history
    assert logs["loss"] == [pytest.approx(14 / 3)] * 2 and logs["mae"] == [pytest.approx(2.0)] * 2
    assert float(loss_tracker.result()) == pytest.approx(14 / 3)
    assert float(loss_tracker.count) == 3.0


def test_requirement_21_listed_metrics_are_reset_at_epochs_and_evaluations():
    """What `model.metrics` lists is reset when an epoch of `fit` and an `evaluate` begin, other
    metrics are not; `reset_state` and `reset_states` are both names of it.
    """
    result = compare("metric_resets")
    assert result["fit"] == {"listed": [3.0, 3.0, 3.0], "unlisted": [3.0, 6.0, 9.0]}
    called = []

    class OldName(keras.metrics.Mean):
        def reset_states(self):
            called.append(1)
            super().reset_states()

    for metric in (keras.metrics.Mean(), OldName()):
        metric.update_state(4.0)
        metric.reset_states()
        assert float(metric.result()) == 0.0
    called.clear()
    model = make_linear(tf, metrics=[OldName()])
    model.reset_metrics()
    assert called == [1]


def test_requirement_22_test_and_predict_steps_can_be_overridden():
    """`test_step(data)` and `predict_step(data)` can be overridden; by default a prediction is a
    call with `training=False`.
    """
    seen = []

    class Shows(keras.layers.Layer):
        def call(self, x, training=None):
            seen.append(training)
            return x

    class Custom(keras.Model):
        def test_step(self, data):  # of "Providing your own evaluation step" in 003
            x, y = data
            y_pred = self(x, training=False)
            self.compiled_loss(y, y_pred, regularization_losses=self.losses)
            self.compiled_metrics.update_state(y, y_pred)
            return {m.name: m.result() for m in self.metrics}

        def predict_step(self, data):
            return 10.0 * super().predict_step(data)

    symbol = keras.Input((1,))
    model = Custom(symbol, Shows()(symbol))
    model.compile(loss="mse", metrics=["mae"])
    seen.clear()
    x = np.array([[1.0], [2.0], [3.0]])
    assert model.evaluate(x, x + 2.0, batch_size=2, verbose=0) == [4.0, 2.0]
    assert model.predict(x, verbose=0).tolist() == [[10.0], [20.0], [30.0]]
    assert seen and set(seen) == {False}

    class Evaluates(keras.Model):
        def eval_step(self, data):
            return {"count": 1.0}

    model = make_linear(tf, model_class=Evaluates)
    assert model.evaluate(x, x, verbose=0, return_dict=True) == {"count": 1.0}


def test_requirement_23_weights_are_the_third_item():
    """`data` has exactly two items without sample weights and three with them, or with class
    weights, which become sample weights.
    """
    seen = []
    labels = np.arange(12) % 2
    for options, length in (
        ({}, 2),
        ({"sample_weight": np.ones(12)}, 3),
        ({"class_weight": {0: 1.0, 1: 2.0}}, 3),
    ):
        seen.clear()
        recording_model(seen).fit(X, labels, verbose=0, **options)
        assert seen and {len(data) for data in seen} == {length}
    recorded = load_record()["weighted_fit"]
    assert recorded["sample_weight"] == recorded["class_weight"]
    compare("weighted_fit")
    batch = data_adapter.get_data_handler(
        X, labels, batch_size=12, class_weight={0: 1.0, 1: 2.5}
    ).peek()
    assert batch[2].tolist() == [1.0, 2.5] * 6


def test_requirement_24_a_custom_step_has_all_services_of_fit():
    """A custom step is distributed, called back and fused without knowing of it."""

    class Custom(keras.Model):
        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                loss = self.compiled_loss(y, self(x, training=True))
            self.optimizer.minimize(loss, self.trainable_variables, tape=tape)
            return {m.name: m.result() for m in self.metrics}

    def train(devices, steps_per_execution):
        ends = []
        record = keras.callbacks.LambdaCallback(
            on_batch_end=lambda batch, logs: ends.append(batch), on_epoch_end=None
        )
        strategy = tf.distribute.MirroredStrategy([f"/cpu:{i}" for i in range(devices)])
        with strategy.scope():
            model = make_network(model_class=Custom)
            model.compile("adam", "mse", steps_per_execution=steps_per_execution)
        logs = model.fit(X, Y, batch_size=4, shuffle=False, verbose=0, callbacks=[record])
        return np.append(flat_weights(model), logs.history["loss"]), ends

    expected, ends = train(1, 1)
    assert ends == [0, 1, 2]
    for devices, k, expected_ends in ((2, 1, [0, 1, 2]), (1, 2, [1, 2]), (2, 3, [2])):
        result, ends = train(devices, k)
        np.testing.assert_allclose(result, expected, rtol=2e-5, atol=1e-6)
        assert ends == expected_ends


def test_requirement_25_losses_of_layers_are_added():
    """The losses of layers are added to the loss, and scaled on replicas so that the sum of their
    gradients is that of one device.
    """

    def train(devices):
        strategy = tf.distribute.MirroredStrategy([f"/cpu:{i}" for i in range(devices)])
        with strategy.scope():
            symbol = keras.Input((1,))
            dense = keras.layers.Dense(
                1,
                use_bias=False,
                kernel_initializer="ones",
                kernel_regularizer=keras.regularizers.L2(0.5),
            )
            model = keras.Model(symbol, dense(symbol))
            model.compile(keras.optimizers.SGD(0.1), "mse")
        x = np.array([[1.0], [2.0], [1.0], [2.0]])
        logs = model.fit(x, x, batch_size=4, verbose=0)
        return logs.history["loss"][0], float(dense.kernel.numpy()[0, 0])

    # The loss is 0.5 * 1 ** 2, its gradient 1.
    assert train(1) == pytest.approx((0.5, 0.9)) and train(2) == pytest.approx((0.5, 0.9))
