"""Strategies of one replica: scopes, running steps, and names of devices."""

import jax
import numpy as np
import pytest

import podium
from podium import distribute


def test_get_strategy_returns_the_strategy_of_the_open_scope():
    default = distribute.get_strategy()
    assert not distribute.has_strategy() and type(default) is distribute.Strategy
    strategy = distribute.OneDeviceStrategy("/cpu:0")
    with strategy.scope() as opened:
        assert (
            opened is strategy
            and distribute.get_strategy() is strategy
            and distribute.has_strategy()
        )
        with strategy.scope():
            assert distribute.get_strategy() is strategy
        with default.scope():
            assert distribute.get_strategy() is default
    assert distribute.get_strategy() is default


def test_different_strategies_do_not_nest():
    one, other = distribute.OneDeviceStrategy("/cpu:0"), distribute.OneDeviceStrategy("/cpu:1")
    with one.scope(), pytest.raises(RuntimeError, match="Strategies do not nest"), other.scope():
        pass
    assert distribute.get_strategy() is not one


def test_run_passes_arguments_and_updates_variables_also_when_compiled():
    strategy = distribute.get_strategy()
    total = podium.Variable(0.0)

    @podium.function
    def step(x):
        result = strategy.run(
            lambda x, scale: total.assign_add(x * scale), args=(x,), kwargs={"scale": 2.0}
        )
        return strategy.unwrap(result)[0]

    assert (
        float(step(podium.Tensor(3.0))) == 6.0
        and float(step(podium.Tensor(1.0))) == 8.0
        and step.trace_count == 1
    )


def test_reduce_and_unwrap_of_one_replica_return_its_result():
    strategy = distribute.get_strategy()
    value = podium.Tensor([1.0, 3.0])
    assert strategy.unwrap(value) == (value,) == strategy.experimental_local_results(value)
    assert strategy.reduce("SUM", value) is value and strategy.gather(value, axis=0) is value
    assert float(strategy.reduce(distribute.ReduceOp.MEAN, value, axis=0)) == 2.0
    assert float(strategy.reduce("sum", {"a": value}, axis=0)["a"]) == 4.0
    with pytest.raises(ValueError, match="Unknown reduce_op 'max'"):
        strategy.reduce("max", value)
    assert (
        strategy.num_replicas_in_sync == 1
        and not strategy._should_use_with_coordinator
        and strategy.extended is strategy
    )


def test_default_strategy_returns_datasets_unchanged():
    strategy = distribute.get_strategy()
    data = [1, 2]
    assert strategy.experimental_distribute_dataset(data) is data
    made = strategy.distribute_datasets_from_function(
        lambda context: [context.get_per_replica_batch_size(8)]
    )
    assert made == [8]
    with pytest.raises(ValueError, match="global_batch_size=9 was given for 2 replicas"):
        distribute.InputContext(num_replicas_in_sync=2).get_per_replica_batch_size(9)


def test_one_device_places_variables_on_it():
    strategy = distribute.OneDeviceStrategy("/device:CPU:1")
    with strategy.scope():
        variable = podium.Variable(np.ones(2, "float32"))
        layer = podium.layers.Dense(2)
        layer.build((None, 3))
    assert variable.value.devices() == layer.kernel.value.devices() == {jax.devices()[1]}
    assert strategy.run(lambda: podium.ops.zeros(2)).value.devices() == {jax.devices()[1]}


@pytest.mark.parametrize(
    "name",
    ["/cpu:0", "cpu:0", "CPU", "/device:CPU:0", "/job:localhost/replica:0/task:0/device:CPU:0"],
)
def test_find_device_accepts_several_names(name):
    assert distribute.find_device(name) == jax.devices()[0]


@pytest.mark.parametrize("name", ["/gpu:0", "/cpu:99", "/nonsense:0"])
def test_unknown_device_is_named(name):
    with pytest.raises(
        ValueError,
        match=rf"device='{name}' was given, and this machine has no such device. It has '/cpu:0'",
    ):
        distribute.OneDeviceStrategy(device=name)


def test_invalid_device_name_is_refused():
    with pytest.raises(ValueError, match="a name such as '/cpu:0'"):
        distribute.find_device(3)


def test_replica_context_of_one_replica_returns_values_unchanged():
    context = distribute.get_replica_context()
    assert context.all_reduce("sum", 3.0) == 3.0 and context.num_replicas_in_sync == 1
    assert context.merge_call(lambda strategy, x: (strategy, x), args=(1,)) == (
        distribute.get_strategy(),
        1,
    )


def test_losses_are_scaled_by_the_number_of_replicas():
    class Four(distribute.Strategy):
        @property
        def num_replicas_in_sync(self):
            return 4

    assert distribute.scale_loss_for_distribution(8.0) == 8.0
    with Four().scope():
        assert distribute.scale_loss_for_distribution(8.0) == 2.0
