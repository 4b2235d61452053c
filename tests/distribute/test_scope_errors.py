"""Errors for models used outside of the scope they were made in; `reduce_per_replica`."""

import warnings

import jax
import numpy as np
import pytest

import podium
from podium import distribute, layers, ops


def network():
    return podium.Sequential([podium.Input((2,)), layers.Dense(1)])


def test_optimizer_of_another_scope_is_refused():
    with distribute.MirroredStrategy(2).scope():
        model = network()
    message = (
        r"Variable 'sgd/iteration' of the optimizer was made outside of all scopes, "
        r"and model .* in the scope of <.*data: 2>"
    )
    optimizer = podium.optimizers.SGD()
    with pytest.raises(ValueError, match=message):
        model.compile(optimizer, "mse")
    assert not model.compiled


def test_metric_of_another_scope_is_refused():
    with distribute.MirroredStrategy(2).scope():
        metric = podium.metrics.MeanAbsoluteError()
    message = (
        r"Variable .* of metric 'mean_absolute_error' was made in the scope of <.*data: 2>, "
        r"and model .* outside of all scopes"
    )
    with pytest.raises(ValueError, match=message):
        network().compile("sgd", "mse", metrics=[metric])


def test_layers_of_another_scope_are_refused():
    with distribute.MirroredStrategy(2).scope():
        layer = layers.Dense(1)
        layer.build((None, 2))
    with distribute.MirroredStrategy(4).scope():
        model = podium.Sequential([podium.Input((2,)), layer])
        with pytest.raises(
            ValueError,
            match=r"Variable 'dense/kernel' of the model was made in the scope of <.*data: 2>, "
            r"and .*4>",
        ):
            model.compile("sgd", "mse")


def test_fit_inside_jit_and_inside_run_is_refused():
    strategy = distribute.MirroredStrategy(2)
    with strategy.scope():
        model = network()
        model.compile("sgd", "mse")
    x, y = np.ones((4, 2)), np.ones((4, 1))
    with pytest.raises(RuntimeError, match=r"`fit` was called inside a compiled function"):
        jax.jit(lambda: model.fit(x, y))()
    with pytest.raises(RuntimeError, match=r"`fit` was called inside a compiled function"):
        strategy.run(lambda: model.fit(x, y))
    with (
        distribute.MirroredStrategy(4).scope(),
        pytest.raises(RuntimeError, match=r"Strategies do not nest"),
    ):
        model.fit(x, y)


def test_reduce_per_replica():
    strategy = distribute.MirroredStrategy(2)
    rows = distribute.PerReplica(np.array([[[1.0], [2.0]], [[3.0], [4.0]]], "float32"))
    values = {
        "loss": distribute.PerReplica(np.array([1.0, 5.0], "float32")),
        "rows": rows,
        "plain": 3,
    }

    def reduced(how):
        found = distribute.reduce_per_replica(values, strategy, how)
        return float(np.mean(found["loss"])), np.ravel(found["rows"]).tolist(), found["plain"]

    assert reduced("first") == (1.0, [1.0, 2.0], 3)
    assert reduced("sum") == (6.0, [4.0, 6.0], 3)
    assert reduced("mean") == reduced("mean") == (3.0, [2.0, 3.0], 3)
    assert reduced("concat") == (3.0, [1.0, 2.0, 3.0, 4.0], 3)
    assert distribute.reduce_per_replica(values, strategy, "concat")["loss"].shape == (2,)
    assert reduced("auto") == (3.0, [1.0, 2.0, 3.0, 4.0], 3)
    assert float(distribute.spread_between_replicas(values)["loss"]) == 4.0
    with pytest.raises(ValueError, match=r"Unknown reduction 'frist'. Did you mean 'first'"):
        distribute.reduce_per_replica(values, strategy, "frist")
    assert distribute.reduce_per_replica({"a": 1}, distribute.get_strategy(), "first") == {"a": 1}


def test_replicas_that_disagree_warn():
    strategy = distribute.MirroredStrategy(2)
    with strategy.scope():
        wrong = podium.Variable(0.0, name="wrong")

    def step():
        wrong.assign(ops.cast(distribute.get_replica_context().replica_id_in_sync_group, "float32"))

    with pytest.warns(UserWarning, match=r"The devices disagree about Variable 'wrong'"):
        strategy.run(step)
    with pytest.warns(UserWarning, match=r"disagree about Variable 'wrong'"):
        assert not distribute.check_in_sync([wrong])
    wrong.assign(1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert distribute.check_in_sync([wrong])


def test_replicas_can_run_the_train_step_of_a_model():
    x = np.random.default_rng(0).normal(size=(8, 2)).astype("float32")
    y = x[:, :1]

    def run(strategy):
        podium.utils.set_random_seed(2)
        with strategy.scope():
            model = network()
            model.compile(podium.optimizers.SGD(0.1), "mse", metrics=["mae"])
        for batch in strategy.experimental_distribute_dataset(
            podium.data.Dataset.from_tensor_slices((x, y)).batch(4)
        ):
            logs = distribute.reduce_per_replica(
                strategy.run(model.train_step, args=(batch,)), strategy
            )
        return model.layers[0].kernel.numpy(), {name: float(value) for name, value in logs.items()}

    kernel, logs = run(distribute.get_strategy())
    ours, our_logs = run(distribute.MirroredStrategy(2))
    np.testing.assert_allclose(ours, kernel, rtol=1e-5)
    assert our_logs == pytest.approx(logs, rel=1e-5)
