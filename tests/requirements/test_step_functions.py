"""Requirements 26-35: the functions of the loop's side, which call a step with the next batch."""

import contextlib

import numpy as np
import pytest
from requirement_cases import make_linear

from podium.compat import keras
from podium.compat import tensorflow as tf
from podium.compat.keras.engine import training
from tests.distribute.parameter_server.local_cluster import (
    LocalStrategy,
    applied_steps,
    coordinator_of,
)

from .helpers import flat_weights, make_engine, make_fork, make_network, make_samples

X, Y = make_samples()
OPTIONS = {"batch_size": 4, "shuffle": False, "verbose": 0}


class ListWriter(tf.summary.SummaryWriter):
    """Keeps the scalars that are written."""

    def __init__(self):
        self.records = []

    def write_scalar(self, name, value, step):
        self.records.append((name, float(value), int(step)))


def train_engine(number, devices=1, steps_per_execution=1, **compile_options):
    """Train the engine of a document for three steps; return the model and its weights."""
    engine = make_engine(number)
    with tf.distribute.MirroredStrategy([f"/cpu:{i}" for i in range(devices)]).scope():
        model = make_network(model_class=engine)
        model.compile(
            keras.optimizers.SGD(0.1),
            "mse",
            metrics=["mae"],
            steps_per_execution=steps_per_execution,
            **compile_options,
        )
    model.fit(X, Y, **OPTIONS)
    return model, flat_weights(model)


@pytest.fixture(scope="module")
def expected_weights():
    """The weights after three steps of Podium's own loop."""
    model = make_network()
    model.compile(keras.optimizers.SGD(0.1), "mse", metrics=["mae"])
    model.fit(X, Y, **OPTIONS)
    return flat_weights(model)


def test_requirement_26_make_functions_are_extension_points():
    """`make_train_function`, `make_test_function` and `make_predict_function` can be overridden;
    `fit`, `evaluate`, `predict` and the methods for one batch call what they return.
    """
    called = []

    class Overrides(keras.Model):
        def make_train_function(self):
            return lambda iterator: called.append(("train", next(iterator))) or {"loss": 1.0}

        def make_test_function(self):
            return lambda iterator: called.append(("test", next(iterator))) or {"loss": 2.0}

        def make_predict_function(self):
            def predict_function(iterator):
                called.append(("predict", next(iterator)))
                return tf.constant([[3.0]] * 4)

            return predict_function

    model = make_linear(tf, inputs=3, model_class=Overrides)
    assert model.fit(X, Y, **OPTIONS).history == {"loss": [1.0]}
    assert model.evaluate(X, Y, batch_size=4, verbose=0) == 2.0
    assert model.predict(X, batch_size=4, verbose=0).tolist() == [[3.0]] * 12
    assert [name for name, _ in called] == ["train"] * 3 + ["test"] * 3 + ["predict"] * 3
    called.clear()
    assert model.train_on_batch(X[:4], Y[:4]) == 1.0 and model.test_on_batch(X[:4], Y[:4]) == 2.0
    assert model.predict_on_batch(X[:4]).tolist() == [[3.0]] * 4
    assert [name for name, _ in called] == ["train", "test", "predict"]
    for function in (keras.Model.make_train_function, keras.Model.make_test_function):
        assert "iterator" in function.__doc__


def test_requirement_27_the_function_is_kept_until_compile():
    """The result is kept in `train_function` and returned again; `compile` clears it."""
    model = make_linear(tf, inputs=3)
    assert model.train_function is None
    function = model.make_train_function()
    assert model.train_function is function and model.make_train_function() is function
    model.fit(X, Y, **OPTIONS)
    assert model.train_function is function and function.trace_count == 1
    assert model.make_train_function(force=True) is not function
    for make in (model.make_test_function, model.make_predict_function):
        assert make() is make()
    model.compile("sgd", "mse")
    assert (model.train_function, model.test_function, model.predict_function) == (None,) * 3
    assert model.make_train_function() is not function


def test_requirement_28_the_function_takes_the_iterator():
    """The function receives the iterator of the epoch, and calls `next` on it."""
    iterators, batches = [], []

    class Reads(keras.Model):
        def make_train_function(self):
            def train_function(iterator):
                iterators.append(iterator)
                batches.append(next(iterator))
                return {"loss": 0.0}

            self.train_function = train_function
            return train_function

    model = make_linear(tf, inputs=3, model_class=Reads)
    model.fit(X, Y, epochs=2, **OPTIONS)
    assert len(set(map(id, iterators[:3]))) == 1
    for index, (x, y) in enumerate(batches):
        start = 4 * (index % 3)
        np.testing.assert_array_equal(x, X[start : start + 4])
        np.testing.assert_array_equal(y, Y[start : start + 4])
    own = make_linear(tf, inputs=3)
    logs = own.make_train_function()(iter(tf.data.Dataset.from_tensor_slices((X, Y)).batch(12)))
    assert float(logs["loss"]) == pytest.approx(float(np.mean(Y**2)))


@pytest.mark.parametrize("eagerly", [False, True])
def test_requirement_29_the_counter_counts_steps_that_succeed(eagerly):
    """`_train_counter` advances by one after each step that succeeds, and not for one that fails
    or finds no data.
    """

    class Fails(keras.Model):
        def train_step(self, data):
            logs = super().train_step(data)
            x, _ = data
            assert x.shape[0] == 5, "the last batch"
            return logs

    model = make_linear(tf, inputs=3, model_class=Fails, run_eagerly=eagerly)
    with pytest.raises(AssertionError, match="the last batch"):
        model.fit(X, Y, batch_size=5, shuffle=False, verbose=0)
    assert int(model._train_counter.numpy()) == 2 == int(model.optimizer.iterations)

    fork = make_fork()()
    fork.compile("sgd", loss=keras.losses.MeanSquaredError(), metrics=[])
    fork.fit(tf.data.Dataset.from_tensor_slices((X, Y)).batch(4), epochs=2, verbose=0)
    assert int(fork._train_counter.numpy()) == 6  # TensorFlow's count is 8


def test_requirement_30_jit_compile_wraps_the_step(expected_weights):
    """With `jit_compile=True` the step is compiled by XLA inside of the function of the loop."""
    model, weights = train_engine("001", steps_per_execution=2, jit_compile=True)
    assert model._jit_compile
    np.testing.assert_allclose(weights, expected_weights, rtol=1e-5, atol=1e-6)
    _, without = train_engine("001", steps_per_execution=2, jit_compile=False)
    np.testing.assert_allclose(weights, without, rtol=1e-5, atol=1e-6)


def test_requirement_31_strategy_run_and_reduce_per_replica(expected_weights):
    """The function runs the step with `strategy.run(run_step, args=(data,))`, and reduces logs with
    "first" and outputs with "concat".
    """
    for number in ("001", "002"):
        model, weights = train_engine(number, devices=4)
        assert model.distribute_strategy.num_replicas_in_sync == 4
        np.testing.assert_allclose(weights, expected_weights, rtol=1e-5, atol=1e-6)

    class Predicts(keras.Model):
        def make_predict_function(self):
            @tf.function
            def predict_function(iterator):
                strategy = self.distribute_strategy
                outputs = strategy.run(self.predict_step, args=(next(iterator),))
                return training.reduce_per_replica(outputs, strategy, reduction="concat")

            return predict_function

    with tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"]).scope():
        model = make_network(model_class=Predicts)
    outputs = model.predict(X[:10], batch_size=4, verbose=0)
    np.testing.assert_allclose(outputs, make_network()(X[:10]), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("k", [1, 3])
def test_requirement_32_summaries_are_written_in_each_step(k):
    """`write_scalar_summaries(outputs, step=_train_counter)` writes the logs of each step."""
    writer = ListWriter()
    with writer.as_default():
        train_engine("002", steps_per_execution=k)
        writer.flush()
    assert [(name, step) for name, _, step in writer.records] == [
        (name, step) for step in (1, 2, 3) for name in ("batch_loss", "batch_mae")
    ]
    losses = []
    model = make_network()
    model.compile(keras.optimizers.SGD(0.1), "mse", metrics=["mae"])
    record = keras.callbacks.LambdaCallback(
        on_batch_end=lambda _, logs: losses.append(logs["loss"])
    )
    model.fit(X, Y, callbacks=[record], **OPTIONS)
    assert [value for name, value, _ in writer.records if name == "batch_loss"] == pytest.approx(
        [float(loss) for loss in losses], rel=1e-5
    )


def test_requirement_33_k_steps_are_a_loop_in_one_call(expected_weights):
    """With `steps_per_execution=k` one compiled call runs k steps and returns the outputs of the
    last one; with 1 it runs one step.
    """
    calls = []

    class Shows(keras.Model):
        def train_step(self, data):
            return {"first": data[0][0, 0]}

    for k, expected_calls in ((1, 3), (2, 2), (3, 1)):
        model = make_linear(tf, inputs=3, model_class=Shows, loss=None, steps_per_execution=k)
        function = model.make_train_function()
        run, calls = function.run, []
        function.run = lambda *arguments, run=run, calls=calls: calls.append(1) or run(*arguments)
        batch_ends = []
        record = keras.callbacks.LambdaCallback(
            on_batch_end=lambda i, logs, ends=batch_ends: ends.append((i, float(logs["first"])))
        )
        model.fit(X, Y, callbacks=[record], **OPTIONS)
        assert len(calls) == expected_calls
        assert batch_ends == [
            (i, pytest.approx(X[4 * i, 0]))
            for i in sorted({min(k * n + k, 3) - 1 for n in range(3)})
        ]
        assert int(model._train_counter.numpy()) == 3
    for number, k in (("001", 2), ("002", 2)):
        _, weights = train_engine(number, steps_per_execution=k)
        np.testing.assert_allclose(weights, expected_weights, rtol=1e-5, atol=1e-6)


def test_requirement_34_steps_are_compiled_unless_run_eagerly():
    """`run_eagerly=False` compiles the function, once for batches of one shape and once for a
    smaller last one, and keeps it in `train_tf_function`; `run_eagerly=True` is plain Python.
    """
    traces = []

    class Counts(keras.Model):
        def train_step(self, data):
            traces.append(tf.executing_eagerly())
            return super().train_step(data)

    for model_class in (Counts, make_engine("001", Counts)):
        model = make_network(model_class=model_class)
        model.compile("sgd", "mse")
        model.fit(X[:10], Y[:10], epochs=3, **OPTIONS)
        assert model.train_tf_function is not None and not any(traces)
        assert model.train_function is model.train_tf_function
        count = len(traces)
        model.fit(X[:10], Y[:10], epochs=3, **OPTIONS)
        assert len(traces) == count  # nothing is traced again
        traces.clear()
        model.compile("sgd", "mse", run_eagerly=True)
        model.fit(X[:10], Y[:10], epochs=2, **OPTIONS)
        assert traces == [True] * 6 and model.train_tf_function is None
        traces.clear()
    relaxed = tf.function(lambda x: traces.append(1) or x + 1.0, reduce_retracing=True)
    old_name = tf.function(lambda x: x + 1.0, experimental_relax_shapes=True)
    for size in (2, 3):
        assert relaxed(tf.zeros((size,))).numpy().tolist() == [1.0] * size
        assert old_name(tf.zeros((size,))).numpy().tolist() == [1.0] * size


def test_requirement_35_steps_are_scheduled_on_a_cluster_coordinator():
    """With a cluster coordinator `train_function` schedules the compiled function on it: with the
    steps of an execution at that moment (001), and with the iterator alone (002, 004). The function
    that it schedules is not itself.
    """
    alone = make_network()
    alone.compile("sgd", "mse")
    alone.fit(X, Y, **OPTIONS)
    for number in ("001", "002"):
        for k in (1, 3):
            strategy = LocalStrategy(num_workers=1)
            with strategy.scope():
                model = make_network(model_class=make_engine(number))
                model.compile("sgd", "mse", steps_per_execution=k)
            history = model.fit(X, Y, **OPTIONS).history
            assert model._cluster_coordinator is coordinator_of(strategy)
            assert len(history["loss"]) == 1
            # 001 schedules only if there are several steps.
            count = 0 if (number, k) == ("001", 1) else 3 // k
            assert applied_steps(strategy) == [count]
            assert (model.train_function is model.train_tf_function) == (count == 0)
            np.testing.assert_allclose(
                flat_weights(model), flat_weights(alone), rtol=1e-5, atol=1e-6
            )
            strategy.close()

    strategy = LocalStrategy(num_workers=1)
    with strategy.scope():
        model = make_fork()()
    reduction = keras.losses.Reduction.SUM
    model.compile("sgd", keras.losses.MeanSquaredError(reduction=reduction), metrics=[])
    alone = make_fork()()
    alone.compile("sgd", keras.losses.MeanSquaredError(reduction=reduction), metrics=[])
    dataset = tf.data.Dataset.from_tensor_slices((X, Y)).batch(4)
    for each in (model, alone):
        each(X)
        each.dense.set_weights([np.ones((3, 1), "float32"), np.zeros(1, "float32")])
        each.fit(dataset, epochs=2, verbose=0)
    with contextlib.suppress(tf.errors.OutOfRangeError):  # of steps scheduled past the end
        model._cluster_coordinator.join()  # its `fit` does not wait for the steps that it schedules
    assert applied_steps(strategy)[0] >= 6
    for left, right in zip(model.dense.get_weights(), alone.dense.get_weights(), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-5, atol=1e-6)
    strategy.close()
