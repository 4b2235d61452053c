"""What `ClusterCoordinator.schedule` runs, returns and raises."""

import threading

import numpy as np
import pytest

import podium
from podium.distribute.coordinator import ClusterCoordinator, ServerLostError
from tests.distribute.parameter_server.local_cluster import (
    LocalStrategy,
    applied_steps,
    batches,
    coordinator_of,
)


@pytest.fixture
def strategy():
    strategy = LocalStrategy(num_workers=2, num_servers=2)
    yield strategy
    strategy.close()


def make_model(strategy, optimizer="sgd", **compile_arguments):
    podium.utils.set_random_seed(1)
    with strategy.scope():
        model = podium.Sequential([podium.Input((8,)), podium.layers.Dense(1)])
        model.compile(optimizer, "mse", **compile_arguments)
    return model


def test_two_coordinators_of_a_strategy_are_the_same(strategy):
    assert ClusterCoordinator(strategy) is ClusterCoordinator(strategy)
    assert ClusterCoordinator(strategy).strategy is strategy


def test_coordinator_of_another_strategy_is_refused():
    with pytest.raises(ValueError, match="a ParameterServerStrategy was expected"):
        ClusterCoordinator(podium.distribute.get_strategy())


def test_one_worker_trains_like_a_single_process():
    strategy = LocalStrategy(num_workers=1, num_servers=2)
    coordinator = coordinator_of(strategy)
    model = make_model(strategy, "adam")
    alone = make_model(podium.distribute.get_strategy(), "adam")
    iterator = iter(coordinator.create_per_worker_dataset(batches(20)))
    step = podium.function(lambda it: model.train_step(next(it)))
    results = [coordinator.schedule(step, args=(iterator,)) for _ in range(20)]
    coordinator.join()
    logs = [alone.train_step(batch) for batch in batches(20)]
    for left, right in zip(model.get_weights(), alone.get_weights(), strict=True):
        np.testing.assert_allclose(left, right, atol=1e-6)
    np.testing.assert_allclose(results[-1].fetch()["loss"], logs[-1]["loss"].numpy(), rtol=1e-5)
    assert int(model.optimizer.iterations) == 20
    assert applied_steps(strategy) == [20, 20]
    strategy.close()


def test_synchronous_rounds_sum_the_changes_of_all_workers():
    strategy = LocalStrategy(num_workers=2, staleness=0)
    coordinator = coordinator_of(strategy)
    model = make_model(strategy)
    alone = make_model(podium.distribute.get_strategy())
    iterator = iter(coordinator.create_per_worker_dataset(batches(20)))
    step = podium.function(lambda it: model.train_step(next(it)))
    for _ in range(20):
        coordinator.schedule(step, args=(iterator,))
    coordinator.join()
    data = batches(20)
    for first, second in zip(data[::2], data[1::2], strict=True):
        start = alone.get_weights()
        changes = []
        for batch in (first, second):
            alone.set_weights(start)
            alone.train_step(batch)
            changes.append([new - old for new, old in zip(alone.get_weights(), start, strict=True)])
        alone.set_weights([w + a + b for w, a, b in zip(start, *changes, strict=True)])
    for left, right in zip(model.get_weights(), alone.get_weights(), strict=True):
        np.testing.assert_allclose(left, right, atol=1e-6)
    strategy.close()


@pytest.mark.parametrize("staleness", [1, 2])
def test_call_begins_only_when_the_bound_allows(staleness):
    strategy = LocalStrategy(num_workers=2, staleness=staleness)
    coordinator = coordinator_of(strategy)
    with strategy.scope():
        total = podium.Variable(0.0)
    step = podium.function(lambda: total.assign_add(1.0))
    coordinator.schedule(step)
    coordinator.join()
    slow = threading.Event()
    begun = []

    def before_run(index, task):
        begun.append((task.step, coordinator._scheduler._ledger.count))
        if task.step == 2:
            assert slow.wait(60)

    strategy._cluster.before_run = before_run
    for _ in range(20):
        coordinator.schedule(step)
    # The round of step 2 is round 1: those up to round 1 + staleness may begin.
    last = (1 + staleness + 1) * 2 - 1
    while len(begun) < last or coordinator._scheduler._ledger.count < last:
        threading.Event().wait(0.01)
    assert max(step for step, _ in begun) == last
    slow.set()
    coordinator.join()
    assert float(total) == 21.0
    for number, applied in begun:
        assert applied >= (number // 2 - staleness) * 2
    strategy.close()


def test_slow_worker_does_not_hold_up_the_others(strategy):
    coordinator = coordinator_of(strategy)
    with strategy.scope():
        total = podium.Variable(0.0)
    step = podium.function(lambda: total.assign_add(1.0))
    coordinator.schedule(step)
    coordinator.join()
    slow = threading.Event()
    strategy._cluster.before_run = lambda index, task: task.step == 1 and slow.wait(60)
    results = [coordinator.schedule(step) for _ in range(30)]
    assert results[-1].fetch() >= 29.0
    assert not results[0].has_ended
    assert not coordinator.done()
    slow.set()
    coordinator.join()
    assert coordinator.done()
    assert float(total) == 31.0


def test_arguments_are_arrays_results_and_constants(strategy):
    coordinator = coordinator_of(strategy)
    step = podium.function(lambda x, factor, *, shift: {"y": x * factor + shift})
    first = coordinator.schedule(step, args=(np.float32([1, 2]), 2.0), kwargs={"shift": 1.0})
    second = coordinator.schedule(step, args=(first.get()["y"], 10.0), kwargs={"shift": 0.0})
    third = coordinator.schedule(lambda logs: logs["y"] + 1.0, args=(second,))
    assert third.fetch().tolist() == [31.0, 51.0]
    assert coordinator.fetch({"a": [first, 3]})["a"][0]["y"].tolist() == [3.0, 5.0]
    assert isinstance(third.get(), podium.Tensor)


def test_batches_of_other_shapes_get_their_own_program(strategy):
    coordinator = coordinator_of(strategy)
    data = [np.ones(4, "float32")] * 4 + [np.ones(2, "float32")] * 2
    iterator = iter(coordinator.create_per_worker_dataset(data))
    with strategy.scope():
        total = podium.Variable(0.0)
    step = podium.function(lambda it: total.assign_add(podium.ops.sum(next(it))))
    for _ in range(6):
        coordinator.schedule(step, args=(iterator,))
    coordinator.join()
    assert float(total) == 20.0


def test_dataset_function_receives_the_index_of_the_worker(strategy):
    coordinator = coordinator_of(strategy)

    def make_dataset(context):
        return [np.float32(10**context.input_pipeline_id)] * 100

    iterator = iter(coordinator.create_per_worker_dataset(make_dataset))
    results = [coordinator.schedule(lambda it: next(it), args=(iterator,)) for _ in range(20)]
    assert {float(value) for value in coordinator.fetch(results)} <= {1.0, 10.0}
    with pytest.raises(RuntimeError, match="elements are on the workers"):
        next(iterator)


def test_steps_of_an_execution_are_those_when_it_was_scheduled(strategy):
    coordinator = coordinator_of(strategy)
    model = make_model(strategy, steps_per_execution=3)
    iterator = iter(coordinator.create_per_worker_dataset(batches(40)))

    @podium.function
    def train_function(it):
        for _ in range(model._steps_per_execution.numpy().item()):
            outputs = model.train_step(next(it))
        return outputs

    for k in (3, 2, 3):
        model._steps_per_execution.current = k
        coordinator.schedule(train_function, args=(iterator,))
    coordinator.join()
    assert int(model.optimizer.iterations) == 8


def test_each_worker_draws_its_own_random_numbers(strategy):
    coordinator = coordinator_of(strategy)
    strategy._cluster.before_run = lambda index, task: indices.append(index)
    indices = []
    results = [coordinator.schedule(lambda: podium.random.uniform(())) for _ in range(20)]
    values = [float(value) for value in coordinator.fetch(results)]
    assert len(set(values)) == 20


def test_error_of_a_call_is_raised_by_join_and_cancels_the_rest(strategy):
    coordinator = coordinator_of(strategy)
    iterator = iter(coordinator.create_per_worker_dataset([np.float32(1)] * 2))
    step = podium.function(lambda it: next(it))
    results = [coordinator.schedule(step, args=(iterator,)) for _ in range(2)]
    coordinator.fetch(results[0])
    with pytest.raises(podium.core.OutOfRange, match="dataset has 0 left"):
        for _ in range(10):
            coordinator.schedule(step, args=(iterator,))
        coordinator.join()
    coordinator.join()  # raised once
    assert coordinator.done()
    coordinator.schedule(step, args=(iterator,))
    with pytest.raises(podium.core.OutOfRange, match="dataset has 0 left"):
        coordinator.join()


def test_call_that_is_scheduled_while_another_one_fails_is_not_added(strategy, monkeypatch):
    """It would raise once more, and cancel what is scheduled after the error."""
    coordinator = coordinator_of(strategy)
    empty = iter(coordinator.create_per_worker_dataset([np.float32(1)] * 2))
    step = podium.function(lambda it: next(it))
    coordinator.fetch([coordinator.schedule(step, args=(empty,)) for _ in range(2)])
    failing = coordinator.schedule(step, args=(empty,))
    scheduler = coordinator._scheduler
    trace_pending = scheduler._trace_pending

    def wait_for_failure():
        scheduler.wait_for(failing)
        trace_pending()

    with monkeypatch.context() as patched:
        patched.setattr(scheduler, "_trace_pending", wait_for_failure)
        with pytest.raises(podium.core.OutOfRange, match="dataset has 0 left"):
            coordinator.schedule(step, args=(empty,))
    full = iter(coordinator.create_per_worker_dataset([np.float32(1)] * 4))
    results = [coordinator.schedule(step, args=(full,)) for _ in range(4)]
    coordinator.join()
    assert [float(value) for value in coordinator.fetch(results)] == [1.0] * 4


def test_calls_use_all_elements_of_all_workers(strategy):
    coordinator = coordinator_of(strategy)
    with strategy.scope():
        total = podium.Variable(0.0)
    # Of worker 0 five elements, of worker 1 four.
    iterator = iter(coordinator.create_per_worker_dataset([np.float32(2**i) for i in range(9)]))
    step = podium.function(lambda it: total.assign_add(next(it)))
    coordinator.schedule(step, args=(iterator,))
    coordinator.join()
    with pytest.raises(podium.core.OutOfRange, match="dataset has 0 left"):
        for _ in range(12):
            coordinator.schedule(step, args=(iterator,))
        coordinator.join()
    assert float(total) == 511.0


def test_elements_that_are_too_few_for_a_call_warn():
    strategy = LocalStrategy(num_workers=1)
    coordinator = coordinator_of(strategy)
    iterator = iter(coordinator.create_per_worker_dataset([np.float32(1)] * 5))
    step = podium.function(lambda it: next(it) + next(it) + next(it))
    with (
        pytest.warns(UserWarning, match="have ended with 2 elements left, fewer than the 3"),
        pytest.raises(podium.core.OutOfRange, match="reads 3 elements, and its worker's dataset"),
    ):
        for _ in range(3):
            coordinator.schedule(step, args=(iterator,))
        coordinator.join()
    strategy.close()


def test_elements_of_a_dataset_of_this_process_are_sent(strategy):
    coordinator = coordinator_of(strategy)
    with strategy.scope():
        total = podium.Variable(np.zeros(2, "float32"))

    @podium.function
    def step(iterator, factor):
        total.assign_add(factor * (next(iterator) + next(iterator)))
        return total.read_value()

    data = podium.data.Dataset.from_tensor_slices(np.arange(10, dtype="float32").reshape(5, 2))
    iterator = iter(data)
    results = [coordinator.schedule(step, args=(iterator, 2.0)) for _ in range(2)]
    coordinator.join()
    assert total.numpy().tolist() == [24.0, 32.0]
    assert [result.fetch().shape for result in results] == [(2,), (2,)]
    with pytest.raises(podium.core.OutOfRange, match="no more elements"):
        coordinator.schedule(step, args=(iterator, 2.0))
    assert applied_steps(strategy) == [2, 2]
    with pytest.raises(ValueError, match="iterators of one kind were expected"):
        both = iter(data), iter(coordinator.create_per_worker_dataset(data))
        coordinator.schedule(lambda a, b: next(a) + next(b), args=both)


def test_error_while_tracing_is_raised_by_schedule(strategy):
    coordinator = coordinator_of(strategy)

    def step():
        raise KeyError("a mistake")

    result = coordinator.schedule(step)
    with pytest.raises(KeyError, match="a mistake"):
        result.fetch()
    with pytest.raises(KeyError, match="a mistake"):
        coordinator.schedule(step)


def test_lost_server_stops_everything():
    strategy = LocalStrategy(num_workers=2)
    coordinator = coordinator_of(strategy)
    with strategy.scope():
        total = podium.Variable(0.0)
    step = podium.function(lambda: total.assign_add(1.0))
    coordinator.schedule(step)
    coordinator.join()
    strategy._cluster.remote.is_lost = True
    result = coordinator.schedule(step)
    with pytest.raises(ServerLostError, match="server 0 is lost"):
        coordinator.join()
    with pytest.raises(ServerLostError, match="server 0 is lost"):
        coordinator.schedule(step)
    with pytest.raises(ServerLostError, match="server 0 is lost"):
        result.fetch()
    with pytest.raises(ServerLostError, match="server 0 is lost"):
        total.numpy()
    strategy.close()


def test_variables_are_read_and_assigned_on_the_servers(strategy):
    coordinator = coordinator_of(strategy)
    model = make_model(strategy)
    iterator = iter(coordinator.create_per_worker_dataset(batches(40)))
    step = podium.function(lambda it: model.train_step(next(it)))
    coordinator.schedule(step, args=(iterator,))
    coordinator.join()
    weights = [np.full_like(weight, 3.0) for weight in model.get_weights()]
    model.set_weights(weights)
    assert [w.tolist() for w in model.get_weights()] == [w.tolist() for w in weights]
    model.optimizer.learning_rate = 0.0
    coordinator.schedule(step, args=(iterator,))
    coordinator.join()
    assert [w.tolist() for w in model.get_weights()] == [w.tolist() for w in weights]
    x, y = batches(1)[0]
    model.evaluate(x, y, verbose=0)  # a step of this process takes the metrics back
    coordinator.schedule(step, args=(iterator,))
    coordinator.join()
    assert int(model.optimizer.iterations) == 3


@pytest.mark.parametrize(
    ("partitioner", "counts"),
    [
        (None, [1, 1]),
        (podium.distribute.FixedShardsPartitioner(3), [1, 3]),
        (podium.distribute.MinSizePartitioner(64, max_shards=4), [1, 4]),
        (podium.distribute.MaxSizePartitioner(128), [1, 2]),
    ],
)
def test_variables_are_split_among_servers(partitioner, counts):
    strategy = LocalStrategy(num_workers=1, num_servers=3, variable_partitioner=partitioner)
    coordinator = coordinator_of(strategy)
    value = np.arange(64, dtype="float32").reshape(16, 4)
    with strategy.scope():
        scalar, table = podium.Variable(2.0), podium.Variable(value)
    step = podium.function(lambda: table.assign_add(table * scalar))
    coordinator.schedule(step)
    coordinator.join()
    layouts = [strategy._remote.layout(variable) for variable in (scalar, table)]
    assert [len(layout.shards) for layout in layouts] == counts
    assert len({shard.server for shard in layouts[1].shards}) == min(counts[1], 3)
    np.testing.assert_array_equal(table.numpy(), value * 3)
    table.assign(value)
    np.testing.assert_array_equal(table.numpy(), value)
    strategy.close()
    np.testing.assert_array_equal(table.numpy(), value)
