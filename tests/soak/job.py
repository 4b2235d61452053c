"""One training run of the soak test: small, with all the state that resuming must restore.

It continues from a checkpoint if it was killed.

    python tests/soak/job.py DIRECTORY VARIANT

With two workers, `podium launch` starts it twice. Worker 1 is slower than the chief.
"""

import json
import os
import random
import sys
import time

import numpy as np

import podium
from podium import callbacks, layers

EPOCHS, ROWS, BATCH = 4, 44, 4  # 9 batches per epoch, the last one smaller

# name -> (steps per execution, kind of data, validation frequency, save_freq, seconds,
# asynchronous, append to the log)
VARIANTS = {
    "single steps": (1, "arrays", 1, 2, None, False, False),
    "three fused steps": (3, "arrays", 1, 3, None, True, True),
    "auto": ("auto", "dataset", 1, 2, None, False, True),
    "by time": (2, "dataset", 2, None, 0.01, True, False),
    "by epochs": (1, "arrays", "5 steps", "epoch", None, False, True),
    "every step": (1, "batches", 1, 1, None, True, False),
    "random numbers": (1, "augmented", 1, 2, None, False, True),
    "two workers": (1, "arrays", 1, 2, None, False, False),
    "two workers, separate disks": (2, "arrays", 1, 2, None, False, True),
}
BEGIN_VARIABLE = "PODIUM_SOAK_BEGIN"  # a file to which the chief writes when training starts


class Draws(callbacks.Callback):
    """Draws from the generators that the data draw from, too."""

    def on_train_batch_end(self, batch, logs=None):
        np.random.rand()

    def on_epoch_end(self, epoch, logs=None):
        logs["drawn"] = np.random.rand() + random.random()


class Slow(callbacks.Callback):
    """Makes every step of worker 1 slower."""

    every_worker = True

    def __init__(self, worker):
        super().__init__()
        self._seconds = 0.02 * worker

    def on_train_batch_end(self, batch, logs=None):
        time.sleep(self._seconds)


def build_model(steps_per_execution):
    """Return a model with all kinds of state: dropout, batch normalization, Adam, a metric."""
    model = podium.Sequential(
        [
            podium.Input((5,)),
            layers.Dense(8, activation="relu"),
            layers.BatchNormalization(),
            layers.Dropout(0.3),
            layers.Dense(1),
        ]
    )
    model.compile(
        podium.optimizers.Adam(0.01),
        "mse",
        metrics=["mae"],
        steps_per_execution=steps_per_execution,
    )
    return model


def augment(x, y):
    """Return the batch with noise from both global generators."""
    return x + np.random.normal(size=5).astype("float32") * random.random(), y


def train(directory, variant, on_begin=lambda: None):
    """Run or resume the variant in a directory; `on_begin` is called when training starts."""
    steps_per_execution, source, frequency, save_freq, seconds, asynchronous, append = VARIANTS[
        variant
    ]
    strategy = podium.distribute.get_strategy()
    worker = 0
    if variant.startswith("two workers"):
        strategy = podium.distribute.MultiWorkerMirroredStrategy()
        worker = strategy.cluster.worker
    podium.utils.set_random_seed(7)
    rows = np.random.default_rng(3).normal(size=(ROWS, 6)).astype("float32")
    with strategy.scope():
        model = build_model(steps_per_execution)
    x, y = rows[:33, :5], rows[:33, 5:]
    data = {
        "x": x,
        "y": y,
        "batch_size": BATCH,
        "shuffle": "batch" if source == "batches" else True,
    }
    if source == "dataset":
        data = {"x": podium.data.Dataset.from_tensor_slices((x, y)).shuffle(20).batch(BATCH)}
    if source == "augmented":
        dataset = podium.data.Dataset.from_tensor_slices((x, y)).shuffle(20).map(augment)
        data = {"x": dataset.batch(BATCH)}
    backup = os.path.join(directory, "backup")
    if "separate" in variant and worker:
        backup = os.path.join(directory, "disk of worker 1", "backup")
    validation = (
        podium.data.Dataset.from_tensor_slices((rows[33:, :5], rows[33:, 5:]))
        .shuffle(20)
        .batch(BATCH)
    )
    monitor = "val_loss" if frequency == 1 else "loss"
    history = model.fit(
        **data,
        epochs=EPOCHS,
        validation_data=validation,
        validation_freq=frequency,
        verbose=0,
        callbacks=[
            callbacks.LambdaCallback(on_train_begin=lambda logs: on_begin()),
            callbacks.LearningRateScheduler(lambda epoch, rate: rate * 0.9)
            if steps_per_execution == 1
            else callbacks.ReduceLROnPlateau(monitor, 0.5, 0),
            callbacks.BackupAndRestore(
                backup,
                save_freq,
                # Without its checkpoints, a run starts over and appends to its log again.
                delete_checkpoint=not append,
                seconds=seconds,
                asynchronous=asynchronous,
            ),
            callbacks.EarlyStopping(monitor, patience=2, restore_best_weights=True),
            callbacks.CSVLogger(os.path.join(directory, "log.csv"), append=append),
            callbacks.ModelCheckpoint(os.path.join(directory, "{epoch}.keras"), max_to_keep=2),
            callbacks.ModelCheckpoint(
                os.path.join(directory, "best.weights.h5"),
                monitor,
                save_best_only=True,
                save_weights_only=True,
            ),
            callbacks.ModelCheckpoint(
                os.path.join(directory, "steps.weights.h5"), save_freq=5, save_weights_only=True
            ),
            *([Draws()] if source == "augmented" else []),
            *([Slow(worker)] if variant.startswith("two workers") else []),
        ],
    )
    if worker:
        return
    model.save(os.path.join(directory, "final.keras"))
    with open(os.path.join(directory, "history.json"), "w") as file:
        json.dump({"history": history.history, "epoch": history.epoch}, file)


if __name__ == "__main__":
    begin_path = os.environ[BEGIN_VARIABLE]
    train(sys.argv[1], sys.argv[2], on_begin=lambda: open(begin_path, "w").close())
