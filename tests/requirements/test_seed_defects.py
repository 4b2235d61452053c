"""Defects D1-D8 of the documents, each done right."""

import re

import numpy as np
import pytest
from requirement_cases import make_linear

import podium
from podium.compat import keras
from podium.compat import tensorflow as tf
from podium.compat.keras.engine import training

from .helpers import compare, flat_weights, load_record, make_engine, make_fork, make_network

X = np.zeros((1000, 10))
Y = np.ones((1000, 1))


def make_compiled(model, **options):
    """Return a model or fork, compiled as in the walkthrough."""
    model.compile(
        "sgd",
        loss=keras.losses.MeanSquaredError(reduction=keras.losses.Reduction.SUM),
        metrics=[keras.metrics.MeanAbsolutePercentageError()],
        **options,
    )
    return model


def batches(x=X, y=Y, size=10):
    return tf.data.Dataset.from_tensor_slices((x, y)).batch(size)


def make_dense():
    return keras.Sequential([keras.Input((10,)), keras.layers.Dense(1)])


def test_defect_1_a_step_without_data_is_not_counted(capsys):
    """The walkthrough prints `101/101`, and counts the step that found no data; it is `100/100` in
    every epoch, and the counter is right.
    """
    for model in (make_fork()(), make_dense()):
        make_compiled(model, steps_per_execution=5)
        model.fit(batches(), epochs=3, verbose=2)
        lines = capsys.readouterr().out.splitlines()
        assert lines[::2] == ["Epoch 1/3", "Epoch 2/3", "Epoch 3/3"]
        assert [line.split(" - ")[0] for line in lines[1::2]] == ["100/100"] * 3
        assert re.fullmatch(r"100/100 - \d+s .*- \d+m?s/epoch - \d+[mu]?s/step", lines[3])
        assert int(model._train_counter.numpy()) == 300


def test_defect_2_callbacks_receive_the_logs_of_the_epoch():
    """The walkthrough passes None to `on_epoch_end`, so that its History is empty; logs arrive."""
    seen = []
    record = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda epoch, logs: seen.append(dict(logs))
    )
    model = make_compiled(make_dense())
    history = model.fit(batches(), epochs=2, verbose=0, callbacks=[record])
    assert list(history.history) == ["loss", "mean_absolute_percentage_error"]
    assert [logs["loss"] for logs in seen] == history.history["loss"]
    assert len(seen) == 2 and seen[0]["loss"] > seen[1]["loss"] > 0


def test_defect_3_evaluate_weighs_samples_and_resets_once():
    """The walkthrough's `evaluate` resets metrics per batch and averages batches without weights;
    metrics accumulate over all samples.
    """
    x = np.array([[1.0], [1.0], [3.0]])
    resets = []

    class Counted(keras.metrics.MeanAbsoluteError):
        def reset_state(self):
            resets.append(1)
            super().reset_state()

    model = make_linear(tf, 1.0, metrics=[Counted(name="mae")])
    resets.clear()
    result = model.evaluate(batches(x, np.zeros((3, 1)), 2), verbose=0, return_dict=True)
    # By batches: losses 1 and 9, errors 1 and 3; their plain means are 5 and 2.
    assert result == {"loss": pytest.approx(11 / 3), "mae": pytest.approx(5 / 3)}
    assert len(resets) == 1


def test_defect_4_the_first_fit_resets_metrics():
    """The walkthrough's first `fit` continues the metrics of `evaluate` and of earlier epochs: it
    prints 0.599 where the value is 1.19e-05.
    """
    model = make_compiled(make_dense())
    x, y = X[:200], Y[:200]
    assert model.evaluate(batches(x, y), verbose=0)[1] == 100.0
    history = model.fit(batches(x, y), epochs=12, verbose=0).history
    errors = history["mean_absolute_percentage_error"]
    # The error shrinks by 0.8 in each step of SUM over ten samples.
    first = 100 * np.mean(0.8 ** np.arange(20))
    assert errors[0] == pytest.approx(first, rel=1e-4)
    assert errors[-1] == pytest.approx(1.19e-05, rel=0.01)
    again = model.fit(batches(x, y), verbose=0).history
    assert again["mean_absolute_percentage_error"][0] == pytest.approx(1.19e-05, rel=0.01)


def test_defect_5_undefined_names_exist():
    """The walkthrough uses names that it does not define: `scale_loss_for_distribution`,
    `steps_per_epoch`, `callbacks_module` and `optimizers`; they exist where Keras has them.
    """
    podium.compat.install()
    try:
        namespace = {}
        exec(
            "from keras.utils.losses_utils import scale_loss_for_distribution\n"
            "from keras import callbacks as callbacks_module\n"
            "import tensorflow.keras.optimizers as optimizers\n",
            namespace,
        )
    finally:
        podium.compat.uninstall()
    assert namespace["callbacks_module"].CallbackList is keras.callbacks.CallbackList
    assert namespace["optimizers"].get("sgd").name.lower() == "sgd"
    scale = namespace["scale_loss_for_distribution"]
    assert float(scale(tf.constant(3.0))) == 3.0
    strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    parts = strategy.unwrap(strategy.run(lambda: scale(tf.constant(3.0))))
    assert [float(part) for part in parts] == [1.5, 1.5]
    model = make_dense()
    make_compiled(model)
    model.fit(batches().repeat(), steps_per_epoch=7, epochs=2, verbose=0)
    assert int(model._train_counter.numpy()) == 14

    fork = make_fork()()
    fork.dense = keras.layers.Dense(1, kernel_regularizer="l2")
    fork.train_step.__func__.__globals__["scale_loss_for_distribution"] = scale
    make_compiled(fork).fit(batches(X[:20] + 1.0, Y[:20]), verbose=0)
    assert len(fork.losses) == 1 and float(fork.losses[0]) > 0


def test_defect_6_logs_are_reduced_over_all_replicas():
    """`reduction='first'` shows the loss of one replica; the default reduces those of all, and how
    is selectable per name.
    """
    strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    losses = podium.distribute.PerReplica(np.array([1.0, 5.0], "float32"))
    rows = podium.distribute.PerReplica(np.array([[[1.0]], [[2.0]]], "float32"))
    reduced = training.reduce_per_replica({"loss": losses, "rows": rows}, strategy)
    assert float(reduced["loss"]) == 3.0
    assert reduced["rows"].numpy().tolist() == [[1.0], [2.0]]
    first = training.reduce_per_replica(losses, strategy, reduction="first")
    total = training.reduce_per_replica(losses, strategy, reduction="sum")
    assert (float(first), float(total)) == (1.0, 6.0)

    class Raw(keras.Model):
        def train_step(self, data):
            value = tf.reduce_max(data[0])
            return {"mean": value, "most": value, "all": podium.metrics.LogValue(value, "sum")}

        def make_train_function(self):
            @tf.function
            def train_function(iterator):
                return self.distribute_strategy.run(self.train_step, args=(next(iterator),))

            return train_function

    def fit(scope):
        with scope:
            model = make_linear(tf, inputs=1, model_class=Raw)
        model.compile("sgd", "mse", log_reductions={"most": "max"})
        x = np.array([[1.0], [2.0], [3.0], [8.0]])
        return model.fit(x, x, batch_size=4, shuffle=False, verbose=0).history

    assert fit(strategy.scope()) == {"mean": [5.0], "most": [8.0], "all": [10.0]}
    with pytest.raises(ValueError, match="'biggest'"):
        make_linear(tf).compile("sgd", "mse", log_reductions={"most": "biggest"})


def test_defect_7_bar_and_history_agree_on_raw_losses():
    """The GAN's raw losses are those of the last batch in the History, and means in the bar; both
    show the mean of the samples, and the value of the batch is available beside it.
    """
    recorded = load_record()["raw_logs"]  # batches of values 1, 1 and 4
    assert recorded["history"] == [4.0] and recorded["bar"][0].endswith("raw: 3.0000")
    bar = recorded["bar"][0].replace("3.0000", "2.0000")
    result = compare("raw_logs", history=[pytest.approx(2.0)], bar=[bar])
    assert result["history"] == [2.0]
    seen = []

    class Raw(keras.Model):
        def train_step(self, data):
            return {"raw": tf.reduce_mean(data)}

    def record(name):
        return keras.callbacks.LambdaCallback(
            on_batch_end=lambda batch, logs: seen.append((logs.batch[name], logs.running[name]))
        )

    model = make_linear(tf, model_class=Raw, loss=None)
    x = np.array([[1.0], [1.0], [4.0]])
    options = {"batch_size": 2, "shuffle": False, "verbose": 0}
    model.fit(x, callbacks=[record("raw")], **options)
    assert seen == [(1.0, 1.0), (4.0, 2.0)]
    seen.clear()
    default = make_linear(tf, 1.0, optimizer=keras.optimizers.SGD(0.0))
    default.fit(x, 0 * x, callbacks=[record("loss")], **options)
    assert seen == [(1.0, 1.0), (16.0, 6.0)]


@pytest.mark.parametrize("number", ["001", "002"])
def test_defect_8_the_number_of_steps_is_a_value_not_a_constant_of_the_trace(number):
    """002 reads `_steps_per_execution` when it is traced, 001 passes its value: the last execution
    of an epoch is shorter in both, and no step is left out or repeated.
    """
    x, y = np.random.default_rng(0).normal(size=(2, 7, 3, 1)).astype("float32")
    x = np.repeat(x.reshape(21, 1), 3, axis=1)
    model = make_network(model_class=make_engine(number))
    model.compile(keras.optimizers.SGD(0.01), "mse", steps_per_execution=3)
    model.fit(x, y.reshape(21, 1), batch_size=3, epochs=2, shuffle=False, verbose=0)
    assert int(model._train_counter.numpy()) == 14 == int(model.optimizer.iterations)
    expected = make_network()
    expected.compile(keras.optimizers.SGD(0.01), "mse", steps_per_execution=1)
    expected.fit(x, y.reshape(21, 1), batch_size=3, epochs=2, shuffle=False, verbose=0)
    np.testing.assert_allclose(flat_weights(model), flat_weights(expected), rtol=1e-5, atol=1e-6)
    assert model._steps_per_execution.numpy().item() == 3
