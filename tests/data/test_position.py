"""Positions: a handler that seeks to a position continues exactly like the one that returned it."""

import json

import numpy as np
import pytest

from podium.data import DataHandler, Dataset
from podium.utils import set_random_seed

X, Y = np.arange(22.0).reshape(11, 2), np.arange(11)


def arrays(**options):
    return lambda: {"x": X, "y": Y, "batch_size": 3, **options}


def dataset(make):
    return lambda: {"x": make(Dataset.from_tensor_slices((X, Y)))}


SOURCES = {
    "arrays": arrays(),
    "arrays, shuffled": arrays(shuffle=True),
    "arrays, batches shuffled": arrays(shuffle="batch"),
    "arrays, two steps an epoch": arrays(shuffle=True, steps_per_epoch=2),
    "dataset": dataset(lambda d: d.batch(3)),
    "dataset, dropping the rest": dataset(lambda d: d.batch(3, drop_remainder=True)),
    "dataset, shuffled": dataset(lambda d: d.shuffle(99).batch(3)),
    "dataset, seeded": dataset(lambda d: d.shuffle(99, seed=7).batch(3)),
    "dataset, always the same shuffle": dataset(
        lambda d: d.shuffle(99, reshuffle_each_iteration=False).batch(3)
    ),
    "dataset, small buffer": dataset(lambda d: d.shuffle(4).batch(3)),
    "dataset, shuffled twice": dataset(lambda d: d.shuffle(99).shuffle(5).batch(3)),
    "dataset, mapped": dataset(lambda d: d.shuffle(99).map(lambda x, y: (x + 1.0, y)).batch(3)),
    "dataset, mapped batches": dataset(
        lambda d: d.shuffle(99).batch(3).map(lambda x, y: (x + 1.0, y))
    ),
    "dataset, taken and skipped": dataset(lambda d: d.skip(2).shuffle(99).take(8).batch(3)),
    "dataset, mapped and taken": dataset(
        lambda d: d.shuffle(99).map(lambda x, y: (x, y)).take(8).batch(3)
    ),
    "dataset, batches taken": dataset(lambda d: d.batch(2).skip(1).take(4)),
    "dataset, sharded": dataset(lambda d: d.shard(2, 1).batch(2)),
    "dataset, mapped and sharded": dataset(
        lambda d: d.map(lambda x, y: (x, y)).shard(2, 1).skip(1).batch(2)
    ),
    "dataset, repeated": dataset(lambda d: d.shuffle(99).repeat(3).batch(3)),
    "dataset, batches repeated": dataset(lambda d: d.shuffle(99).batch(3).repeat(2)),
    "dataset, kept": dataset(lambda d: d.map(lambda x, y: (x * 2.0, y)).cache().batch(3)),
    "dataset, joined": dataset(
        lambda d: d.shuffle(99).map(lambda x, y: (x, y)).concatenate(d.shuffle(99)).batch(3)
    ),
    "dataset, zipped": lambda: {
        "x": Dataset.zip(
            (Dataset.from_tensor_slices(X).shuffle(99), Dataset.range(10**7).skip(5))
        ).batch(3)
    },
    "dataset, endless": lambda: {
        "x": Dataset.from_tensor_slices((X, Y)).shuffle(99).repeat().batch(3),
        "steps_per_epoch": 5,
    },
}


def read_batches(data, stop_after=None):
    """Return the batches of every epoch, or the first `stop_after` and the position after them."""
    batches = []
    with data:
        for epoch, iterator in data.enumerate_epochs():
            for step in data.steps():
                batch = iterator.next_arrays()
                data.record_steps(1)
                batches.append(
                    (epoch, step, np.asarray(batch[0]).tolist(), np.asarray(batch[1]).tolist())
                )
                if len(batches) == stop_after:
                    return batches, data.position()
    return batches, None


@pytest.mark.parametrize("name", SOURCES)
def test_resumed_iteration_equals_an_uninterrupted_one(name):
    set_random_seed(1)
    whole, _ = read_batches(DataHandler(**SOURCES[name](), epochs=3))
    assert len(whole) >= 6
    for stop in range(1, len(whole)):
        set_random_seed(1)
        first, position = read_batches(DataHandler(**SOURCES[name](), epochs=3), stop)
        assert first == whole[:stop]
        position = json.loads(json.dumps(position))
        set_random_seed(2)  # another process, with other random numbers
        data = DataHandler(**SOURCES[name](), epochs=3)
        data.seek(position)
        assert read_batches(data)[0] == whole[stop:], stop


def test_seek_does_not_read_earlier_batches():
    read = []

    def note(x):
        read.append(int(x))
        return x

    source = Dataset.range(1000).map(note).batch(1)
    with DataHandler(source) as first:
        for _, iterator in first.enumerate_epochs():
            for step in first.steps():
                iterator.next_arrays()
                if step == 900:
                    position = first.position()
                    break
    again = DataHandler(source)
    read.clear()
    again.seek(position)
    assert again.peek().tolist() == [901] and read[0] == 901


@pytest.mark.parametrize(
    "make",
    [
        lambda: iter([X, X]),
        lambda: Dataset.from_generator(lambda: iter([X, X])),
        lambda: Dataset.from_tensor_slices(X).filter(lambda x: x[0] > 2).batch(2),
        lambda: Dataset.from_tensor_slices(X).shuffle(99).cache().batch(2),
        lambda: Dataset.from_tensor_slices(X).map(lambda x: x).shuffle(99).batch(2),
    ],
)
def test_source_that_cannot_seek_raises(make):
    data = DataHandler(make())
    with pytest.raises(ValueError, match="cannot start in the middle"):
        data.position()
    with pytest.raises(ValueError, match="cannot start in the middle"):
        data.seek({"epoch": 0, "step": 1, "walk": 0, "place": 1})


def test_invalid_position_is_refused():
    with pytest.raises(ValueError, match="a position that `position\\(\\)` returned was expected"):
        DataHandler(X).seek({"epoch": 1})


def test_shuffle_without_seed_differs_between_passes_and_repeats_after_set_random_seed():
    data = Dataset.range(50).shuffle(50)
    set_random_seed(3)
    passes = [[int(n) for n in data] for _ in range(3)]
    assert len({tuple(one) for one in passes}) == 3
    set_random_seed(3)
    assert [[int(n) for n in data] for _ in range(3)] == passes
