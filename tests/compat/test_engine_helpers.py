"""The helpers of Keras 2's training loop that excerpts and forks of it call."""

import types

import jax
import numpy as np
import pytest
from jax.experimental import sparse

import podium
from podium.compat import tensorflow as tf
from podium.compat.keras.engine import data_adapter, tf_utils, training, training_utils


class ListWriter(tf.summary.SummaryWriter):
    def __init__(self):
        self.records = []

    def write_scalar(self, name, value, step):
        self.records.append((name, value, step))


def foreign_strategy(gather=None, results=None, **extended):
    """A strategy that is not Podium's."""
    return types.SimpleNamespace(
        gather=gather,
        experimental_local_results=results,
        extended=types.SimpleNamespace(**extended),
    )


def test_unpack_returns_x_and_y():
    assert data_adapter.unpack(("x", "y")) == ("x", "y")
    assert data_adapter.unpack("x") == ("x", None)
    with pytest.raises(ValueError, match="sample weights, which `\\(x, y\\)` would leave out"):
        data_adapter.unpack(("x", "y", "w"))


def test_concat_of_dense_scalar_and_sparse_values():
    rows = [np.full((size, 2), size, "float32") for size in (2, 1)]
    np.testing.assert_array_equal(training.concat(rows), np.concatenate(rows))
    np.testing.assert_array_equal(training.concat(rows[:1] * 2, axis=1), np.full((2, 4), 2.0))
    stacked = training.concat([podium.Tensor(1.0), podium.Variable(2.0)])
    np.testing.assert_array_equal(stacked, [1.0, 2.0])
    together = training.concat([sparse.BCOO.fromdense(part) for part in rows])
    assert isinstance(together, sparse.BCOO) and together.shape == (3, 2)
    np.testing.assert_array_equal(together.todense(), np.concatenate(rows))


def test_minimum_control_deps_are_the_first_output_while_tracing():
    seen, weight = [], podium.Variable(1.0)

    @podium.function
    def step(x):
        outputs = {"a": weight, "b": x, "c": x + 1}
        seen.append((training._minimum_control_deps(outputs), x))
        with tf.control_dependencies(training._minimum_control_deps(outputs)):
            return x

    step(podium.Tensor(1.0))
    (dependencies, traced), *_ = seen
    assert len(dependencies) == 1 and dependencies[0] is traced
    assert training._minimum_control_deps({"a": podium.Tensor(1.0)}) == []


def test_tpu_concat_changes_host_order_to_replica_order():
    # Two hosts of two replicas: values are returned host by host.
    returned = [np.array([0]), np.array([2]), np.array([1, 1]), np.array([3])]
    strategy = foreign_strategy(results=lambda value: returned, num_replicas_per_host=2)
    assert np.asarray(training._tpu_multi_host_concat(None, strategy)).tolist() == [0, 1, 1, 2, 3]


def test_multi_worker_concat_orders_uneven_values_by_replica():
    # Two workers of two replicas; the second worker's first replica has two rows.
    values = types.SimpleNamespace(values=(np.array([0.0]), np.array([2.0])))
    gathered = {
        "values": np.array([0.0, 2.0, 1.0, 1.5, 3.0], "float32"),
        "sizes": np.array([1, 1, 2, 1]),
    }
    strategy = foreign_strategy(
        gather=lambda value, axis: gathered["values" if value is values else "sizes"],
        worker_devices=("/cpu:0", "/cpu:1"),
    )
    result = training._multi_worker_concat(values, strategy)
    assert np.asarray(result).tolist() == [0.0, 1.0, 1.5, 2.0, 3.0]


def test_concats_keep_the_order_of_replicas_of_podium_strategies():
    strategy = podium.distribute.MirroredStrategy(2)
    value = podium.distribute.PerReplica(jax.numpy.arange(6.0).reshape(2, 3))
    for concat in (training._multi_worker_concat, training._tpu_multi_host_concat):
        np.testing.assert_array_equal(concat(value, strategy), np.arange(6.0))
    assert not training._is_tpu_multi_host(strategy)
    assert not training._collective_all_reduce_multi_worker(strategy)
    assert training._is_per_replica_instance(value) and training._is_scalar(podium.Tensor(1.0))


def test_summaries_are_written_to_the_default_writer():
    writer, step = ListWriter(), podium.Variable(0)
    logs = {"loss": podium.Tensor(0.5), "mae": 2.0, "confusion": np.ones((2, 2))}
    training.write_scalar_summaries(logs, step)  # no writer is active
    with writer.as_default():
        step.assign_add(1)
        training.write_scalar_summaries(logs, step)
    training.write_scalar_summaries(logs, step)
    assert writer.records == [("batch_loss", 0.5, 1), ("batch_mae", 2.0, 1)]


def test_summaries_are_written_from_compiled_functions():
    writer, count = ListWriter(), podium.Variable(0, trainable=False)

    @podium.function
    def step(x):
        count.assign_add(1)
        training.write_scalar_summaries({"loss": 2.0 * x}, step=count)

    with writer.as_default():
        for value in (1.0, 2.0):
            step(podium.Tensor(value))
        writer.flush()
        assert writer.records == [("batch_loss", 2.0, 1), ("batch_loss", 4.0, 2)]


def test_summary_scalar_uses_the_default_step_and_checks_its_value():
    writer = ListWriter()
    with writer.as_default(step=7):
        assert tf.summary.scalar("a", 1)
        with pytest.raises(ValueError, match=r"was given a value of shape \(2,\)"):
            tf.summary.scalar("a", [1.0, 2.0])
    assert writer.records == [("a", 1, 7)]
    with writer.as_default(), pytest.raises(ValueError, match="was given no step; pass `step=`"):
        tf.summary.scalar("a", 1)
    assert tf.summary.scalar("a", 1, step=0) is False


def test_trainable_state_of_compile_holds_in_the_block():
    model = podium.Sequential([podium.Input((1,)), podium.layers.Dense(1)])
    with training_utils.RespectCompiledTrainableState(model):
        assert model.layers[0].trainable
    model.compile("sgd", "mse")
    model.layers[0].trainable = False
    state = training_utils.RespectCompiledTrainableState(model)
    with pytest.raises(KeyError, match="inside"), state:
        assert len(model.trainable_variables) == 2
        raise KeyError("inside")
    assert model.trainable_variables == []


def test_loops_over_data_are_refused_inside_a_function():
    training._disallow_inside_tf_function("fit")

    @podium.function
    def step():
        training._disallow_inside_tf_function("fit")

    with pytest.raises(RuntimeError, match=r"`fit` was called inside .* `model\(x\)`"):
        step()


def test_values_become_numpy_or_python_numbers():
    values = {"loss": podium.Tensor(0.5), "rows": [podium.Variable([1, 2])], "text": "a"}
    result = tf_utils.sync_to_numpy_or_python_type(values)
    assert result["loss"] == 0.5 and type(result["loss"]) is float and result["text"] == "a"
    assert type(result["rows"][0]) is np.ndarray and result["rows"][0].tolist() == [1, 2]


def test_metrics_are_listed_in_order():
    logs = {"b": 2.0, "loss": 1.0, "a": 3.0}
    assert training.flatten_metrics_in_order(logs, ["loss", "b"]) == [1.0, 2.0, 3.0]
    assert training.flatten_metrics_in_order({"loss": 1.0}, ["loss"]) == 1.0
