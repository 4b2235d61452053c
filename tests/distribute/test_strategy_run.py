"""`Strategy.run` on several replicas: the values that a step receives, and how results and written
values are combined.
"""

import jax
import numpy as np
import pytest
from forked_engine import train

import podium
from podium import distribute, ops


@pytest.fixture
def strategy():
    return distribute.MirroredStrategy(4)


def batches(*arrays, size):
    return podium.data.Dataset.from_tensor_slices(arrays if len(arrays) > 1 else arrays[0]).batch(
        size
    )


def test_replicas_receive_their_parts_and_results_can_be_unwrapped_and_reduced(strategy):
    x = np.arange(8.0, dtype="float32").reshape(8, 1)

    def step(x, factor):
        assert x.shape == (2, 1) and not distribute.in_cross_replica_context()
        return {"rows": x * factor, "total": ops.sum(x), "word": "same"}

    for batch in strategy.experimental_distribute_dataset(batches(x, size=8)):
        result = strategy.run(step, args=(batch,), kwargs={"factor": 2.0})
    parts = strategy.unwrap(result)
    assert [float(part["total"]) for part in parts] == [1.0, 5.0, 9.0, 13.0] and parts[0][
        "word"
    ] == "same"
    assert (
        float(strategy.reduce("sum", result["total"])) == 28.0
        and float(strategy.reduce("MEAN", result["total"])) == 7.0
    )
    assert float(strategy.reduce("mean", result["rows"], axis=0)[0]) == 7.0
    np.testing.assert_array_equal(strategy.gather(result["rows"], axis=0), 2 * x)
    assert strategy.gather(result["rows"], axis=1).shape == (2, 4)
    with pytest.raises(ValueError, match=r"no axis to concatenate"):
        strategy.gather(result["total"], axis=0)
    assert len(result["rows"].array.sharding.device_set) == 4


def test_all_reduce_and_all_gather(strategy):
    def step():
        context = distribute.get_replica_context()
        mine = ops.cast(context.replica_id_in_sync_group, "float32")
        with podium.GradientTape() as tape:
            tape.watch(mine)
            total = context.all_reduce("sum", mine * mine)
        joined = context.all_gather(ops.reshape(mine, (1,)), axis=0)
        return (
            total,
            context.all_reduce(distribute.ReduceOp.MEAN, mine),
            joined,
            tape.gradient(total, mine),
        )

    assert distribute.get_replica_context().num_replicas_in_sync == 1
    with strategy.scope():
        assert distribute.get_replica_context() is None and distribute.in_cross_replica_context()
    total, mean, joined, gradient = strategy.unwrap(strategy.run(step))[3]
    assert float(total) == 14.0 and float(mean) == 1.5 and joined.numpy().tolist() == [0, 1, 2, 3]
    assert float(gradient) == 24.0  # each of the four totals grows by 2 * 3


def test_variables_are_combined_by_their_aggregation(strategy):
    with strategy.scope():
        made = {
            how: podium.Variable(10.0, trainable=False, aggregation=how)
            for how in ("sum", "mean", "only_first_replica")
        }
        metric = podium.metrics.Mean()

    def step():
        mine = ops.cast(distribute.get_replica_context().replica_id_in_sync_group, "float32")
        for variable in made.values():
            variable.assign_add(mine)
        metric.update_state(mine)
        return metric.result()

    for _ in range(2):
        results = strategy.unwrap(strategy.run(step))
    assert [float(variable) for variable in made.values()] == [22.0, 13.0, 10.0]
    assert [float(result) for result in results] == [1.5] * 4 and float(metric.result()) == 1.5
    strategy.run(metric.reset_state)
    assert float(metric.count) == 0.0


def test_each_replica_draws_its_own_numbers(strategy):
    drawn = strategy.unwrap(strategy.run(lambda: podium.random.normal(())))
    assert len({float(value) for value in drawn}) == 4


def custom_loop(strategy, x, y, compiled):
    """A loop as people write it for TensorFlow; returns the weights and the sum of the losses."""
    podium.utils.set_random_seed(3)
    with strategy.scope():
        model = podium.Sequential(
            [podium.Input((3,)), podium.layers.Dense(4, activation="relu"), podium.layers.Dense(1)]
        )
        optimizer = podium.optimizers.Adam(0.05)

    def train_step(inputs):
        features, targets = inputs
        with podium.GradientTape() as tape:
            loss = ops.sum(ops.square(model(features, training=True) - targets)) / 8.0
        optimizer.apply_gradients(
            zip(
                tape.gradient(loss, model.trainable_variables),
                model.trainable_variables,
                strict=True,
            )
        )
        return loss

    def distributed_step(inputs):
        return strategy.reduce("sum", strategy.run(train_step, args=(inputs,)))

    step = podium.function(distributed_step) if compiled else distributed_step
    total = 0.0
    for _ in range(2):
        for batch in strategy.experimental_distribute_dataset(batches(x, y, size=8)):
            total += float(step(batch))
    return [weight.numpy() for weight in model.weights], total


@pytest.mark.parametrize("compiled", [True, False])
def test_custom_loop_equals_one_device(strategy, compiled):
    rng = np.random.default_rng(0)
    x, y = (
        rng.normal(size=(21, 3)).astype("float32"),
        rng.normal(size=(21, 1)).astype("float32"),
    )  # 8, 8 and 5: does not divide
    weights, total = custom_loop(distribute.get_strategy(), x, y, True)
    ours, our_total = custom_loop(strategy, x, y, compiled)
    assert our_total == pytest.approx(total, rel=1e-5)
    for one, other in zip(weights, ours, strict=True):
        np.testing.assert_allclose(other, one, atol=1e-6)


STRATEGIES = {
    "one device": lambda: distribute.OneDeviceStrategy("/cpu:0"),
    "mirrored": distribute.MirroredStrategy,
    "data": lambda: distribute.ShardedStrategy("data"),
    "fsdp": lambda: distribute.ShardedStrategy("fsdp", mesh={"data": 2}, smallest=1),
    "tensor": lambda: distribute.ShardedStrategy(
        {"dense/kernel": ("model", None)}, mesh={"data": 2, "model": 2}
    ),
}


@pytest.mark.parametrize("make", STRATEGIES.values(), ids=STRATEGIES)
def test_forked_engine_runs_unchanged(make):
    (alone, logs, data), (ours, our_logs, _) = train(distribute.get_strategy()), train(make())
    assert int(ours._train_counter) == 6
    np.testing.assert_allclose(ours.dense.kernel.numpy(), alone.dense.kernel.numpy(), rtol=1e-5)
    assert our_logs["mean_absolute_error"] == pytest.approx(logs["mean_absolute_error"], rel=1e-5)
    assert ours.evaluate(data) == pytest.approx(alone.evaluate(data), rel=1e-5)
    np.testing.assert_allclose(ours.predict(data), alone.predict(data), rtol=1e-5)


def test_nested_run_and_values_of_other_strategies_are_refused(strategy):
    with pytest.raises(RuntimeError, match=r"inside of `strategy.run`"):
        strategy.run(lambda: strategy.run(lambda: 1.0))
    with pytest.raises(ValueError, match=r"values for \[3\] replicas; this strategy has 4"):
        strategy.run(lambda x: x, args=(distribute.PerReplica(jax.numpy.ones((3, 2))),))
    with pytest.raises(RuntimeError, match=r"`predict` was called inside a compiled function"):
        strategy.run(
            lambda: podium.Sequential([podium.Input((1,)), podium.layers.Dense(1)]).predict(
                np.ones((2, 1))
            )
        )


def test_distribute_datasets_from_function(strategy):
    def make(context):
        assert (context.num_input_pipelines, context.input_pipeline_id) == (1, 0)
        assert context.get_per_replica_batch_size(8) == 2
        return batches(np.arange(8.0), size=8)

    (batch,) = strategy.distribute_datasets_from_function(make)
    assert [part.numpy().tolist() for part in batch.values] == [[0, 1], [2, 3], [4, 5], [6, 7]]
