"""Training engines of documents about Keras run unmodified on several replicas, and move the
weights as tf_keras does on one device. `check_seed_replicas.py` prints the table of all cases.
"""

import numpy as np
import pytest
from check_seed_replicas import (
    CASES,
    LIMIT,
    load_recorded,
    train_in_processes,
    train_on_podium,
)

from podium.compat import tensorflow as tf
from podium.distribute import MirroredStrategy

RECORDED = load_recorded()
# Executions of three steps of 20: the last one has two.
SHORT = {case.name: case for case in CASES if case.engine == "000" or case.steps_per_execution == 3}


class ListWriter(tf.summary.SummaryWriter):
    def __init__(self):
        self.steps = []

    def write_scalar(self, name, value, step):
        if name == "batch_loss":
            self.steps.append(step)


@pytest.mark.parametrize("name", SHORT)
def test_engine_trains_on_four_replicas_like_tf_keras(name):
    weights = train_on_podium(SHORT[name], MirroredStrategy(4))
    for recorded in RECORDED[name].values():
        np.testing.assert_allclose(weights, recorded, rtol=0, atol=LIMIT)


def test_step_that_is_compiled_itself_runs_on_replicas():
    name = "001/3/scalar/even"
    weights = train_on_podium(SHORT[name], MirroredStrategy(4), jit_compile=True)
    np.testing.assert_allclose(weights, RECORDED[name]["1"], rtol=0, atol=LIMIT)


def test_engine_writes_the_summaries_of_every_step():
    writer = ListWriter()
    with writer.as_default():
        train_on_podium(SHORT["002/3/vector/even"], MirroredStrategy(2))
        writer.flush()
    assert writer.steps == list(range(1, 21))


@pytest.mark.slow
def test_engines_train_in_two_processes_like_tf_keras():
    weights = train_in_processes(SHORT.values())
    for name in SHORT:
        np.testing.assert_allclose(weights[name], RECORDED[name]["1"], rtol=0, atol=LIMIT)
