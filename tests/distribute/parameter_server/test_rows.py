"""Embedding tables under a ParameterServerStrategy: only the rows of a batch are moved."""

import random

import numpy as np
import pytest

import podium
from podium import layers
from podium.distribute import FixedShardsPartitioner, MaxSizePartitioner, MinSizePartitioner
from podium.optimizers import SGD, Adagrad, Adam
from tests.distribute.parameter_server.local_cluster import (
    LocalStrategy,
    applied_steps,
    coordinator_of,
    lose,
)

NUM_ROWS, SIZE, BATCH = 300, 4, 20
RNG = np.random.default_rng(0)
X = RNG.integers(0, NUM_ROWS, (200, 3)).astype("int32")
X[:, 1] = X[:, 0]  # repeated in each sample
Y = RNG.normal(size=(200, 1)).astype("float32")


def make_model(strategy=None, optimizer=None, num_rows=NUM_ROWS, k=1, **options):
    podium.utils.set_random_seed(1)
    with (strategy or podium.distribute.get_strategy()).scope():
        table = layers.Embedding(num_rows, SIZE, name="table", **options)
        model = podium.Sequential(
            [podium.Input((3,), dtype="int32"), table, layers.Flatten(), layers.Dense(1)]
        )
        model.compile(optimizer or SGD(0.1), "mse", steps_per_execution=k)
    return model


def fit(model, **arguments):
    options = {"batch_size": BATCH, "epochs": 2, "shuffle": False, "verbose": 0} | arguments
    return model.fit(X, Y, **options)


def assert_equal_models(left, right, tolerance=1e-6):
    for a, b in zip(left.get_weights(), right.get_weights(), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=tolerance)


def num_different_ids(size=BATCH):
    return sum(len(np.unique(X[start : start + size])) for start in range(0, len(X), size))


def rows_pulled(strategy):
    return coordinator_of(strategy)._scheduler.rows_pulled


@pytest.mark.parametrize(
    ("make_optimizer", "num_tables", "partitioner", "k"),
    [
        (lambda: SGD(0.1), 1, None, 1),
        (lambda: SGD(0.1), 1, None, 2),
        (lambda: Adagrad(0.1), 2, FixedShardsPartitioner(3), 1),
        (lambda: Adagrad(0.1, global_clipnorm=0.1), 2, MinSizePartitioner(64, max_shards=4), 1),
        (lambda: SGD(0.1, clipvalue=0.01), 1, MaxSizePartitioner(1000), 1),
    ],
)
def test_fit_moves_the_rows_of_its_batches(make_optimizer, num_tables, partitioner, k):
    alone = make_model(optimizer=make_optimizer(), k=k, mask_zero=True)
    strategy = LocalStrategy(num_workers=1, num_servers=2, variable_partitioner=partitioner)
    model = make_model(strategy, make_optimizer(), k=k, mask_zero=True)
    expected, history = fit(alone).history, fit(model).history
    np.testing.assert_allclose(history["loss"], expected["loss"], rtol=1e-5)
    assert_equal_models(model, alone)
    assert rows_pulled(strategy) == 2 * num_tables * num_different_ids(k * BATCH)
    scheduler = coordinator_of(strategy)._scheduler
    whole = 20 // k * num_tables * NUM_ROWS * SIZE * 4
    assert scheduler.bytes_pulled < whole / 2
    assert scheduler.bytes_pushed < whole / 2
    strategy.close()
    assert_equal_models(model, alone)


@pytest.mark.parametrize(
    ("make_optimizer", "options"),
    [
        (lambda: Adam(0.1), {}),
        (lambda: SGD(0.1, momentum=0.9), {}),
        (lambda: SGD(0.1, weight_decay=0.1), {}),
        (lambda: SGD(0.1, use_ema=True), {}),
        (lambda: SGD(0.1, gradient_accumulation_steps=2), {}),
        (lambda: SGD(0.1), {"embeddings_regularizer": "l2"}),
        (lambda: SGD(0.1), {"embeddings_constraint": "unit_norm"}),
    ],
)
def test_table_of_which_other_rows_change_is_moved_as_a_whole(make_optimizer, options):
    alone = make_model(optimizer=make_optimizer(), **options)
    strategy = LocalStrategy(num_workers=1)
    model = make_model(strategy, make_optimizer(), **options)
    fit(alone, epochs=1)
    fit(model, epochs=1)
    assert_equal_models(model, alone, 1e-5)
    assert rows_pulled(strategy) == 0
    strategy.close()


def test_large_table_that_is_moved_as_a_whole_warns_once():
    strategy = LocalStrategy(num_workers=1)
    model = make_model(strategy, Adam(0.1), num_rows=70_000)
    with pytest.warns(UserWarning, match=r"70,000 rows of the table 'table/embeddings'") as caught:
        fit(model, epochs=1)
        model.fit(X[:15], Y[:15], batch_size=10, verbose=0)  # another shape
    assert len(caught) == 1
    message = str(caught[0].message)
    assert "lazy_embedding_updates=True" in message
    assert caught[0].filename == __file__
    strategy.close()


def test_lazy_updates_keep_the_rows_that_no_batch_looks_up():
    strategy = LocalStrategy(num_workers=1, lazy_embedding_updates=True)
    model, alone = make_model(strategy, Adam(0.1)), make_model(optimizer=Adam(0.1))
    start = alone.get_weights()[0]
    step = podium.function(lambda x, y: model.train_step((x, y)))
    coordinator = coordinator_of(strategy)
    for part in (slice(10), slice(10, 20)):
        coordinator.schedule(step, args=(X[part], Y[part]))
    coordinator.join()
    # Of the table and of two slots.
    assert rows_pulled(strategy) == 3 * sum(len(np.unique(x)) for x in (X[:10], X[10:20]))
    table = model.get_weights()[0]
    unseen = np.setdiff1d(np.arange(NUM_ROWS), X[:20])
    np.testing.assert_array_equal(table[unseen], start[unseen])
    alone.train_on_batch(X[:10], Y[:10])
    only_first = np.setdiff1d(X[:10], X[10:20])
    assert len(only_first)
    np.testing.assert_allclose(table[only_first], alone.get_weights()[0][only_first], atol=1e-6)
    strategy.close()


def test_tied_table_is_moved_as_a_whole():
    class Tied(podium.Model):
        def __init__(self):
            super().__init__()
            self.table = layers.Embedding(NUM_ROWS, SIZE)

        def call(self, x):
            vectors = podium.ops.mean(self.table(x), axis=1)
            return podium.ops.matmul(vectors, podium.ops.transpose(self.table.embeddings))

    models = []
    for strategy in (LocalStrategy(num_workers=1), podium.distribute.get_strategy()):
        podium.utils.set_random_seed(1)
        with strategy.scope():
            model = Tied()
            loss = podium.losses.SparseCategoricalCrossentropy(from_logits=True)
            model.compile(SGD(1.0), loss)
        model.fit(X, X[:, 0], batch_size=BATCH, epochs=1, shuffle=False, verbose=0)
        models.append((model, strategy))
    (model, strategy), (alone, _) = models
    assert_equal_models(model, alone)
    assert rows_pulled(strategy) == 0
    strategy.close()


def test_several_lookups_of_a_table_move_its_rows_once():
    class Pairs(podium.Model):
        def __init__(self):
            super().__init__()
            self.table = layers.Embedding(NUM_ROWS, SIZE)

        def call(self, x):
            left = self.table(x[:, 0])
            right = self.table(podium.ops.cast(x[:, 2], "float32"))  # ids as floats
            return podium.ops.sum(left * right, axis=-1, keepdims=True)

    models = []
    for strategy in (LocalStrategy(num_workers=1), podium.distribute.get_strategy()):
        podium.utils.set_random_seed(1)
        with strategy.scope():
            model = Pairs()
            model.compile(Adagrad(0.1), "mse")
        model.fit(X, Y, batch_size=BATCH, epochs=1, shuffle=False, verbose=0)
        models.append((model, strategy))
    (model, strategy), (alone, _) = models
    assert_equal_models(model, alone)
    assert rows_pulled(strategy) == 2 * num_different_ids()
    strategy.close()


def test_ids_outside_of_the_table_raise_the_same_error():
    strategy = LocalStrategy(num_workers=1)
    model = make_model(strategy)
    x = X.copy()
    x[150, 1] = NUM_ROWS
    with pytest.raises(ValueError, match=r"was given the index 300; it has input_dim=300"):
        model.fit(x, Y, batch_size=BATCH, verbose=0)
    strategy.close()


def test_ids_outside_of_the_table_are_nan_and_count_from_the_end_in_scheduled_steps():
    strategy = LocalStrategy(num_workers=1, variable_partitioner=FixedShardsPartitioner(2))
    coordinator = coordinator_of(strategy)
    with strategy.scope():
        table = layers.Embedding(NUM_ROWS, SIZE)
        table.build()
    values = table.embeddings.numpy()
    look_up = podium.function(lambda ids: table(ids))
    result = coordinator.schedule(look_up, args=(np.int32([-1, 3, NUM_ROWS]),)).fetch()
    np.testing.assert_array_equal(result[:2], values[[-1, 3]])
    assert np.isnan(result[2]).all()
    assert rows_pulled(strategy) == 2
    strategy.close()


@pytest.mark.parametrize("staleness", [None, 0])
def test_rows_of_lost_workers_are_changed_once(staleness):
    tables = []
    for loses in (False, True):
        strategy = LocalStrategy(
            variable_partitioner=FixedShardsPartitioner(3),
            num_workers=2,
            num_servers=2,
            staleness=staleness,
        )
        coordinator = coordinator_of(strategy)
        with strategy.scope():
            table = podium.Variable(np.zeros((NUM_ROWS, SIZE), "float32"))
        step = _adder(table)
        draw = random.Random(0)
        if loses:
            strategy._cluster.remote.before_stage = strategy._cluster.remote.after_stage = (
                lambda step, attempt, draw=draw: (
                    lose(0) if attempt < 3 and draw.random() < 0.4 else None
                )
            )
        for start in range(0, 200, 10):
            coordinator.schedule(step, args=(X[start : start + 10].ravel(),))
        coordinator.join()
        assert (strategy._cluster.num_restarts > 3) == loses
        assert applied_steps(strategy) == [20, 20]
        assert rows_pulled(strategy) > 0
        strategy.close()
        tables.append(table.numpy())
    counts = np.bincount(X.ravel(), minlength=NUM_ROWS)
    for each in tables:
        np.testing.assert_array_equal(each, np.repeat(counts[:, None], SIZE, axis=1))


def _adder(table):
    """Return a step that adds one to rows, as often as their ids are given."""
    add_at = podium.lift(lambda values, ids: values.at[ids].add(1.0))

    @podium.function
    def step(ids):
        table.assign(add_at(table, ids))

    return step


def test_values_that_were_read_are_not_changed_by_later_steps():
    strategy = LocalStrategy(num_workers=1)
    coordinator = coordinator_of(strategy)
    with strategy.scope():
        table = podium.Variable(np.zeros((NUM_ROWS, SIZE), "float32"))
    step = _adder(table)
    ids = np.int32([1, 2, 2])
    values = []
    for _ in range(3):
        coordinator.schedule(step, args=(ids,))
        coordinator.join()
        values.append(table.numpy())
    assert [each[2, 0] for each in values] == [2.0, 4.0, 6.0]
    assert [each[:, 0].sum() for each in values] == [3.0, 6.0, 9.0]
    strategy.close()
