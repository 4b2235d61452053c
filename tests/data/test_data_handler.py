"""DataHandler: epochs, steps and executions for every kind of source, compared with a reference."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import podium
from podium.data import DataHandler, Dataset, StepsPerExecution

RAN_OUT = (
    r"Your input ran out of data; interrupting training\. Make sure that your dataset or "
    r"generator can generate at least "
    r"`steps_per_epoch \* epochs` batches \(in this case, {} batches\)"
)


def batch(number):
    return np.full((2, 1), float(number))


def source(kind, count):
    if kind == "arrays":
        return {"x": np.repeat(np.arange(float(count)), 2)[:, None], "batch_size": 2}
    if kind == "dataset":
        return {
            "x": Dataset.from_tensor_slices(np.repeat(np.arange(float(count)), 2)[:, None]).batch(2)
        }
    if kind == "unknown":
        return {"x": Dataset.from_generator(lambda: map(batch, range(count)))}
    if kind == "loader":
        return {"x": Loader(count)}
    return {"x": map(batch, range(count))}


class Loader:
    """Something with `__iter__` and `__len__`, as data loaders of other libraries are."""

    def __init__(self, count):
        self.count, self.ended = count, 0

    def __len__(self):
        return self.count

    def __iter__(self):
        return map(batch, range(self.count))

    def on_epoch_end(self):
        self.ended += 1


def test_steps_per_execution_computes_like_its_number():
    k = StepsPerExecution(5)
    assert (k + 1, 1 + k, k - 1, 7 - k, k * 2, 2 * k, k // 2, k % 2) == (6, 6, 4, 2, 10, 10, 2, 1)
    assert k == 5 and k != 4 and k > 4 and k >= 5 and k < 6 and k <= 5
    assert list(range(k))[-1] == 4 and k in {k: "hashable"}
    assert float(k * podium.Tensor(0.5)) == 2.5


def read_handler(handler, record=True):
    """Read batches as `fit` does; return `[(epoch, [(first step, last step, batches)])]`."""
    epochs = []
    for epoch, iterator in handler.enumerate_epochs():
        executions = []
        with handler.catch_stop_iteration():
            for step in handler.steps():
                group = iterator.next_group(int(handler._steps_per_execution))
                end = handler.record_steps(len(group)) if record else step + handler.step_increment
                assert end == step + handler.step_increment
                executions.append((step, end, [int(np.asarray(one).flat[0]) for one in group]))
        epochs.append((epoch, executions))
    return epochs


def reference(kind, count, steps, k, first_epoch, epochs):
    """Return the expected epochs, and whether they end with a warning."""
    whole = steps is None and kind != "generator"
    whole = whole or (steps == count and kind in ("arrays", "dataset", "loader"))
    if whole:
        left = None
    elif kind == "arrays":
        left = list(range(count)) * (epochs - first_epoch)
    else:
        left = list(range(count))
    k = min(k, count if steps is None and kind in ("arrays", "dataset", "loader") else steps or k)
    found = []
    for epoch in range(first_epoch, epochs):
        if left is None:
            taken, short = list(range(count)), False
        else:
            taken, left = (left, []) if steps is None else (left[:steps], left[steps:])
            short = steps is not None and len(taken) < steps
        if not taken:
            return found, True
        groups = [(at, taken[at : at + k]) for at in range(0, len(taken), k)]
        found.append((epoch, [(at, at + len(group) - 1, group) for at, group in groups]))
        if short:
            return found, True
    return found, False


@given(
    st.sampled_from(["arrays", "dataset", "unknown", "loader", "generator"]),
    st.integers(1, 9),
    st.one_of(st.none(), st.integers(1, 11)),
    st.integers(1, 5),
    st.integers(0, 2),
    st.integers(1, 4),
)
def test_handler_equals_a_reference_model(kind, count, steps, k, first_epoch, epochs):
    holder = StepsPerExecution(k)
    handler = DataHandler(
        **source(kind, count),
        steps_per_epoch=steps,
        steps_per_execution=holder,
        initial_epoch=first_epoch,
        epochs=epochs,
    )
    expected, runs_out = reference(kind, count, steps, k, first_epoch, epochs)
    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always")
        assert read_handler(handler) == expected
    assert [("ran out of data" in str(w.message)) for w in met] == [True] * runs_out
    assert handler.insufficient_data == runs_out
    assert holder.value() == k
    if expected and not runs_out:
        assert handler.inferred_steps == (steps or count)


def test_seven_batches_with_three_steps_per_execution():
    holder = StepsPerExecution(3)
    handler = DataHandler(np.arange(7.0), batch_size=1, steps_per_execution=holder)
    seen = []
    for _, iterator in handler.enumerate_epochs():
        for step in handler.steps():
            seen.append((step, step + handler.step_increment, int(holder)))
            iterator.next_group(int(holder))
    assert seen == [(0, 2, 3), (3, 5, 3), (6, 6, 1)] and int(holder) == 3


def test_steps_per_execution_is_limited_to_the_epoch_and_restored():
    holder = StepsPerExecution(10)
    handler = DataHandler(np.arange(4.0), batch_size=1, steps_per_execution=holder)
    inside = []
    for _ in handler.enumerate_epochs():
        inside.append(int(holder))
    assert inside == [4] and int(holder) == 10


def test_steps_per_execution_is_restored_after_an_exception():
    holder = StepsPerExecution(3)
    handler = DataHandler(np.arange(4.0), batch_size=1, steps_per_execution=holder)
    for _, iterator in handler.enumerate_epochs():
        for step in handler.steps():
            iterator.next_group(int(holder))
            if step == 3:
                break
    assert int(holder) == 3


def test_exhausted_generator_warns_and_stops_training():
    handler = DataHandler(map(batch, range(3)), epochs=3)
    with pytest.warns(UserWarning, match=RAN_OUT.format(9)) as met:
        found = read_handler(handler)
    assert found == [(0, [(0, 0, [0]), (1, 1, [1]), (2, 2, [2])])]
    assert met[0].filename == __file__ and handler.insufficient_data


def test_short_epoch_is_completed_and_is_the_last():
    handler = DataHandler(map(batch, range(3)), epochs=3, steps_per_epoch=2)
    with pytest.warns(UserWarning, match=RAN_OUT.format(6)):
        assert [len(executions) for _, executions in read_handler(handler)] == [2, 1]


def test_more_steps_than_batches_warn_after_as_many_passes_as_epochs():
    handler = DataHandler(np.arange(32.0), batch_size=8, steps_per_epoch=10, epochs=3)
    with pytest.warns(UserWarning, match=RAN_OUT.format(30)):
        assert [len(executions) for _, executions in read_handler(handler)] == [10, 2]


def test_unknown_size_is_known_after_the_first_epoch():
    handler = DataHandler(**source("unknown", 3), epochs=2)
    assert handler.inferred_steps is None and handler.should_sync
    known = []
    for _, iterator in handler.enumerate_epochs():
        for _ in handler.steps():
            iterator.next_arrays()
        known.append((handler.inferred_steps, handler.should_sync))
    assert known == [(3, False), (3, False)]


def test_epochs_of_unknown_length_are_read_to_their_end():
    lengths = iter([2, 4, 3])
    dataset = Dataset.from_generator(lambda: map(batch, range(next(lengths))))
    handler = DataHandler(dataset, epochs=3)
    assert [len(executions) for _, executions in read_handler(handler)] == [2, 4, 3]


def test_source_that_is_empty_in_the_second_pass_ends_the_run():
    once = map(batch, range(3))
    handler = DataHandler(Dataset.from_generator(lambda: once), epochs=3)
    with pytest.warns(UserWarning, match="ran out of data"):
        assert [epoch for epoch, _ in read_handler(handler)] == [0]


def test_every_step_has_a_batch():
    begun = []
    handler = DataHandler(**source("unknown", 3))
    for _, iterator in handler.enumerate_epochs():
        with handler.catch_stop_iteration():
            for step in handler.steps():
                begun.append(step)
                next(iterator)
    assert begun == [0, 1, 2]


def test_catch_stop_iteration_ends_the_epoch():
    handler = DataHandler(**source("unknown", 3))
    for _, iterator in handler.enumerate_epochs():
        with handler.catch_stop_iteration():
            for _ in handler.steps():
                next(iterator), next(iterator)
    assert not handler.insufficient_data
    handler = DataHandler(map(batch, range(3)), steps_per_epoch=4)
    with pytest.warns(UserWarning, match="ran out of data"):
        for _, iterator in handler.enumerate_epochs():
            with handler.catch_stop_iteration():
                for _ in handler.steps():
                    next(iterator), next(iterator)
    assert handler.insufficient_data


def test_generator_is_read_for_exactly_the_requested_batches():
    numbers = iter(range(100))
    generator = (batch(number) for number in numbers)
    read_handler(DataHandler(generator, steps_per_epoch=3, epochs=2))
    assert next(numbers) == 6
    assert int(next(generator).flat[0]) == 7  # not closed: what is left is the user's


def test_second_iteration_starts_again_except_for_a_generator():
    handler = DataHandler(
        np.arange(6.0), batch_size=1, steps_per_epoch=2
    )  # what validation does after every epoch
    assert read_handler(handler) == read_handler(handler) == [(0, [(0, 0, [0]), (1, 1, [1])])]
    handler = DataHandler(map(batch, range(4)), steps_per_epoch=2)
    assert read_handler(handler)[0][1][0][2] == [0] and read_handler(handler)[0][1][0][2] == [2]
    with pytest.warns(UserWarning, match="ran out of data"):
        assert read_handler(handler) == []


def test_peek_does_not_consume_the_batch():
    handler = DataHandler(map(batch, range(2)))
    assert handler.peek().tolist() == handler.peek().tolist() == batch(0).tolist()
    assert [group for _, _, group in read_handler(handler)[0][1]] == [[0], [1]]


def test_on_epoch_end_of_a_loader_is_called():
    loader = Loader(2)
    read_handler(DataHandler(loader, epochs=3))
    assert loader.ended == 3


def test_very_long_epoch_of_unknown_size_warns(monkeypatch):
    monkeypatch.setattr("podium.data._data_handler._MANY_STEPS", 5)
    with pytest.warns(UserWarning, match=r"5 batches have been read in one epoch.*steps=") as met:
        read_handler(DataHandler(map(batch, range(9)), caller="predict"))
    assert len(met) == 1


# --- arrays


def test_default_batch_size_and_partial_last_batch():
    handler = DataHandler(np.zeros((70, 3)))
    adapter = handler.adapter
    assert handler.inferred_steps == 3
    assert (adapter.batch_size(), adapter.has_partial_batch(), adapter.partial_batch_size()) == (
        32,
        True,
        6,
    )
    assert [one.shape for _, it in handler.enumerate_epochs() for one in it.next_group(9)] == [
        (32, 3),
        (32, 3),
        (6, 3),
    ]
    assert DataHandler(np.zeros((70, 3)), steps_per_epoch=4).adapter.batch_size() == 18
    assert isinstance(adapter, podium.data.DataAdapter)


def test_shuffle_differs_between_epochs_repeats_after_a_seed_and_keeps_rows_aligned():
    x = np.arange(50)

    def orders():
        podium.utils.set_random_seed(3)
        handler = DataHandler(x, x * 10, batch_size=7, epochs=2, shuffle=True)
        return [
            [np.concatenate(part) for part in zip(*it.next_group(99), strict=True)]
            for _, it in handler.enumerate_epochs()
        ]

    first, second = orders(), orders()
    np.testing.assert_array_equal(first, second)
    for inputs, targets in first:
        assert sorted(inputs.tolist()) == x.tolist()
        np.testing.assert_array_equal(targets, inputs * 10)
    assert first[0][0].tolist() != first[1][0].tolist()


def test_run_that_starts_at_a_later_epoch_has_the_order_of_that_epoch():
    def order(**kwargs):
        handler = DataHandler(
            np.arange(20), batch_size=20, epochs=3, shuffle=True, shuffle_seed=8, **kwargs
        )
        return [it.next_group(1)[0].tolist() for _, it in handler.enumerate_epochs()]

    assert order(initial_epoch=2) == order()[2:]


def test_shuffle_batch_keeps_the_rows_of_a_batch_together():
    handler = DataHandler(np.arange(100), batch_size=10, shuffle="batch")
    batches = [one.tolist() for _, it in handler.enumerate_epochs() for one in it.next_group(10)]
    assert sorted(batches) == np.arange(100).reshape(10, 10).tolist() != batches


def test_batches_are_x_alone_or_tuples_of_two_or_three():
    x, y = np.zeros((4, 2)), np.zeros(4, int)
    assert DataHandler(x).peek().shape == (4, 2)
    assert isinstance(DataHandler([x, x]).peek(), tuple) and len(DataHandler([x, x]).peek()) == 1
    assert len(DataHandler(x, y).peek()) == 2
    assert len(DataHandler(x, y, np.ones(4)).peek()) == 3
    assert len(DataHandler(x, y, class_weight={0: 1.0}).peek()) == 3


def test_dtypes_of_batches():
    batch = DataHandler(
        {
            "f": np.zeros(3),
            "i": np.zeros(3, "int64"),
            "u": np.zeros(3, "uint8"),
            "b": np.ones(3, bool),
        }
    ).peek()
    assert {key: value.dtype.name for key, value in batch.items()} == {
        "f": "float32",
        "i": "int32",
        "u": "uint8",
        "b": "bool",
    }


@pytest.mark.parametrize(
    "x",
    [
        [[1.0, 2.0], [3.0, 4.0]],
        podium.Tensor([[1.0, 2.0], [3.0, 4.0]]),
        podium.ops.ones((2, 2)).value,
        podium.Variable(np.ones((2, 2))),
        np.asfortranarray(np.ones((2, 2))),
        np.ones((4, 4))[::2, ::2],
    ],
    ids=["lists", "Tensor", "jax", "Variable", "fortran", "strided"],
)
def test_batches_of_array_likes_are_copies(x):
    batch = DataHandler(x).peek()
    assert isinstance(batch, np.ndarray) and batch.shape == (2, 2) and batch.dtype == np.float32
    assert batch.flags.c_contiguous and batch.flags.owndata
    np.testing.assert_array_equal(batch, np.asarray(x, "float32"))


def test_frames_are_recognized_by_to_numpy():
    class Frame:
        def __init__(self, values):
            self.values = values

        def to_numpy(self):
            return self.values

    assert DataHandler(Frame(np.ones((3, 2)))).peek().shape == (3, 2)
    assert DataHandler(Frame(np.arange(3))).peek().shape == (3, 1)  # a series is one column
    mixed = np.array([[1.5, True], [2.5, False]], object)
    assert DataHandler(Frame(mixed)).peek().tolist() == [[1.5, 1.0], [2.5, 0.0]]
    with pytest.raises(TypeError, match="`x` is an array of Python objects"):
        DataHandler(Frame(np.array([["a", 1.0]], object)))


def test_later_changes_to_an_array_do_not_change_a_batch():
    x = np.zeros((64, 16), "float32")
    handler = DataHandler(x, batch_size=64)
    batch = handler.peek()
    x[:] = 1
    assert not batch.any()


def test_missing_sample_weights_are_ones_and_one_array_serves_all_outputs():
    x, y = np.zeros(3), {"a": np.zeros(3), "b": np.zeros((3, 2))}
    weights = DataHandler(x, y, {"a": [1.0, 2.0, 3.0]}).peek()[2]
    assert weights["a"].tolist() == [1, 2, 3] and weights["b"].tolist() == [1, 1, 1]
    weights = DataHandler(x, list(y.values()), [None, np.zeros(3)]).peek()[2]
    assert weights[0].tolist() == [1, 1, 1] and weights[1].tolist() == [0, 0, 0]
    weights = DataHandler(x, y, np.array([1.0, 2.0, 3.0])).peek()[2]
    assert weights["a"].tolist() == weights["b"].tolist() == [1, 2, 3]


# --- class weights


@pytest.mark.parametrize(
    "y",
    [
        np.array([0, 1, 2]),
        np.array([[0.0], [1.0], [2.0]]),
        np.eye(3),
        np.eye(3, dtype=int),
        [0, 1, 2],
    ],
    ids=["numbers", "column", "one-hot", "integer one-hot", "list"],
)
@pytest.mark.parametrize("as_dataset", [False, True])
def test_class_weights_become_sample_weights(y, as_dataset):
    x, weights = np.zeros((3, 2)), {0: 1.0, 1: 5.0, 2: 0.5}
    if as_dataset:
        handler = DataHandler(Dataset.from_tensor_slices((x, y)).batch(3), class_weight=weights)
    else:
        handler = DataHandler(x, y, class_weight=weights)
    assert handler.peek()[2].tolist() == [1.0, 5.0, 0.5]
    assert handler.peek()[2].dtype == np.float32


def test_class_weights_by_output():
    y = {"a": np.array([0, 1]), "b": np.zeros((2, 3))}
    weights = DataHandler(np.zeros(2), y, class_weight={"a": {0: 2.0, 1: 3.0}}).peek()[2]
    assert weights["a"].tolist() == [2.0, 3.0] and weights["b"].tolist() == [1.0, 1.0]
    listed = DataHandler(
        np.zeros(2), list(y.values()), class_weight={"a": {0: 2.0, 1: 3.0}}, output_names=["a", "b"]
    ).peek()[2]
    assert isinstance(listed, list) and listed[0].tolist() == [2.0, 3.0]


def test_class_weights_of_sequences_have_their_shape():
    weights = DataHandler(
        np.zeros(1), np.array([[[0], [1], [1]]]), class_weight={0: 2.0, 1: 3.0}
    ).peek()[2]
    assert weights.tolist() == [[2.0, 3.0, 3.0]]
