"""Weights & Biases, offline: WandbMetricsLogger and WandbModelCheckpoint."""

import os
import pathlib
import tempfile

import keras
import numpy as np
import wandb
from wandb.integration.keras import WandbMetricsLogger, WandbModelCheckpoint

X = np.random.default_rng(0).normal(size=(64, 4)).astype("float32")
with tempfile.TemporaryDirectory() as folder:
    silent = wandb.Settings(silent=True)
    run = wandb.init(project="podium", dir=folder, mode="offline", settings=silent)
    model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1)])
    model.compile("adam", "mse", metrics=["mae"])
    path = os.path.join(folder, "model-{epoch:02d}.keras")
    callbacks = [WandbMetricsLogger(log_freq=2), WandbModelCheckpoint(path)]
    model.fit(X, X[:, :1], epochs=2, batch_size=16, verbose=0, callbacks=callbacks)
    summary = dict(run.summary)
    run.finish()
    files = sorted(each.name for each in pathlib.Path(folder).glob("*.keras"))
    assert files == ["model-01.keras", "model-02.keras"], files
    assert {"epoch/loss", "epoch/mae", "epoch/learning_rate", "batch/loss"} <= set(summary), summary
    print(f"summary: epoch/loss {summary['epoch/loss']:.4f}; files: {files}")
