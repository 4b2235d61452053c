"""Durations of `fit` other than epochs, and callbacks every n steps."""

import datetime

import numpy as np
import pytest

import podium
from podium import layers
from podium.callbacks import BackupAndRestore, Callback, EveryNSteps
from podium.data import Dataset
from podium.models.training import _run_limits

X = np.linspace(-1, 1, 28, dtype="float32").reshape(14, 2)
Y = X.sum(axis=1, keepdims=True)


def make_model(steps=1, **kwargs):
    podium.utils.set_random_seed(3)
    model = podium.Sequential([podium.Input((2,)), layers.Dense(1)])
    model.compile("adam", "mse", steps_per_execution=steps, **kwargs)
    return model


class Stateless(Callback):
    """A callback whose state is not saved with a run."""

    def get_state(self):
        return None


class Events(Stateless):
    """Records the hooks of `fit` and their indices."""

    def __init__(self):
        super().__init__()
        self.events = []

    def on_epoch_begin(self, epoch, logs=None):
        self.events.append(("epoch", epoch))

    def on_train_batch_begin(self, batch, logs=None):
        self.events.append(batch)

    def on_train_batch_end(self, batch, logs=None):
        self.events.append(-batch)

    def on_test_end(self, logs=None):
        self.events.append("validated")

    def on_epoch_end(self, epoch, logs=None):
        self.events.append(("ended", epoch, sorted(logs)))


class Fails(Stateless):
    """Ends a run with an error at a step."""

    def __init__(self, step):
        super().__init__()
        self.step, self.seen = step, 0

    def on_train_batch_end(self, batch, logs=None):
        self.seen += 1
        if self.seen == self.step:
            raise OSError("gone")


def weights_after(model, **kwargs):
    history = model.fit(X, Y, batch_size=2, verbose=0, shuffle=False, **kwargs)
    return [np.asarray(w) for w in model.get_weights()], history


def assert_same(first, second):
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)


def test_max_steps_counts_over_epochs_and_ends_inside_one():
    events = Events()
    model = make_model(3)
    _, history = weights_after(model, max_steps=11, callbacks=events, validation_data=(X, Y))
    logged = ["loss", "val_loss"]
    assert events.events == [
        *[("epoch", 0), 0, -2, 3, -5, 6, -6, "validated", ("ended", 0, logged)],
        *[("epoch", 1), 0, -2, 3, -3, "validated", ("ended", 1, logged)],
    ]
    assert history.epoch == [0, 1] and len(history.history["loss"]) == 2
    assert history.stop_reason == "max_steps"
    assert int(model.optimizer.iterations.numpy()) == 11


def test_fused_steps_end_exactly_at_max_steps():
    results = []
    for steps in (1, 4, 16, "auto"):
        model = make_model(steps)
        weights, history = weights_after(model, max_steps=16)
        assert int(model.optimizer.iterations.numpy()) == 16
        results.append((weights, history.history["loss"]))
    for weights, losses in results[1:]:
        assert_same(weights, results[0][0])
        assert losses == results[0][1]


def test_logs_of_a_partial_epoch_are_means_over_its_steps():
    class Raw(podium.Model):
        def __init__(self):
            super().__init__()
            self.weight = podium.Variable(0.0)

        def train_step(self, data):
            return {"value": podium.ops.mean(data)}

    model = Raw()
    model.compile(steps_per_execution=2)
    data = Dataset.from_tensor_slices(np.arange(10.0)).batch(2)
    history = model.fit(data, max_steps=8, verbose=0)
    assert history.history["value"] == [4.5, 2.5]


def test_max_steps_at_the_end_of_an_epoch_begins_no_other():
    events = Events()
    _, history = weights_after(make_model(), max_steps=7, callbacks=events)
    assert [event for event in events.events if isinstance(event, tuple)] == [
        ("epoch", 0),
        ("ended", 0, ["loss"]),
    ]
    assert history.stop_reason == "max_steps"


def test_epochs_and_max_steps_whichever_is_first():
    _, history = weights_after(make_model(), max_steps=100, epochs=2)
    assert history.epoch == [0, 1] and history.stop_reason == "epochs"
    _, history = weights_after(make_model(), max_steps=8, epochs=5, initial_epoch=3)
    assert history.epoch == [3, 4] and history.stop_reason == "max_steps"


def test_infinite_data_need_no_steps_per_epoch_with_max_steps():
    read = []

    def batches():
        index = 0
        while True:
            read.append(index)
            yield X[:2], Y[:2]
            index += 1

    model, generator = make_model(2), batches()
    history = model.fit(generator, max_steps=5, verbose=0)
    assert int(model.optimizer.iterations.numpy()) == 5 and len(read) == 5
    assert len(history.history["loss"]) == 1
    model.fit(Dataset.from_tensor_slices((X, Y)).batch(2).repeat(), max_steps=9, verbose=0)
    assert int(model.optimizer.iterations.numpy()) == 14


def test_a_generator_that_ends_before_max_steps_warns():
    model = make_model()
    with pytest.warns(UserWarning, match="ran out of data.*a batch for each step of the run"):
        history = model.fit(iter([(X, Y), (X, Y)]), max_steps=5, verbose=0)
    assert history.stop_reason == "data" and len(history.epoch) == 1


class Clock:
    """A clock that a callback advances."""

    def __init__(self):
        self.now = 100.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(_run_limits, "time", clock)
    return clock


def advance(clock, seconds):
    def on_train_batch_end(batch, logs):
        clock.now += seconds * (logs.count if hasattr(logs, "count") else 1)

    return podium.callbacks.LambdaCallback(on_train_batch_end=on_train_batch_end)


@pytest.mark.parametrize(
    "max_time", [10, 10.0, datetime.timedelta(seconds=10), "00:00:00:10", {"seconds": 10}]
)
def test_max_time_stops_after_the_step_that_reaches_it(clock, max_time):
    model = make_model()
    _, history = weights_after(model, max_time=max_time, callbacks=advance(clock, 1))
    assert int(model.optimizer.iterations.numpy()) == 10
    assert history.stop_reason == "max_time" and history.epoch == [0, 1]


def test_long_executions_are_shortened_to_the_time_that_is_left(clock):
    model, events = make_model(3), Events()
    _, history = weights_after(model, max_time=7, callbacks=[advance(clock, 2), events])
    # 6 of 7 seconds are over after 3 steps, of 2 seconds each: one more is run
    assert [e for e in events.events if isinstance(e, int)] == [0, -2, 3, -3]
    assert history.stop_reason == "max_time"


@pytest.mark.parametrize("steps", [1, 3])
@pytest.mark.parametrize("fail_at", [1, 3, 6])
def test_a_resumed_run_ends_at_the_same_step(tmp_path, steps, fail_at):
    expected, history = weights_after(make_model(steps), max_steps=17, validation_data=(X, Y))
    backup = BackupAndRestore(tmp_path, save_freq=1)
    arguments = {"max_steps": 17, "validation_data": (X, Y)}
    with pytest.raises(OSError, match="gone"):
        weights_after(make_model(steps), callbacks=[backup, Fails(fail_at)], **arguments)
    weights, resumed = weights_after(make_model(steps), callbacks=[backup], **arguments)
    assert_same(weights, expected)
    assert resumed.history == history.history and resumed.epoch == history.epoch
    assert resumed.stop_reason == "max_steps"


def test_a_run_that_fails_after_its_last_step_resumes_at_its_end(tmp_path):
    class FailsAtEnd(Stateless):
        def on_epoch_end(self, epoch, logs=None):
            if epoch == 1:
                raise OSError("gone")

    class FailsInValidation(Stateless):
        count = 0

        def on_test_begin(self, logs=None):
            self.count += 1
            if self.count == 2:
                raise OSError("gone")

    expected, history = weights_after(make_model(), max_steps=9, validation_data=(X, Y))
    for index, fails in enumerate((FailsAtEnd(), FailsInValidation())):
        backup, events = BackupAndRestore(tmp_path / str(index), save_freq=1), Events()
        with pytest.raises(OSError, match="gone"):
            weights_after(
                make_model(), max_steps=9, callbacks=[backup, fails], validation_data=(X, Y)
            )
        weights, resumed = weights_after(
            make_model(), max_steps=9, callbacks=[backup, events], validation_data=(X, Y)
        )
        assert_same(weights, expected)
        assert resumed.history == history.history
        assert [e for e in events.events if isinstance(e, int)] == []


def test_a_completed_run_resumes_without_another_epoch(tmp_path):
    backup = BackupAndRestore(tmp_path, delete_checkpoint=False)
    expected, history = weights_after(make_model(), max_steps=9, callbacks=backup)
    events = Events()
    weights, resumed = weights_after(make_model(), max_steps=9, callbacks=[backup, events])
    assert_same(weights, expected)
    assert resumed.history == history.history and events.events == []
    assert resumed.stop_reason == "max_steps"


def test_the_elapsed_time_is_restored(clock, tmp_path):
    backup = BackupAndRestore(tmp_path, save_freq=1)
    model = make_model()
    with pytest.raises(OSError, match="gone"):
        weights_after(model, max_time=10, callbacks=[advance(clock, 1), Fails(5), backup])
    clock.now += 1000
    model = make_model()
    weights_after(model, max_time=10, callbacks=[advance(clock, 1), backup])
    assert int(model.optimizer.iterations.numpy()) == 10


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"max_steps": 0}, ValueError, "max_steps=0 was given; an int of at least 1, or None"),
        ({"max_steps": 2.5}, TypeError, r"max_steps=2.5 was given \(float\)"),
        ({"max_steps": True}, TypeError, r"max_steps=True was given \(bool\)"),
        ({"max_time": 0}, ValueError, "max_time=0 was given; a duration above 0 was expected"),
        ({"max_time": "1 hour"}, ValueError, "max_time='1 hour' was given"),
        ({"max_time": {"fortnights": 1}}, ValueError, "max_time={'fortnights': 1} was given"),
        ({"max_time": float("nan")}, ValueError, "max_time=nan was given"),
        ({"max_time": [1]}, TypeError, r"max_time=\[1\] was given"),
    ],
)
def test_wrong_limits_are_refused_before_anything_is_compiled(arguments, error, message):
    model = make_model()
    with pytest.raises(error, match=message):
        model.fit(X, Y, verbose=0, **arguments)
    assert model.train_function is None


def test_the_progress_bar_says_which_limit_ended_the_run(capsys):
    make_model().fit(X, Y, batch_size=2, max_steps=9, verbose=2)
    output = capsys.readouterr().out
    assert "Epoch 1/2\n" in output and "Epoch 2/2\n" in output
    assert output.endswith("Stopped after 9 steps: max_steps was reached.\n")
    make_model().fit(X, Y, batch_size=2, max_time=0.001, verbose=2)
    output = capsys.readouterr().out
    assert output.startswith("Epoch 1\n") and "max_time was reached" in output
    make_model().fit(X, Y, batch_size=2, verbose=2)
    assert "Stopped" not in capsys.readouterr().out


# --- every n steps


@pytest.mark.parametrize("steps", [1, 3, 16, "auto"])
def test_a_function_is_called_every_n_steps_over_epochs(steps):
    seen = []
    every = EveryNSteps(4, lambda step, logs: seen.append((step, list(logs))))
    weights, _ = weights_after(make_model(steps), epochs=3, callbacks=every)
    assert seen == [(step, ["loss"]) for step in (4, 8, 12, 16, 20)]
    assert_same(weights, weights_after(make_model(), epochs=3)[0])


def test_steps_stay_fused_between_the_calls():
    model, sizes = make_model(16), []
    model.make_train_function()
    run = model.train_function.run

    def watched(*arguments):
        values = run(*arguments)
        sizes.append(values.count)
        return values

    model.train_function.run = watched
    data = Dataset.from_tensor_slices((X, Y)).batch(1).repeat(5)
    model.fit(data, callbacks=EveryNSteps(20, lambda step, logs: None), verbose=0)
    assert sizes == [16, 4, 16, 4, 16, 4, 10]
    assert model.train_function.trace_count == 1


def test_another_callback_is_called_every_n_steps():
    class Inner(Events):
        def on_train_end(self, logs=None):
            self.events.append(self.model.name)

    inner = Inner()
    model = make_model(2)
    weights_after(model, epochs=2, callbacks=EveryNSteps(5, inner))
    assert inner.events == [
        *[("epoch", 0), 0, -4, 5, ("ended", 0, ["loss"])],
        *[("epoch", 1), -2, 3, ("ended", 1, ["loss"]), model.name],
    ]
    assert inner.params["epochs"] == 2


def test_logs_of_every_n_steps_are_those_of_the_last_step():
    losses, every = [], []

    class Losses(Callback):
        def on_train_batch_end(self, batch, logs=None):
            losses.append(logs["loss"])

    weights_after(make_model(), callbacks=[Losses()])
    weights_after(
        make_model(8), callbacks=EveryNSteps(3, lambda step, logs: every.append(logs["loss"]))
    )
    assert every == [losses[2], losses[5]]


def test_every_n_steps_stops_training():
    model = make_model(8)

    def stop(step, logs):
        model.stop_training = True

    _, history = weights_after(model, callbacks=EveryNSteps(3, stop))
    assert int(model.optimizer.iterations.numpy()) == 3
    assert history.stop_reason == "stop_training"


def test_every_n_steps_continues_its_count_when_resumed(tmp_path):
    seen = []
    every = EveryNSteps(4, lambda step, logs: seen.append(step))
    backup = BackupAndRestore(tmp_path, save_freq=1)
    with pytest.raises(OSError, match="gone"):
        weights_after(make_model(2), epochs=3, callbacks=[backup, every, Fails(4)])
    weights_after(make_model(2), epochs=3, callbacks=[backup, every])
    assert seen == [4, 8, 12, 16, 20]


@pytest.mark.parametrize(
    ("n", "callback", "error", "message"),
    [
        (0, print, ValueError, "EveryNSteps was given n=0; an int of at least 1"),
        (3, 5, TypeError, "EveryNSteps was given callback=5; a function"),
        (3, Events, TypeError, "a function of .* or a callback was expected"),
        (3, podium.callbacks.EarlyStopping(), ValueError, "EarlyStopping, which has neither"),
    ],
)
def test_wrong_arguments_of_every_n_steps(n, callback, error, message):
    with pytest.raises(error, match=message):
        EveryNSteps(n, callback)
