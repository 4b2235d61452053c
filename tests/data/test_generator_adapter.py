"""Generators and iterators are read exactly as often as their batches are used; their exceptions
are raised unchanged.
"""

import itertools
import traceback

import numpy as np
import pytest

import podium
from podium.data import DataHandler, Dataset

X, Y = np.zeros((4, 1), "float32"), np.zeros(4, "float32")


class Disk(Exception):
    pass


def counted(pulls, stop=None):
    for number in itertools.count() if stop is None else range(stop):
        pulls.append(number)
        yield X + number, Y


def model():
    made = podium.Sequential([podium.Input((1,)), podium.layers.Dense(1)])
    made.compile("sgd", "mse")
    return made


@pytest.mark.parametrize("k", [1, 2, 5])
def test_fit_reads_exactly_the_batches_it_uses(k):
    pulls, made = [], model()
    made.compile("sgd", "mse", steps_per_execution=k)
    source = counted(pulls)
    made.fit(source, steps_per_epoch=3, epochs=2, verbose=0)
    assert pulls == list(range(6))
    assert next(source)[0][0, 0] == 6  # what is left stays the user's: neither lost nor closed


def test_evaluate_and_predict_read_exactly_the_batches_they_use():
    pulls, made = [], model()
    source = counted(pulls)
    made.evaluate(source, steps=2, verbose=0)
    made.predict(((x,) for x, _ in source), steps=2, verbose=0)
    assert pulls == [0, 1, 2, 3]


def raising(at):
    for number in range(at):
        yield X + number, Y
    raise Disk("gone")


class Loader:
    def __iter__(self):
        return raising(2)


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        (lambda: raising(2), "generator"),
        (lambda: map(tuple, raising(2)), "generator"),
        (Loader, "Loader"),
    ],
    ids=["generator", "map", "loader"],
)
def test_exception_of_a_source_has_a_note_with_the_batch(source, kind):
    with pytest.raises(Disk, match="gone") as caught:
        model().fit(source(), verbose=0)
    assert caught.value.__notes__ == [
        f"It was raised while batch 2 of the {kind} was read (the first is 0)."
    ]
    assert "raise Disk" in "".join(
        traceback.format_tb(caught.value.__traceback__)
    )  # the user's own line is shown


def test_exception_object_of_a_source_is_raised_unchanged():
    error = Disk("mine")

    def batches():
        yield X, Y
        raise error

    with pytest.raises(Disk) as caught:
        model().fit(batches(), verbose=0)
    assert caught.value is error


def test_batch_index_in_errors_continues_for_generators_and_restarts_for_loaders():
    with pytest.raises(Disk) as caught:
        model().fit(raising(5), steps_per_epoch=2, epochs=3, verbose=0)
    assert "batch 5 of the generator" in caught.value.__notes__[0]

    class SecondEpoch:
        passes = 0

        def __iter__(self):
            self.passes += 1
            return raising(3) if self.passes == 2 else iter([(X, Y)] * 4)

    with pytest.raises(Disk) as caught:
        model().fit(SecondEpoch(), epochs=2, verbose=0)
    assert "batch 3 of the SecondEpoch" in caught.value.__notes__[0]


def test_error_for_a_changed_structure_names_the_batch():
    with pytest.raises(
        ValueError,
        match=r"structure of batch 3 of the generator changed: it is \(x, y, sample_weight\)",
    ):
        model().fit(iter([(X, Y)] * 3 + [(X, Y, Y)]), verbose=0)


def test_lists_of_numbers_may_be_shorter_in_the_last_batch():
    handler = DataHandler(iter([(X, [1.0, 2.0, 3.0, 4.0]), (X[:2], [1.0, 2.0])]))
    found = next(iterator.next_group(9) for _, iterator in handler.enumerate_epochs())
    assert [y.shape for _, y in found] == [(4,), (2,)]


def test_closing_the_reader_closes_its_source_unless_it_is_the_users():
    ended = []

    def batches():
        try:
            while True:
                yield X, Y
        finally:
            ended.append(True)

    class OwnAdapter(podium.data.DataAdapter):
        def iterate(self, epoch, start=0):
            return batches()

    from podium.data.adapters._batch_reader import BatchReader
    from podium.data.adapters._generator_adapter import GeneratorAdapter

    reader = BatchReader(OwnAdapter(None)).read(OwnAdapter(None).iterate(0))
    next(reader)
    reader.close()
    assert ended == [True]
    source = batches()
    reader = BatchReader(GeneratorAdapter(source, steps=1)).read(source)
    next(reader)
    reader.close()
    assert ended == [True]
    source.close()


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (lambda m: m.fit(counted([], 3), Y, verbose=0), "`y` was given, but `x` is a generator"),
        (lambda m: m.fit(counted([], 3), validation_split=0.5, verbose=0), "validation_split"),
        (lambda m: m.fit(counted([], 0), verbose=0), "`x` is empty"),
        (
            lambda m: m.evaluate(itertools.repeat((X, Y)), verbose=0),
            "never ends.*steps was not given",
        ),
        (lambda m: m.predict(itertools.repeat((X,)), verbose=0), "never ends.*steps was not given"),
        (
            lambda m: m.predict(Dataset.range(3).batch(1).repeat(), verbose=0),
            "an infinite dataset, and steps was not given",
        ),
        (
            lambda m: m.fit(Loader(), X, verbose=0),
            r"`y` was given, but `x` is a Loader|is a dataset \(Loader\)",
        ),
    ],
    ids=[
        "y",
        "split",
        "empty",
        "endless evaluate",
        "endless predict",
        "endless dataset",
        "loader and y",
    ],
)
def test_invalid_batches_are_refused_before_the_first_step(run, message):
    made = model()
    before = made.get_weights()
    with pytest.raises(ValueError, match=message):
        run(made)
    for ours, then in zip(made.get_weights(), before, strict=True):
        np.testing.assert_array_equal(ours, then)
    assert int(made.optimizer.iterations.numpy()) == 0


def test_only_leaves_of_fresh_sources_are_not_copied():
    from podium.data._copy_values import copy_unless_fresh

    array = np.ones((3, 2), "float32")
    assert copy_unless_fresh(array, "x", fresh=True) is array
    assert not np.shares_memory(copy_unless_fresh(array, "x", fresh=False), array)
    assert copy_unless_fresh(array.astype("float64"), "x", fresh=True).dtype == np.float32
    assert copy_unless_fresh(3, "x", fresh=True).shape == ()
    with pytest.raises(OverflowError, match="beyond the 32 bits"):
        copy_unless_fresh(np.full(2, 2**40), "x", fresh=True)


def test_position_of_a_generator_is_refused():
    assert not DataHandler(counted([], 3)).adapter.seekable
