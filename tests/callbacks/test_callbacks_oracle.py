"""The same scripts in tf_keras (recorded) and in Podium: when training stops, learning rates,
messages, files.
"""

import json
import pathlib
import re

import numpy as np
import pytest

from podium.callbacks import (
    CallbackList,
    CSVLogger,
    EarlyStopping,
    LearningRateScheduler,
    Progbar,
    ReduceLROnPlateau,
)

RECORDED = json.loads(
    (pathlib.Path(__file__).parents[1] / "oracle" / "fixtures" / "callbacks.json").read_text()
)


def cases(table):
    return pytest.mark.parametrize(
        "case", RECORDED[table], ids=[str(case["arguments"]) for case in RECORDED[table]]
    )


@cases("early_stopping")
def test_early_stopping_stops_where_keras_does(case, model, terminal):
    callback = EarlyStopping(**case["arguments"])
    callback.set_model(model)
    callback.on_train_begin()
    for epoch, value in enumerate(case["script"][0]):
        model.epoch = epoch
        callback.on_epoch_end(epoch, {callback.monitor: value})
        if model.stop_training:
            break
    callback.on_train_end()
    ours = {
        "ran": epoch + 1,
        "stopped": model.stop_training,
        "restored": model.restored,
        "printed": terminal,
    }
    ours |= {"wait": callback.wait, "stopped_epoch": callback.stopped_epoch, "best": callback.best}
    assert ours == {name: case[name] for name in ours}


@cases("reduce_lr")
def test_rates_are_reduced_where_keras_reduces_them(case, model, terminal):
    callback, rates = ReduceLROnPlateau(**case["arguments"]), []
    model.optimizer.learning_rate = np.float32(0.1)
    callback.set_model(model)
    callback.on_train_begin()
    for epoch, value in enumerate(case["script"][0]):
        callback.on_epoch_end(epoch, {callback.monitor: value})
        rates.append(float(model.optimizer.learning_rate))
    np.testing.assert_allclose(rates, case["rates"], rtol=1e-6)
    assert terminal == case["printed"]


def without_first_guess(drawn):
    """Leave out the time that remains after the first step: Keras guesses it from a step that
    compiled, we wait for another.
    """
    return [re.sub(r"^( *1/\d+ \[\S*\]) - ETA: \S+", r"\1", text) for text in drawn]


@cases("progbar")
def test_progress_bar_equals_that_of_keras(case, clock, terminal):
    bar, drawn = Progbar(**case["arguments"]), []
    for seconds, current, values, finalize in case["script"][0]:
        clock.now += seconds
        bar.update(current, values, finalize=finalize)
        drawn.append(terminal.visible())
        terminal.clear()
    assert drawn == [without_first_guess(texts) for texts in case["drawn"]]


@cases("runs")
def test_output_of_a_run_equals_that_of_keras(case, clock, terminal, model):
    callbacks = CallbackList(None, add_progbar=True, model=model, **case["arguments"])
    callbacks.on_train_begin()
    for epoch, (batches, end) in enumerate(zip(*case["script"], strict=True)):
        callbacks.on_epoch_begin(epoch)
        for batch, loss in enumerate(batches):
            clock.now += 0.25
            callbacks.on_train_batch_begin(batch)
            callbacks.on_train_batch_end(batch, {"loss": loss})
        callbacks.on_epoch_end(epoch, {"loss": batches[-1], **end})
    callbacks.on_train_end()
    assert terminal.visible() == without_first_guess(case["drawn"])


@cases("csv")
def test_csv_files_equal_those_of_keras(case, tmp_path):
    path = tmp_path / "log.csv"
    callback = CSVLogger(path, **case["arguments"])
    callback.on_train_begin()
    for epoch, logs in enumerate(case["script"][0]):
        callback.on_epoch_end(epoch, logs)
    callback.on_train_end()
    assert path.read_bytes().decode() == case["file"]


def test_scheduler_messages_equal_those_of_keras(model, terminal):
    callback = LearningRateScheduler(lambda epoch, rate: 0.5**epoch, verbose=1)
    callback.set_model(model)
    for epoch in range(3):
        callback.on_epoch_begin(epoch)
    assert terminal == RECORDED["scheduler"]
