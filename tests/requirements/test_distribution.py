"""Requirements 62-68: strategies, replicas and what is reduced over them."""

import inspect
import types

import numpy as np
import pytest

import podium
from podium.compat import keras
from podium.compat import tensorflow as tf
from podium.compat.keras.engine import training
from tests.distribute.parameter_server.local_cluster import LocalStrategy

from .helpers import flat_weights, make_network, make_samples

X, Y = make_samples()
DEVICES = ["/cpu:0", "/cpu:1", "/cpu:2", "/cpu:3"]


@pytest.fixture(scope="module")
def strategy():
    return tf.distribute.MirroredStrategy(DEVICES)


def distribute(strategy, array):
    """Return what the iterator of a distributed dataset yields for an array as one batch."""
    dataset = tf.data.Dataset.from_tensor_slices(array).batch(len(array))
    return next(iter(strategy.experimental_distribute_dataset(dataset)))


def test_requirement_62_scopes_set_the_current_strategy_and_place_variables(strategy):
    """`get_strategy` returns the current strategy or the default one; variables made in
    `strategy.scope()` are placed by it; `OneDeviceStrategy(device=)` names a device.
    """
    default = tf.distribute.get_strategy()
    assert isinstance(default, tf.distribute.Strategy) and default.num_replicas_in_sync == 1
    with strategy.scope():
        assert tf.distribute.get_strategy() is strategy
        model = make_network()
        model.compile("adam", "mse", metrics=["mae"])
        own = tf.Variable(1.0)
    assert tf.distribute.get_strategy() is default and model.distribute_strategy is strategy
    model.fit(X, Y, verbose=0)
    made = [*model.variables, *model.optimizer.variables, model._train_counter.words, own]
    made += [variable for metric in model.metrics for variable in metric.variables]
    assert len(made) > 15 and all(len(variable.value.devices()) == 4 for variable in made)

    one = tf.distribute.OneDeviceStrategy(device="/cpu:2")
    assert one.num_replicas_in_sync == 1 and isinstance(one, tf.distribute.Strategy)
    with one.scope():
        variable = tf.Variable(1.0)
    (device,) = variable.value.devices()
    assert device.id == 2 and len(tf.Variable(1.0).value.devices()) == 1


def test_requirement_63_run_calls_a_function_per_replica(strategy):
    """`strategy.run(fn, args=)` runs a function on each replica, with its share of a batch, and
    returns PerReplica containers.
    """
    batch = distribute(strategy, np.arange(8, dtype="float32").reshape(8, 1))

    def replica_step(x, factor):
        replica = tf.distribute.get_replica_context().replica_id_in_sync_group
        return {"rows": x * factor, "replica": replica, "size": tf.shape(x)[0]}

    result = strategy.run(replica_step, args=(batch, 10.0))
    assert isinstance(result["rows"], podium.distribute.PerReplica)
    parts = strategy.unwrap(result)
    assert [int(part["replica"]) for part in parts] == [0, 1, 2, 3]
    assert [part["rows"].numpy().ravel().tolist() for part in parts] == [
        [0.0, 10.0], [20.0, 30.0], [40.0, 50.0], [60.0, 70.0],
    ]  # fmt: skip
    assert {int(part["size"]) for part in parts} == {2}
    single = tf.distribute.get_strategy().run(lambda x: x + 1.0, args=(tf.constant(1.0),))
    assert float(single) == 2.0


def test_requirement_64_reduce_per_replica(strategy):
    """`reduce_per_replica` maps over structures: "first" is the first replica's value, "concat"
    concatenates along the batch, other values pass, other names are refused.
    """
    batch = distribute(strategy, np.arange(8, dtype="float32").reshape(8, 1))
    result = strategy.run(
        lambda x: {"loss": tf.reduce_sum(x), "outputs": (x, [x * 2.0])}, args=(batch,)
    )
    first = training.reduce_per_replica(result, strategy, reduction="first")
    assert float(first["loss"]) == 1.0 == float(strategy.unwrap(result["loss"])[0])
    assert first["outputs"][1][0].numpy().tolist() == [[0.0], [2.0]]
    joined = training.reduce_per_replica(result, strategy, reduction="concat")
    np.testing.assert_array_equal(joined["outputs"][0], np.arange(8.0).reshape(8, 1))
    np.testing.assert_array_equal(joined["outputs"][1][0], 2.0 * np.arange(8.0).reshape(8, 1))
    assert joined["loss"].numpy().tolist() == [1.0, 5.0, 9.0, 13.0]
    plain = {"loss": tf.constant(3.0), "text": "a", "none": None}
    assert training.reduce_per_replica(plain, strategy, reduction="first") == plain
    with pytest.raises(
        ValueError, match=r"Unknown reduction 'last'\. Choices: .*'concat', 'first'"
    ):
        training.reduce_per_replica(result, strategy, reduction="last")


def test_requirement_65_concatenation_keeps_the_order_of_replicas(strategy):
    """Concatenation keeps the order of replicas across workers with uneven sizes, by gathering
    values and sizes, and undoes the order of hosts of TPUs.
    """
    gathered = {"value": [0.0, 2.0, 1.0, 1.5, 3.0], "sizes": [1, 1, 2, 1]}
    values = types.SimpleNamespace(values=(np.array([0.0]), np.array([2.0])))
    workers = types.SimpleNamespace(  # two workers of two replicas; the third has two rows
        gather=lambda value, axis: np.array(gathered["value" if value is values else "sizes"]),
        extended=types.SimpleNamespace(worker_devices=("/cpu:0", "/cpu:1")),
    )
    joined = training._multi_worker_concat(values, workers)
    assert np.asarray(joined).tolist() == [0.0, 1.0, 1.5, 2.0, 3.0]
    hosts = types.SimpleNamespace(
        experimental_local_results=lambda value: [np.array([i]) for i in (0, 2, 1, 3)],
        extended=types.SimpleNamespace(num_replicas_per_host=2),
    )
    joined = training._tpu_multi_host_concat(None, hosts)
    assert np.asarray(joined).tolist() == [0, 1, 2, 3]

    # 10 rows are not divisible by 4 replicas.
    with strategy.scope():
        model = make_network()
    outputs = model.predict(X[:10], batch_size=10, verbose=0)
    np.testing.assert_allclose(outputs, make_network()(X[:10]), rtol=1e-5, atol=1e-6)
    value = podium.distribute.PerReplica(np.arange(8.0, dtype="float32").reshape(4, 2))
    np.testing.assert_array_equal(strategy.gather(value, axis=0), np.arange(8.0))


def test_requirement_66_distributed_datasets_and_unwrap(strategy):
    """`experimental_distribute_dataset` yields batches that `run` splits, `unwrap` returns the
    values of replicas, and `_should_use_with_coordinator` is False for these strategies.
    """
    dataset = tf.data.Dataset.from_tensor_slices((X, Y)).batch(8)
    distributed = strategy.experimental_distribute_dataset(dataset)
    sizes, rows = [], []
    for batch in distributed:
        result = strategy.run(lambda data: (tf.shape(data[0])[0], data[0]), args=(batch,))
        sizes += [int(part) for part in strategy.unwrap(result[0])]
        rows += [np.asarray(part) for part in strategy.unwrap(result[1])]
    assert sizes == [2, 2, 2, 2, 1, 1, 1, 1]
    np.testing.assert_array_equal(np.concatenate(rows), X)
    iterator = iter(distributed)
    next(iterator), next(iterator)
    with pytest.raises(tf.errors.OutOfRangeError):
        next(iterator)
    for each in (strategy, tf.distribute.get_strategy(), tf.distribute.OneDeviceStrategy("/cpu:0")):
        assert each._should_use_with_coordinator is False
    model = make_network()
    assert model._cluster_coordinator is None
    with strategy.scope():
        model = make_network()
        model.compile("sgd", "mse")
    model.fit(distributed, verbose=0)
    assert int(model._train_counter.numpy()) == 2


def test_requirement_67_parameter_servers():
    """`ClusterCoordinator(strategy)` schedules functions on workers, which read the dataset that
    `create_per_worker_dataset` makes for each; Variables are on parameter servers.
    """
    distribute = tf.distribute
    assert distribute.experimental.ParameterServerStrategy is distribute.ParameterServerStrategy
    strategy = LocalStrategy(
        tf.distribute.cluster_resolver.SimpleClusterResolver(
            {"worker": ["a:1", "b:1"], "ps": ["c:1", "d:1"]}
        ),
        tf.distribute.experimental.partitioners.FixedShardsPartitioner(2),
    )
    assert strategy._should_use_with_coordinator
    coordinator = tf.distribute.experimental.coordinator.ClusterCoordinator(strategy)
    assert tf.distribute.coordinator.ClusterCoordinator(strategy) is coordinator
    with strategy.scope():
        total = tf.Variable(np.zeros(4, "float32"))

    def dataset_fn(context):
        assert context.num_input_pipelines == 2
        rows = np.full((3, 4), 10.0**context.input_pipeline_id, "float32")
        return tf.data.Dataset.from_tensor_slices(rows).repeat()

    @tf.function
    def step(iterator):
        row = next(iterator)
        total.assign_add(row)
        return tf.reduce_sum(row)

    iterator = iter(coordinator.create_per_worker_dataset(dataset_fn))
    values = [coordinator.schedule(step, args=(iterator,)) for _ in range(6)]
    coordinator.join()
    assert coordinator.done()
    assert total.numpy().tolist() == [sum(coordinator.fetch(values)) / 4] * 4
    strategy.close()


def test_requirement_68_steps_are_free_of_infrastructure(strategy):
    """Devices, workers and layouts are hidden behind narrow helpers: the code of a step names none,
    and uneven batches on four devices give the results of one.
    """
    for step in ("train_step", "test_step", "predict_step"):
        source = inspect.getsource(getattr(keras.Model, step)).lower()
        assert not any(word in source for word in ("strategy", "replica", "device", "mesh"))
    # The quirks that the documents name are plain functions of a value and a strategy.
    value = podium.distribute.PerReplica(np.zeros((4, 1), "float32"))
    assert training._is_per_replica_instance(value)
    assert not training._is_per_replica_instance(tf.zeros(4))
    assert not training._collective_all_reduce_multi_worker(strategy)
    assert not training._is_tpu_multi_host(strategy)

    def run(scope):
        with scope:
            model = make_network()
            model.compile("adam", "mse", metrics=["mae"])
        options = {"batch_size": 7, "verbose": 0}  # and a batch of 5
        losses = model.fit(X, Y, epochs=2, shuffle=False, **options).history["loss"]
        evaluated, predicted = model.evaluate(X, Y, **options), model.predict(X, **options)
        return np.concatenate([flat_weights(model), losses, evaluated, predicted.ravel()])

    expected = run(tf.distribute.get_strategy().scope())
    np.testing.assert_allclose(run(strategy.scope()), expected, rtol=2e-5, atol=2e-6)
