"""Hugging Face datasets as inputs: rows by index, columns as arrays, in the dataset's format."""

import sys

import numpy as np
import pytest

from podium.data import DataHandler, train_validation_split
from podium.data._convert_arrays import convert_arrays

# By an inner module: without the package, the folder of our own tests would pass for it.
pytest.importorskip(
    "datasets.arrow_dataset",
    reason="Hugging Face's datasets are not installed here; see `make test-sources`",
)
datasets = sys.modules["datasets"]


@pytest.fixture
def table(x, labels):
    """A dataset with vectors, class numbers and weights, in several chunks."""
    rows = [
        datasets.Dataset.from_dict({"v": x[part].tolist(), "label": labels[part], "w": x[part, 0]})
        for part in PARTS
    ]
    return datasets.concatenate_datasets(rows)


PARTS = (slice(0, 10), slice(10, 23))
FORMATS = [None, "numpy", "torch", "jax", "tensorflow", "pandas", "arrow", "polars"]


@pytest.mark.parametrize("form", FORMATS)
def test_training_with_every_format_equals_arrays(form, x, labels, table, trained, same):
    table = table.remove_columns("w").with_format(form)
    if form in (None, "numpy", "torch"):
        same(trained(table, "label"), trained(x, labels))
    same(convert_arrays(table, "x")["v"].rows(np.array([20, 3])), x[[20, 3]].astype("float32"))
    same(convert_arrays(table, "x")["label"].rows(slice(4, 8)), labels[4:8].astype("int32"))


@pytest.mark.parametrize("shuffle", [True, False, "batch"])
def test_dataset_is_a_dictionary_of_its_columns(shuffle, x, labels, table, batches, same):
    expected = batches({"v": x, "label": labels, "w": x[:, 0]}, shuffle=shuffle)
    same(batches(table, shuffle=shuffle), expected)
    same(batches(table.select_columns("v"), shuffle=shuffle), batches(x, shuffle=shuffle))


def test_columns_are_leaves(x, labels, table, batches, same):
    expected = batches(x, labels, x[:, 0])
    same(batches(table["v"], table["label"], table["w"]), expected)
    table = table.with_format("torch")
    same(batches(table["v"], table["label"], table["w"]), expected)
    assert convert_arrays(table["label"], "y").shape == (23,)


def test_columns_by_name(x, labels, table, batches, same):
    same(batches(table, "label", "w"), batches(x, labels, x[:, 0]))
    same(batches(table, ["label", "w"]), batches(x, [labels, x[:, 0]]))
    same(batches(table, y="label"), batches({"v": x, "w": x[:, 0]}, labels))
    with pytest.raises(ValueError, match=r"Unknown column in `y`: 'lable'\. Did you mean 'label'"):
        DataHandler(table, "lable")
    (half, _, _), (rest, target, _) = train_validation_split((table, "label", None), 0.3)
    same(rest["v"].rows(np.array([6, 0])), x[[22, 16]].astype("float32"))
    assert len(half["v"]) == 16 and target.shape == (7,)


def test_order_and_selection_of_the_dataset_are_preserved(x, labels, table, batches, same):
    mixed = table.shuffle(seed=3)
    order = np.array([np.flatnonzero((x == row).all(1))[0] for row in np.array(mixed["v"])])
    same(batches(mixed, "label", "w"), batches(x[order], labels[order], x[order, 0]))


def test_rows_of_a_batch_are_read_once_for_all_columns(x, table):
    asked = []

    def noting(rows):
        asked.append(len(rows["v"]))
        return {"v": np.array(rows["v"]) * 2, "label": rows["label"]}

    data = DataHandler(
        table.with_transform(noting),
        "label",
        batch_size=4,
        shuffle=True,
        class_weight={0: 1.0, 1: 1.0, 2: 2.0},
    )
    found = [batch for _, iterator in data.enumerate_epochs() for batch in iterator]
    assert (
        max(asked) == 4 and sum(asked) == 2 + 23
    )  # a row for the names, one for the shapes, then each batch once
    assert sorted(
        np.concatenate([np.asarray(batch[0]) for batch in found])[:, 0].tolist()
    ) == sorted((x[:, 0] * 2).astype("float32").tolist())


def test_arrays_images_and_nested_lists(batches, same):
    images = np.arange(23 * 12, dtype="uint8").reshape(23, 2, 2, 3)
    features = datasets.Features(
        {"image": datasets.Array3D((2, 2, 3), "uint8"), "label": datasets.ClassLabel(2)}
    )
    table = datasets.Dataset.from_dict(
        {"image": images, "label": np.arange(23) % 2}, features=features
    )
    same(batches(table, "label"), batches(images, np.arange(23) % 2))
    nested = datasets.Dataset.from_dict({"grid": images[..., 0].tolist()})
    same(batches(nested), batches(images[..., 0].astype("int64")))
    records = datasets.Dataset.from_dict({"record": [{"n": number} for number in range(23)]})
    same(batches(records["record"]["n"]), batches(np.arange(23)))


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        (["cat"] * 23, TypeError, "column 'city' of `x` holds text, such as .*cat"),
        (
            [[1]] * 22 + [[1, 2]],
            ValueError,
            "column 'city' of `x` holds (lists of unequal length|arrays of different shapes)",
        ),
        (
            [None, *range(22)],
            ValueError,
            "column 'city' of `x` has missing values at 1 of 1 read places",
        ),
        ([*range(22), None], ValueError, "column 'city' of `x` has missing values at 1 of"),
    ],
)
@pytest.mark.parametrize("form", [None, "numpy", "torch"])
def test_error_names_the_column_that_is_not_an_array(values, error, message, form, labels):
    table = datasets.Dataset.from_dict({"n": labels, "city": values}).with_format(form)
    with pytest.raises(error, match=message):
        for _, iterator in DataHandler(table, batch_size=8).enumerate_epochs():
            list(iterator)


def test_splits_and_empty_datasets(table):
    with pytest.raises(
        TypeError,
        match=r"`x` is a DatasetDict with the splits \['train'\]; one of them .* `x\['train'\]`",
    ):
        DataHandler(datasets.DatasetDict({"train": table}))
    with pytest.raises(ValueError, match="`x` is empty: a dataset with 0 rows"):
        DataHandler(table.select([]))
    with pytest.raises(ValueError, match=r"`x` has 23, `y` has 5|`x` has 5, `y` has 23"):
        DataHandler(table["v"], table["label"][:5])
