"""A strategy of one device adds no call of a Python function to a step."""

import collections
import gc
import sys

import numpy as np
import pytest

import podium
from podium import distribute

ONE_DEVICE = {
    "one device": lambda: distribute.OneDeviceStrategy("/cpu:0"),
    "another device": lambda: distribute.OneDeviceStrategy("/cpu:1"),
    "mirrored": lambda: distribute.MirroredStrategy(1),
    "sharded": lambda: distribute.ShardedStrategy("fsdp", mesh={"data": 1}),
}


def model_in(strategy):
    with strategy.scope():
        model = podium.Sequential([podium.Input((2,)), podium.layers.Dense(2)])
        model.compile("adam", "mse", metrics=["mae"], steps_per_execution=1)
    return model


def count_calls(run_step):
    """Return how often each Python function was called in 20 steps."""
    counts = collections.Counter()

    def count(frame, event, argument):
        if event == "call":
            counts[frame.f_code.co_filename, frame.f_code.co_name] += 1

    gc.disable()  # a collection in the middle would run finalizers
    sys.setprofile(count)
    try:
        for _ in range(20):
            run_step()
    finally:
        sys.setprofile(None)
        gc.enable()
    return counts


def calls_in_fit(strategy):
    model = model_in(strategy)
    batch = (np.zeros((4, 2), "float32"),) * 2
    data = iter(podium.data.Dataset.from_tensors(batch).repeat())
    step = model.make_train_function()
    with strategy.scope():
        for _ in range(10):
            step(data)
        return count_calls(lambda: step(data))


def calls_in_a_loop(strategy):
    model = model_in(strategy)
    data = podium.data.Dataset.from_tensors((np.zeros((4, 2), "float32"),) * 2).repeat()
    batches = iter(strategy.experimental_distribute_dataset(data))

    def step(inputs):
        x, y = inputs
        with podium.GradientTape() as tape:
            loss = podium.ops.mean(podium.ops.square(model(x, training=True) - y))
        model.optimizer.minimize(loss, model.trainable_variables, tape=tape)
        return loss

    @podium.function
    def train(inputs):
        return strategy.reduce("sum", strategy.run(step, args=(inputs,)))

    for _ in range(10):
        train(next(batches))
    return count_calls(lambda: train(next(batches)))


@pytest.mark.parametrize("calls", [calls_in_fit, calls_in_a_loop])
def test_strategies_of_one_device_add_no_call_to_a_step(calls):
    alone = calls(distribute.get_strategy())
    assert alone.total() > 100
    assert {name: calls(make()) - alone for name, make in ONE_DEVICE.items()} == {
        name: {} for name in ONE_DEVICE
    }


def test_run_on_one_device_returns_the_result_of_the_step():
    strategy = distribute.MirroredStrategy(1)
    with strategy.scope():
        total = podium.Variable(0.0)

    def step(x):
        assert not distribute.in_cross_replica_context()
        context = distribute.get_replica_context()
        total.assign_add(context.all_reduce("sum", podium.ops.sum(x)))
        return {"max": podium.ops.max(x), "replicas": context.num_replicas_in_sync}

    data = podium.data.Dataset.from_tensor_slices(np.arange(6.0)).batch(3)
    (first, second) = strategy.experimental_distribute_dataset(data)
    assert float(strategy.run(step, args=(first,))["max"]) == 2.0
    (own,) = strategy.unwrap(strategy.run(step, args=(second,)))
    assert float(own["max"]) == 5.0 and int(own["replicas"]) == 1 and float(total) == 15.0
    assert float(strategy.reduce("sum", own["max"])) == 5.0
    stacked = distribute.PerReplica(np.ones((1, 3), "float32"))  # as one may make it by hand
    assert [
        float(part["max"]) for part in strategy.unwrap(strategy.run(step, args=(stacked,)))
    ] == [1.0]
