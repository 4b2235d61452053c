"""Requirements 73-75 and 85: what runs measure, what it costs, and what a step does not know."""

import inspect
import sys
import time
import warnings

import numpy as np
import pytest
from requirement_cases import make_linear

import podium
from podium.compat import keras
from podium.compat import tensorflow as tf

from .helpers import make_network, make_samples

X, Y = make_samples()


class Saves(keras.callbacks.Callback):
    """Saves the weights after an epoch."""

    def __init__(self, path):
        super().__init__()
        self.path = path

    def on_epoch_end(self, epoch, logs=None):
        self.model.save_weights(self.path)


def test_requirement_73_runs_expose_their_measurements(tmp_path):
    """Runs expose the latency of steps (median and tail), samples per second, the memory of
    `predict`, the time to write checkpoints and to synchronize replicas.
    """
    model = make_network()
    model.compile("sgd", "mse", steps_per_execution=1)
    path = tmp_path / "w.h5"
    started = time.perf_counter()
    history = model.fit(X, Y, batch_size=2, epochs=3, verbose=0, callbacks=[Saves(path)])
    elapsed = time.perf_counter() - started
    telemetry = history.telemetry
    assert (telemetry.kind, telemetry.steps, telemetry.samples) == ("fit", 18, 36)
    latency = telemetry.step_latency
    assert 0 < latency.p50 <= latency.p95 <= latency.p99 <= latency.max <= elapsed
    assert telemetry.wall_seconds <= elapsed
    assert telemetry.samples_per_second == pytest.approx(36 / telemetry.wall_seconds)
    assert sum(telemetry.sections.values()) == pytest.approx(telemetry.wall_seconds)
    assert telemetry.num_saves == 3 and telemetry.saves[-1].num_bytes == path.stat().st_size
    assert 0 < sum(save.seconds for save in telemetry.saves) < elapsed
    assert telemetry.sections["saving"] > 0 and telemetry.num_compilations >= 1
    assert "p99" in telemetry.report() and len(telemetry.report().splitlines()) <= 50
    assert telemetry.synchronization.replicas == 1 == telemetry.first_epoch + 1

    outputs = model.predict(X, verbose=0)
    assert model.telemetry.kind == "predict"
    assert model.telemetry.memory.output_bytes == outputs.nbytes
    model.evaluate(X, Y, verbose=0)
    assert (model.telemetry.kind, model.telemetry.samples) == ("evaluate", 12)

    with tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"]).scope():
        replicated = make_network()
        replicated.compile("sgd", "mse")
    telemetry = replicated.fit(X, Y, verbose=0).telemetry
    assert telemetry.synchronization.replicas == 2 and telemetry.measure_synchronization() > 0


class SlowLogger(keras.callbacks.Callback):
    """Takes two milliseconds for the logs of each execution."""

    is_logger = True

    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.002)


def test_requirement_74_fused_steps_share_the_overhead_and_logging_is_visible():
    """k steps share the fixed cost of one execution, and what frequent logging costs is visible."""
    telemetry = {}
    for k in (1, 4):
        model = make_linear(tf, inputs=3, steps_per_execution=k)
        history = model.fit(X, Y, batch_size=1, epochs=2, verbose=0, callbacks=[SlowLogger()])
        telemetry[k] = history.telemetry
    for k, measured in telemetry.items():
        (logger,) = [each for each in measured.callbacks if each.name == "SlowLogger"]
        assert (measured.executions, measured.steps) == (24 // k, 24)
        assert logger.section == "logging" and logger.calls >= 24 // k
        assert measured.sections["logging"] >= logger.seconds >= 0.002 * 24 / k
        assert "SlowLogger" in measured.report()

    calls = {k: count_calls(k, "") for k in (1, 16)}
    assert calls[16] < calls[1] / 2  # Python calls per step


def count_calls(k, package):
    """Return the calls per step of Python functions of Podium, or one of its packages, in a steady
    epoch of `fit`.
    """
    counted, files = [], podium.__path__[0] + "/" + package
    model = make_linear(tf, inputs=3, steps_per_execution=k)
    x = np.ones((400, 3), "float32")
    model.fit(x, x[:, :1], batch_size=4, verbose=0)
    total = {}
    for epochs in (1, 3):
        counted.clear()
        sys.setprofile(
            lambda frame, event, _: (
                counted.append(1)
                if event == "call" and frame.f_code.co_filename.startswith(files)
                else None
            )
        )
        try:
            model.fit(x, x[:, :1], batch_size=4, epochs=epochs, verbose=0)
        finally:
            sys.setprofile(None)
        total[epochs] = len(counted)
    return (total[3] - total[1]) / 200


class Unreliable(keras.utils.Sequence):
    """Three batches; reading the second one fails twice."""

    def __init__(self):
        super().__init__()
        self.failures = 2

    def __len__(self):
        return 3

    def __getitem__(self, index):
        if index == 1 and self.failures:
            self.failures -= 1
            raise OSError("the disk is busy")
        return X[4 * index : 4 * index + 4], Y[4 * index : 4 * index + 4]


def test_requirement_75_what_is_not_of_a_batch_is_outside_of_the_step():
    """Retries, distribution, counters, logging and compilation live in the loop: a step is a plain
    function of a batch.
    """
    model = make_network()
    model.compile("sgd", "mse", metrics=["mae"])
    logs = model.train_step((tf.constant(X[:4]), tf.constant(Y[:4])))
    assert list(logs) == ["loss", "mae"] and int(model.optimizer.iterations) == 1
    assert int(model._train_counter.numpy()) == 0 and model.train_function is None
    source = inspect.getsource(keras.Model.train_step)
    for word in ("counter", "callback", "strategy", "retry", "jit", "function("):
        assert word not in source

    rows = []

    class Shows(keras.Model):
        def train_step(self, data):
            rows.append(float(data[0][0, 0]))
            return {"loss": 0.0}

    model = make_linear(tf, inputs=3, model_class=Shows, run_eagerly=True)
    options = {"shuffle": False, "verbose": 0}
    source = podium.data.Retrying(Unreliable(), times=2, on=OSError, delay=0.001)
    with pytest.warns(UserWarning) as caught:
        model.fit(source, **options)
    first, summary = (str(warning.message) for warning in caught)
    assert "the disk is busy" in first and "tried again 2 times in this run" in summary
    assert rows == [X[0, 0], X[4, 0], X[8, 0]] and source.retries == 2
    for too_few in ({"times": 1, "on": OSError}, {"times": 2, "on": ValueError}):
        source = podium.data.Retrying(Unreliable(), delay=0.001, **too_few)
        with warnings.catch_warnings(), pytest.raises(OSError, match="the disk is busy"):
            warnings.simplefilter("ignore")
            model.fit(source, **options)
        assert source.retries == too_few["times"] * (too_few["on"] is OSError)


def test_requirement_85_measurements_are_on_by_default_and_cheap():
    """Runs are measured without being asked, by a few Python calls per execution and without
    waiting for the device.
    """
    history = make_linear(tf, inputs=3).fit(X, Y, verbose=0)
    assert history.telemetry.steps == 1 and history.telemetry.samples == 12
    # 1% of a step of 1 ms are 10 us: about a hundred calls of Python functions.
    assert 0 < count_calls(1, "telemetry/") <= 12
