"""Callbacks in `fit`: what is printed, what is recorded, and the final weights."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest

import podium
from podium.callbacks import (
    Callback,
    EarlyStopping,
    LearningRateScheduler,
    ReduceLROnPlateau,
    TerminateOnNaN,
)


@pytest.fixture
def data():
    generator = np.random.default_rng(0)
    return generator.normal(size=(32, 4)).astype("float32"), generator.normal(size=(32, 1)).astype(
        "float32"
    )


@pytest.fixture
def dense():
    model = podium.Sequential([podium.Input((4,)), podium.layers.Dense(1)])
    model.compile("sgd", "mse", metrics=["mae"])
    return model


def test_progress_bar_format_and_final_values(dense, data, capsys):
    history = dense.fit(*data, batch_size=8, epochs=2, validation_data=data).history
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4 and lines[0] == "Epoch 1/2" and lines[2] == "Epoch 2/2"
    for epoch in (0, 1):
        shown = " - ".join(f"{name}: {values[epoch]:.4f}" for name, values in history.items())
        assert re.fullmatch(
            rf"4/4 \[={{30}}\] - \d+s \d+[mu]?s/step - {re.escape(shown)}", lines[2 * epoch + 1]
        )
    assert list(history) == ["loss", "mae", "val_loss", "val_mae"]
    dense.fit(*data, batch_size=8, verbose=2)
    line = r"4/4 - \d+s - loss: \d\.\d{4} - mae: \d\.\d{4} - \d+[mu]?s/epoch - \d+[mu]?s/step\n"
    assert re.fullmatch(line, capsys.readouterr().out)
    dense.fit(*data, batch_size=8, verbose=0)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("verbose", [1, 2])
def test_finished_bar_counts_training_steps_only(dense, data, capsys, verbose):
    dense.fit(*data, batch_size=8, validation_data=data, validation_batch_size=32, verbose=verbose)
    assert capsys.readouterr().out.startswith("4/4 ")
    dense.fit(
        *data,
        batch_size=16,
        validation_data=data,
        validation_batch_size=4,
        validation_freq="1 steps",
        verbose=verbose,
    )
    assert capsys.readouterr().out.startswith("2/2 ")
    endless = iter([tuple(part[:8] for part in data)] * 3)
    dense.fit(endless, validation_data=data, validation_batch_size=4, verbose=verbose)
    assert capsys.readouterr().out.startswith("3/3 ")


@pytest.mark.parametrize("figure", ["val_loss", "riddle"])
def test_warnings_point_at_the_line_that_called_fit(dense, data, figure):
    class Riddle(Callback):
        def on_epoch_end(self, epoch, logs=None):
            logs["riddle"] = 1.0

    with pytest.warns(UserWarning, match=f"EarlyStopping monitors '{figure}'") as caught:
        dense.fit(*data, batch_size=8, callbacks=[Riddle(), EarlyStopping(figure)], verbose=0)
    assert [warning.filename for warning in caught] == [__file__]


SCRIPT = """
import numpy as np
import podium

model = podium.Sequential([podium.Input((4,)), podium.layers.Dense(1)])
model.compile("sgd", "mse", metrics=["mae"])
x, y = np.ones((32, 4), "float32"), np.ones((32, 1), "float32")
model.fit(x, y, batch_size=8, epochs=2, validation_split=0.25)
model.evaluate(x, y)
model.predict(x)
"""


def test_line_is_redrawn_on_a_real_terminal():
    screen, line = pytest.importorskip("pty").openpty()
    environment = {**os.environ, "COLUMNS": "80"}
    with (
        os.fdopen(screen, "rb", buffering=0) as master,
        subprocess.Popen(
            [sys.executable, "-c", SCRIPT], stdout=line, stderr=line, stdin=line, env=environment
        ) as script,
    ):
        os.close(line)
        shown = b""
        while part := _read(master):
            shown += part
    assert script.returncode == 0
    rows = shown.decode().split("\r\n")
    final = [row.split("\r")[-1].rstrip() for row in rows]
    drawn = [text for row in rows for text in row.split("\r")[:-1] if text]
    assert [text.split(" ")[0] for text in final] == [
        "Epoch",
        "3/3",
        "Epoch",
        "3/3",
        "1/1",
        "1/1",
        "",
    ]
    assert final[1].count("val_mae") == 1
    assert drawn[0] == "0/3 [..............................] - compiling"
    assert all(len(text) < 80 for text in drawn) and "ETA" not in drawn[1]


def _read(master):
    try:
        return master.read(4096)
    except OSError:  # raised on Linux when the other side has closed
        return b""


def test_training_stops_at_the_first_nan_with_finite_weights(dense, data, capsys):
    x, y = data
    y[9] = np.nan
    batches = []

    class Count(Callback):
        def on_train_batch_end(self, batch, logs=None):
            batches.append(batch)

    before = dense.get_weights()
    dense.fit(
        x,
        y,
        batch_size=8,
        epochs=3,
        shuffle=False,
        callbacks=[TerminateOnNaN(), Count()],
        verbose=0,
    )
    assert batches == [0, 1] and int(dense.optimizer.iterations) == 1
    assert all(np.isfinite(weight).all() for weight in dense.get_weights())
    assert not np.array_equal(before[0], dense.get_weights()[0])


def test_best_weights_are_restored_and_rates_are_set(dense, data):
    kept = []

    class Keep(Callback):
        def on_epoch_end(self, epoch, logs=None):
            logs["figure_loss"] = [3.0, 1.0, 2.0, 2.0, 2.0][epoch]
            kept.append(self.model.get_weights()[0])

    stopping = EarlyStopping("figure_loss", patience=2, restore_best_weights=True)
    halving = LearningRateScheduler(lambda epoch, rate: rate / 2 if epoch else 0.5)
    reducing = ReduceLROnPlateau("figure_loss", factor=0.5, patience=2)
    history = dense.fit(*data, epochs=5, callbacks=[Keep(), halving, stopping, reducing], verbose=0)
    assert history.epoch == [0, 1, 2, 3] and history.history["figure_loss"] == [3.0, 1.0, 2.0, 2.0]
    assert history.history["learning_rate"] == [0.5, 0.25, 0.125, 0.0625]
    assert float(dense.optimizer.learning_rate) == 0.03125
    np.testing.assert_array_equal(dense.get_weights()[0], kept[1])


def test_error_in_a_callback_names_it_and_leaves_a_working_model(dense, data):
    class Boom(Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch == 1:
                raise ValueError("cb-boom")

    with pytest.raises(ValueError, match="cb-boom") as caught:
        dense.fit(*data, batch_size=8, callbacks=Boom(), verbose=0)
    assert "This happened in Boom.on_train_batch_end." in caught.value.__notes__
    assert list(dense.fit(*data, verbose=0).history) == ["loss", "mae"]
