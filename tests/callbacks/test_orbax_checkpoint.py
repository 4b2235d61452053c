"""OrbaxCheckpoint: when it saves, what is restored, and errors."""

import importlib.util
import json
import os

import numpy as np
import pytest

import podium
from podium.callbacks import LambdaCallback, OrbaxCheckpoint
from podium.compat import keras
from podium.saving import CheckpointManager

pytest.importorskip("orbax.checkpoint", reason="orbax is not installed (extra podium[orbax])")

X = np.random.default_rng(0).normal(size=(8, 2)).astype("float32")


def make_model():
    model = podium.Sequential([podium.Input((2,)), podium.layers.Dense(1)])
    model.compile("adam", "mse")
    return model


def fit(model, *callbacks, **options):
    options = {"batch_size": 2, "verbose": 0, "shuffle": False} | options
    return model.fit(X, X[:, :1], callbacks=list(callbacks), **options)


def test_the_newest_epochs_are_kept_and_restored(tmp_path):
    assert keras.callbacks.OrbaxCheckpoint is OrbaxCheckpoint
    model = make_model()
    checkpoint = OrbaxCheckpoint(tmp_path / "c", max_to_keep=2)
    fit(model, checkpoint, epochs=3)
    manager = CheckpointManager(tmp_path / "c")
    assert manager.all_steps() == [1, 2]
    other = make_model()
    restored = manager.restore(other)
    assert int(other.optimizer.iterations) == 12
    assert json.loads(restored.state["model_config"])["class_name"] == "Sequential"
    for left, right in zip(other.get_weights(), model.get_weights(), strict=True):
        np.testing.assert_array_equal(left, right)
    fit(model, epochs=1), fit(other, epochs=1)
    np.testing.assert_array_equal(model.get_weights()[0], other.get_weights()[0])
    assert any("ocdbt" in name for _, _, names in os.walk(tmp_path) for name in names)


def test_weights_alone_after_batches(tmp_path):
    model = make_model()
    checkpoint = OrbaxCheckpoint(
        tmp_path, save_freq=3, max_to_keep=None, save_weights_only=True, save_on_background=False
    )
    fit(model, checkpoint, epochs=2)
    assert CheckpointManager(tmp_path).all_steps() == [3, 6]
    fit(model, checkpoint, epochs=1)  # continues to count
    assert CheckpointManager(tmp_path).all_steps() == [3, 6, 9, 12]
    assert set(CheckpointManager(tmp_path).restore().arrays) == {
        "layers/dense/vars/0",
        "layers/dense/vars/1",
    }
    other = make_model()
    other.load_weights(tmp_path)
    np.testing.assert_array_equal(other.get_weights()[0], model.get_weights()[0])


def test_only_the_best_is_saved(tmp_path):
    values = iter([3.0, 5.0, 2.0, 2.5])
    score = LambdaCallback(on_epoch_end=lambda epoch, logs: logs.update(score=next(values)))
    checkpoint = OrbaxCheckpoint(
        tmp_path, monitor="score", mode="min", save_best_only=True, max_to_keep=None
    )
    fit(make_model(), score, checkpoint, epochs=4)
    checkpoint.wait_until_finished()
    assert CheckpointManager(tmp_path).all_steps() == [0, 2] and checkpoint.best == 2.0
    assert checkpoint.is_primary_host() and not checkpoint.is_multihost_enabled()
    high = OrbaxCheckpoint(
        tmp_path / "none",
        monitor="loss",
        mode="min",
        save_best_only=True,
        initial_value_threshold=-1.0,
    )
    fit(make_model(), high)
    assert CheckpointManager(tmp_path / "none").all_steps() == []


def test_a_missing_value_is_a_warning(tmp_path):
    with pytest.warns(UserWarning, match="OrbaxCheckpoint monitors 'val_loss'"):
        fit(make_model(), OrbaxCheckpoint(tmp_path, save_best_only=True))
    assert CheckpointManager(tmp_path).all_steps() == []


def test_a_directory_with_later_checkpoints_is_rejected_before_training(tmp_path):
    model = make_model()
    fit(model, OrbaxCheckpoint(tmp_path), epochs=3)
    before = model.get_weights()
    with pytest.raises(ValueError, match="has checkpoint 2, and this run begins with 0"):
        fit(model, OrbaxCheckpoint(tmp_path))
    np.testing.assert_array_equal(model.get_weights()[0], before[0])
    fit(model, OrbaxCheckpoint(tmp_path), initial_epoch=2, epochs=4)  # epoch 2 is replaced
    assert CheckpointManager(tmp_path).all_steps() == [3]


def test_an_error_in_the_background_is_raised(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(OSError, match="file"):
        fit(make_model(), OrbaxCheckpoint(tmp_path / "file"), epochs=2)


def test_wrong_arguments_and_missing_orbax_raise(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="save_freq='batch'"):
        OrbaxCheckpoint(tmp_path, save_freq="batch")
    with pytest.raises(ValueError, match="save_freq"):
        OrbaxCheckpoint(tmp_path, save_freq=0)
    with pytest.raises(ValueError, match="mode"):
        OrbaxCheckpoint(tmp_path, mode="up")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"podium\[orbax\]"):
        OrbaxCheckpoint(tmp_path)
