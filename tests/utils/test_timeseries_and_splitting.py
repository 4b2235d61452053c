"""`timeseries_dataset_from_array` and `split_dataset`."""

import numpy as np
import pytest

import podium
from podium import utils
from podium.data import Dataset


def windows(*args, **options):
    return utils.timeseries_dataset_from_array(*args, **options)


def test_windows_are_views_until_batched():
    data = np.arange(100_000, dtype="float32")
    dataset = windows(
        data, None, sequence_length=50_000, batch_size=2
    )  # 10 GB if all windows were copied
    assert dataset.cardinality() == 25_001
    assert next(iter(dataset)).shape == (2, 50_000)


def test_windows_of_lists_and_multidimensional_arrays():
    for data in ([1, 2, 3], np.arange(3.0), podium.ops.arange(3)):
        assert len(windows(data, None, sequence_length=2, batch_size=None)) == 2
    images = np.zeros((6, 4, 4, 1))
    spec = windows(images, np.zeros((6, 2)), sequence_length=3).element_spec
    assert spec[0].shape == (None, 3, 4, 4, 1) and spec[1].shape == (None, 2)


def test_windows_do_not_change_with_the_caller_array():
    data = np.zeros(4, "float32")
    dataset = windows(data, None, sequence_length=2)
    data[:] = 9
    assert float(podium.ops.sum(next(iter(dataset)))) == 0


def test_shuffled_windows_keep_their_targets_and_depend_on_the_seed():
    def epochs(**options):
        dataset = windows(np.arange(30), np.arange(30), 3, shuffle=True, batch_size=4, **options)
        rows = [
            [(x.tolist(), int(y)) for x, y in dataset.unbatch().as_numpy_iterator()]
            for _ in range(2)
        ]
        assert all(x == [y, y + 1, y + 2] for x, y in rows[0])
        return rows

    first = epochs(seed=1)
    assert (
        epochs(seed=1) == first
        and first[0] != first[1]
        and sorted(first[0]) == sorted(first[1])
        and epochs(seed=2) != first
    )
    utils.set_random_seed(1)
    free = epochs()
    utils.set_random_seed(1)
    assert epochs() == free


def test_targets_shorter_than_data_limit_the_windows():
    dataset = windows(np.arange(10), np.arange(6), 3, start_index=4, batch_size=None)
    assert [int(y) for _, y in dataset] == [4, 5]
    assert [
        int(y) for _, y in windows(np.arange(9), np.arange(9), 3, end_index=9, batch_size=None)
    ] == list(range(7))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sequence_length": 11}, "makes windows of 11 steps, and there are 10"),
        ({"sequence_length": 4, "sampling_rate": 4}, "makes windows of 13 steps"),
        ({"sequence_length": 4, "start_index": 7}, "no window fits"),
        ({"sequence_length": 0}, "sequence_length=0 was given"),
        ({"sequence_length": -3}, "sequence_length=-3 was given"),
        ({"sequence_length": 2.5}, "sequence_length=2.5 was given"),
        ({"sequence_stride": 0}, "sequence_stride=0 was given"),
        ({"sequence_stride": 10}, "sequence_stride=10 was given for data of 10 steps"),
        ({"sampling_rate": -1}, "sampling_rate=-1 was given"),
        ({"sampling_rate": 12, "sequence_length": 1}, "sampling_rate=12 was given for data of 10"),
        ({"batch_size": 0}, "batch_size=0 was given"),
        ({"start_index": -1}, "start_index=-1 was given"),
        ({"start_index": 10}, "start_index=10 was given for data of 10 steps"),
        ({"end_index": 0}, "end_index=0 was given"),
        ({"end_index": 11}, "end_index=11 was given for data of 10 steps; at most"),
        ({"start_index": 5, "end_index": 5}, "the end must be after the start"),
        ({"targets": np.arange(4), "start_index": 4}, "targets has no row for step 4"),
        ({"data": []}, r"`data` has the shape \(0,\)"),
        ({"data": 3.0}, r"`data` has the shape \(\)"),
        ({"format": "torch"}, "Unknown format 'torch'"),
    ],
)
def test_invalid_window_arguments_raise(options, message):
    with pytest.raises(ValueError, match=message):
        windows(**{"data": np.arange(10), "targets": None, "sequence_length": 2} | options)


# --- split_dataset


def as_lists(parts):
    return [
        [np.asarray(element).tolist() for element in part.as_numpy_iterator()] for part in parts
    ]


class Numbered:
    """Samples by index, and no `__iter__`, like a dataset of PyTorch."""

    def __len__(self):
        return 4

    def __getitem__(self, index):
        return np.float32(index)


@pytest.mark.parametrize(
    "data",
    [
        np.arange(4.0),
        podium.ops.arange(4.0),
        [0.0, 1.0, 2.0, 3.0],
        range(4),
        (float(n) for n in range(4)),
        Dataset.range(4),
        Numbered(),
        {0: None, 1: None, 2: None, 3: None}.keys(),
    ],
    ids=["array", "Tensor", "list", "range", "generator", "Dataset", "numbered", "view"],
)
def test_split_dataset_accepts_many_kinds_of_data(data):
    assert as_lists(utils.split_dataset(data, left_size=0.75)) == [[0, 1, 2], [3]]


def test_split_dataset_keeps_rows_of_columns_together():
    x, y = np.arange(8.0).reshape(4, 2), np.arange(4)
    for data in (
        [x, y],
        (x, y),
        {"x": x, "y": y},
        list(zip(x, y, strict=True)),
        Dataset.from_tensor_slices((x, y)),
    ):
        left, right = utils.split_dataset(data, right_size=1)
        rows = list(right.as_numpy_iterator())
        row = tuple(rows[0].values()) if isinstance(data, dict) else rows[0]
        assert len(left) == 3 and len(rows) == 1 and row[0].tolist() == [6.0, 7.0] and row[1] == 3


def test_batched_dataset_is_unbatched_split_and_batched():
    left, right = utils.split_dataset(Dataset.range(10).batch(4).prefetch(1), left_size=7)
    assert as_lists((left, right)) == [[[0, 1, 2, 3], [4, 5, 6]], [[7, 8, 9]]]


def test_shuffling_dataset_is_read_once_so_that_parts_do_not_overlap():
    parts = utils.split_dataset(Dataset.range(20).shuffle(20), left_size=0.5)
    first = as_lists(parts)
    assert sorted(first[0] + first[1]) == list(range(20)) and as_lists(parts) == first


def test_split_dataset_of_strings():
    left, right = utils.split_dataset((np.array(["a", "bc", "d"]), np.arange(3)), left_size=2)
    assert [text for text, _ in left] == ["a", "bc"] and [text for text, _ in right] == ["d"]


def test_shuffle_does_not_change_python_random_state_and_follows_set_random_seed():
    import random

    random.seed(4)
    state = random.getstate()
    utils.split_dataset(np.arange(9), left_size=3, shuffle=True, seed=1)
    assert random.getstate() == state
    utils.set_random_seed(8)
    free = as_lists(utils.split_dataset(np.arange(9), left_size=3, shuffle=True))
    utils.set_random_seed(8)
    assert as_lists(utils.split_dataset(np.arange(9), left_size=3, shuffle=True)) == free


def test_equal_fractions_of_an_odd_number_of_samples():
    assert [len(part) for part in utils.split_dataset(np.arange(3), 0.5, 0.5)] == [2, 1]


@pytest.mark.parametrize(
    ("data", "sizes", "error", "message"),
    [
        (np.arange(4), {}, ValueError, "at least one of them was expected"),
        (
            np.arange(4),
            {"left_size": 1.0},
            ValueError,
            "left_size=1.0 was given; a fraction between 0 and 1",
        ),
        (np.arange(4), {"right_size": -0.5}, ValueError, "right_size=-0.5 was given; a fraction"),
        (np.arange(4), {"left_size": -1}, ValueError, "left_size=-1 was given; a positive number"),
        (np.arange(4), {"left_size": 4}, ValueError, "4 would be on the left and 0 on the right"),
        (np.arange(4), {"right_size": 9}, ValueError, "-5 would be on the left and 9 on the right"),
        (
            np.arange(4),
            {"left_size": 3, "right_size": 2},
            ValueError,
            r"which is 3 \+ 2; at most 4",
        ),
        (
            np.arange(4),
            {"left_size": 0.8, "right_size": 0.3},
            ValueError,
            "their sum must be at most 1",
        ),
        (np.arange(4), {"left_size": 0.1}, ValueError, "0 would be on the left"),
        (np.arange(4), {"left_size": "half"}, TypeError, r"left_size='half' was given \(str\)"),
        (np.arange(4), {"left_size": True}, TypeError, r"left_size=True was given \(bool\)"),
        ("text", {"left_size": 1}, TypeError, "dataset is of type str"),
        (None, {"left_size": 1}, TypeError, "dataset is of type NoneType"),
        (
            [[1, 2], [3, 4]],
            {"left_size": 1},
            TypeError,
            "a list of lists, which could be columns or samples",
        ),
        ([], {"left_size": 1}, ValueError, "The dataset is empty"),
        ([np.zeros(3), np.zeros(2)], {"left_size": 1}, ValueError, "the same number of rows"),
        (
            iter([np.zeros(2), np.zeros(3)]),
            {"left_size": 1},
            ValueError,
            r"Sample 1 has the shape \(3,\), and the first one",
        ),
        (
            iter([(1, 2), 3]),
            {"left_size": 1},
            ValueError,
            "Sample 1 has the structure array, and the first one",
        ),
        (Dataset.range(3).repeat(), {"left_size": 1}, ValueError, "is infinite"),
    ],
)
def test_invalid_splits_raise(data, sizes, error, message):
    with pytest.raises(error, match=message):
        utils.split_dataset(data, **sizes)
