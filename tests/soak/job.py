"""One training run of the soak: small, with everything that a resumed run could get wrong. It goes
on if it was killed.

python tests/soak/job.py FOLDER VARIANT
"""

import json
import os
import sys

import numpy as np

import podium
from podium import callbacks, layers

EPOCHS, ROWS, BATCH = 4, 44, 4  # 9 batches of training rows an epoch, the last of them smaller

# name -> (steps per execution, kind of data, validation frequency, save_freq, seconds,
# asynchronous, append to the log)
VARIANTS = {
    "single steps": (1, "arrays", 1, 2, None, False, False),
    "three at once": (3, "arrays", 1, 3, None, True, True),
    "auto": ("auto", "dataset", 1, 2, None, False, True),
    "by time": (2, "dataset", 2, None, 0.01, True, False),
    "by epochs": (1, "arrays", "5 steps", "epoch", None, False, True),
    "every step": (1, "batches", 1, 1, None, True, False),
}


def build(steps_per_execution):
    """Dropout, batch normalization, momentum, a metric: all kinds of state."""
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


def train(folder, variant, begun=lambda: None):
    """Run the variant in a folder, or go on with it; `begun` is called when training begins."""
    k, kind, frequency, save_freq, seconds, asynchronous, append = VARIANTS[variant]
    podium.utils.set_random_seed(7)
    rows = np.random.default_rng(3).normal(size=(ROWS, 6)).astype("float32")
    model = build(k)
    x, y = rows[:33, :5], rows[:33, 5:]
    data = {"x": x, "y": y, "batch_size": BATCH, "shuffle": "batch" if kind == "batches" else True}
    if kind == "dataset":
        data = {"x": podium.data.Dataset.from_tensor_slices((x, y)).shuffle(20).batch(BATCH)}
    validation = (
        podium.data.Dataset.from_tensor_slices((rows[33:, :5], rows[33:, 5:]))
        .shuffle(20)
        .batch(BATCH)
    )
    watched = "val_loss" if frequency == 1 else "loss"
    history = model.fit(
        **data,
        epochs=EPOCHS,
        validation_data=validation,
        validation_freq=frequency,
        verbose=0,
        callbacks=[
            callbacks.LambdaCallback(on_train_begin=lambda logs: begun()),
            callbacks.LearningRateScheduler(lambda epoch, rate: rate * 0.9)
            if k == 1
            else callbacks.ReduceLROnPlateau(watched, 0.5, 0),
            callbacks.BackupAndRestore(
                os.path.join(folder, "backup"),
                save_freq,
                # A run whose checkpoints are gone begins anew, and appends to its log once more.
                delete_checkpoint=not append,
                seconds=seconds,
                asynchronous=asynchronous,
            ),
            callbacks.EarlyStopping(watched, patience=2, restore_best_weights=True),
            callbacks.CSVLogger(os.path.join(folder, "log.csv"), append=append),
            callbacks.ModelCheckpoint(os.path.join(folder, "{epoch}.keras"), max_to_keep=2),
            callbacks.ModelCheckpoint(
                os.path.join(folder, "best.weights.h5"),
                watched,
                save_best_only=True,
                save_weights_only=True,
            ),
            callbacks.ModelCheckpoint(
                os.path.join(folder, "steps.weights.h5"), save_freq=5, save_weights_only=True
            ),
        ],
    )
    model.save(os.path.join(folder, "final.keras"))
    with open(os.path.join(folder, "history.json"), "w") as file:
        json.dump({"history": history.history, "epoch": history.epoch}, file)


if __name__ == "__main__":
    train(sys.argv[1], sys.argv[2])
