"""The script of each worker in the tests: trains, evaluates and predicts, and prints the results.
Runs as a single process with `--alone`.

Usage: worker.py [--alone] [--folder checkpoint_folder] [--epochs n] [--die worker:epoch]
    [--stop worker:epoch] [--fail worker]
"""

import argparse
import os
import signal
import sys
import warnings

import jax

jax.config.update("jax_numpy_dtype_promotion", "strict")

import numpy as np

import podium
from podium import layers

parser = argparse.ArgumentParser()
parser.add_argument("--alone", action="store_true")
parser.add_argument("--folder")
parser.add_argument("--epochs", type=int, default=3)
parser.add_argument("--die", default="")
parser.add_argument("--stop", default="")
parser.add_argument("--fail", type=int)
options = parser.parse_args()
warnings.filterwarnings("ignore", message="A batch of 1 samples")

strategy = (
    podium.distribute.get_strategy()
    if options.alone
    else podium.distribute.MultiWorkerMirroredStrategy()
)
podium.utils.set_random_seed(3)
worker = 0 if options.alone else strategy.cluster.worker
x = np.random.default_rng(0).normal(size=(33, 6)).astype("float32")
y = x[:, :2] - x[:, 2:4]
backup = [] if options.folder is None else [podium.callbacks.BackupAndRestore(options.folder)]


class PrintsEpochs(podium.callbacks.Callback):
    """Runs on the chief alone, and stops all workers after epoch 4."""

    def on_epoch_end(self, epoch, logs=None):
        print(f"end of epoch {epoch}", flush=True)
        if epoch == 4:
            self.model.stop_training = True


class EndsWorker(podium.callbacks.Callback):
    """Kills or stops a worker at the beginning of an epoch."""

    every_worker = True

    def on_epoch_begin(self, epoch, logs=None):
        if options.die == f"{worker}:{epoch}":
            os.kill(os.getpid(), signal.SIGKILL)
        if options.stop == f"{worker}:{epoch}":
            os.kill(os.getpid(), signal.SIGSTOP)


with strategy.scope():
    model = podium.Sequential(
        [
            podium.Input((6,)),
            layers.Dense(8, activation="relu"),
            layers.Dropout(0.2),
            layers.Dense(2),
        ]
    )
    model.compile(podium.optimizers.Adam(0.01, epsilon=1e-3), "mse", metrics=["mae"])
if options.fail == worker:
    raise ValueError("a mistake of this worker")
history = model.fit(
    x,
    y,
    batch_size=16,
    epochs=options.epochs,
    verbose=2,
    callbacks=[PrintsEpochs(), EndsWorker(), *backup],
)
evaluated = model.evaluate(x, y, batch_size=16, verbose=0)
predicted = model.predict(x, batch_size=16, verbose=0)
np.set_printoptions(precision=9)
results = [
    *(float(np.abs(w.numpy()).sum()) for w in model.weights),
    *evaluated,
    float((predicted * np.arange(66).reshape(33, 2)).sum()),
]
print("result", len(history.history["loss"]), *(f"{result:.9g}" for result in results), flush=True)
sys.exit(0)
