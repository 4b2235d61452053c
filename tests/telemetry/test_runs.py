"""What `fit`, `evaluate` and `predict` measure of themselves."""

import json
import os
import pickle
import time

import numpy as np
import pytest

import podium
from podium import callbacks
from podium.execution.internal import CustomExecution
from podium.telemetry.internal import Recorder, make_telemetry

MS = 1e-3


def sections_in_ms(telemetry):
    """Return the sections that took time."""
    return {name: round(seconds / MS, 6) for name, seconds in telemetry.sections.items() if seconds}


def batches(clock, count, milliseconds, size=4):
    """Yield batches that take some time to read."""
    for _ in range(count):
        clock.move(milliseconds)
        yield np.ones((size, 2), "float32"), np.ones((size, 1), "float32")


class MovesClock(callbacks.Callback):
    """A callback that takes time after each batch, and at the end of training."""

    def __init__(self, clock, milliseconds, at_end=0):
        super().__init__()
        self.clock, self.milliseconds, self.at_end = clock, milliseconds, at_end

    def on_train_batch_end(self, batch, logs=None):
        self.clock.move(self.milliseconds)

    def on_train_end(self, logs=None):
        self.clock.move(self.at_end)


# --- agreement with a stopwatch


def test_sections_are_exactly_the_time_spent_in_them(clock, model):
    began = clock.now
    history = model.fit(
        batches(clock, 12, 10),
        callbacks=[MovesClock(clock, 2), MovesClock(clock, 3, at_end=7)],
        verbose=0,
    )
    telemetry = history.telemetry
    assert telemetry.wall_seconds == (clock.now - began) / 1e9
    assert sections_in_ms(telemetry) == {"data": 120, "callbacks": 12 * 5 + 7}
    times = {times.name: (times.calls, times.seconds) for times in telemetry.callbacks}
    assert times["MovesClock"] == (12 + 1, pytest.approx(24 * MS))
    assert times["MovesClock_2"] == (12 + 1, pytest.approx(43 * MS))
    assert (telemetry.steps, telemetry.samples, telemetry.executions) == (12, 48, 12)
    assert telemetry.samples_per_second == pytest.approx(48 / 0.187)


def test_the_time_of_a_run_is_that_of_a_stopwatch(model):
    class Sleeps(callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            time.sleep(0.02)

    x, y = np.ones((80, 2)), np.ones((80, 1))
    start = time.perf_counter()
    telemetry = model.fit(x, y, batch_size=4, callbacks=Sleeps(), verbose=0).telemetry
    stopwatch = time.perf_counter() - start
    assert 0.95 * stopwatch <= telemetry.wall_seconds <= stopwatch
    assert sum(telemetry.sections.values()) == pytest.approx(telemetry.wall_seconds)
    assert telemetry.sections["callbacks"] >= 20 * 0.02


def test_validation_is_measured_by_itself_and_counted_once(clock, model, data):
    class Slow(callbacks.Callback):
        def on_test_batch_end(self, batch, logs=None):
            clock.move(3)

    began = clock.now
    history = model.fit(
        *data, epochs=2, batch_size=4, validation_data=data, callbacks=Slow(), verbose=0
    )
    telemetry = history.telemetry
    assert telemetry.wall_seconds == (clock.now - began) / 1e9
    assert sections_in_ms(telemetry) == {"validation": 60}
    assert (telemetry.steps, telemetry.validation.steps) == (20, 20)
    assert telemetry.validation.kind == "validation"
    assert sections_in_ms(telemetry.validation) == {"callbacks": 60}
    assert telemetry.validation.wall_seconds == pytest.approx(60 * MS)


def test_the_progress_bar_is_logging(clock, model, data, capsys):
    class Logger(callbacks.Callback):
        is_logger = True

        def on_epoch_end(self, epoch, logs=None):
            clock.move(4)

    telemetry = model.fit(*data, callbacks=Logger(), verbose=2).telemetry
    capsys.readouterr()
    assert sections_in_ms(telemetry) == {"logging": 4}
    assert {times.name: times.section for times in telemetry.callbacks} == {
        "Logger": "logging",
        "History": "logging",
        "ProgbarLogger": "logging",
    }


def test_what_is_computed_by_a_callback_itself_is_no_step_of_the_run(model, data):
    class TrainsToo(callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            self.model.train_on_batch(data[0][:4], data[1][:4])
            self.model.predict(data[0], verbose=0)

    history = model.fit(*data, batch_size=4, callbacks=TrainsToo(), verbose=0)
    assert history.telemetry.steps == 10
    assert model.telemetry is history.telemetry  # and not that of the prediction inside


# --- kinds of runs


def test_evaluate_and_predict_are_measured(model, data):
    assert model.telemetry is None
    model.evaluate(*data, batch_size=8, verbose=0)
    telemetry = model.telemetry
    assert (telemetry.kind, telemetry.steps, telemetry.samples) == ("evaluate", 5, 40)
    assert telemetry.stop_reason == "completed" and telemetry.memory is None
    outputs = model.predict(data[0], batch_size=8, verbose=0)
    telemetry = model.telemetry
    assert (telemetry.kind, telemetry.steps, telemetry.samples) == ("predict", 5, 40)
    assert telemetry.memory.output_bytes == outputs.nbytes
    assert telemetry.memory.peak_growth_bytes is None or telemetry.memory.peak_growth_bytes >= 0


def test_the_memory_of_large_outputs_is_seen():
    model = podium.Sequential([podium.Input((1,)), podium.layers.Dense(1 << 15)])
    model.predict(np.ones((8, 1)), verbose=0)
    outputs = model.predict(np.ones((512, 1)), verbose=0)
    memory = model.telemetry.memory
    assert memory.output_bytes == outputs.nbytes == 64 << 20
    if memory.peak_growth_bytes is not None:
        assert memory.peak_growth_bytes > 0.9 * outputs.nbytes


def test_predict_iter_is_measured_while_it_computes(clock, model, data):
    for _ in model.predict_iter(data[0], batch_size=8):
        clock.move(100)  # the caller's time
    telemetry = model.telemetry
    assert (telemetry.kind, telemetry.steps, telemetry.samples) == ("predict_iter", 5, 40)
    assert (telemetry.wall_seconds, telemetry.stop_reason) == (0, "completed")
    outputs = model.predict_iter(data[0], batch_size=8)
    next(outputs)
    assert model.telemetry.stop_reason is None
    outputs.close()
    assert (model.telemetry.steps, model.telemetry.stop_reason) == (1, "closed")


@pytest.mark.parametrize("eagerly", [False, True])
@pytest.mark.parametrize("steps", [1, 4])
def test_samples_and_steps_are_counted_however_steps_run(data, steps, eagerly):
    model = podium.Sequential([podium.Input((2,)), podium.layers.Dense(1)])
    model.compile("sgd", "mse", steps_per_execution=steps, run_eagerly=eagerly)
    telemetry = model.fit(*data, epochs=2, batch_size=6, verbose=0).telemetry
    assert (telemetry.steps, telemetry.samples, telemetry.epochs) == (14, 80, 2)
    assert telemetry.step_latency.count > 0
    assert telemetry.num_compilations == 0 if eagerly else telemetry.num_compilations > 0


@pytest.mark.parametrize("compiled", [False, True])
def test_a_train_function_of_ones_own_is_measured(data, compiled):
    class Custom(podium.Model):
        def __init__(self):
            super().__init__()
            self.dense = podium.layers.Dense(1)

        def call(self, x):
            return self.dense(x)

        def make_train_function(self, force=False):
            def train(iterator):
                return self.train_step(next(iterator))

            return podium.function(train) if compiled else train

    model = Custom()
    model.compile("sgd", "mse")
    telemetry = model.fit(*data, batch_size=6, verbose=0).telemetry
    assert (telemetry.steps, telemetry.samples) == (7, 40)
    # For batches of 6 samples and of 4; a first attempt reads no batch.
    assert telemetry.num_compilations == (2 if compiled else 0)
    assert {each.name for each in telemetry.compilations} <= {"_run_with_elements"}


def test_samples_are_not_known_if_a_function_of_ones_own_reads_no_iterator():
    recorder = Recorder("fit")
    CustomExecution(lambda iterator: next(iterator)).run(iter([{"loss": 1.0}]), recorder=recorder)
    telemetry = make_telemetry(recorder)
    assert (telemetry.steps, telemetry.samples, telemetry.samples_per_second) == (1, None, None)


# --- what happened


def test_compilations_have_a_name_a_cause_and_a_time(data):
    model = podium.Sequential([podium.Input((2,)), podium.layers.Dense(1)])
    model.compile("sgd", "mse", steps_per_execution=1)
    telemetry = model.fit(*data, batch_size=24, verbose=0).telemetry
    first, second = telemetry.compilations
    assert (first.name, second.name) == ("train_step", "train_step")
    assert first.cause == "x: float32[24, 2], y: float32[24, 1]"
    assert second.cause == (
        "x: float32[24, 2] -> float32[16, 2], y: float32[24, 1] -> float32[16, 1]"
    )
    assert telemetry.sections["compiling"] == pytest.approx(first.seconds + second.seconds)
    assert telemetry.execution_latency is None  # both executions compiled
    again = model.fit(*data, batch_size=24, verbose=0).telemetry
    assert (again.num_compilations, again.sections["compiling"]) == (0, 0)
    assert again.execution_latency.count == 2


def test_saves_have_their_size_and_time(tmp_path, clock, model, data):
    path = os.fspath(tmp_path / "model.keras")
    telemetry = model.fit(*data, callbacks=callbacks.ModelCheckpoint(path), verbose=0).telemetry
    (save,) = telemetry.saves
    assert (save.path, save.num_bytes) == (path, os.path.getsize(path))
    assert (save.seconds, save.in_background) == (0, False)
    assert (telemetry.num_saves, telemetry.saved_bytes) == (1, save.num_bytes)


def test_saving_inside_a_callback_is_saving(clock, model, data, monkeypatch, tmp_path):
    fsync = os.fsync

    def slow_fsync(descriptor):
        clock.move(5)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", slow_fsync)
    path = tmp_path / "model.weights.h5"
    checkpoint = callbacks.ModelCheckpoint(path, save_weights_only=True)
    telemetry = model.fit(*data, callbacks=checkpoint, verbose=0).telemetry
    assert sections_in_ms(telemetry)["saving"] == telemetry.saves[0].seconds / MS > 0
    assert "callbacks" not in sections_in_ms(telemetry)
    times = next(each for each in telemetry.callbacks if each.name == "ModelCheckpoint")
    assert (times.seconds, times.own_seconds) == (telemetry.saves[0].seconds, 0)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_checkpoints_of_a_run_are_recorded(tmp_path, model, data, asynchronous):
    backup = callbacks.BackupAndRestore(
        tmp_path / "backup", asynchronous=asynchronous, delete_checkpoint=False
    )
    telemetry = model.fit(*data, epochs=2, callbacks=backup, verbose=0).telemetry
    assert telemetry.num_saves == 3  # before the first step, and after each epoch
    assert all(save.in_background == asynchronous for save in telemetry.saves)
    assert all(save.num_bytes > 0 for save in telemetry.saves)
    assert telemetry.sections["saving"] > 0


def test_failed_saves_are_not_recorded(tmp_path, model, data):
    class Saves(callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            with pytest.raises(FileNotFoundError, match="does not exist"):
                self.model.save(tmp_path / "missing" / "model.keras")
            self.model.save(tmp_path / "model.keras")

    assert model.fit(*data, callbacks=Saves(), verbose=0).telemetry.num_saves == 1


# --- how a run ends


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt()])
def test_a_run_that_fails_leaves_its_measurements(model, data, error):
    class Fails(callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch == 3:
                raise error

    with pytest.raises(type(error)):
        model.fit(*data, batch_size=4, callbacks=Fails(), verbose=0)
    telemetry = model.telemetry
    assert (telemetry.stop_reason, telemetry.steps) == (type(error).__name__, 4)
    assert telemetry is model.history.telemetry
    assert sum(telemetry.sections.values()) == pytest.approx(telemetry.wall_seconds)


def test_the_reason_and_the_epochs_are_those_of_the_history(model, data):
    telemetry = model.fit(*data, initial_epoch=2, epochs=4, verbose=0).telemetry
    assert (telemetry.stop_reason, telemetry.first_epoch, telemetry.epochs) == ("epochs", 2, 2)
    telemetry = model.fit(*data, max_steps=1, verbose=0).telemetry
    assert (telemetry.stop_reason, telemetry.steps) == ("max_steps", 1)


def test_steps_that_a_resumed_run_repeats_do_not_count(tmp_path, model, data):
    class FailsInEpoch(callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if self.model.history.epoch == [0] and batch == 5:
                raise OSError("the machine is gone")

    backup = callbacks.BackupAndRestore(tmp_path, on_exception=False)
    arguments = {"epochs": 3, "batch_size": 4, "verbose": 0}
    with pytest.raises(OSError, match="the machine is gone"):
        model.fit(*data, callbacks=[backup, FailsInEpoch()], **arguments)
    assert model.telemetry.steps == 16  # the last checkpoint is after step 10
    telemetry = model.fit(*data, callbacks=backup, **arguments).telemetry
    assert (telemetry.first_step, telemetry.first_epoch) == (10, 1)
    assert (telemetry.repeated_steps, telemetry.steps) == (6, 20)
    share = telemetry.busy_seconds / telemetry.wall_seconds
    assert telemetry.goodput == pytest.approx(min(1, share) * 14 / 20)


def test_a_running_fit_can_be_looked_at(model, data):
    seen = []

    class Looks(callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            seen.append((self.model.telemetry.steps, self.model.telemetry.stop_reason))

    model.fit(*data, batch_size=20, callbacks=Looks(), verbose=0)
    assert seen == [(1, None), (2, None)]


# --- replicas


def test_synchronization_is_measured_on_request(data):
    with podium.distribute.MirroredStrategy(2).scope():
        model = podium.Sequential([podium.Input((2,)), podium.layers.Dense(1)])
        model.compile("sgd", "mse")
    telemetry = model.fit(*data, batch_size=8, verbose=0).telemetry
    assert telemetry.synchronization.replicas == 2
    assert telemetry.synchronization.seconds_per_step is None
    assert "measure_synchronization" in telemetry.synchronization.reason
    seconds = telemetry.measure_synchronization()
    assert seconds == telemetry.synchronization.seconds_per_step > 0
    model.evaluate(*data, verbose=0)
    with pytest.raises(RuntimeError, match="only `fit` sums gradients over replicas"):
        model.telemetry.measure_synchronization()
    with pytest.raises(RuntimeError, match="cannot be measured"):  # a copy has no devices
        pickle.loads(pickle.dumps(telemetry)).measure_synchronization()


def test_one_replica_does_not_synchronize(model, data):
    telemetry = model.fit(*data, verbose=0).telemetry
    assert telemetry.measure_synchronization() == 0
    assert telemetry.synchronization.seconds_per_step == 0


# --- as values


def test_telemetry_is_plain_data(model, data):
    telemetry = model.fit(*data, validation_data=data, verbose=0).telemetry
    values = json.loads(json.dumps(telemetry.as_dict()))
    assert values["kind"] == "fit" and values["validation"]["kind"] == "validation"
    assert values["goodput"] == telemetry.goodput
    assert values["callbacks"][0]["name"] == "History"
    assert pickle.loads(pickle.dumps(telemetry)) == telemetry
    assert repr(telemetry).startswith("<podium.telemetry.Telemetry of fit: 2 steps in ")


def test_copies_of_a_model_have_no_measurements(model, data):
    model.fit(*data, verbose=0)
    assert pickle.loads(pickle.dumps(model)).telemetry is None
    assert podium.models.clone_model(model).telemetry is None
