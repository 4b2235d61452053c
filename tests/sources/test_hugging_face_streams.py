"""Hugging Face's streams: rows become batches, columns become inputs and targets by name, and
positions can be restored.
"""

import json

import numpy as np
import pytest

import podium
from podium.data import DataHandler

datasets = pytest.importorskip(
    "datasets.iterable_dataset", reason="needs datasets: `make test-sources` installs it"
)

X = np.random.default_rng(0).normal(size=(22, 3)).astype("float32")
Y = X.sum(1, keepdims=True)


def rows():
    for x, y in zip(X, Y, strict=True):
        yield {"x": x, "label": y}


def generated():
    return datasets.IterableDataset.from_generator(rows)


def stored(**columns):
    return datasets.Dataset.from_dict(columns or {"x": X, "label": Y}).to_iterable_dataset(
        num_shards=2
    )


def model():
    podium.utils.set_random_seed(3)
    made = podium.Sequential(
        [podium.Input((3,)), podium.layers.Dense(4, activation="relu"), podium.layers.Dense(1)]
    )
    made.compile("adam", "mse")
    return made


@pytest.mark.parametrize("make", [generated, stored])
def test_fit_evaluate_and_predict_equal_arrays(make):
    ours, theirs = model(), model()
    history = theirs.fit(make(), "label", batch_size=5, epochs=3, verbose=0).history
    assert ours.fit(X, Y, batch_size=5, epochs=3, shuffle=False, verbose=0).history == history
    for left, right in zip(ours.get_weights(), theirs.get_weights(), strict=True):
        np.testing.assert_array_equal(left, right)
    assert ours.evaluate(X, Y, batch_size=5, verbose=0) == theirs.evaluate(
        make(), "label", batch_size=5, verbose=0
    )
    inputs = make().remove_columns("label")
    np.testing.assert_array_equal(
        ours.predict(X, batch_size=5, verbose=0), theirs.predict(inputs, batch_size=5, verbose=0)
    )


def first(source, **kwargs):
    return DataHandler(source, **kwargs).peek()


def test_columns_are_assigned_by_name():
    source = stored(a=[1.0, 2.0], b=[1, 2], c=[3, 4], w=[0.5, 1.0])
    x, y, weight = first(source, y="c", sample_weight="w")
    assert {name: leaf.tolist() for name, leaf in x.items()} == {"a": [1.0, 2.0], "b": [1, 2]}
    assert y.tolist() == [3, 4] and weight.tolist() == [0.5, 1.0] and y.dtype == np.int32
    x, y = first(source, y=["b", "c"])
    assert [leaf.tolist() for leaf in y] == [[1, 2], [3, 4]] and list(x) == ["a", "w"]
    assert list(first(source)) == ["a", "b", "c", "w"]
    assert first(stored(a=np.arange(50.0))).shape == (
        32,
    )  # one column stands for itself, 32 rows are a batch


@pytest.mark.parametrize(
    "make", [generated, stored, lambda: generated().map(lambda row: {"x": row["x"] * 2})]
)
def test_iteration_resumes_at_a_saved_position(make):
    adapter = DataHandler(make(), y="label", batch_size=5).adapter
    batches = [x.tolist() for x, _ in adapter.iterate(1)]
    places = [json.loads(json.dumps(adapter.position(taken))) for taken in range(6)]
    assert adapter.seekable and len(batches) == 5
    for taken, place in enumerate(places):
        again = DataHandler(make(), y="label", batch_size=5).adapter
        assert [x.tolist() for x, _ in again.iterate(1, place)] == batches[taken:]


def test_shuffle_buffer_prevents_resuming_and_epochs_differ():
    source = stored(a=np.arange(20.0)).shuffle(seed=1, buffer_size=20)
    handler = DataHandler(source, batch_size=20, epochs=2)
    orders = [iterator.next_group(1)[0].tolist() for _, iterator in handler.enumerate_epochs()]
    assert sorted(orders[0]) == sorted(orders[1]) and orders[0] != orders[1]
    later = DataHandler(source, batch_size=20, epochs=2, initial_epoch=1)
    assert later.peek().tolist() == orders[1] and not later.adapter.seekable


@pytest.mark.parametrize(
    ("kwargs", "error", "message"),
    [
        (
            {"y": Y},
            ValueError,
            r"`y` was given, but `x` is a datasets.IterableDataset.*`y='label'`",
        ),
        ({"y": "lable"}, ValueError, "column in `y`.*'lable'.*'label'"),
        ({"y": ["x", "label"]}, ValueError, "no column left for the inputs"),
        (
            {"x": stored(a=[1.0, 2.0], t=["text", "more"])},
            TypeError,
            r"`batch 0 of the datasets.IterableDataset\['t'\]` is an array of strings",
        ),
        ({"x": stored(a=[1.0, 2.0]).filter(lambda row: False)}, ValueError, "`x` is empty"),
    ],
    ids=["arrays", "unknown", "all", "text", "empty"],
)
def test_invalid_arguments_raise(kwargs, error, message):
    with pytest.raises(error, match=message):
        DataHandler(**({"x": generated()} | kwargs))
