"""What the training cases share: the names that differ between libraries, the data, and the noting
down of results.

Imports neither TensorFlow nor Podium: a case gets a `Library` and is run by either. Nothing is
drawn from a library's generator: weights, data and even the noise of the GAN and the VAE come from
NumPy.
"""

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


class Table(dict):
    """Cases by name; `add` is a decorator."""

    def add(self, function):
        self[function.__name__] = function
        return function


@dataclass(frozen=True)
class Library:
    """What a case needs: the Keras-shaped module, and the tensor functions that TensorFlow and
    Podium name differently.
    """

    keras: Any
    GradientTape: Any
    Dataset: Any
    mean: Callable
    sum: Callable
    exp: Callable
    square: Callable
    concat: Callable
    ones: Callable
    zeros: Callable
    shape: Callable


# --- data and weights


class Draws:
    """Values for one case, the same in every process: NumPy has frozen the stream of
    RandomState.
    """

    def __init__(self, name):
        self.random = np.random.RandomState(zlib.crc32(name.encode()))

    def normal(self, *shape):
        return self.random.normal(size=shape).astype("float32")

    def uniform(self, *shape):
        return self.random.uniform(size=shape).astype("float32")

    def labels(self, classes, *shape):
        return self.random.randint(0, classes, size=shape).astype("int32")

    def weights(self, model, scale=0.4):
        """Gives every trainable weight a value; statistics keep their initial zeros and ones."""
        for weight in model.trainable_weights:
            weight.assign(scale * self.normal(*weight.shape))


def one_hot(labels, classes):
    return np.eye(classes, dtype="float32")[labels]


# --- running and noting down


def numbers(logs):
    return {name: float(np.asarray(value)) for name, value in logs.items()}


def batch_logs(library):
    """A callback and the list that it fills: the logs of every batch, epoch by epoch."""
    epochs = []

    class BatchLogs(library.keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            epochs.append([])

        def on_train_batch_end(self, batch, logs=None):
            epochs[-1].append(numbers(logs))

    return BatchLogs(), epochs


def train(library, model, *args, listen=True, **options):
    """Fits without shuffling; returns History, the logs of batches, the steps done and the weights'
    norms.
    """
    listener, epochs = batch_logs(library)
    callbacks = (
        [listener, *options.pop("callbacks", [])] if listen else options.pop("callbacks", [])
    )
    history = model.fit(*args, verbose=0, callbacks=callbacks, **options)
    return {
        "epochs": list(history.epoch),
        "history": {
            name: [float(value) for value in values] for name, values in history.history.items()
        },
        "batches": epochs,
        "trainable": norms(model.trainable_weights),
        "non_trainable": norms(model.non_trainable_weights),
    }


def norms(weights):
    """Shape and length of every weight."""
    return [
        [list(w.shape), float(np.linalg.norm(np.asarray(w.numpy(), "float64")))] for w in weights
    ]


def judge(model, *args, **options):
    """What evaluate returns, as list and as dict."""
    return {
        "evaluate": [float(x) for x in np.atleast_1d(model.evaluate(*args, verbose=0, **options))],
        "evaluate_dict": numbers(model.evaluate(*args, verbose=0, return_dict=True, **options)),
    }


def answers(model, *args, **options):
    """What predict returns: one array or a list."""
    found = model.predict(*args, verbose=0, **options)
    return {
        "predict": [np.asarray(x) for x in found]
        if isinstance(found, (list, tuple))
        else [np.asarray(found)]
    }
