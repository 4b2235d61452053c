"""Every scheduled call is applied once, whichever workers are lost, and when."""

import random

import numpy as np
import pytest

import podium
from tests.distribute.parameter_server.local_cluster import (
    LocalStrategy,
    applied_steps,
    batches,
    coordinator_of,
    lose,
)


def add_one(strategy):
    """Return a scheduled function that adds one to a Variable, and the Variable."""
    with strategy.scope():
        total = podium.Variable(np.zeros(5, "float32"))

    @podium.function
    def step():
        return total.assign_add(np.ones(5, "float32"))

    return step, total


@pytest.mark.parametrize("staleness", [None, 0, 2])
@pytest.mark.parametrize("moment", ["before_stage", "after_stage"])
def test_call_of_a_lost_worker_is_applied_once(moment, staleness):
    strategy = LocalStrategy(
        variable_partitioner=podium.distribute.FixedShardsPartitioner(2),
        num_workers=3,
        num_servers=2,
        staleness=staleness,
    )
    coordinator = coordinator_of(strategy)
    step, total = add_one(strategy)
    draw = random.Random(0)
    lost = []

    def lose_some(number, attempt):
        if attempt < 3 and draw.random() < 0.3:
            lost.append(number)
            lose(0)

    setattr(strategy._cluster.remote, moment, lose_some)
    for _ in range(60):
        coordinator.schedule(step)
    coordinator.join()
    assert len(lost) > 5
    assert strategy._cluster.num_restarts == len(lost)
    assert applied_steps(strategy) == [60, 60]
    assert total.numpy().tolist() == [60.0] * 5
    strategy.close()
    assert total.numpy().tolist() == [60.0] * 5


def test_synchronous_rounds_repeat_whichever_workers_are_lost():
    weights = []
    for losses in (False, True):
        podium.utils.set_random_seed(1)
        strategy = LocalStrategy(num_workers=2, num_servers=1, staleness=0)
        coordinator = coordinator_of(strategy)
        with strategy.scope():
            model = podium.Sequential([podium.Input((8,)), podium.layers.Dense(1)])
            model.compile("sgd", "mse")
        iterator = iter(coordinator.create_per_worker_dataset(batches(20)))
        step = podium.function(lambda it: model.train_step(next(it)))
        if losses:
            strategy._cluster.remote.before_stage = lambda number, attempt: (
                lose(0) if number % 5 == 3 and attempt == 0 else None
            )
        for _ in range(20):
            coordinator.schedule(step, args=(iterator,))
        coordinator.join()
        assert strategy._cluster.num_restarts == (4 if losses else 0)
        weights.append(model.get_weights())
        strategy.close()
    for left, right in zip(*weights, strict=True):
        np.testing.assert_allclose(left, right, rtol=0, atol=1e-6)


def test_call_that_costs_ten_workers_fails():
    strategy = LocalStrategy(num_workers=1)
    coordinator = coordinator_of(strategy)
    step, total = add_one(strategy)
    strategy._cluster.remote.before_stage = lambda number, attempt: lose(0)
    coordinator.schedule(step)
    with pytest.raises(RuntimeError, match="worker 0 is lost"):
        coordinator.join()
    assert strategy._cluster.num_restarts == 10
    strategy._cluster.remote.before_stage = lambda number, attempt: None
    coordinator.schedule(step)
    coordinator.join()
    assert total.numpy().tolist() == [1.0] * 5
    strategy.close()
