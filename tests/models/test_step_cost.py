"""The Python cost of a steady step: few calls, independent of the number of Variables."""

import collections
import gc
import sys

import numpy as np
import pytest

import podium
from podium import layers


class ManyCounters(podium.Model):
    """A small network beside which a step also counts in as many Variables as asked for."""

    def __init__(self, count):
        super().__init__()
        self.dense = layers.Dense(2)
        self.counters = [podium.Variable(0.0, trainable=False) for _ in range(count)]

    def call(self, x):
        return self.dense(x)

    def train_step(self, data):
        for counter in self.counters:
            counter.assign_add(1.0)
        return super().train_step(data)


def calls_per_step(extra_variables, verbose):
    """Count the calls of Podium's own functions during 20 steady steps of `fit`."""
    model = ManyCounters(extra_variables)
    model.compile("adam", "mse", metrics=["mae"])
    x = np.zeros((40 * 4, 2), "float32")
    model.fit(x, x, batch_size=4, verbose=0)
    root = podium.__path__[0]
    counts = collections.Counter()
    run, taken = model.train_function.run, []

    def count(frame, event, argument):
        if event == "call" and frame.f_code.co_filename.startswith(root):
            counts[frame.f_code.co_name] += 1

    def watched(iterator, *steps):
        taken.append(1)
        if len(taken) == 10:
            sys.setprofile(count)
        elif len(taken) == 30:
            sys.setprofile(None)
        return run(iterator, *steps)

    model.train_function.run = watched
    gc.disable()  # a collection in the middle would run finalizers of earlier tests
    try:
        model.fit(x, x, batch_size=4, verbose=verbose)
    finally:
        sys.setprofile(None)
        gc.enable()
    variables = len(model.variables) + len(model.optimizer.variables)
    return variables, sum(counts.values()) / 20


@pytest.mark.parametrize("verbose", [0, 1])
def test_a_steady_step_makes_few_calls(verbose, capsys):
    _, calls = calls_per_step(1, verbose)
    assert 10 < calls <= 25


def test_calls_do_not_grow_with_the_number_of_variables():
    few, calls_for_few = calls_per_step(1, 0)
    many, calls_for_many = calls_per_step(1000, 0)
    assert few < 20 and many > 1000
    assert calls_for_many == calls_for_few
