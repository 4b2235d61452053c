"""Trains with parameter servers on a local Ray cluster; prints what the tests compare as JSON.

In a process of its own: Ray's threads and sockets outlive a test.
"""

import json
import os
import signal
import sys

import numpy as np

import podium
from podium.distribute.coordinator import ClusterCoordinator
from tests.distribute.parameter_server.kill_processes import (
    folders,
    mark_processes,
    wait_until_no_process_is_left,
)
from tests.distribute.parameter_server.local_cluster import applied_steps, batches

NUM_STEPS = 300


def digits():
    (x, y), test = podium.datasets.digits.load_data()
    return flatten(x, y), flatten(*test)


def flatten(x, y):
    return x.reshape(len(x), -1).astype("float32") / 16, y


def make_dataset(context):
    """Return the data of one worker, in its own order."""
    (x, y), _ = digits()
    data = podium.data.Dataset.from_tensor_slices((x, y))
    return data.shuffle(len(x), seed=context.input_pipeline_id).repeat().batch(32)


def make_classifier():
    podium.utils.set_random_seed(1)
    model = podium.Sequential(
        [
            podium.Input((64,)),
            podium.layers.Dense(32, activation="relu"),
            podium.layers.Dropout(0.1),
            podium.layers.Dense(10),
        ]
    )
    loss = podium.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(podium.optimizers.Adam(0.003), loss, metrics=["accuracy"])
    return model


def train_classifier():
    """Return the accuracy with one process, and with two workers of which one is killed."""
    alone = make_classifier()
    iterator = iter(make_dataset(podium.distribute.InputContext()))
    step = podium.function(lambda it: alone.train_step(next(it)))
    for _ in range(NUM_STEPS):
        step(iterator)
    strategy = podium.distribute.ParameterServerStrategy(num_workers=2, num_servers=1)
    coordinator = ClusterCoordinator(strategy)
    with strategy.scope():
        model = make_classifier()
    iterator = iter(coordinator.create_per_worker_dataset(make_dataset))
    step = podium.function(lambda it: model.train_step(next(it)))
    for index in range(NUM_STEPS):
        coordinator.schedule(step, args=(iterator,))
        if index == 100:
            os.kill(strategy._cluster.worker_pid(0), signal.SIGKILL)
    coordinator.join()
    applied = applied_steps(strategy)
    strategy.close()
    _, (x, y) = digits()
    return {
        "alone": alone.evaluate(x, y, verbose=0)[1],
        "accuracy": model.evaluate(x, y, verbose=0)[1],
        "applied": applied,
        "iterations": int(model.optimizer.iterations),
    }


def train_in_rounds():
    """Return the difference between synchronous rounds of two workers, and one device that is
    trained on both batches of a round together.
    """
    models = []
    strategy = podium.distribute.ParameterServerStrategy(num_workers=2, staleness=0)
    coordinator = ClusterCoordinator(strategy)
    for is_alone in (True, False):
        podium.utils.set_random_seed(1)
        scope = podium.distribute.get_strategy() if is_alone else strategy
        with scope.scope():
            model = podium.Sequential([podium.Input((8,)), podium.layers.Dense(1)])
            # The changes of both workers are summed: half the rate makes that their mean.
            model.compile(podium.optimizers.SGD(0.05 if is_alone else 0.025), "mse")
        models.append(model)
    alone, model = models
    data = batches(40)
    for first, second in zip(data[::2], data[1::2], strict=True):
        alone.train_step(tuple(map(np.concatenate, zip(first, second, strict=True))))
    iterator = iter(coordinator.create_per_worker_dataset(data))
    step = podium.function(lambda it: model.train_step(next(it)))
    for _ in range(40):
        coordinator.schedule(step, args=(iterator,))
    coordinator.join()
    strategy.close()
    pairs = zip(alone.get_weights(), model.get_weights(), strict=True)
    return {"difference": max(float(np.abs(left - right).max()) for left, right in pairs)}


def main():
    mark_processes()
    results = {"classifier": train_classifier(), "rounds": train_in_rounds()}
    results["processes"] = wait_until_no_process_is_left()
    results["folders"] = folders()
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main()
