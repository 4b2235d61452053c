"""Requirements 36-49: sources of data, and how epochs and steps are counted."""

import contextlib
import sys
import warnings

import numpy as np
import pytest
from requirement_cases import make_linear, make_recorder
from seed_engines import run_text

import podium
from podium.compat import keras
from podium.compat import tensorflow as tf
from podium.compat.keras.engine import data_adapter
from tests.distribute.parameter_server.local_cluster import LocalStrategy, coordinator_of

from .helpers import compare, load_record

X = np.arange(7, dtype="float32").reshape(7, 1)


class Sequence(keras.utils.Sequence):
    """Batches of three, two and two rows."""

    def __len__(self):
        return 3

    def __getitem__(self, index):
        return X[[0, 3, 5][index] : [3, 5, 7][index]]


def read(handler):
    """Return the first values of the batches, by epoch and step."""
    seen = []
    for epoch, iterator in handler.enumerate_epochs():
        with handler.catch_stop_iteration():
            for step in handler.steps():
                values = [
                    float(np.ravel(next(iterator))[0]) for _ in range(handler.execution_steps)
                ]
                seen.append((epoch, step, step + handler.step_increment, values))
    return seen


def test_requirement_36_get_data_handler_returns_a_data_handler():
    """`get_data_handler` returns a `DataHandler` for the arguments of `fit`; for a model with a
    cluster coordinator one whose batches are scheduled on workers.
    """
    handler = data_adapter.get_data_handler(X, X, batch_size=3, epochs=2, model=make_linear(tf))
    assert type(handler) is data_adapter.DataHandler
    assert isinstance(handler, podium.data.DataHandler)
    assert handler.inferred_steps == 3
    epochs = [epoch for epoch, iterator in handler.enumerate_epochs() for _ in iterator]
    assert epochs == [0, 0, 0, 1, 1, 1]

    strategy = LocalStrategy(num_workers=2)
    with strategy.scope():
        model = make_linear(tf)
        total = tf.Variable(0.0)
    model._cluster_coordinator = coordinator_of(strategy)
    handler = data_adapter.get_data_handler(X, batch_size=3, epochs=2, model=model)
    assert type(handler) is data_adapter._ClusterCoordinatorDataHandler
    step = tf.function(lambda it: {"sum": total.assign_add(tf.reduce_sum(next(it)))})
    results = []
    for _, iterator in handler.enumerate_epochs():
        with handler.catch_stop_iteration():
            for _ in handler.steps():
                results.append(model._cluster_coordinator.schedule(step, args=(iterator,)))
        handler.sync()
    assert float(total) == pytest.approx(2 * X.sum())
    sums = [logs["sum"] for logs in handler.resolve_logs(results)]
    assert len(sums) == 6
    assert all(0 < value <= total for value in sums)  # what a worker saw of the other's sums
    strategy.close()


def test_requirement_37_adapters_turn_many_types_into_batches():
    """The type of the input selects a `DataAdapter`, which turns it into batches."""
    scipy_sparse = pytest.importorskip("scipy.sparse")
    rows = X.tolist()
    sources = {
        "array": X,
        "list": rows,
        "tensor": tf.constant(X),
        "dictionary": {"a": X},
        "dataset": tf.data.Dataset.from_tensor_slices(X).batch(3),
        "sequence": Sequence(),
        "generator": (X[i : i + 3] for i in (0, 3, 6)),
        "iterable": [X[:3], X[3:6], X[6:]].__iter__(),
        "sparse": scipy_sparse.csr_matrix(X),
    }
    kinds = set()
    for name, source in sources.items():
        has_batches = name in ("dataset", "sequence", "generator", "iterable")
        options = {} if has_batches else {"batch_size": 3}
        handler = data_adapter.DataHandler(source, **options)
        kinds.add(type(handler.adapter))
        batches = [batch for _, iterator in handler.enumerate_epochs() for batch in iterator]
        values = [b["a"] if name == "dictionary" else b for b in batches]
        values = [v.todense() if hasattr(v, "todense") else v for v in values]
        assert np.concatenate([np.asarray(v) for v in values]).tolist() == rows, name
    assert all(issubclass(kind, data_adapter.DataAdapter) for kind in kinds) and len(kinds) >= 4


def test_requirement_38_epochs_run_from_the_initial_one():
    """`enumerate_epochs` yields `(epoch, iterator)` for `initial_epoch` up to `epochs`."""
    handler = data_adapter.DataHandler(X, batch_size=4, initial_epoch=2, epochs=5)
    seen = [
        (epoch, [float(batch[0, 0]) for batch in iterator])
        for epoch, iterator in handler.enumerate_epochs()
    ]
    assert seen == [(epoch, [0.0, 4.0]) for epoch in (2, 3, 4)]
    history = make_linear(tf).fit(X, X, initial_epoch=2, epochs=5, verbose=0)
    assert history.epoch == [2, 3, 4]


class Counts:
    """A source of two batches that can be iterated again, and counts how often."""

    def __init__(self):
        self.iterations = 0

    def __iter__(self):
        self.iterations += 1
        yield X[:4]
        yield X[4:]


@pytest.mark.filterwarnings("ignore:Your input ran out of data")
def test_requirement_39_iterators_are_made_again_if_the_adapter_asks():
    """One iterator is made at the start, and one per epoch if and only if
    `adapter.should_recreate_iterator()`.
    """
    handler = data_adapter.DataHandler(Counts(), epochs=3)
    assert handler.adapter.should_recreate_iterator()
    assert len({id(iterator) for _, iterator in handler.enumerate_epochs() if list(iterator)}) == 3
    assert handler.adapter.source.iterations == 3

    stream = data_adapter.DataHandler((X[i : i + 1] for i in range(7)), steps_per_epoch=3, epochs=2)
    assert not stream.adapter.should_recreate_iterator()
    iterators = []
    for _, iterator in stream.enumerate_epochs():
        iterators.append(iterator)
        assert len([next(iterator) for _ in stream.steps()]) == 3
    assert iterators[0] is iterators[1]

    # With `steps_per_epoch`, an endless dataset continues where the last epoch stopped.
    endless = tf.data.Dataset.from_tensor_slices(X).batch(1).repeat()
    handler = data_adapter.DataHandler(endless, steps_per_epoch=3, epochs=3)
    assert [values for *_, values in read(handler)] == [[i % 7] for i in range(9)]


def test_requirement_40_the_adapter_is_called_at_the_end_of_each_epoch():
    """`adapter.on_epoch_end()` is called after each epoch, as is that of a Sequence."""
    ended = []

    class Shuffles(Sequence):
        def on_epoch_end(self):
            ended.append(len(seen))

    seen = []
    handler = data_adapter.DataHandler(Shuffles(), epochs=2)
    for _, iterator in handler.enumerate_epochs():
        seen += list(iterator)
    assert ended == [3, 6]


def test_requirement_41_an_execution_is_cut_to_the_epoch():
    """`steps_per_execution` beyond the length of an epoch is lowered to it for a run, and restored
    afterwards.
    """
    result = compare("short_epoch")
    assert result["steps_per_execution"] == 5
    steps = podium.data.StepsPerExecution(9)
    handler = data_adapter.DataHandler(X, batch_size=3, steps_per_execution=steps)
    for _, _ in handler.enumerate_epochs():
        assert steps.numpy().item() == 3
    assert steps.numpy().item() == 9


def test_requirement_42_steps_yields_the_start_of_each_execution():
    """`steps` yields the index of the first step of each execution; without a known size it
    continues until the data are exhausted.
    """
    known = data_adapter.DataHandler(X, batch_size=1, steps_per_execution=2)
    assert known.inferred_steps == 7
    assert [step for _, step, _, _ in read(known)] == [0, 2, 4, 6]
    unknown = data_adapter.DataHandler(X[i : i + 1] for i in range(5))
    assert unknown.inferred_steps is None and unknown.should_sync
    assert [step for _, step, _, _ in read(unknown)] == [0, 1, 2, 3, 4]
    assert unknown.inferred_steps == 5


def test_requirement_43_the_last_execution_of_an_epoch_is_partial():
    """The last execution runs the remaining steps, and k is restored: seven batches with k=3 begin
    at 0, 3, 6 and end at 2, 5, 6.
    """
    result = compare("partial_execution")
    assert result == {
        "begin": [0, 3, 6],
        "end": [2, 5, 6],
        "counter": 7,
        "steps_per_execution": 3,
    }

    # The text of 001, which assigns k to the model's variable, with the model's function.
    model = make_linear(tf, steps_per_execution=3)
    handler = run_text("data_handler_001", {})["DataHandler"]()
    handler._dataset = tf.data.Dataset.from_tensor_slices((X, X)).batch(1)
    handler._adapter = data_adapter.get_data_handler(handler._dataset).adapter
    handler._truncate_execution_to_epoch = contextlib.nullcontext
    handler._steps_per_execution = model._steps_per_execution
    handler._initial_epoch, handler._epochs = 0, 2
    handler._initial_step, handler._inferred_steps, handler._insufficient_data = 0, 7, False
    train_function, ends = model.make_train_function(), []
    for _, iterator in handler.enumerate_epochs():
        for step in handler.steps():
            train_function(iterator)
            ends.append((step, step + handler._step_increment))
    assert ends == [(0, 2), (3, 5), (6, 6)] * 2
    assert int(model._train_counter.numpy()) == 14
    assert model._steps_per_execution.numpy().item() == 3


def test_requirement_44_end_step_is_the_step_plus_the_increment():
    """`step_increment` is k - 1, and callbacks receive `step + step_increment` at the end."""
    handler = data_adapter.DataHandler(X, batch_size=1, steps_per_execution=3)
    assert read(handler) == [(0, 0, 2, [0, 1, 2]), (0, 3, 5, [3, 4, 5]), (0, 6, 6, [6])]
    events = []
    model = make_linear(tf, steps_per_execution=2)
    model.fit(X, X, batch_size=1, verbose=0, callbacks=[make_recorder(tf, events)])
    assert [event for event in events if "batch" in event] == [
        f"on_train_batch_{edge} {index}"
        for begin, end in ((0, 1), (2, 3), (4, 5), (6, 6))
        for edge, index in (("begin", begin), ("end", end))
    ]


def test_requirement_45_data_that_run_out_end_the_run():
    """The end of data of unknown size sets the size; data that end before the requested steps warn,
    and no further epoch runs, but the short one is logged.
    """
    # tf_keras has begun the batch that it does not find.
    recorded = load_record()["data_run_out"]["events"]
    assert "on_train_batch_begin 1" in recorded[9:]
    message = (
        r"^Your input ran out of data; interrupting training\. Make sure that your dataset or "
        r"generator can generate at least `steps_per_epoch \* epochs` batches \(in this case, 9 "
        r"batches\)\. You may need to use the .*repeat\(\).* function when building your dataset\."
    )
    events = []
    batches = ((X[:1], X[:1]) for _ in range(4))
    with pytest.warns(UserWarning, match=message) as caught:
        history = make_linear(tf).fit(
            batches, steps_per_epoch=3, epochs=3, verbose=0, callbacks=[make_recorder(tf, events)]
        )
    assert len(caught) == 1 and caught[0].filename == __file__
    assert events == recorded[:12] + recorded[13:]
    assert (history.epoch, len(history.history["loss"])) == ([0, 1], 2)

    class Unsized(Counts):
        pass

    handler = data_adapter.DataHandler(Unsized(), epochs=2)
    assert handler.inferred_steps is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [(epoch, step) for epoch, step, *_ in read(handler)] == [
            (0, 0), (0, 1), (1, 0), (1, 1),
        ]  # fmt: skip
    assert handler.inferred_steps == 2 and not handler.insufficient_data


def test_requirement_46_should_sync_while_the_size_is_unknown():
    """`should_sync` while the number of batches is unknown: a batch is then waited for before it
    counts as done.
    """
    handler = data_adapter.DataHandler(Counts(), epochs=2)
    synced = []
    for _, iterator in handler.enumerate_epochs():
        with handler.catch_stop_iteration():
            for _ in handler.steps():
                next(iterator)
                synced.append(handler.should_sync)
    assert synced == [True, True, False, False]
    assert not data_adapter.DataHandler(X).should_sync

    # The loop of `predict` in 002 finds the end of such data, and every batch once.
    model = make_linear(tf, 2.0)
    outputs = model.predict(X[i : i + 2] for i in range(0, 7, 2))
    np.testing.assert_array_equal(outputs, 2.0 * X)


def test_requirement_47_steps_per_epoch_limits_endless_data():
    """`steps_per_epoch` is the length of an epoch of endless data; without it an epoch is the whole
    dataset, which ends with `OutOfRangeError`.
    """
    endless = tf.data.Dataset.from_tensor_slices((X, X)).batch(1).repeat()
    model = make_linear(tf)
    history = model.fit(endless, steps_per_epoch=5, epochs=2, verbose=0)
    assert int(model._train_counter.numpy()) == 10 and history.epoch == [0, 1]
    with pytest.raises(ValueError, match="steps_per_epoch"):
        model.fit(endless, verbose=0)
    # 004's fork: range(0, sys.maxsize, k), until the iterator raises OutOfRangeError.
    model.make_train_function()
    iterator, ended = iter(tf.data.Dataset.from_tensor_slices((X, X)).batch(2)), None
    for step in range(0, sys.maxsize, 1):
        try:
            model.train_function(iterator)
        except tf.errors.OutOfRangeError:
            ended = step
            break
    assert ended == 4


def test_requirement_48_numpy_datasets_and_the_default_batch_size(capsys):
    """NumPy's float64 is cast, datasets are shuffled, batched and cut, unlabeled ones predict, and
    the default batch has 32 rows: 1000 samples are 32 steps.
    """
    model = make_linear(tf, 1.0, inputs=2)
    x = np.random.default_rng(0).random((1000, 2))
    assert x.dtype == "float64"
    model.fit(x, x[:, :1])
    assert capsys.readouterr().out.count("32/32 [====") == 1
    assert int(model._train_counter.numpy()) == 32
    assert model.predict(x, verbose=0).dtype == "float32"

    values = np.arange(100.0)
    dataset = tf.data.Dataset.from_tensor_slices(values).shuffle(buffer_size=1024, seed=1)
    batches = [np.asarray(batch) for batch in dataset.batch(8).take(3)]
    assert [len(batch) for batch in batches] == [8, 8, 8]
    shown = np.concatenate(batches).tolist()
    assert len(set(shown)) == 24 and shown != sorted(shown)
    unlabeled = tf.data.Dataset.from_tensor_slices(x).batch(300)
    assert model.predict(unlabeled, verbose=0).shape == (1000, 1)


def test_requirement_49_expand_1d_makes_columns():
    """`expand_1d` makes (n, 1) of inputs with one dimension; the default steps apply it."""
    data = data_adapter.expand_1d(
        (tf.constant([1.0, 2.0]), {"y": tf.constant([[1.0]])}, tf.constant(3.0))
    )
    assert [data[0].shape, data[1]["y"].shape, data[2].shape] == [(2, 1), (1, 1), ()]
    model = make_linear(tf, 3.0)
    vector = np.array([1.0, 2.0])
    model.fit(vector, 3.0 * vector, verbose=0)
    assert model.evaluate(vector, 3.0 * vector, verbose=0) == 0.0
    assert model.predict(vector, verbose=0).tolist() == [[3.0], [6.0]]
