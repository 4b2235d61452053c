"""Arrays stored in files or in chunks, of packages that Podium never imports: Zarr."""

import numpy as np
import pytest

from podium.data import DataHandler, train_validation_split
from podium.data._convert_arrays import convert_arrays

zarr = pytest.importorskip(
    "zarr", reason="Zarr is not installed here; `make test-sources` runs this"
)


@pytest.fixture
def stored(tmp_path):
    """Store an array in chunks of 5 rows, and note how many rows each read asks for."""

    def store(array):
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.zarr"
        made = zarr.create_array(
            str(path), shape=array.shape, dtype=array.dtype, chunks=(5, *array.shape[1:])
        )
        made[:] = array
        return zarr.open_array(str(path), mode="r")

    return store


@pytest.mark.parametrize("shuffle", [True, False, "batch"])
def test_batches_of_zarr_arrays(shuffle, x, labels, stored, batches, same):
    expected = batches(x, labels, shuffle=shuffle, epochs=2)
    same(batches(stored(x), stored(labels), shuffle=shuffle, epochs=2), expected)


def test_training_with_zarr_equals_arrays(x, labels, stored, trained, same):
    expected = trained(x, labels, class_weight={0: 1.0, 1: 2.0, 2: 3.0})
    same(trained(stored(x), stored(labels), class_weight={0: 1.0, 1: 2.0, 2: 3.0}), expected)


def test_zarr_is_sliced_without_reading(x, stored, same):
    (first,), (second,) = train_validation_split((stored(x),), 0.3)
    same(second.rows(np.array([6, 0])), x[[22, 16]].astype("float32"))
    assert first.in_memory is None and len(first) == 16


def test_reads_are_at_most_one_batch(x, stored):
    column = convert_arrays(stored(x), "x")
    asked = []

    class Noting:
        shape, dtype = column.source.shape, column.source.dtype

        def __init__(self, source):
            self.source = source
            self.oindex = self

        def __getitem__(self, rows):
            found = self.source[rows]
            asked.append(len(found))
            return found

    column.source = Noting(column.source.oindex)
    for _, iterator in DataHandler(column, batch_size=4, shuffle=True).enumerate_epochs():
        list(iterator)
    assert max(asked) == 4 and sum(asked) == 23


def test_zarr_array_of_strings_raises(tmp_path):
    text = zarr.create_array(str(tmp_path / "text.zarr"), shape=(3,), dtype="U4")
    with pytest.raises(TypeError, match="`x` is an array of strings"):
        DataHandler(text)
