"""ModelCheckpoint: what is saved, when and under which name, and which errors are reported."""

import os

import numpy as np
import pytest

import podium
from podium.callbacks import ModelCheckpoint

X, Y = np.ones((24, 2), "float32"), np.zeros((24, 1), "float32")


@pytest.fixture(scope="module")
def trained():
    """One compiled model for all tests: only what is saved matters here."""
    model = podium.Sequential([podium.Input((2,)), podium.layers.Dense(1)])
    model.compile(podium.optimizers.SGD(0.01), "mse")
    return model


class RecordingModel:
    """A model that records where it is saved."""

    def __init__(self):
        self.saved, self.metrics, self.stop_training = [], [], False

    def save(self, path, overwrite):
        self.saved.append(os.path.basename(path))
        with open(path, "w"):
            pass

    save_weights = save


def saved_names(tmp_path, values, name="{epoch}", **options):
    """Return the names of files saved for values of `val_loss` after each epoch."""
    model = RecordingModel()
    callbacks = podium.callbacks.CallbackList(
        ModelCheckpoint(tmp_path / name, monitor="val_loss", **options), model=model
    )
    callbacks.on_train_begin()
    for epoch, value in enumerate(values):
        callbacks.on_epoch_begin(epoch)
        callbacks.on_epoch_end(
            epoch, {"loss": 1.0} if value is None else {"loss": 1.0, "val_loss": value}
        )
    callbacks.on_train_end()
    return model.saved


@pytest.mark.parametrize(
    "name", ["m", "m.keras", "m.h5", "m-{epoch:02d}-{loss:.2f}", "sub/dir/m.keras"]
)
def test_whole_models_are_saved_under_any_name(tmp_path, trained, name):
    history = trained.fit(X, Y, batch_size=8, verbose=0, callbacks=ModelCheckpoint(tmp_path / name))
    path = str(tmp_path / name).format(epoch=1, loss=history.history["loss"][0])
    other = podium.models.load_model(path)
    assert all(
        np.array_equal(a, b)
        for a, b in zip(other.get_weights(), trained.get_weights(), strict=True)
    )
    assert int(other.optimizer.iterations.numpy()) == int(trained.optimizer.iterations.numpy())


@pytest.mark.parametrize("name", ["w", "w.h5", "w.weights.h5", "w.ckpt"])
def test_weights_are_saved_under_any_name(tmp_path, trained, name):
    trained.fit(
        X,
        Y,
        batch_size=8,
        verbose=0,
        callbacks=ModelCheckpoint(tmp_path / name, save_weights_only=True),
    )
    saved = trained.get_weights()
    trained.set_weights([np.zeros_like(weight) for weight in saved])
    trained.load_weights(tmp_path / name)
    checkpoint = ["checkpoint", f"{name}.data-00000-of-00001", f"{name}.index"]
    assert sorted(os.listdir(tmp_path)) == ([name] if name.endswith(".h5") else checkpoint)
    assert all(np.array_equal(a, b) for a, b in zip(trained.get_weights(), saved, strict=True))


def test_old_tensorflow_checkpoints_are_deleted(tmp_path, trained):
    saving = ModelCheckpoint(tmp_path / "w-{epoch}", save_weights_only=True, max_to_keep=2)
    trained.fit(X, Y, batch_size=8, epochs=4, verbose=0, callbacks=saving)
    names = [f"w-{epoch}{end}" for epoch in (3, 4) for end in (".data-00000-of-00001", ".index")]
    assert sorted(os.listdir(tmp_path)) == ["checkpoint", *names]


@pytest.mark.parametrize(("k", "wanted"), [(1, ["1-2", "2-1", "2-3"]), (3, ["1-3", "2-3"])])
def test_batches_are_counted_across_epochs_and_executions(tmp_path, k, wanted):
    model = podium.Sequential([podium.Input((2,)), podium.layers.Dense(1)])
    model.compile("sgd", "mse", steps_per_execution=k)
    saving = ModelCheckpoint(tmp_path / "{epoch}-{batch}.h5", save_freq=2, save_weights_only=True)
    assert saving.every_batch
    model.fit(X, Y, batch_size=8, epochs=2, verbose=0, callbacks=saving)  # three batches per epoch
    assert sorted(os.listdir(tmp_path)) == [f"{name}.h5" for name in wanted]


def test_only_the_best_are_saved(tmp_path):
    assert saved_names(tmp_path, [3.0, 4.0, 2.0, float("nan"), 2.0, 1.0], save_best_only=True) == [
        "1",
        "3",
        "6",
    ]
    assert saved_names(tmp_path, [3.0, 4.0, 2.0], save_best_only=True, mode="max") == ["1", "2"]
    assert saved_names(
        tmp_path, [3.0, 2.0, 1.0], save_best_only=True, initial_value_threshold=2.5
    ) == ["2", "3"]
    assert saved_names(tmp_path, [3.0, 4.0], save_best_only=False) == ["1", "2"]


def test_best_value_is_kept_across_fits(tmp_path):
    model = RecordingModel()
    callbacks = podium.callbacks.CallbackList(
        ModelCheckpoint(tmp_path / "m", monitor="loss", save_best_only=True), model=model
    )
    for values in ([2.0, 1.0], [1.5]):
        callbacks.on_train_begin()
        for epoch, value in enumerate(values):
            callbacks.on_epoch_end(epoch, {"loss": value})
        callbacks.on_train_end()
    assert len(model.saved) == 2


def test_missing_value_is_reported_and_nothing_is_saved(tmp_path):
    with pytest.warns(UserWarning, match="ModelCheckpoint monitors 'val_loss'.*Available: 'loss'"):
        assert saved_names(tmp_path, [None, None], save_best_only=True) == []


def test_messages_equal_those_of_keras(tmp_path, capsys):
    saved_names(tmp_path, [3.0, 4.0, 2.0], name="m", save_best_only=True, verbose=1)
    path = tmp_path / "m"
    assert capsys.readouterr().out.split("\n\n") == [
        f"\nEpoch 1: val_loss improved from None to 3.00000, saving model to {path}",
        "Epoch 1: finished saving model to " + str(path),
        "Epoch 2: val_loss did not improve from 3.00000",
        f"Epoch 3: val_loss improved from 3.00000 to 2.00000, saving model to {path}",
        f"Epoch 3: finished saving model to {path}\n",
    ]


def test_old_files_are_deleted_and_epochs_are_skipped(tmp_path):
    (tmp_path / "mine").touch()
    assert saved_names(tmp_path, [1.0] * 5, max_to_keep=2) == ["1", "2", "3", "4", "5"]
    assert sorted(os.listdir(tmp_path)) == ["4", "5", "mine"]
    assert saved_names(tmp_path, [1.0] * 5, name="p{epoch}", period=2) == ["p2", "p4"]


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"mode": "sideways"}, "Unknown mode 'sideways'"),
        (
            {"save_freq": "batch"},
            "save_freq='batch'; 'epoch' or an int of at least 1 was expected",
        ),
        ({"save_freq": 0}, "save_freq=0"),
        ({"save_freq": True}, "save_freq=True"),
        ({"max_to_keep": 0}, "max_to_keep=0"),
        ({"options": object()}, "TensorFlow's checkpoints"),
        ({"load_weights_on_restart": True}, "load_weights"),
        ({"filepath": "m.pickle"}, "m.pickle.*extension"),
        ({"filepath": "m.weights.h5"}, "for weights alone"),
        ({"filepath": "m.keras", "save_weights_only": True}, "save_weights_only=True"),
        ({"filepath": "m{epoch"}, "brace without its counterpart"),
        ({"filepath": "m{}"}, "a name was expected"),
        (
            {"filepath": "m{batch}"},
            "placeholder {batch} has a value only when saving after batches",
        ),
    ],
)
def test_wrong_arguments_are_reported_immediately(options, match):
    with pytest.raises(ValueError, match=match):
        ModelCheckpoint(**{"filepath": "m", **options})


def test_paths_that_cannot_be_written_are_reported(tmp_path, trained):
    with pytest.raises(TypeError, match="a path was expected"):
        ModelCheckpoint(3)
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError, match=r"'.*file' is a file, not a directory"):
        trained.fit(X, Y, verbose=0, callbacks=ModelCheckpoint(tmp_path / "file" / "m.keras"))
    with pytest.raises(
        ValueError, match=r"placeholder {val_loss} has no value. There are: 'epoch', 'loss'"
    ):
        trained.fit(X, Y, verbose=0, callbacks=ModelCheckpoint(tmp_path / "{val_loss:.2f}.keras"))
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError, match="is a directory"):
        trained.fit(X, Y, verbose=0, callbacks=ModelCheckpoint(tmp_path / "folder"))


class Failing(podium.callbacks.Callback):
    """Raises an error after the second batch of the second epoch."""

    def __init__(self, error):
        super().__init__()
        self.error, self.epoch, self.weights = error, 0, None

    def on_epoch_begin(self, epoch, logs=None):
        self.epoch = epoch

    def on_train_batch_end(self, batch, logs=None):
        if (self.epoch, batch) == (1, 1):
            self.weights = self.model.get_weights()
            raise self.error


@pytest.mark.parametrize(
    ("name", "options", "wanted"),
    [
        ("m.keras", {}, ["m-exception.keras", "m.keras"]),
        (
            "{epoch}-{loss:.1f}.keras",
            {"save_freq": 100, "max_to_keep": 1},
            ["2-nan-exception.keras"],
        ),
        (
            "{epoch}-{batch}.weights.h5",
            {"save_freq": 2, "save_weights_only": True},
            ["1-2.weights.h5", "2-1.weights.h5", "2-2-exception.weights.h5"],
        ),
        (
            "w-0.5.h5",
            {"save_weights_only": True, "save_best_only": True, "monitor": "loss"},
            ["w-0.5.h5", "w-0.5-exception.h5"],
        ),
    ],
)
def test_error_saves_the_last_state_to_a_separate_file(tmp_path, trained, name, options, wanted):
    saving = ModelCheckpoint(tmp_path / name, save_on_exception=True, **options)
    failing = Failing(KeyboardInterrupt() if "weights" in name else RuntimeError("lost"))
    with pytest.raises(type(failing.error)):
        trained.fit(X, Y, batch_size=8, epochs=3, verbose=0, callbacks=[saving, failing])
    assert sorted(os.listdir(tmp_path)) == sorted(wanted)
    path = tmp_path / next(one for one in wanted if "exception" in one)
    other = (
        podium.models.load_model(path)
        if path.suffix == ".keras"
        else podium.models.clone_model(trained)
    )
    if path.suffix != ".keras":
        other.load_weights(path)
    assert all(
        np.array_equal(a, b) for a, b in zip(other.get_weights(), failing.weights, strict=True)
    )


def test_no_extra_file_without_an_error_or_before_the_first_epoch(tmp_path, trained):
    saving = ModelCheckpoint(tmp_path / "{epoch}.keras", save_on_exception=True)
    trained.fit(X, Y, batch_size=8, epochs=1, verbose=0, callbacks=saving)
    assert os.listdir(tmp_path) == ["1.keras"]

    def fail(logs):
        raise RuntimeError("at once")

    with pytest.raises(RuntimeError, match="at once"):
        trained.fit(
            X,
            Y,
            verbose=0,
            callbacks=[saving, podium.callbacks.LambdaCallback(on_train_begin=fail)],
        )
    assert os.listdir(tmp_path) == ["1.keras"]


def test_failed_save_after_an_error_is_added_as_a_note(tmp_path, trained):
    (tmp_path / "m-exception.keras").mkdir()
    saving, failing = (
        ModelCheckpoint(tmp_path / "m.keras", save_on_exception=True),
        Failing(RuntimeError("lost")),
    )
    with pytest.raises(RuntimeError, match="lost") as caught:
        trained.fit(X, Y, batch_size=8, epochs=3, verbose=0, callbacks=[failing, saving])
    assert "Then ModelCheckpoint.on_train_end failed as well: IsADirectoryError" in "".join(
        caught.value.__notes__
    )
