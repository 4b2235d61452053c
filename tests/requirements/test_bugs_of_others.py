"""Bugs of other systems of today that Podium must not have. Each was reproduced on Keras 3.15.1
with JAX, whose behavior the docstrings describe first.
"""

import contextlib
import io
import re

import jax
import numpy as np
import pytest
from requirement_cases import CASES, make_linear, make_recorder, normalize_bar

import podium
from podium.compat import keras
from podium.compat import tensorflow as tf
from podium.core.internal import Program

from .helpers import compare, flat_weights, load_record, make_network, make_samples

X, Y = make_samples()


def test_a_generator_that_ends_is_not_started_again():
    """A generator of three batches and three epochs: `[0, 1, 2, 0, 1, 0, 1]` there; right is
    `[0, 1, 2]`, a warning, and the end.
    """
    assert compare("one_shot_generator") == [0.0, 1.0, 2.0]
    batches = ((X[i : i + 4], Y[i : i + 4]) for i in (0, 4, 8))
    model = make_linear(tf, inputs=3)
    with pytest.warns(UserWarning, match="^Your input ran out of data; interrupting training"):
        history = model.fit(batches, epochs=3, verbose=0)
    assert history.epoch == [0] and int(model.optimizer.iterations) == 3


EMPTY = {
    "array": lambda: np.zeros((0, 3), "float32"),
    "generator": lambda: iter(()),
    "dataset": lambda: tf.data.Dataset.from_tensor_slices((X[:0], Y[:0])).batch(4),
    "batches": list,
}


@pytest.mark.parametrize("kind", EMPTY)
def test_empty_data_are_named(kind):
    """Empty data: a bare StopIteration or UnboundLocalError there; right is a ValueError that names
    the empty input.
    """
    model = make_linear(tf, inputs=3)
    for name in ("fit", "evaluate", "predict"):
        source = EMPTY[kind]()
        arguments = [source, Y[:0]] if kind == "array" and name != "predict" else [source]
        with pytest.raises(ValueError, match=r"`x`.*(empty|no samples|no rows)"):
            getattr(model, name)(*arguments, verbose=0)
    assert int(model.optimizer.iterations) == 0


def test_sizes_that_devices_do_not_divide_are_exact():
    """65 samples, batches of 32, two devices: a crash there; right are the results of one."""
    x, y = make_samples(65)

    def run(devices):
        with tf.distribute.MirroredStrategy([f"/cpu:{i}" for i in range(devices)]).scope():
            model = make_network()
            model.compile("adam", "mse", metrics=["mae"])
        options = {"batch_size": 32, "verbose": 0}
        losses = model.fit(x, y, epochs=2, shuffle=False, **options).history["loss"]
        evaluated, predicted = model.evaluate(x, y, **options), model.predict(x, **options)
        assert predicted.shape == (65, 1)
        return np.concatenate([flat_weights(model), losses, evaluated, predicted.ravel()])

    expected = run(1)
    with pytest.warns(UserWarning, match="smaller than the number of replicas"):
        two = run(2)
    np.testing.assert_allclose(two, expected, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("method", ["fit", "evaluate", "predict"])
def test_the_last_execution_ends_with_the_last_batch(method):
    """Seven batches with k=3: the last end index is 8 there; right is 6."""
    events = []
    model = make_linear(tf, steps_per_execution=3)
    x = np.ones((7, 1), "float32")
    arguments = [x] if method == "predict" else [x, x]
    recorder = make_recorder(tf, events)
    getattr(model, method)(*arguments, batch_size=1, verbose=0, callbacks=[recorder])
    ends = [int(event.split()[1]) for event in events if "batch_end" in event]
    assert ends == [2, 5, 6] == load_record()["partial_execution"]["end"]


class Killed(BaseException):
    """Stands for SIGKILL."""


def test_an_interrupted_run_continues_at_its_step(tmp_path):
    """Interrupted at step 6 of 2 x 10: it ends at 26 iterations there; right are 20, bit for
    bit.
    """
    x, y = make_samples(40)

    def run(folder, kill_at=None):
        def kill(batch, logs):
            steps.append(int(model._train_counter.numpy()))
            if steps[-1] == kill_at:
                raise Killed

        podium.utils.set_random_seed(1)
        model = make_network()
        model.compile("adam", "mse", steps_per_execution=1)
        backup = keras.callbacks.BackupAndRestore(folder, save_freq=1, on_exception=False)
        killer = keras.callbacks.LambdaCallback(on_batch_begin=kill)
        model.fit(x, y, batch_size=4, epochs=2, verbose=0, callbacks=[killer, backup])
        return model

    steps = []
    with pytest.raises(Killed):
        run(tmp_path / "interrupted", kill_at=6)
    resumed, whole = run(tmp_path / "interrupted"), run(tmp_path / "whole")
    assert steps == [*range(7), *range(6, 20), *range(20)]
    assert int(resumed.optimizer.iterations) == 20 == int(whole.optimizer.iterations)
    np.testing.assert_array_equal(flat_weights(resumed), flat_weights(whole))


def test_raw_values_are_one_thing_everywhere():
    """Values that a step returns: one thing in the bar and another in the History there; right is
    the mean by batch size in the bar, the History and `on_epoch_end`.
    """
    result = CASES["raw_logs"](tf)
    assert result["history"] == [2.0]  # of batches [1, 1] and [4]
    assert re.search(r"raw: 2\.0000$", result["bar"][0])

    class Raw(keras.Model):
        def train_step(self, data):
            return {"raw": tf.reduce_mean(data)}

    seen = []
    record = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda epoch, logs: seen.append(logs["raw"])
    )
    model = make_linear(tf, model_class=Raw, loss=None)
    x = np.array([[1.0], [1.0], [4.0]])
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        history = model.fit(x, batch_size=2, epochs=2, shuffle=False, callbacks=[record])
    assert seen == history.history["raw"] == [2.0, 2.0]
    assert [line[-6:] for line in normalize_bar(shown.getvalue())[1::2]] == ["2.0000"] * 2


def test_freezing_after_compile_warns_and_names_the_layer():
    """A layer frozen after `compile`: applied at once, silently, there, and ignored silently by
    tf_keras; right is fixed at `compile`, with a warning that names the layer.
    """
    model = make_network()
    model.compile("sgd", "mse")
    frozen = model.layers[1]
    frozen.trainable = False
    before = frozen.kernel.numpy()
    message = rf"'{frozen.name}' \(now trainable=False\).*Call `compile\(\)` again"
    with pytest.warns(UserWarning, match=message):
        model.fit(X, Y, verbose=0)
    assert np.abs(frozen.kernel.numpy() - before).max() > 0
    model.compile("sgd", "mse")
    before = frozen.kernel.numpy()
    model.fit(X, Y, verbose=0)
    np.testing.assert_array_equal(frozen.kernel.numpy(), before)


def test_fused_steps_are_one_xla_call(monkeypatch):
    """`steps_per_execution` is a Python loop around a compiled step there; right is one XLA
    call.
    """
    calls = []
    run = Program.run
    monkeypatch.setattr(
        Program, "run", lambda self, *arguments: calls.append(1) or run(self, *arguments)
    )
    model = make_linear(tf, inputs=3, steps_per_execution=4)
    model.fit(X, Y, batch_size=1, verbose=0)
    calls.clear()
    model.fit(X, Y, batch_size=1, epochs=2, verbose=0)
    assert len(calls) == 6 and int(model._train_counter.numpy()) == 24


def test_fit_inside_jit_says_what_to_do():
    """`fit` inside `jax.jit`: a raw error about tracers there; right is a RuntimeError that says to
    call `model(x)`.
    """
    model = make_linear(tf, inputs=3)
    with pytest.raises(RuntimeError, match=r"`fit` was called inside .*`model\(x\)`"):
        jax.jit(lambda x: model.fit(x, Y, verbose=0))(X)


def test_a_step_receives_a_bare_tensor_and_its_logs_are_kept():
    """`fit(x)` alone: a tuple of one there; right is a Tensor, float64 as float32, integers of
    their kind, and log keys that are exactly those of the step.
    """
    assert CASES["step_arguments"](tf)["x"] == load_record()["step_arguments"]["x"]
    seen = []

    class Shows(keras.Model):
        def train_step(self, data):
            seen.append(data)
            return {"b": 1.0, "a": 2.0}

    for dtype, expected in (("float64", "float32"), ("int32", "int32"), ("uint8", "uint8")):
        history = make_linear(tf, model_class=Shows, loss="mse", inputs=3).fit(
            X.astype(dtype), verbose=0
        )
        assert isinstance(seen[-1], tf.Tensor) and seen[-1].dtype == expected
        assert list(history.history) == ["b", "a"]
