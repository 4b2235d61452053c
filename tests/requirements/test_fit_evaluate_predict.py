"""Requirements 50-61: the loops of `fit`, `evaluate` and `predict`, callbacks and progress bars."""

import jax
import numpy as np
import pytest
from jax.experimental import sparse
from requirement_cases import make_linear, make_recorder

import podium
from podium.compat import _nest as nest
from podium.compat import keras
from podium.compat import tensorflow as tf
from podium.compat.keras.engine import data_adapter, tf_utils, training
from podium.telemetry.internal import clock

from .helpers import compare, flat_weights, load_record, make_network, make_samples

X, Y = make_samples()


def test_requirement_50_callbacks_are_called_in_order():
    """`fit` calls the callbacks for the run, epochs, executions and the validation in a fixed
    order, with validation before the end of the epoch, and returns the History.
    """
    events = compare("callback_order")
    assert events[:9] == [
        "on_train_begin", "on_epoch_begin 0",
        "on_train_batch_begin 0", "on_train_batch_end 0",
        "on_train_batch_begin 1", "on_train_batch_end 1",
        "on_test_begin", "on_test_batch_begin 0", "on_test_batch_end 0",
    ]  # fmt: skip
    logs = []
    record = keras.callbacks.LambdaCallback(on_epoch_end=lambda i, logs_: logs.append(dict(logs_)))
    model = make_linear(tf, inputs=3, metrics=["mae"])
    history = model.fit(X, Y, validation_data=(X, Y), epochs=2, verbose=0, callbacks=[record])
    assert type(history) is keras.callbacks.History and model.history is history
    assert list(history.history) == ["loss", "mae", "val_loss", "val_mae"]
    assert logs == [{key: history.history[key][i] for key in history.history} for i in (0, 1)]


def test_requirement_51_fit_runs_in_the_scope_and_with_the_compiled_trainable_state():
    """`fit` runs in `strategy.scope()` and with the trainable state of `compile`: freezing a layer
    later takes effect with the next `compile`.
    """
    scopes = []
    record = keras.callbacks.LambdaCallback(
        on_epoch_begin=lambda epoch, logs: scopes.append(tf.distribute.get_strategy())
    )
    strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    with strategy.scope():
        model = make_network()
    model.compile("sgd", "mse")
    model.fit(X, Y, verbose=0, callbacks=[record])
    assert scopes == [strategy] and tf.distribute.get_strategy() is not strategy

    assert load_record()["frozen_after_compile"] == [pytest.approx(0.02)]  # tf_keras moves it
    model = make_linear(tf)
    model.layers[-1].trainable = False
    x = np.ones((1, 1))
    message = r"`trainable` was changed after `compile\(\)`: 'dense.*Call `compile\(\)` again"
    with pytest.warns(UserWarning, match=message) as caught:
        model.fit(x, 0.1 * x, verbose=0)
    assert caught[0].filename == __file__
    assert flat_weights(model).tolist() == [pytest.approx(0.02)]
    assert not model.layers[-1].trainable and model.trainable_variables == []
    model.compile("sgd", "mse")
    with pytest.warns(UserWarning, match="no weights to train"):
        model.fit(x, 0.1 * x, verbose=0)
    assert flat_weights(model).tolist() == [pytest.approx(0.02)]


def test_requirement_52_counters_are_64_bit_and_reset_per_call():
    """`_train_counter`, `_test_counter` and `_predict_counter` are int64, of the first replica
    only, and start at 0 in each call.
    """
    compare("counters")
    strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    with strategy.scope():
        model = make_network()
    model.compile("sgd", "mse")
    model.fit(X, Y, batch_size=4, verbose=0)
    counter = model._train_counter
    assert int(counter.numpy()) == 3
    assert counter.aggregation == tf.VariableAggregation.ONLY_FIRST_REPLICA
    counter.assign(2**31 - 1)
    counter.assign_add(1)
    assert int(counter.numpy()) == 2**31


class PerBatchLogger(keras.callbacks.Callback):
    """Writes logs after each batch, and looks at the internal state of the model."""

    def __init__(self, lines):
        super().__init__()
        self.lines = lines

    def on_train_batch_end(self, batch, logs=None):
        norm = float(np.linalg.norm(self.model.layers[-1].get_weights()[0]))
        self.lines.append((batch, round(float(logs["loss"]), 6), norm > 0, self.params["epochs"]))


def test_requirement_53_callback_list_takes_keras_arguments_and_any_callback(tmp_path, capsys):
    """`CallbackList(callbacks, add_history=True, add_progbar=..., model=, verbose=, epochs=,
    steps=)`; loggers, checkpoints, early stopping and views of the state work.
    """
    seen, lines = [], []

    class Sees(keras.callbacks.Callback):
        def on_train_begin(self, logs=None):
            seen.append((self.model, dict(self.params)))

    model = make_network()
    model.compile("sgd", "mse")
    callbacks = keras.callbacks.CallbackList(
        [Sees()], add_history=True, add_progbar=True, model=model, verbose=2, epochs=3, steps=4
    )
    kinds = [type(callback).__name__ for callback in callbacks.callbacks]
    assert sorted(kinds) == ["History", "ProgbarLogger", "Sees"]
    callbacks.on_train_begin()
    assert seen == [(model, {"verbose": 2, "epochs": 3, "steps": 4})]
    callbacks.on_epoch_begin(0)
    callbacks.on_train_batch_begin(0)
    callbacks.on_train_batch_end(0, {"loss": 0.5})
    callbacks.on_epoch_end(0, {"loss": 0.5})
    callbacks.on_train_end({"loss": 0.5})
    assert capsys.readouterr().out.startswith("Epoch 1/3\n")
    assert next(c for c in callbacks.callbacks if c is model.history).history == {"loss": [0.5]}

    path = tmp_path / "best.weights.h5"
    stopping = keras.callbacks.EarlyStopping(monitor="val_loss", mode="max", patience=1)
    history = model.fit(
        X,
        Y,
        batch_size=4,
        epochs=9,
        verbose=0,
        validation_data=(X, Y),
        callbacks=[
            PerBatchLogger(lines),
            stopping,
            keras.callbacks.CSVLogger(str(tmp_path / "log.csv")),
            keras.callbacks.ModelCheckpoint(str(path), save_weights_only=True),
        ],
    )
    assert len(history.epoch) < 9 and stopping.stopped_epoch == len(history.epoch) - 1
    assert [line[0] for line in lines] == [0, 1, 2] * len(history.epoch)
    assert all(line[2:] == (True, 9) for line in lines)
    restored = make_network(seed=7)
    restored.load_weights(path)
    np.testing.assert_array_equal(flat_weights(restored), flat_weights(model))
    assert len((tmp_path / "log.csv").read_text().splitlines()) == 1 + len(history.epoch)


def test_requirement_54_progress_is_printed_in_keras_formats(monkeypatch, capsys):
    """With verbose=1 a bar, with 2 a line, each with Keras's text; `Epoch i/N` only if N > 1; with
    0 nothing.
    """
    compare("progress_text")
    now = [1000.0]
    monkeypatch.setattr(clock, "seconds", lambda: now[0])

    def show(verbose, steps, seconds, values):
        bar = podium.callbacks.Progbar(steps, verbose=verbose)
        bar.update(0)
        for step in range(1, steps + 1):
            now[0] += seconds / steps
            bar.update(step, values)
        return capsys.readouterr().out.split("\r")[-1].strip()

    bar = "[==============================]"
    # The formats of the lines in 003 and 004.
    assert show(1, 32, 32 * 721e-6, {"loss": 0.5791, "mae": 0.6232}) == (
        f"32/32 {bar} - 0s 721us/step - loss: 0.5791 - mae: 0.6232"
    )
    assert show(1, 100, 60.0, {"d_loss": 0.4534, "g_loss": 0.9839}).startswith(
        f"100/100 {bar} - 60s "
    )
    assert show(2, 100, 0.538, {}) == "100/100 - 1s - 538ms/epoch - 5ms/step"
    assert show(2, 100, 0.2141, {}) == "100/100 - 0s - 214ms/epoch - 2ms/step"


def test_requirement_55_evaluate_returns_python_floats():
    """`evaluate` returns a float, a list of floats if there are metrics, or a dictionary with
    `return_dict=True`.
    """
    result = compare("evaluation_results")
    assert result["types"] == ["float", ["float", "float"]]


def test_requirement_56_empty_data_are_refused():
    """`evaluate`, `fit` and `predict` of empty data raise a ValueError that says what was
    expected.
    """
    model = make_linear(tf)
    empty = np.zeros((0, 1), "float32")
    dataset = tf.data.Dataset.from_tensor_slices((empty, empty)).batch(2)
    expected = "dataset must contain at least one batch of samples"
    for source in (dataset, iter([])):
        for run in (model.evaluate, model.fit):
            with pytest.raises(ValueError, match=f"`x` is empty.*{expected}"):
                run(source, verbose=0)
        with pytest.raises(ValueError, match="Expect x to be a non-empty array or dataset"):
            model.predict(dataset, verbose=0)
    for run in (lambda: model.evaluate(empty, empty), lambda: model.predict(empty)):
        with pytest.raises(ValueError, match="Expect x to be a non-empty array or dataset"):
            run()


def test_requirement_57_predict_is_one_epoch_of_concatenated_numpy_arrays():
    """`predict` runs one epoch, calls its hooks, appends the batches of each output and returns
    NumPy arrays of one row per sample.
    """

    class Structured(keras.Model):
        def predict_step(self, data):
            outputs = super().predict_step(data)
            return {"double": 2.0 * outputs, "pair": (outputs, [tf.shape(outputs)[0] + data[:, 0]])}

    events = []
    model = make_linear(tf, 3.0, model_class=Structured)
    x = np.arange(5, dtype="float32").reshape(5, 1)
    recorder = make_recorder(tf, events)
    outputs = model.predict(x, batch_size=2, verbose=0, callbacks=[recorder])
    assert type(outputs) is dict and type(outputs["pair"]) is tuple
    assert type(outputs["pair"][1]) is list and type(outputs["double"]) is np.ndarray
    np.testing.assert_array_equal(outputs["double"], 6.0 * x)
    np.testing.assert_array_equal(outputs["pair"][0], 3.0 * x)
    assert outputs["pair"][1][0].tolist() == [2.0, 3.0, 4.0, 5.0, 5.0]  # sizes 2, 2 and 1, plus x
    assert events == [
        "on_predict_begin",
        *(f"on_predict_batch_{edge} {i}" for i in range(3) for edge in ("begin", "end")),
        "on_predict_end",
    ]
    model.predict(x[:3], batch_size=2, verbose=0)
    assert int(model._predict_counter.numpy()) == 2

    # The loop of 002, which calls `predict_function`.
    for k in (1, 2):
        model.compile(steps_per_execution=k)
        collected = None
        handler = data_adapter.get_data_handler(
            x=x, batch_size=2, steps_per_execution=model._steps_per_execution, model=model
        )
        predict_function = model.make_predict_function()
        for _, iterator in handler.enumerate_epochs():
            with handler.catch_stop_iteration():
                for _ in handler.steps():
                    batch = predict_function(iterator)
                    if collected is None:
                        collected = tf.nest.map_structure(lambda part: [part], batch)
                    else:
                        nest.map_structure_up_to(
                            batch, lambda parts, part: parts.append(part), collected, batch
                        )
        joined = nest.map_structure_up_to(batch, training.concat, collected)
        joined = tf_utils.sync_to_numpy_or_python_type(joined)
        np.testing.assert_array_equal(joined["double"], outputs["double"])
        np.testing.assert_array_equal(joined["pair"][1][0], outputs["pair"][1][0])


def test_requirement_58_outputs_may_be_nested_scalar_or_sparse():
    """Outputs may be nested; rows are concatenated, scalars of batches stacked, and sparse values
    stay sparse.
    """

    class Outputs(keras.Model):
        def predict_step(self, data):
            # tf_keras 2.21 returns [6, 9] as the sums of batches of two rows and one.
            return {
                "sum": tf.reduce_sum(data),
                "rows": (data, [data * 2.0]),
                "sparse": sparse.BCOO.fromdense(data.numpy()),
            }

    x = np.arange(6, dtype="float32").reshape(3, 2)
    model = make_network(model_class=Outputs)
    model.compile(run_eagerly=True)
    outputs = model.predict(x, batch_size=2, verbose=0)
    assert outputs["sum"].tolist() == [6.0, 9.0]
    np.testing.assert_array_equal(outputs["rows"][0], x)
    np.testing.assert_array_equal(outputs["rows"][1][0], 2.0 * x)
    assert isinstance(outputs["sparse"], sparse.BCOO) and outputs["sparse"].shape == (3, 2)
    np.testing.assert_array_equal(outputs["sparse"].todense(), x)
    parts = [sparse.BCOO.fromdense(x[:2]), sparse.BCOO.fromdense(x[2:])]
    np.testing.assert_array_equal(training.concat(parts).todense(), x)
    assert training.concat([tf.constant(1.0), tf.constant(2.0)]).numpy().tolist() == [1.0, 2.0]


def test_requirement_59_predictions_can_be_streamed():
    """`for batch in dataset: model(batch, training=False)` streams, and `predict_iter` yields the
    same batches from data that need not end.
    """
    model = make_network()
    expected = model.predict(X, verbose=0)
    dataset = tf.data.Dataset.from_tensor_slices(X).batch(5)
    streamed = [np.asarray(model(batch, training=False)) for batch in dataset]
    assert [len(batch) for batch in streamed] == [5, 5, 2]
    np.testing.assert_allclose(np.concatenate(streamed), expected, rtol=1e-5, atol=1e-6)
    yielded = list(model.predict_iter(dataset))
    assert all(type(batch) is np.ndarray for batch in yielded)
    np.testing.assert_allclose(np.concatenate(yielded), expected, rtol=1e-5, atol=1e-6)
    endless = model.predict_iter(dataset.repeat())
    assert sum(len(next(endless)) for _ in range(6)) == 24
    endless.close()


def test_requirement_60_loops_are_refused_inside_functions():
    """`fit`, `evaluate` and `predict` inside of a traced function raise a RuntimeError that says to
    call `model(x)` there.
    """
    model = make_linear(tf, inputs=3)
    before = flat_weights(model)
    for compiled in (tf.function, jax.jit):
        for name, run in {
            "fit": lambda: model.fit(X, Y, verbose=0),
            "evaluate": lambda: model.evaluate(X, Y, verbose=0),
            "predict": lambda: model.predict(X, verbose=0),
        }.items():
            with pytest.raises(RuntimeError, match=rf"`{name}` was called inside .*`model\(x\)`"):
                compiled(run)()
    np.testing.assert_array_equal(flat_weights(model), before)
    assert tf.function(lambda x: model(x))(tf.constant(X)).shape == (12, 1)


def test_requirement_61_losses_are_means_over_samples():
    """The loss of an epoch or evaluation weighs batches by their number of samples."""
    # Losses of 1, 1 and 9 in batches of two rows and one.
    assert compare("sample_weighted_means")["evaluate"][0] == pytest.approx(3.6667, abs=1e-4)
