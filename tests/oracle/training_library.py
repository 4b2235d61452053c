"""Shared by the training cases: names that differ between libraries, data, and results.

Imports neither TensorFlow nor Podium: a case gets a `Library` and is run by either. No library's
random generator is used: weights, data and the noise of the GAN and the VAE are from NumPy.
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
    """A module with Keras's API, and tensor functions whose names differ in TensorFlow."""

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


class RandomValues:
    """Random values for one case, the same in every process: RandomState's stream is frozen."""

    def __init__(self, name):
        self.random = np.random.RandomState(zlib.crc32(name.encode()))

    def normal(self, *shape):
        return self.random.normal(size=shape).astype("float32")

    def uniform(self, *shape):
        return self.random.uniform(size=shape).astype("float32")

    def labels(self, classes, *shape):
        return self.random.randint(0, classes, size=shape).astype("int32")

    def weights(self, model, scale=0.4):
        """Assigns every trainable weight; statistics keep their initial zeros and ones."""
        for weight in model.trainable_weights:
            weight.assign(scale * self.normal(*weight.shape))


def one_hot(labels, classes):
    return np.eye(classes, dtype="float32")[labels]


# --- running and recording


def to_floats(logs):
    return {name: float(np.asarray(value)) for name, value in logs.items()}


def batch_logs(library):
    """Return a callback and the list that it fills: the logs of every batch, by epoch."""
    epochs = []

    class BatchLogs(library.keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            epochs.append([])

        def on_train_batch_end(self, batch, logs=None):
            epochs[-1].append(to_floats(logs))

    return BatchLogs(), epochs


def train(library, model, *args, log_batches=True, **options):
    """Fits without shuffling; returns History, the logs of batches and the norms of weights."""
    batch_logger, epochs = batch_logs(library)
    callbacks = options.pop("callbacks", [])
    if log_batches:
        callbacks = [batch_logger, *callbacks]
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
    """Return shape and norm of every weight."""
    return [
        [list(w.shape), float(np.linalg.norm(np.asarray(w.numpy(), "float64")))] for w in weights
    ]


def evaluate_model(model, *args, **options):
    """Return the results of `evaluate`, as list and as dict."""
    return {
        "evaluate": [float(x) for x in np.atleast_1d(model.evaluate(*args, verbose=0, **options))],
        "evaluate_dict": to_floats(model.evaluate(*args, verbose=0, return_dict=True, **options)),
    }


def predict_model(model, *args, **options):
    """Return the results of `predict` as a list."""
    predictions = model.predict(*args, verbose=0, **options)
    return {
        "predict": [np.asarray(x) for x in predictions]
        if isinstance(predictions, (list, tuple))
        else [np.asarray(predictions)]
    }
