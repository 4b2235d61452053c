"""BackupAndRestore: a run that was interrupted and resumed equals an uninterrupted one, bit for
bit.
"""

import contextlib
import functools
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading

import numpy as np
import pytest

import podium
from podium import callbacks, layers
from podium.callbacks import BackupAndRestore
from podium.data import Dataset
from podium.distribute import MirroredStrategy
from podium.execution._steps_autotuner import StepsAutotuner
from podium.models.training._validator import Validator
from podium.saving import CheckpointManager

ROOT = pathlib.Path(__file__).parents[2]
ROWS = np.random.default_rng(0).normal(size=(22, 4)).astype("float32")
X, Y = ROWS[:, :3], ROWS[:, 3:]


class Killed(BaseException):
    """Stands for SIGKILL in these tests: nothing may be saved when it is raised."""


class Kills(callbacks.Callback):
    """Interrupts the run at the given call of a hook."""

    def __init__(self, hook, count):
        super().__init__()
        self._remaining = count

        def count_down(*_):
            self._remaining -= 1
            if self._remaining == 0:
                raise Killed

        setattr(self, hook, count_down)

    def get_state(self):
        return None


def make_model(k=1, **options):
    podium.utils.set_random_seed(5)
    model = podium.Sequential(
        [
            podium.Input((3,)),
            layers.Dense(4, activation="tanh"),
            layers.BatchNormalization(),
            layers.Dropout(0.4),
            layers.Dense(1),
        ]
    )
    model.compile("adam", "mse", metrics=["mae"], steps_per_execution=k, **options)
    return model


def run(folder, *more, k=1, data=None, epochs=3, backup=None, devices=1, **fit):
    """Train; with `backup`, arguments of BackupAndRestore, so that it can be resumed."""
    with (
        contextlib.nullcontext()
        if devices == 1
        else MirroredStrategy([f"/cpu:{n}" for n in range(devices)]).scope()
    ):
        model = make_model(k)
    data = {"x": X, "y": Y, "batch_size": 4} if data is None else data()
    all_callbacks = [
        callbacks.CSVLogger(folder / "log.csv"),
        *(
            []
            if backup is None
            else [BackupAndRestore(folder / "backup", **{"on_exception": False, **backup})]
        ),
        callbacks.EarlyStopping(
            "loss", patience=1, min_delta=10.0, start_from_epoch=1, restore_best_weights=True
        ),
        callbacks.LearningRateScheduler(lambda epoch, rate: rate * 0.5),
        *more,
    ]
    history = model.fit(**data, epochs=epochs, verbose=0, callbacks=all_callbacks, **fit)
    return model, history


def outcome(folder, model, history):
    state = [
        variable.numpy().tobytes()
        for variable in [*model.variables, *model.optimizer.variables, model._train_counter]
    ]
    return (
        state,
        history.history,
        history.epoch,
        (folder / "log.csv").read_text(),
        np.random.rand(),
        model.stop_training,
    )


@functools.cache
def uninterrupted(**options):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        return outcome(path, *run(path, **options))


def validation():
    return Dataset.from_tensor_slices((X[:10], Y[:10])).shuffle(10).batch(4)


def shuffled():
    return {"x": Dataset.from_tensor_slices((X, Y)).shuffle(9).batch(4)}


CASES = {
    "epochs": ({"save_freq": "epoch"}, {}),
    "validation by steps": ({"save_freq": 1}, {"validation": "4 steps"}),
    "fused": ({"save_freq": 2}, {"k": 3, "validation": 1}),
    "two devices": ({"save_freq": 2}, {"k": 2, "devices": 2}),
    "auto, a dataset": (
        {"save_freq": 3, "asynchronous": True},
        {"k": "auto", "data": shuffled, "validation": 2},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_resumed_run_equals_uninterrupted_run(tmp_path, case):
    backup, options = CASES[case]
    options = dict(options)
    freq = options.pop("validation", None)
    folders = [tmp_path / name for name in ("uninterrupted", "resumed")]
    for folder in folders:
        folder.mkdir()

    def train(folder, *more, **extra):
        validated = freq is not None
        fit = {"validation_data": validation(), "validation_freq": freq} if validated else {}
        return run(folder, *more, **options, **fit, **extra)

    expected = outcome(folders[0], *train(folders[0]))
    assert len(expected[1]["loss"]) == 3 and expected[5]
    hooks = (
        [("on_train_batch_end", 3), ("on_epoch_begin", 2)]
        if options.get("k") != "auto"
        else [("on_epoch_end", 1)]
    )
    hooks += [("on_test_begin", 1)] if freq else []
    for hook, count in hooks:
        with pytest.raises(Killed):
            train(folders[1], Kills(hook, count), backup=backup)
    assert outcome(folders[1], *train(folders[1], backup=backup)) == expected
    assert not (folders[1] / "backup").exists()


def test_steps_are_not_repeated(tmp_path):
    """Keras writes the batch index and never reads it: interrupted at step 6 of 2x10, it ends at 26
    iterations.
    """
    steps = []
    record = callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: steps.append(batch))
    with pytest.raises(Killed):
        run(tmp_path, Kills("on_train_batch_end", 4), record, epochs=2, backup={"save_freq": 1})
    assert steps == [0, 1, 2]
    model, history = run(tmp_path, record, epochs=2, backup={"save_freq": 1})
    assert (
        steps == [0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5]
        and int(model.optimizer.iterations.numpy()) == 12
    )
    assert len(history.history["loss"]) == 2


def test_corrupt_checkpoint_is_skipped_for_the_previous_one(tmp_path):
    expected = uninterrupted()
    with pytest.raises(Killed):
        run(tmp_path, Kills("on_train_batch_end", 5), backup={"save_freq": 2})
    manager = CheckpointManager(tmp_path / "backup")
    newest = manager.all_steps()[-1]
    os.truncate(tmp_path / "backup" / f"checkpoint-{newest:08d}" / "arrays.safetensors", 99)
    with pytest.warns(
        UserWarning, match=rf"checkpoint {newest} is damaged: .*Checkpoint {newest - 1} is used"
    ):
        assert outcome(tmp_path, *run(tmp_path, backup={"save_freq": 2})) == expected


def test_error_between_steps_loses_nothing(tmp_path):
    expected = uninterrupted(data=shuffled)
    read = []

    def fail_at_eight(x, y):
        read.append(1)
        if len(read) == 8 * 4:
            raise OSError("the disk is gone")
        return x, y

    def failing():
        source = Dataset.from_tensor_slices((X, Y)).shuffle(9)
        return {"x": source.map(fail_at_eight).batch(4)}

    with pytest.raises(OSError, match="the disk is gone"):
        run(tmp_path, data=failing, backup={"on_exception": True})
    checkpoint = CheckpointManager(tmp_path / "backup").restore()
    # It is later than the end of the first epoch.
    assert checkpoint.state["taken"] == checkpoint.arrays["counters/train"][0] > 6
    assert outcome(tmp_path, *run(tmp_path, data=failing, backup={})) == expected


@pytest.mark.parametrize(
    "method", ["StepsAutotuner.record", "Validator.count_steps", "Validator._run"]
)
def test_interrupts_after_a_step_neither_repeat_nor_skip_it(tmp_path, monkeypatch, method):
    """The weights, the position in the data and the counts of an interrupted run fit each other."""
    folders = [tmp_path / name for name in ("uninterrupted", "interrupted")]
    for folder in folders:
        folder.mkdir()
    options = {"k": "auto", "validation_data": (X[:4], Y[:4]), "validation_freq": "4 steps"}
    backup = {"on_exception": True, "save_freq": 3}
    expected = outcome(folders[0], *run(folders[0], **options))
    owner, name = method.split(".")
    owner = {"StepsAutotuner": StepsAutotuner, "Validator": Validator}[owner]
    original, remaining = getattr(owner, name), iter(range(1))

    def interrupt(*args):
        result = original(*args)
        if next(remaining, None) is None:
            raise KeyboardInterrupt
        return result

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, interrupt)
        with pytest.raises(KeyboardInterrupt):
            run(folders[1], backup=backup, **options)
    assert outcome(folders[1], *run(folders[1], backup=backup, **options)) == expected


def test_state_of_custom_callbacks_is_restored(tmp_path):
    class Counts(callbacks.Callback):
        def __init__(self, every):
            super().__init__()
            self.every = every
            self.seen, self.best, self.weights = 0, float("inf"), None

        def on_epoch_end(self, epoch, logs=None):
            self.seen += 1
            self.best, self.weights = min(self.best, logs["loss"]), self.model.get_weights()
            self.latest = (epoch, {"loss": logs["loss"]})

    first, second, expected = Counts(1), Counts(2), Counts(1)
    with pytest.raises(Killed):
        run(tmp_path, first, Kills("on_epoch_begin", 2), backup={})
    assert "every" not in first.get_state() and first.get_state()["seen"] == 1
    run(tmp_path, second, backup={})
    run(tmp_path, expected)
    assert second.every == 2 and (second.seen, second.best, second.latest) == (
        expected.seen,
        expected.best,
        expected.latest,
    )
    assert all(np.array_equal(a, b) for a, b in zip(second.weights, expected.weights, strict=True))


def test_swapped_averages_are_restored(tmp_path):
    def train(*more):
        podium.utils.set_random_seed(2)
        model = podium.Sequential([podium.Input((3,)), layers.Dense(1)])
        model.compile(podium.optimizers.SGD(0.1, use_ema=True, ema_momentum=0.5), "mse")
        swap = callbacks.SwapEMAWeights(swap_on_epoch=True)
        model.fit(X, Y, epochs=3, verbose=0, callbacks=[swap, *more])
        return [
            variable.numpy().tolist() for variable in [*model.variables, *model.optimizer.variables]
        ]

    with pytest.raises(Killed):
        train(BackupAndRestore(tmp_path, on_exception=False), Kills("on_epoch_begin", 3))
    assert train(BackupAndRestore(tmp_path)) == train()


class ScatteredState(podium.Model):
    """A model with state created by the first batch, a second optimizer, a global Variable, and
    raw logs.
    """

    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(1)
        self.other = podium.optimizers.SGD(0.1, momentum=0.9)

    def call(self, inputs):
        return self.dense(inputs)

    def train_step(self, data):
        x, y = data
        with podium.GradientTape() as tape:
            loss = podium.ops.mean(podium.ops.square(self(x) - y)) * _outside
        self.other.apply(tape.gradient(loss, self.trainable_variables), self.trainable_variables)
        _outside.assign_add(podium.random.uniform(()))
        return {"raw": loss}


_outside = podium.Variable(1.0, trainable=False, name="outside")


def test_state_outside_of_the_model_is_restored(tmp_path):
    def train(*more, **options):
        podium.utils.set_random_seed(2)
        _outside.assign(1.0)
        model = ScatteredState()
        model.compile(**options)
        history = model.fit(X, Y, batch_size=8, epochs=2, verbose=0, callbacks=list(more))
        return model.get_weights()[0].tolist(), float(_outside), history.history

    with pytest.raises(Killed):
        train(BackupAndRestore(tmp_path, 1, on_exception=False), Kills("on_train_batch_end", 5))
    assert train(BackupAndRestore(tmp_path, 1)) == train()
    # Only a compiled step records the Variables that it uses outside of the model.
    with pytest.raises(
        RuntimeError, match="Something that the step depends on is not in the checkpoint"
    ):
        train(BackupAndRestore(tmp_path / "eagerly", 1, verify_resume=True), run_eagerly=True)


@pytest.mark.parametrize("eagerly", [False, True])
def test_accumulated_gradients_and_averages_are_restored(tmp_path, eagerly):
    def train(*more):
        podium.utils.set_random_seed(2)
        model = podium.Sequential(
            [podium.Input((3,)), layers.Dense(2), layers.Dropout(0.2), layers.Dense(1)]
        )
        optimizer = podium.optimizers.Adam(0.01, gradient_accumulation_steps=3, use_ema=True)
        model.compile(optimizer, "mse", run_eagerly=eagerly)
        endless = Dataset.from_tensor_slices((X, Y)).shuffle(9).repeat().batch(4)
        history = model.fit(endless, steps_per_epoch=4, epochs=2, verbose=0, callbacks=list(more))
        return [
            variable.numpy().tolist() for variable in [*model.variables, *optimizer.variables]
        ], history.history

    with pytest.raises(Killed):
        train(BackupAndRestore(tmp_path, 1, on_exception=False), Kills("on_train_batch_end", 6))
    assert train(BackupAndRestore(tmp_path)) == train()


@pytest.mark.parametrize("save_freq", [2, 6])  # 6 is the last step of an epoch
def test_verify_resume_verifies_the_first_checkpoint(tmp_path, capsys, save_freq):
    expected = uninterrupted()  # the same for any k
    backup = {"save_freq": save_freq, "verify_resume": True, "verbose": 1, "asynchronous": True}
    assert outcome(tmp_path, *run(tmp_path, k=2, backup=backup)) == expected
    output = capsys.readouterr().out
    assert (
        output.count("verified that a run can be resumed from checkpoint 1") == 1
        and "saved checkpoint 2" in output
    )


def test_verify_resume_detects_state_outside_of_the_checkpoint(tmp_path):
    class Hidden(podium.Model):
        count = 0

        def __init__(self):
            super().__init__()
            self.dense = layers.Dense(1)

        def call(self, inputs):
            type(self).count += 1  # a step that runs eagerly can do that
            return self.dense(inputs) * float(self.count)

    model = Hidden()
    model.compile("sgd", "mse", run_eagerly=True)
    with pytest.raises(
        RuntimeError,
        match=r"the same step, run twice from checkpoint 1 .* gave other values of "
        r".*dense/vars",
    ):
        model.fit(X, Y, verbose=0, callbacks=BackupAndRestore(tmp_path, 1, verify_resume=True))


def test_data_without_a_position_is_rejected_before_training(tmp_path):
    def generator():
        while True:
            yield X, Y

    for data in (
        {"x": generator(), "steps_per_epoch": 2},
        {"x": X, "y": Y, "validation_data": generator(), "validation_steps": 1},
    ):
        model = make_model()
        with pytest.raises(ValueError, match="cannot start in the middle"):
            model.fit(**data, verbose=0, callbacks=BackupAndRestore(tmp_path / "backup"))
        assert int(model.optimizer.iterations.numpy()) == 0 and not (tmp_path / "backup").exists()


def test_backup_of_keras_is_rejected(tmp_path):
    (tmp_path / "backup").mkdir()
    (tmp_path / "backup" / "training_metadata.json").write_text('{"epoch": "two"}')
    with pytest.raises(ValueError, match="a backup by Keras"):
        run(tmp_path, backup={})


def test_different_data_or_model_is_rejected(tmp_path):
    with pytest.raises(Killed):
        run(tmp_path, Kills("on_train_batch_end", 4), backup={"save_freq": 1})
    with pytest.raises(
        ValueError,
        match=r"saved while training on other data: kind array, batch_size 4, batches 6 then, "
        r".*batch_size 8",
    ):
        run(tmp_path, data=lambda: {"x": X, "y": Y, "batch_size": 8}, backup={"save_freq": 1})
    model = podium.Sequential([podium.Input((3,)), layers.Dense(1)])
    model.compile("sgd", "mse")
    with pytest.raises(ValueError, match="does not fit the model, and nothing was restored"):
        model.fit(X, Y, batch_size=4, verbose=0, callbacks=BackupAndRestore(tmp_path / "backup"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"backup_dir": ""}, "the path of a directory was expected"),
        (
            {"backup_dir": "a", "save_freq": "batch"},
            "'epoch', a number of steps or None was expected",
        ),
        ({"backup_dir": "a", "save_freq": 0}, "'epoch', a number of steps or None was expected"),
        ({"backup_dir": "a", "seconds": 0}, "a number above 0 was expected"),
    ],
)
def test_wrong_arguments_are_rejected(options, message):
    with pytest.raises(ValueError, match=message):
        BackupAndRestore(**options)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_failed_save_is_raised_at_the_next_step(tmp_path, monkeypatch, asynchronous):
    from podium.saving.checkpoints import _checkpoint_directory

    steps = []

    def full(folder, files):
        raise OSError(28, "No space left on device", folder)

    def break_disk(batch, logs):
        steps.append(batch)
        if batch == 2:
            monkeypatch.setattr(_checkpoint_directory, "_write_manifest", full)

    breaking = callbacks.LambdaCallback(on_train_batch_end=break_disk)
    with pytest.raises(OSError, match="No space left"):
        run(tmp_path, breaking, backup={"save_freq": 1, "asynchronous": asynchronous})
    assert steps[-1] <= 4  # raised immediately, or by the next save
    monkeypatch.undo()
    assert CheckpointManager(tmp_path / "backup").restore().state["taken"] in (
        (1, 2) if asynchronous else (2,)
    )
    run(tmp_path, backup={"save_freq": 1})


def test_fit_releases_signals_and_directory(tmp_path):
    before = signal.getsignal(signal.SIGTERM)

    def resources():
        return (
            threading.active_count(),
            len(os.listdir("/proc/self/fd")),
            signal.getsignal(signal.SIGTERM),
        )

    def broken():
        with pytest.raises(ZeroDivisionError):
            run(
                tmp_path,
                callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: 1 / epoch),
                backup=options,
            )

    options = {"save_freq": 1, "asynchronous": True, "on_exception": True}
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("reads /proc, which this system does not have")
    broken()
    run(tmp_path, backup=options)
    first = resources()
    broken()
    assert resources() == first and all(
        name.startswith("checkpoint-") for name in os.listdir(tmp_path / "backup")
    )
    run(tmp_path, backup=options)
    assert resources() == first and first[2] is before
    assert sorted(os.listdir(tmp_path)) == ["log.csv"]


def soak(*arguments):
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PODIUM_CACHE_DIR": str(ROOT / ".cache" / "soak"),
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.soak", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=250,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.slow
def test_killed_processes_end_with_the_same_files():
    code, output, errors = soak("4", "--kills", "1", "--variants", "three fused steps")
    assert (
        code == 0 and "4 of 4 runs end bit for bit equal to the uninterrupted one, after" in output
    ), output + errors


@pytest.mark.slow
def test_sigterm_saves_and_exits_with_the_exit_code():
    code, output, errors = soak("2", "--kills", "1", "--sigterm", "--variants", "three fused steps")
    assert code == 0 and "2 of 2 runs end bit for bit" in output, output + errors
    assert "0 of them saved after SIGTERM" not in output, output


class InterruptsTrace(layers.Layer):
    """Raises while a training step is traced, if `active`."""

    active = True

    def call(self, x, training=False):
        if training and InterruptsTrace.active:
            raise KeyboardInterrupt
        return x


def fit_interruptible(folder, units=3):
    podium.utils.set_random_seed(1)
    model = podium.Sequential([podium.Input((3,)), layers.Dense(units), InterruptsTrace()])
    model.compile("adam", "mse")
    backup = BackupAndRestore(folder, delete_checkpoint=False)
    return model.fit(X, X, batch_size=11, epochs=2, verbose=0, callbacks=[backup]).history


def test_an_interrupt_while_the_first_step_is_traced_leaves_a_run_that_can_be_resumed(
    tmp_path, monkeypatch
):
    with pytest.raises(KeyboardInterrupt):
        fit_interruptible(tmp_path / "interrupted")
    monkeypatch.setattr(InterruptsTrace, "active", False)
    expected = fit_interruptible(tmp_path / "whole")
    assert fit_interruptible(tmp_path / "interrupted") == expected


def test_the_newest_checkpoint_that_fits_is_restored_and_the_skipped_ones_are_reported(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(InterruptsTrace, "active", False)
    expected = fit_interruptible(tmp_path)
    manager = CheckpointManager(tmp_path, max_to_keep=None)
    newest = manager.restore()
    arrays = {path: value for path, value in newest.arrays.items() if "optimizer" not in path}
    manager.save(newest.step + 1, arrays, newest.state)
    with pytest.warns(UserWarning, match=r"Checkpoint 2 in .* is used; .*'optimizer/vars/0' is mi"):
        assert fit_interruptible(tmp_path) == expected


def test_a_model_that_fits_no_checkpoint_does_not_start_from_the_beginning(tmp_path, monkeypatch):
    monkeypatch.setattr(InterruptsTrace, "active", False)
    fit_interruptible(tmp_path)
    with pytest.raises(ValueError, match=r"Checkpoint 2 in .* does not fit the model"):
        podium.utils.set_random_seed(1)
        model = podium.Sequential([podium.Input((3,)), layers.Dense(1)])
        model.compile("adam", "mse")
        model.fit(X, Y, batch_size=11, epochs=3, verbose=0, callbacks=[BackupAndRestore(tmp_path)])
