"""The script of elastic jobs in tests: trains, and prints the weights at the end.

Usage: train.py FOLDER EPOCHS [gate,gate,...] [--alone]; the chief waits at the end of an epoch that
is a gate until the file `open-<epoch>` is in the folder.
"""

import os
import pathlib
import sys
import time
import warnings

import numpy as np

import podium

folder, num_epochs = pathlib.Path(sys.argv[1]), int(sys.argv[2])
is_alone = "--alone" in sys.argv
gates = [] if is_alone or not sys.argv[3:] else [int(text) for text in sys.argv[3].split(",")]
warnings.filterwarnings("ignore", message="A batch of 1 samples")
strategy = (
    podium.distribute.get_strategy()
    if is_alone
    else podium.distribute.MultiWorkerMirroredStrategy()
)
num_workers = 1 if is_alone else strategy.cluster.num_workers
podium.utils.set_random_seed(3)
x = np.random.default_rng(0).normal(size=(49, 6)).astype("float32")  # batches of 24, 24 and 1
y = x[:, :2] - x[:, 2:4]


class WaitsAtGates(podium.callbacks.Callback):
    """Runs on the chief; the others wait for it in the next step."""

    def on_epoch_end(self, epoch, logs=None):
        print(f"epoch {epoch} with {num_workers} workers", flush=True)
        while epoch in gates and not (folder / f"open-{epoch}").exists():
            time.sleep(0.05)


with strategy.scope():
    model = podium.Sequential(
        [
            podium.Input((6,)),
            podium.layers.Dense(8, activation="relu"),
            podium.layers.Dropout(0.2),
            podium.layers.Dense(2),
        ]
    )
    model.compile(podium.optimizers.Adam(0.01, epsilon=1e-3), "mse", steps_per_execution=1)
if not is_alone:  # the parent is the actor, and its parent the raylet
    actor = os.getppid()
    stat = pathlib.Path(f"/proc/{actor}/stat").read_text().rpartition(")")[2].split()
    print(f"process {os.getpid()} raylet {stat[1]} workers {num_workers}", flush=True)
history = model.fit(
    x,
    y,
    batch_size=24,
    epochs=num_epochs,
    shuffle=True,
    verbose=0,
    callbacks=[WaitsAtGates(), podium.callbacks.BackupAndRestore(folder / "backup")],
)
weights = np.concatenate([value.ravel() for value in model.get_weights()])
print("result", len(history.history["loss"]), weights.tobytes().hex(), flush=True)
