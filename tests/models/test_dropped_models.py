"""Deleted models are freed completely, however they were trained."""

import collections
import gc

import numpy as np

import podium
from podium import layers

X = np.random.default_rng(0).normal(size=(12, 3)).astype("float32")
CLASSES = np.arange(12) % 4


def train_and_drop():
    model = podium.Sequential(
        [
            podium.Input((3,)),
            layers.Dense(5, activation="relu"),
            layers.Dropout(0.1),
            layers.Dense(4),
        ]
    )
    loss = podium.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss, metrics=["accuracy"])
    model.fit(X, CLASSES, batch_size=4, verbose=0, validation_data=(X, CLASSES))
    model.predict(X, verbose=0)


def objects():
    gc.collect()
    return collections.Counter(type(one).__name__ for one in gc.get_objects())


def test_deleted_models_leave_no_objects():
    for _ in range(3):
        train_and_drop()  # what is cached once for all models
    before = objects()
    for _ in range(4):
        train_and_drop()
    left = objects() - before
    left.pop("Counter", None)  # the one made here
    assert {kind: count for kind, count in left.items() if count >= 4} == {}
