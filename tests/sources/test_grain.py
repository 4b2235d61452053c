"""Grain's datasets: training equals training on arrays, and positions can be restored."""

import itertools
import json

import numpy as np
import pytest

import podium
from podium.data import DataHandler

grain = pytest.importorskip("grain", reason="needs grain: `make test-sources` installs it")

loaders = pytest.importorskip("grain.python", reason="needs grain: `make test-sources` installs it")

X = np.random.default_rng(0).normal(size=(22, 3)).astype("float32")
Y = X.sum(1, keepdims=True)


class Rows:
    def __len__(self):
        return len(X)

    def __getitem__(self, index):
        return X[index], Y[index]

    def __repr__(self):  # by which Grain's DataLoader knows its data when it is put back
        return "Rows"


def model():
    podium.utils.set_random_seed(3)
    made = podium.Sequential(
        [podium.Input((3,)), podium.layers.Dense(4, activation="relu"), podium.layers.Dense(1)]
    )
    made.compile("adam", "mse")
    return made


def mapped(shuffle=False):
    rows = grain.MapDataset.source(Rows())
    return (rows.shuffle(seed=5) if shuffle else rows).batch(5)


def streamed(shuffle=False):
    rows = grain.MapDataset.source(Rows())
    return (rows.shuffle(seed=5) if shuffle else rows).to_iter_dataset().batch(5)


def sparse():
    return mapped().filter(lambda batch: True)


def loader(num_epochs=1, shuffle=False):
    order = loaders.IndexSampler(
        len(X), loaders.NoSharding(), shuffle=shuffle, num_epochs=num_epochs, seed=5
    )
    return loaders.DataLoader(
        data_source=Rows(), sampler=order, operations=[loaders.Batch(5)], worker_count=0
    )


SOURCES = {"map": mapped, "stream": streamed, "sparse": sparse, "loader": loader}


@pytest.mark.parametrize("make", SOURCES.values(), ids=SOURCES)
def test_fit_evaluate_and_predict_equal_arrays(make, equal_to_arrays):
    equal_to_arrays(make, model, X, Y)


def read(iterator, count=None):
    return [np.asarray(x).tolist() for x, _ in itertools.islice(iterator, count)]


SHUFFLED = {
    "map": lambda: mapped(True),
    "stream": lambda: streamed(True),
    "sparse": sparse,
    "loader": lambda: loader(shuffle=True),
    "iterator": lambda: iter(streamed(True)),
}


@pytest.mark.parametrize("make", SHUFFLED.values(), ids=SHUFFLED)
def test_iteration_resumes_at_a_saved_position_after_read_ahead(make):
    adapter = DataHandler(make()).adapter
    assert adapter.seekable
    if adapter.one_shot:
        adapter = type(adapter)(make())
    adapter.start = 0
    batches = read(adapter.iterate(2))
    places = [json.loads(json.dumps(adapter.position(taken))) for taken in range(6)]
    assert len(batches) == 5
    for taken, place in enumerate(places):
        assert read(type(adapter)(make()).iterate(2, place)) == batches[taken:]


def test_handler_position_is_restored_within_a_later_epoch():
    for make in SHUFFLED.values():
        if hasattr(make(), "__next__"):
            continue
        with DataHandler(make(), epochs=3) as handler:
            for epoch, iterator in handler.enumerate_epochs():
                iterator.next_group(3)
                if epoch == 1:
                    place = json.loads(json.dumps(handler.position()))
                    rest = [iterator.next_group(2)]
                else:
                    last = iterator.next_group(2)
        with DataHandler(make(), epochs=3) as again:
            again.seek(place)
            found = [iterator.next_group(9) for _, iterator in again.enumerate_epochs()]
        assert [len(group) for group in found] == [2, 5]
        np.testing.assert_array_equal(found[0][0][0], rest[0][0][0])
        np.testing.assert_array_equal(found[1][-1][0], last[-1][0])


def orders(source, **kwargs):
    handler = DataHandler(source, **kwargs)
    found = []
    for _, iterator in handler.enumerate_epochs():
        with handler.catch_stop_iteration():
            found.append([iterator.next_arrays().tolist() for _ in handler.steps()])
    return found


def test_map_dataset_is_reshuffled_for_each_epoch_like_repeat():
    source = grain.MapDataset.range(6).shuffle(seed=1).batch(2)
    expected = [batch.tolist() for batch in source.repeat(3)]
    assert orders(source, epochs=3) == [expected[:3], expected[3:6], expected[6:]]
    assert orders(source, epochs=3, initial_epoch=2) == [expected[6:]]
    assert orders(source, epochs=3, steps_per_epoch=2) == [
        expected[:2],
        expected[2:4],
        expected[4:6],
    ]
    assert orders(source.repeat(), epochs=2, steps_per_epoch=4) == [expected[:4], expected[4:8]]


def test_infinite_stream_is_read_once_over_all_epochs():
    source = grain.MapDataset.range(6).repeat().to_iter_dataset().batch(2)
    assert orders(source, epochs=2, steps_per_epoch=2) == [[[0, 1], [2, 3]], [[4, 5], [0, 1]]]


def test_known_sizes():
    assert DataHandler(mapped()).inferred_steps == 5
    assert [DataHandler(make()).inferred_steps for make in (streamed, sparse, loader)] == [
        None,
        None,
        None,
    ]


def test_states_are_stored_for_the_last_batches_only():
    from podium.data.adapters._recorded_iterator import RecordedIterator

    batches = RecordedIterator(iter(range(300)), dict)
    list(batches)
    assert batches.position(300) == {"state": {}}
    with pytest.raises(
        RuntimeError,
        match="after 3 batches is no longer known: 300 have been read, and only the last 256",
    ):
        batches.position(3)


@pytest.mark.parametrize(
    ("source", "kwargs", "message"),
    [
        (mapped, {"y": Y}, "`y` was given, but `x` is a grain.MapDataset"),
        (loader, {"y": Y}, r"`y` was given, but `x` is a grain dataset \(DataLoader\)"),
        (streamed, {"batch_size": 4}, r"batch_size=4 was given.*`dataset\.batch\(4\)`"),
        (
            lambda: mapped().repeat(),
            {},
            "an infinite grain.MapDataset, and steps_per_epoch was not given",
        ),
        (
            lambda: mapped().repeat().to_iter_dataset(),
            {"caller": "predict"},
            "infinite grain dataset, and steps was not given",
        ),
        (lambda: grain.experimental.RepeatIterDataset(streamed()), {}, "an infinite grain dataset"),
        (lambda: loader(None), {}, "an infinite grain dataset"),
        (
            lambda: grain.MapDataset.source(Rows()),
            {},
            r"`x` has 3, `y` has 1.*grain.MapDataset are single.*`dataset\.batch\(32\)`",
        ),
        (lambda: mapped().slice(slice(0, 0)), {}, "`x` is empty"),
    ],
    ids=[
        "y",
        "loader and y",
        "batch_size",
        "infinite",
        "predict",
        "repeated stream",
        "sampler",
        "rows",
        "empty",
    ],
)
def test_invalid_sources_raise(source, kwargs, message):
    with pytest.raises(ValueError, match=message):
        DataHandler(source(), **kwargs)


def test_error_in_a_transformation_names_the_batch():
    def fail(row):
        if row == 7:
            raise KeyError("row 7")
        return row

    with pytest.raises(KeyError, match="row 7") as met:
        orders(grain.MapDataset.range(10).map(fail).batch(2))
    assert any("batch 3 of the grain.MapDataset" in note for note in met.value.__notes__)
