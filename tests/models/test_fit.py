"""fit, evaluate and predict: what they compute, log and leave in the model."""

import numpy as np
import pytest

import podium
from podium import callbacks, layers, losses, metrics, ops, optimizers


def xy(n=40, width=4, outputs=1, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, width)).astype("float32")
    return x, (x[:, :outputs] * 2 + 0.1 * rng.normal(size=(n, outputs))).astype("float32")


def mlp(outputs=1, width=4, **compiled):
    podium.utils.set_random_seed(1)
    model = podium.Sequential(
        [podium.Input((width,)), layers.Dense(6, activation="tanh"), layers.Dense(outputs)]
    )
    if compiled:
        model.compile(**compiled)
    return model


class Recorder(callbacks.Callback):
    """Keeps the logs of every batch and epoch."""

    def __init__(self):
        super().__init__()
        self.batches, self.running, self.epochs = [], [], []

    def on_train_batch_end(self, batch, logs=None):
        self.batches.append((batch, dict(logs)))
        self.running.append(dict(logs.running))

    def on_epoch_end(self, epoch, logs=None):
        self.epochs.append(dict(logs))


class RawLoss(podium.Model):
    """Returns the loss as it was computed, and a metric's result beside it."""

    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(1, kernel_initializer="ones")
        self.tracker = metrics.Mean(name="tracked")

    def call(self, x):
        return self.dense(x)

    def train_step(self, data):
        x, y = data
        with podium.GradientTape() as tape:
            loss = ops.mean((self(x, training=True) - y) ** 2)
        self.optimizer.apply_gradients(
            zip(
                tape.gradient(loss, self.trainable_variables), self.trainable_variables, strict=True
            )
        )
        self.tracker.update_state(loss, sample_weight=x.shape[0])
        return {"raw": loss, "tracked": self.tracker.result()}


# --- logs


def test_epoch_loss_is_weighted_by_batch_size():
    model = podium.Sequential([podium.Input((1,)), layers.Dense(1, kernel_initializer="ones")])
    model.compile(optimizers.SGD(0.0), "mse")
    x, y = np.ones((3, 1)), np.array([[0.0], [2.0], [4.0]])
    history = model.fit(x, y, batch_size=2, shuffle=False, verbose=0)
    assert history.history["loss"] == [pytest.approx((1 + 1 + 9) / 3)]
    assert model.evaluate(x, y, batch_size=2, verbose=0) == pytest.approx((1 + 1 + 9) / 3)


def test_raw_values_are_averaged_like_metrics():
    model = RawLoss()
    model.compile(optimizers.SGD(0.05))
    x, y = xy(10)
    recorder = Recorder()
    history = model.fit(x, y, batch_size=4, epochs=2, shuffle=False, verbose=0, callbacks=recorder)
    assert history.history["raw"] == pytest.approx(history.history["tracked"], rel=1e-6)
    assert [epoch["raw"] for epoch in recorder.epochs] == history.history["raw"]
    raw = [logs["raw"] for _, logs in recorder.batches[:3]]
    assert history.history["raw"][0] == pytest.approx(
        (4 * raw[0] + 4 * raw[1] + 2 * raw[2]) / 10, rel=1e-6
    )
    assert recorder.running[2]["raw"] == history.history["raw"][0]
    assert recorder.running[1]["raw"] == pytest.approx((raw[0] + raw[1]) / 2, rel=1e-6)


def test_log_keys_are_what_the_step_returned():
    model = RawLoss()
    model.compile("sgd")
    history = model.fit(*xy(8), verbose=0)
    assert list(history.history) == ["raw", "tracked"]


def test_evaluate_returns_the_values_that_validation_logs():
    model = mlp(optimizer="sgd", loss="mse", metrics=["mae"])
    x, y = xy()
    history = model.fit(x, y, validation_data=(x[:9], y[:9]), verbose=0)
    assert list(history.history) == ["loss", "mae", "val_loss", "val_mae"]
    assert model.evaluate(x[:9], y[:9], verbose=0) == [
        history.history["val_loss"][0],
        history.history["val_mae"][0],
    ]
    assert model.evaluate(x[:9], y[:9], verbose=0, return_dict=True) == {
        "loss": history.history["val_loss"][0],
        "mae": history.history["val_mae"][0],
    }


def test_evaluate_in_a_batch_hook_does_not_disturb_the_epoch():
    class Evaluates(callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            self.model.evaluate(*xy(8, seed=5), verbose=0)

    plain, disturbed = [mlp(optimizer="sgd", loss="mse", metrics=["mae"]) for _ in range(2)]
    expected = plain.fit(*xy(), batch_size=8, verbose=0, shuffle=False).history
    assert (
        disturbed.fit(*xy(), batch_size=8, verbose=0, shuffle=False, callbacks=Evaluates()).history
        == expected
    )


# --- one step, many steps


@pytest.mark.parametrize("fused", [3, 16])
def test_fused_steps_give_identical_weights_and_logs(fused):
    def run(steps):
        podium.utils.set_random_seed(3)
        model = podium.Sequential(
            [
                podium.Input((4,)),
                layers.Dense(8, activation="relu"),
                layers.Dropout(0.3),
                layers.BatchNormalization(),
                layers.Dense(1),
            ]
        )
        model.compile("adam", "mse", metrics=["mae"], steps_per_execution=steps)
        recorder = PerStep()
        history = model.fit(*xy(54), batch_size=8, epochs=2, verbose=0, callbacks=recorder)
        return (
            model.get_weights(),
            history.history,
            recorder.steps,
            int(model._train_counter.numpy()),
        )

    class PerStep(callbacks.Callback):
        def __init__(self):
            super().__init__()
            self.steps = []

        def on_train_batch_end(self, batch, logs=None):
            self.steps += [dict(step) for step in logs.steps]

    weights, history, steps, counter = run(1)
    assert len(steps) == 14 and counter == 14
    fused_weights, fused_history, fused_steps, fused_counter = run(fused)
    assert fused_steps == steps
    assert fused_history == history
    assert fused_counter == counter
    for one, other in zip(weights, fused_weights, strict=True):
        np.testing.assert_array_equal(one, other)


def test_indices_of_fused_steps():
    class Indices(callbacks.Callback):
        def __init__(self):
            super().__init__()
            self.begin, self.end = [], []

        def on_train_batch_begin(self, batch, logs=None):
            self.begin.append(batch)

        def on_train_batch_end(self, batch, logs=None):
            self.end.append(batch)

    model = mlp(optimizer="sgd", loss="mse", steps_per_execution=3)
    indices = Indices()
    model.fit(*xy(28), batch_size=4, verbose=0, callbacks=indices)
    assert (indices.begin, indices.end) == ([0, 3, 6], [2, 5, 6])
    assert int(model._train_counter.numpy()) == 7
    assert model.steps_per_execution == 3


def test_eager_equals_compiled():
    results = []
    for eager in (True, False):
        model = mlp(optimizer="adam", loss="mse", metrics=["mae"], run_eagerly=eager)
        history = model.fit(*xy(20), batch_size=8, epochs=2, shuffle=False, verbose=0).history
        results.append((model.get_weights(), history))
    for one, other in zip(*[weights for weights, _ in results], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    for name in ("loss", "mae"):
        np.testing.assert_allclose(results[0][1][name], results[1][1][name], rtol=1e-5)


def test_step_is_traced_once_per_input_shape():
    runs = []

    class Counting(podium.Model):
        def __init__(self):
            super().__init__()
            self.dense = layers.Dense(1)

        def call(self, x):
            return self.dense(x)

        def train_step(self, data):
            runs.append(data[0].shape)
            return super().train_step(data)

    model = Counting()
    model.compile("sgd", "mse")
    model.fit(*xy(40), batch_size=8, epochs=3, verbose=0)
    assert model.train_function.trace_count == 1
    first = len(runs)
    model.fit(*xy(20), batch_size=8, epochs=2, verbose=0)
    assert model.train_function.trace_count == 2
    assert first <= 3 and len(runs) - first <= 3
    model.fit(*xy(20), batch_size=8, epochs=2, verbose=0)
    assert model.train_function.trace_count == 2


# --- arguments of fit


def test_sample_weight_and_class_weight_agree():
    x, _ = xy(24)
    labels = np.arange(24) % 3
    weights = {0: 1.0, 1: 2.0, 2: 0.5}
    results = []
    for kwargs in (
        {"class_weight": weights},
        {"sample_weight": np.array([weights[label] for label in labels])},
    ):
        model = mlp(3, optimizer="sgd", loss=losses.SparseCategoricalCrossentropy(from_logits=True))
        results.append(
            model.fit(x, labels, epochs=2, shuffle=False, verbose=0, **kwargs).history["loss"]
        )
    np.testing.assert_allclose(results[0], results[1], rtol=1e-6)


def test_data_reaches_the_step_as_keras_packs_it():
    seen = []

    class Looks(podium.Model):
        def train_step(self, data):
            seen.append(data if not isinstance(data, tuple) else tuple(data))
            return {"loss": ops.zeros(())}

    x, y = xy(8)
    model = Looks()
    model.compile("sgd")
    model.fit(x.astype("float64"), verbose=0)
    assert isinstance(seen[-1], podium.Tensor) and seen[-1].dtype == "float32"
    model.fit(x, np.arange(8), verbose=0)
    assert len(seen[-1]) == 2 and str(seen[-1][1].dtype).startswith("int")
    model.fit(x, y, sample_weight=np.ones(8), verbose=0)
    assert len(seen[-1]) == 3
    model.fit(x, np.arange(8) % 2, class_weight={0: 1.0, 1: 2.0}, verbose=0)
    assert len(seen[-1]) == 3


def test_validation_split_uses_the_end_of_the_arrays():
    model = mlp(optimizer=optimizers.SGD(0.0), loss="mse")
    x, y = xy(20)
    history = model.fit(x, y, validation_split=0.25, verbose=0)
    assert history.history["val_loss"][0] == pytest.approx(
        model.evaluate(x[15:], y[15:], verbose=0)
    )


@pytest.mark.parametrize(
    ("frequency", "expected"), [(2, 2), ([1, 4], 2), ("4 steps", 4), ("8 steps", 4)]
)
def test_validation_freq(frequency, expected):
    tests = []

    class Counts(callbacks.Callback):
        def on_test_begin(self, logs=None):
            tests.append(1)

    model = mlp(optimizer="sgd", loss="mse")
    x, y = xy(32)
    history = model.fit(
        x,
        y,
        batch_size=4,
        epochs=4,
        validation_data=(x, y),
        validation_freq=frequency,
        verbose=0,
        callbacks=Counts(),
    )
    assert len(history.history["val_loss"]) == expected
    assert len(tests) == (8 if frequency == "4 steps" else expected)


def test_fit_starts_at_the_initial_epoch():
    history = mlp(optimizer="sgd", loss="mse").fit(*xy(8), initial_epoch=2, epochs=5, verbose=0)
    assert history.epoch == [2, 3, 4]


def test_stop_training_stops_after_the_current_step():
    class Stops(callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch == 2:
                self.model.stop_training = True

    model = mlp(optimizer="sgd", loss="mse")
    history = model.fit(*xy(40), batch_size=4, epochs=3, verbose=0, callbacks=Stops())
    assert history.epoch == [0]
    assert int(model._train_counter.numpy()) == 3


def test_outputs_in_any_structure():
    x = podium.Input((4,))
    h = layers.Dense(3, activation="relu")(x)
    model = podium.Model(
        x, {"a": layers.Dense(1, name="first")(h), "b": layers.Dense(2, name="second")(h)}
    )
    model.compile(
        "sgd",
        {"a": "mse", "b": "mae"},
        loss_weights={"a": 1.0, "b": 0.5},
        metrics={"a": ["mae"], "b": ["mse", "mae"]},
    )
    data, y = xy(12)
    targets = {"a": y, "b": np.concatenate([y, y], 1)}
    history = model.fit(data, targets, verbose=0).history
    assert list(history) == ["loss", "a_loss", "b_loss", "a_mae", "b_mse", "b_mae"]
    assert history["loss"][0] == pytest.approx(
        history["a_loss"][0] + 0.5 * history["b_loss"][0], rel=1e-5
    )
    outputs = model.predict(data, batch_size=5, verbose=0)
    assert {name: value.shape for name, value in outputs.items()} == {"a": (12, 1), "b": (12, 2)}


def test_losses_and_metrics_in_lists():
    x = podium.Input((4,))
    model = podium.Model(x, [layers.Dense(1, name="one")(x), layers.Dense(1, name="two")(x)])
    model.compile("sgd", ["mse", None], metrics=[["mae"], ["mse"]])
    data, y = xy(12)
    with pytest.warns(UserWarning, match="Gradients do not exist for variables .'two/kernel'"):
        assert list(model.fit(data, [y, y], verbose=0).history) == [
            "loss",
            "one_loss",
            "one_mae",
            "two_mse",
        ]
    model.compile("sgd", "mse", loss_weights=[1.0, 0.0])
    assert list(model.fit(data, [y, y], verbose=0).history) == ["loss", "one_loss", "two_loss"]


def test_accuracy_is_resolved_by_shape():
    x, _ = xy(12)
    labels = np.arange(12) % 3
    sparse = mlp(
        3,
        optimizer="sgd",
        loss=losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    sparse.fit(x, labels, verbose=0)
    onehot = mlp(
        3,
        optimizer="sgd",
        loss=losses.CategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    onehot.fit(x, np.eye(3)[labels], verbose=0)
    expected = (sparse.predict(x, verbose=0).argmax(1) == labels).mean()
    assert sparse.evaluate(x, labels, verbose=0)[1] == pytest.approx(expected)
    assert onehot.evaluate(x, np.eye(3)[labels], verbose=0)[1] == pytest.approx(expected)
    binary = mlp(
        1, optimizer="sgd", loss=losses.BinaryCrossentropy(from_logits=True), metrics=["acc"]
    )
    assert list(binary.fit(x, labels > 0, verbose=0).history) == ["loss", "acc"]


@pytest.mark.parametrize(
    ("name", "y", "outputs", "activation"),
    [
        ("binary_crossentropy", [[0.0], [1.0]], 1, "sigmoid"),
        ("sparse_categorical_crossentropy", [2, 1], 3, "softmax"),
        ("categorical_crossentropy", [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]], 3, "softmax"),
    ],
)
def test_crossentropy_is_resolved_by_shape(name, y, outputs, activation):
    podium.utils.set_random_seed(1)
    model = podium.Sequential([podium.Input((2,)), layers.Dense(outputs, activation=activation)])
    x, y = np.array([[1.0, 2.0], [3.0, -1.0]], "float32"), np.array(y)
    values = []
    for loss in ("crossentropy", "CE", name):
        model.compile("sgd", loss)
        values.append(model.test_on_batch(x, y))
    assert values[0] == values[1] == values[2]
    assert model.get_compile_config()["loss"] == name


def test_weighted_metrics_use_the_sample_weights():
    model = podium.Sequential([podium.Input((1,)), layers.Dense(1, kernel_initializer="zeros")])
    model.compile(loss="mse", metrics=["mae"], weighted_metrics=["mae"])
    found = model.evaluate(
        np.ones((2, 1)),
        np.array([1.0, 3.0]),
        sample_weight=np.array([1.0, 0.0]),
        verbose=0,
        return_dict=True,
    )
    assert found == {"loss": 0.5, "mae": 2.0, "weighted_mae": 1.0}


# --- custom steps and their state

module_level_tracker = metrics.Mean(name="loss")


def test_module_level_metrics_are_tracked_and_reset():
    class Custom(podium.Model):
        def train_step(self, data):
            x, y = data
            with podium.GradientTape() as tape:
                loss = losses.mean_squared_error(y, self(x, training=True))
            gradients = tape.gradient(loss, self.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
            module_level_tracker.update_state(loss)
            return {"loss": module_level_tracker.result()}

        @property
        def metrics(self):
            return [module_level_tracker]

    x = podium.Input((4,))
    model = Custom(x, layers.Dense(1)(x))
    model.compile(optimizer=optimizers.SGD(0.0))
    history = model.fit(*xy(40), epochs=3, verbose=0).history["loss"]
    assert history[0] == pytest.approx(history[1]) == pytest.approx(history[2])


def test_several_optimizers_set_by_an_overridden_compile():
    class Pair(podium.Model):
        def __init__(self):
            super().__init__()
            self.left, self.right = layers.Dense(1), layers.Dense(1)

        def compile(self, left_optimizer, right_optimizer):
            super().compile()
            self.left_optimizer, self.right_optimizer = left_optimizer, right_optimizer

        def train_step(self, data):
            x, y = data
            logs = {}
            for name in ("left", "right"):
                layer = getattr(self, name)
                with podium.GradientTape() as tape:
                    loss = ops.mean((layer(x) - y) ** 2)
                getattr(self, f"{name}_optimizer").apply_gradients(
                    zip(
                        tape.gradient(loss, layer.trainable_weights),
                        layer.trainable_weights,
                        strict=True,
                    )
                )
                logs[name] = loss
            return logs

    model = Pair()
    model.compile(optimizers.Adam(0.1), optimizers.SGD(0.0))
    history = model.fit(*xy(32), epochs=4, shuffle=False, verbose=0).history
    assert history["left"][-1] < history["left"][0]
    assert history["right"][-1] == pytest.approx(history["right"][0])
    assert int(model.left_optimizer.iterations.numpy()) == 4


def test_random_draws_differ_from_step_to_step():
    class Draws(podium.Model):
        def train_step(self, data):
            return {"draw": podium.random.normal(())}

    model = Draws()
    model.compile()
    recorder = Recorder()
    model.fit(np.zeros((6, 1)), batch_size=1, verbose=0, callbacks=recorder)
    draws = [logs["draw"] for _, logs in recorder.batches]
    assert len(set(draws)) == 6


def test_metrics_stored_as_attributes_are_reset_between_epochs():
    model = RawLoss()
    model.compile(optimizers.SGD(0.0))
    history = model.fit(*xy(16), batch_size=4, epochs=2, shuffle=False, verbose=0).history[
        "tracked"
    ]
    assert history[0] == pytest.approx(history[1])


def test_optax_transformation_is_an_optimizer():
    optax = pytest.importorskip("optax")
    model = mlp(optimizer=optax.sgd(0.1), loss="mse")
    history = model.fit(*xy(), epochs=3, verbose=0).history["loss"]
    assert history[-1] < history[0]


def test_make_train_function_can_be_overridden():
    calls = []

    class Custom(podium.Model):
        def make_train_function(self):
            @podium.function
            def train_function(iterator):
                data = next(iterator)
                return self.train_step(data)

            def counted(iterator):
                calls.append(1)
                return train_function(iterator)

            self.train_function = counted
            return counted

    x = podium.Input((4,))
    model = Custom(x, layers.Dense(1)(x))
    model.compile("sgd", "mse")
    history = model.fit(*xy(20), batch_size=8, epochs=2, verbose=0).history["loss"]
    assert len(calls) == 6 and history[1] < history[0]


def test_train_function_is_kept_until_compile():
    model = mlp(optimizer="sgd", loss="mse")
    model.fit(*xy(8), verbose=0)
    kept = model.train_function
    assert model.make_train_function() is kept
    model.compile("sgd", "mae")
    assert model.train_function is None


def test_on_batch_methods():
    model = mlp(optimizer="sgd", loss="mse", metrics=["mae"])
    x, y = xy(8)
    tested = model.test_on_batch(x, y)
    assert tested == pytest.approx(model.evaluate(x, y, verbose=0))
    assert model.train_on_batch(x, y) == pytest.approx(tested)
    assert model.train_on_batch(x, y, return_dict=True).keys() == {"loss", "mae"}
    np.testing.assert_allclose(model.predict_on_batch(x), model.predict(x, verbose=0))


def test_frozen_after_compile_warns_and_changes_nothing():
    model = mlp(optimizer="sgd", loss="mse")
    model.layers[0].trainable = False
    before = model.layers[0].get_weights()[0]
    with pytest.warns(UserWarning, match=r"'dense' \(now trainable=False\).*`compile\(\)` again"):
        model.fit(*xy(8), verbose=0)
    assert not np.array_equal(before, model.layers[0].get_weights()[0])
    assert model.layers[0].trainable is False
    model.compile("sgd", "mse")
    before = model.layers[0].get_weights()[0]
    model.fit(*xy(8), verbose=0)
    np.testing.assert_array_equal(before, model.layers[0].get_weights()[0])


def test_one_dimensional_inputs_get_a_feature_axis():
    class Line(podium.Model):
        def __init__(self):
            super().__init__()
            self.dense = layers.Dense(1)

        def call(self, x):
            return self.dense(x)

    model = Line()
    model.compile("sgd", "mse")
    model.fit(np.arange(8.0) / 8, np.arange(8.0) / 8, verbose=0)
    assert model.predict(np.arange(3.0), verbose=0).shape == (3, 1)


def test_predict_concatenates_batches():
    model = mlp()
    x, _ = xy(11)
    together = model.predict(x, verbose=0)
    np.testing.assert_allclose(
        model.predict(x, batch_size=4, verbose=0), together, rtol=1e-5, atol=1e-6
    )
    assert together.shape == (11, 1) and isinstance(together, np.ndarray)
    model.compile("sgd", "mse", steps_per_execution=2)
    np.testing.assert_allclose(
        model.predict(x, batch_size=4, verbose=0), together, rtol=1e-5, atol=1e-6
    )
    assert int(model._predict_counter.numpy()) == 3


# --- things that must not be


def test_fit_of_an_uncompiled_model_raises():
    for method in ("fit", "evaluate", "train_on_batch", "test_on_batch"):
        with pytest.raises(
            RuntimeError, match="You must compile your model before training/testing"
        ):
            getattr(mlp(), method)(*xy(4))


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (None, "returned None"),
        (3.0, "of type float"),
        ({1: 2.0}, "the key 1"),
        ({"loss": None}, "None for 'loss'"),
    ],
)
def test_step_must_return_a_dictionary(returned, message):
    class Wrong(podium.Model):
        def train_step(self, data):
            return returned

    model = Wrong()
    model.compile()
    with pytest.raises(TypeError, match=message):
        model.fit(np.zeros((4, 1)), verbose=0)


def test_fit_inside_compiled_code_raises():
    import jax

    model = mlp(optimizer="sgd", loss="mse")
    x, y = xy(4)
    with pytest.raises(RuntimeError, match=r"model\(x\)"):
        podium.function(lambda v: model.fit(x, y))(np.ones(1, "float32"))
    with pytest.raises(RuntimeError, match=r"model\(x\)"):
        jax.jit(lambda v: model.evaluate(x, y))(np.ones(1, "float32"))


def test_fit_inside_fit_raises():
    model = mlp(optimizer="sgd", loss="mse")

    class Fits(callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            self.model.fit(*xy(4))

    with pytest.raises(RuntimeError, match="already running"):
        model.fit(*xy(8), verbose=0, callbacks=Fits())
    model.fit(*xy(8), verbose=0)


def test_failed_compile_does_not_change_the_model():
    model = mlp(optimizer="sgd", loss="mse")
    kept = model.optimizer
    with pytest.raises(ValueError, match="'adam'"):
        model.compile("adm", "mae")
    assert model.optimizer is kept and model.loss == "mse"
    model.fit(*xy(8), verbose=0)


@pytest.mark.parametrize(("eager", "steps"), [(True, 1), (True, 2), (False, 1), (False, 2)])
def test_at_most_five_frames_of_podium_are_above_a_step_while_it_runs_or_is_traced(eager, steps):
    import traceback

    seen = []

    class Watches(podium.Model):
        def train_step(self, data):
            stack = traceback.extract_stack()
            seen.append(
                [
                    frame.name
                    for frame in stack
                    if frame.filename.startswith(f"{podium.__path__[0]}/")
                ]
            )
            return {"mean": podium.ops.mean(data)}

    model = Watches()
    model.compile(run_eagerly=eager, steps_per_execution=steps)
    model.fit(np.zeros((40, 1)), batch_size=4, verbose=0)
    tracing = [] if eager else ["discover", "_run_function"]
    ours = ["fit", "run", *tracing, "run_step"]
    assert len(seen) == (10 if eager else 2)
    assert all(names == ours for names in seen)


@pytest.mark.parametrize("eager", [True, False])
def test_traceback_shows_two_frames_of_podium_above_a_step(eager):
    import traceback

    class Fails(podium.Model):
        def train_step(self, data):
            raise KeyError("mine")

    model = Fails()
    model.compile(run_eagerly=eager)
    with pytest.raises(KeyError, match="mine") as caught:
        model.fit(np.zeros((4, 1)), verbose=0)
    frames = traceback.extract_tb(caught.value.__traceback__)
    above = [frame for frame in frames if f"{podium.__path__[0]}/" in frame.filename]
    assert [frame.name for frame in above] == ["fit", "run"]


def test_batch_size_for_arrays_does_not_apply_to_a_validation_dataset():
    model = podium.Sequential([podium.Input((1,)), podium.layers.Dense(1)])
    model.compile("sgd", "mse")
    x, y = np.ones((8, 1), "float32"), np.zeros((8, 1), "float32")
    counts = []
    record = podium.callbacks.LambdaCallback(
        on_test_batch_end=lambda batch, logs: counts.append(batch)
    )
    batches = podium.data.Dataset.from_tensor_slices((x, y)).batch(2)
    model.fit(x, y, batch_size=4, validation_data=batches, verbose=0, callbacks=record)
    model.fit(x, y, batch_size=4, validation_data=(x, y), verbose=0, callbacks=record)
    assert counts == [0, 1, 2, 3, 0, 1]


@pytest.mark.parametrize("by_name", [True, False])
def test_metric_that_a_layer_adds_is_listed_once(by_name):
    class Net(podium.Model):
        def __init__(self):
            super().__init__()
            self.dense = layers.Dense(1)
            self.mean = metrics.Mean(name="mean")

        def call(self, x):
            self.add_metric(self.mean(x), **({"name": "mean"} if by_name else {}))
            self.add_metric(ops.sum(x), name="sum")
            return self.dense(x)

    model = Net()
    model.compile("sgd", "mse")
    x = np.arange(8.0, dtype="float32").reshape(4, 2)
    logs = model.fit(x, np.ones((4, 1)), batch_size=2, verbose=0).history
    assert {name: values[0] for name, values in logs.items() if name != "loss"} == {
        "mean": 3.5,
        "sum": 14.0,
    }


def test_metric_from_outside_is_listed_by_the_layer_that_adds_it():
    mean = metrics.Mean(name="outer")

    class Tracks(layers.Layer):
        def call(self, x):
            self.add_metric(mean(x))
            return x

    layer = Tracks()
    layer(np.ones((2, 2), "float32"))
    layer(np.full((2, 2), 3.0, "float32"))
    assert layer.metrics == [mean] and float(mean.result()) == 2.0


def test_steps_beyond_the_arrays_continue_with_the_next_pass():
    x, y = xy(8)
    model, recorder = mlp(optimizer="sgd", loss="mse"), Recorder()
    with pytest.warns(UserWarning, match="ran out of data"):
        history = model.fit(
            x, y, batch_size=2, steps_per_epoch=6, epochs=2, verbose=0, callbacks=recorder
        )
    assert [batch for batch, _ in recorder.batches] == [0, 1, 2, 3, 4, 5, 0, 1]
    assert len(history.history["loss"]) == 2  # as tf_keras: two passes of four batches
