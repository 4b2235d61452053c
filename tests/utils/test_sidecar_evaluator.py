"""SidecarEvaluator: checkpoints of training are evaluated as they appear."""

import os
import subprocess
import sys

import numpy as np
import pytest

import podium
from podium.callbacks import LambdaCallback, ModelCheckpoint, SidecarEvaluatorModelExport
from podium.compat import keras
from podium.utils import SidecarEvaluator, _sidecar_evaluator

X = np.random.default_rng(0).normal(size=(32, 3)).astype("float32")
Y = X[:, :1] - X[:, 1:2]
DATA = podium.data.Dataset.from_tensor_slices((X, Y)).batch(8)


@pytest.fixture(autouse=True)
def poll_fast(monkeypatch):
    monkeypatch.setattr(_sidecar_evaluator, "_POLL_SECONDS", 0.01)


def make_model():
    podium.utils.set_random_seed(1)
    model = podium.Sequential([podium.Input((3,)), podium.layers.Dense(1)])
    model.compile(podium.optimizers.SGD(0.1), "mse", metrics=["mae"])
    return model


def record(results):
    return LambdaCallback(on_test_end=lambda logs: results.append(dict(logs)))


@pytest.mark.parametrize("suffix", ["", ".weights.h5", ".keras", ".safetensors"])
def test_newest_checkpoint_is_evaluated(tmp_path, suffix):
    model = make_model()
    checkpoint = ModelCheckpoint(
        tmp_path / f"ckpt-{{epoch}}{suffix}", save_weights_only=suffix != ".keras"
    )
    model.fit(X, Y, epochs=3, verbose=0, callbacks=[checkpoint])
    results = []
    SidecarEvaluator(make_model(), DATA, tmp_path, None, 3, [record(results)]).start()
    expected = model.evaluate(DATA, verbose=0, return_dict=True)
    assert results == [pytest.approx(expected)]


def test_checkpoints_of_another_process_are_evaluated_as_they_appear(tmp_path):
    script = (
        "import podium, tests.utils.test_sidecar_evaluator as m\n"
        "model = m.make_model()\n"
        f"checkpoint = podium.callbacks.ModelCheckpoint({str(tmp_path)!r} + '/new/ckpt-{{epoch}}',"
        " save_weights_only=True)\n"
        "model.fit(m.X, m.Y, epochs=4, verbose=0, callbacks=[checkpoint])\n"
    )
    results = []
    with subprocess.Popen([sys.executable, "-c", script]) as process:
        SidecarEvaluator(
            make_model(), DATA, tmp_path / "new", max_evaluations=4, callbacks=[record(results)]
        ).start()
        assert process.wait(100) == 0
    assert 1 <= len(results) <= 4
    model = make_model()
    model.fit(X, Y, epochs=4, verbose=0)
    assert results[-1] == pytest.approx(model.evaluate(DATA, verbose=0, return_dict=True))


def test_checkpoint_that_is_replaced_is_evaluated_again(tmp_path):
    path = tmp_path / "weights.weights.h5"
    model = make_model()
    model.save_weights(path)
    losses = []

    def train(logs):
        losses.append(logs["loss"])
        if len(losses) == 3:
            raise KeyboardInterrupt
        model.fit(X, Y, verbose=0)
        model.save_weights(path, overwrite=True)

    callback = LambdaCallback(on_test_end=train)
    with pytest.raises(KeyboardInterrupt):
        SidecarEvaluator(make_model(), DATA, tmp_path, callbacks=callback).start()
    assert losses[0] > losses[1] > losses[2]


def test_evaluation_stops_after_its_steps(tmp_path):
    make_model().save_weights(tmp_path / "ckpt-1.weights.h5")
    batches = []
    count = LambdaCallback(on_test_batch_end=lambda batch, logs: batches.append(batch))
    SidecarEvaluator(make_model(), DATA.repeat(), tmp_path, 2, 1, [count]).start()
    assert batches == [0, 1]


def test_checkpoint_of_another_model_raises(tmp_path):
    other = podium.Sequential([podium.Input((5,)), podium.layers.Dense(2)])
    other.save_weights(tmp_path / "ckpt-1.weights.h5")
    with pytest.raises(ValueError, match="shape"):
        SidecarEvaluator(make_model(), DATA, tmp_path, max_evaluations=1).start()


def test_missing_checkpoints_warn_once(tmp_path, monkeypatch):
    monkeypatch.setattr(_sidecar_evaluator, "_WARN_SECONDS", 0.05)
    sleeps = []

    def sleep(seconds):
        sleeps.append(seconds)
        if len(sleeps) == 100_000:
            make_model().save_weights(tmp_path / "ckpt-1.weights.h5")

    monkeypatch.setattr(_sidecar_evaluator.time, "sleep", sleep)
    with pytest.warns(UserWarning, match="There is no checkpoint in .* after 0 seconds") as caught:
        SidecarEvaluator(make_model(), DATA, tmp_path, max_evaluations=1).start()
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_best_model_is_exported(tmp_path):
    model, results = make_model(), []
    pattern = tmp_path / "ckpt-{epoch:04d}"
    export = SidecarEvaluatorModelExport(
        tmp_path / "best" / "{epoch:03d}.weights.h5",
        pattern,
        save_weights_only=True,
        monitor="loss",
    )
    evaluator = SidecarEvaluator(make_model(), DATA, tmp_path, None, 1, [export, record(results)])
    weights = [model.get_weights()]
    model.fit(X, Y, verbose=0)
    weights.append(model.get_weights())
    for number, values in ((3, weights[0]), (5, weights[1]), (7, weights[0])):
        model.set_weights(values)
        model.save_weights(str(pattern).format(epoch=number))
        evaluator.start()
    assert sorted(os.listdir(tmp_path / "best")) == ["003.weights.h5", "005.weights.h5"]
    assert results[1]["loss"] == export.best < results[0]["loss"] == results[2]["loss"]
    with pytest.raises(ValueError, match="save_freq='epoch'; 'eval' was expected"):
        SidecarEvaluatorModelExport("a.keras", "b.keras", save_freq="epoch")


def test_arguments_are_checked(tmp_path):
    with pytest.raises(ValueError, match="max_evaluations"):
        SidecarEvaluator(make_model(), DATA, tmp_path, max_evaluations=0)
    with pytest.raises(ValueError, match="steps"):
        SidecarEvaluator(make_model(), DATA, tmp_path, steps=0)
    assert keras.experimental.SidecarEvaluator is SidecarEvaluator
    assert keras.utils.SidecarEvaluator is SidecarEvaluator
