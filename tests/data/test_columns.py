"""Arrays of every kind as inputs are read batch by batch; they are never read or copied at once."""

import collections
import dataclasses
import typing

import h5py
import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
import scipy.sparse

import podium
from podium.data import DataHandler, train_validation_split
from podium.data._convert_arrays import convert_arrays
from podium.data.columns._column import Column, MemoryColumn, as_column
from podium.data.columns._compound_columns import StackedColumn, concatenate_columns

RNG = np.random.default_rng(0)
X = RNG.normal(size=(23, 3))
Y = RNG.integers(0, 2, 23)


class Lazy:
    """An array that gives rows by slice, a few at a time, and notes how many."""

    def __init__(self, array, most=8):
        self.array, self.most, self.reads = array, most, []

    shape = property(lambda self: self.array.shape)
    dtype = property(lambda self: self.array.dtype)

    def __getitem__(self, rows):
        assert isinstance(rows, slice) and rows.step in (None, 1), f"asked for {rows!r}"
        count = rows.stop - rows.start
        assert 0 < count <= self.most, f"{count} rows were read at once"
        self.reads.append((rows.start, rows.stop))
        return self.array[rows]

    def __array__(self, *args, **kwargs):
        raise AssertionError("the whole array was read")


def batches(*args, **kwargs):
    size = {} if isinstance(args[0], collections.abc.Iterator) else {"batch_size": 8}
    data = DataHandler(*args, **({"shuffle_seed": 1} | size | kwargs))
    return [list(iterator) for _, iterator in data.enumerate_epochs()]


def assert_same(found, wanted):
    if isinstance(wanted, (tuple, list)):
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            assert_same(one, other)
    elif isinstance(wanted, dict):
        assert list(found) == list(wanted)
        for key in wanted:
            assert_same(found[key], wanted[key])
    else:
        found, wanted = np.asarray(found), np.asarray(wanted)
        assert found.dtype == wanted.dtype and found.shape == wanted.shape
        np.testing.assert_array_equal(found, wanted)


def in_file(array, tmp_path, kind):
    if kind == "memmap":
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.npy"
        np.save(path, array)
        return np.load(path, mmap_mode="r")
    if kind == "view of a memmap":
        return np.asarray(in_file(np.concatenate([array, array]), tmp_path, "memmap"))[: len(array)]
    if kind.startswith("hdf5"):
        file = h5py.File(tmp_path / "file.h5", "a")
        return file.create_dataset(
            f"array{len(file)}", data=array, chunks=True if kind == "hdf5 in chunks" else None
        )
    if kind == "lazy":
        return Lazy(array)
    matrix = scipy.sparse.csr_array(array if array.ndim == 2 else array[:, None])
    return matrix if kind == "csr" else matrix.asformat(kind)


FILES = ("memmap", "view of a memmap", "hdf5", "hdf5 in chunks", "lazy")
SPARSE = ("csr", "csc", "coo", "lil", "bsr", "dia", "dok")


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("shuffle", [False, True, "batch"])
def test_batches_of_files_equal_those_of_arrays(kind, shuffle, tmp_path):
    x, y = (in_file(array, tmp_path, kind) for array in (X, Y))
    assert_same(batches(x, y, shuffle=shuffle, epochs=2), batches(X, Y, shuffle=shuffle, epochs=2))


@pytest.mark.parametrize("kind", SPARSE)
@pytest.mark.parametrize("shuffle", [False, True])
def test_sparse_rows_are_made_dense_batch_by_batch(kind, shuffle):
    x = np.where(X > 0.5, X, 0)
    given = in_file(x, None, kind), in_file(Y, None, kind)
    assert_same(batches(*given, shuffle=shuffle), batches(x, Y[:, None], shuffle=shuffle))


def test_sparse_matrices_and_vectors():
    x = np.where(X > 0.5, X, 0)
    assert_same(batches(scipy.sparse.csr_matrix(x)), batches(x))
    assert_same(
        batches(scipy.sparse.coo_array(x[:, 0]), shuffle=True), batches(x[:, 0], shuffle=True)
    )
    assert_same(batches(scipy.sparse.csr_array(x > 0)), batches(x > 0))


def test_sparse_matrix_is_never_made_dense():
    wide = scipy.sparse.csr_array((1_000_000, 1_000_000), dtype="float32")
    column = convert_arrays(wide, "x")
    assert column.shape == wide.shape and column.in_memory is None
    assert column[:10].rows(np.array([3, 1])).shape == (2, 1_000_000)


@pytest.mark.parametrize(("shuffle", "epochs"), [(False, 1), (True, 2), ("batch", 1)])
def test_fit_reads_lazy_arrays_batch_by_batch(shuffle, epochs):
    x, y, weight = (Lazy(array[:20], most=4) for array in (X, Y, np.ones(23)))
    model = podium.Sequential([podium.Input((3,)), podium.layers.Dense(2)])
    model.compile("sgd", podium.losses.SparseCategoricalCrossentropy(from_logits=True))
    common = {"batch_size": 4, "verbose": 0, "shuffle": shuffle, "epochs": epochs}
    model.fit(x, y, sample_weight=weight, validation_data=(x, y, weight), **common)
    model.fit(x, y, validation_split=0.2, class_weight={0: 1.0, 1: 2.0}, **common)
    model.evaluate(x, y, batch_size=4, verbose=0)
    assert model.predict(x, batch_size=4, verbose=0).shape == (20, 2)
    assert x.reads and y.reads and weight.reads


def test_neighboring_rows_are_read_at_once_and_no_row_twice():
    lazy = Lazy(X)
    column = convert_arrays(lazy, "x")
    assert_same(column.rows(np.array([5, 2, 4, 9, 2, 3])), X[[5, 2, 4, 9, 2, 3]].astype("float32"))
    assert_same(column.rows(np.array([7, 6])), X[[7, 6]].astype("float32"))
    assert_same(column[10:][2:5].rows(np.array([2, 0])), X[[14, 12]].astype("float32"))
    assert_same(column[10:20].rows(slice(1, 4)), X[11:14].astype("float32"))
    assert lazy.reads == [(2, 6), (9, 10), (6, 8), (12, 13), (14, 15), (11, 14)]


def test_lazy_arrays_with_class_weights_match_those_in_memory():
    one_hot = np.eye(3)[RNG.integers(0, 3, 23)]
    table = {0: 1.0, 1: 2.0, 2: 0.5}
    for y in (Y, Y[:, None], one_hot, Y[:, None, None].repeat(2, 1)):
        wanted = batches(X, y, class_weight=table, shuffle=True)
        assert_same(batches(Lazy(X), Lazy(y), class_weight=table, shuffle=True), wanted)
    wanted = batches(X, {"a": Y, "b": one_hot}, class_weight={"b": table}, shuffle=True)
    assert_same(
        batches(X, {"a": Lazy(Y), "b": Lazy(one_hot)}, class_weight={"b": table}, shuffle=True),
        wanted,
    )
    with pytest.raises(
        ValueError, match=r"class_weight has no weight for the classes \[1\], which `y` holds"
    ):
        batches(Lazy(X), Lazy(Y), class_weight={0: 1.0})


def test_missing_sample_weights_of_an_output_are_ones():
    found = batches(X, [Lazy(Y), Y], sample_weight=[None, Y])
    assert_same(found, batches(X, [Y, Y], sample_weight=[None, Y]))


@pytest.mark.parametrize("kind", ["lazy", "csr", "memmap", "hdf5"])
def test_validation_split_does_not_read_the_data(kind, tmp_path):
    x = in_file(X, tmp_path, kind)
    (train, y), (validate, _) = train_validation_split((x, Y), 0.3)
    assert isinstance(train, Column) and (len(train), len(validate), len(y)) == (16, 7, 16)
    assert_same(batches(train, shuffle=True), batches(X[:16], shuffle=True))
    assert_same(validate.rows(slice(0, 7)), X[16:].astype("float32"))
    if kind == "lazy":
        assert all(stop <= 23 and start >= 0 for start, stop in x.reads) and x.reads[-1] == (16, 23)


def test_arrays_in_memory_are_not_copied():
    strided = np.asfortranarray(X)[::2]
    assert convert_arrays(X, "x") is X and convert_arrays(strided, "x") is strided
    column = as_column(convert_arrays(X, "x"), "x")
    assert isinstance(column, MemoryColumn) and column.in_memory is X


@pytest.mark.parametrize("kind", ["memory", *FILES, "csr"])
@pytest.mark.parametrize(
    "index", [slice(2, 6), np.array([5, 1, 1, 2], "int32")], ids=["slice", "numbers"]
)
def test_batches_do_not_share_memory(kind, index, tmp_path):
    source = X.astype("float32")
    column = as_column(
        convert_arrays(source if kind == "memory" else in_file(source, tmp_path, kind), "x"), "x"
    )
    batch = column.rows(index)
    assert type(batch) is np.ndarray and batch.flags.c_contiguous and batch.flags.writeable
    batch[:] = 0
    assert_same(column.rows(index), X[index].astype("float32"))


def test_integers_beyond_32_bits_raise_in_their_batch():
    y = np.zeros(23, "int64")
    y[20] = 2**40
    first = iter(DataHandler(X, Lazy(y), batch_size=8).enumerate_epochs())
    _, iterator = next(first)
    next(iterator)
    with pytest.raises(OverflowError, match="`y` holds integers from 0 to 1099511627776"):
        list(iterator)
    with pytest.raises(OverflowError, match="`y` holds integers"):
        DataHandler(X, scipy.sparse.csr_array(y[:, None]))  # its values are in memory


@dataclasses.dataclass
class Inputs:
    pixels: typing.Any
    age: typing.Any


@dataclasses.dataclass
class Files:
    """A source of batches that is written as a dataclass."""

    arrays: list

    def __iter__(self):
        return iter(self.arrays)


Pair = collections.namedtuple("Pair", "first second")


def test_nested_structures_are_preserved():
    wanted = {"pixels": X, "age": Y}
    assert_same(batches(Inputs(X, Y), shuffle=True), batches(wanted, shuffle=True))
    assert_same(
        batches(X, Inputs(Lazy(Y), Y), {"age": Y}), batches(X, {"pixels": Y, "age": Y}, {"age": Y})
    )
    assert_same(
        batches(X, Inputs(Y, Y), Inputs(None, Y)), batches(X, {"pixels": Y, "age": Y}, {"age": Y})
    )
    assert_same(batches(collections.UserDict(wanted)), batches(wanted))
    assert isinstance(batches(Pair(X, Lazy(Y)))[0][0][0], Pair)
    assert_same(batches(iter([(Inputs(X, Y), Y)])), batches(iter([(wanted, Y)])))


def test_iterable_dataclass_is_a_source_of_batches():
    data = DataHandler(Files([(X, Y), (X, Y)]))
    assert [len(list(iterator)) for _, iterator in data.enumerate_epochs()] == [2]


def test_groups_of_files_are_dictionaries(tmp_path):
    with h5py.File(tmp_path / "file.h5", "w") as file:
        file["x/a"], file["x/b"], file["y"] = X, Y, Y
        assert_same(
            batches(file["x"], file["y"], shuffle=True), batches({"a": X, "b": Y}, Y, shuffle=True)
        )
        assert file["x/a"].shape == (23, 3)  # the file stays open, it is the user's


@pytest.mark.parametrize(
    ("x", "error", "message"),
    [
        (Lazy(np.array(["a"] * 23)), TypeError, "`x` is an array of strings"),
        (
            Lazy(np.array([None] * 23)),
            TypeError,
            r"`x` is an array of Python objects \(dtype object, shape \(23,\)\)",
        ),
        ({"name": np.array(["a"] * 23)}, TypeError, r"`x\['name'\]` is an array of strings"),
        ([X, np.array([object()] * 23)], TypeError, r"`x\[1\]` is an array of Python objects"),
        (Inputs(X, np.array(["a"] * 23)), TypeError, r"`x\['age'\]` is an array of strings"),
        (Lazy(np.zeros(23, "datetime64[s]")), TypeError, "`x` holds dates or times"),
        (Lazy(np.zeros(23, complex)), TypeError, "`x` holds complex numbers"),
        (np.array(["a"] * 23, np.dtypes.StringDType()), TypeError, "`x` is an array of strings"),
        (Lazy(X[:0]), ValueError, r"`x` is empty: its shape is \(0, 3\)"),
        (Lazy(X[:5]), ValueError, "`x` has 5, `y` has 23"),
        (scipy.sparse.csr_array((23, 3), dtype=complex), TypeError, "`x` holds complex numbers"),
        (
            scipy.sparse.coo_array(np.ones((23, 2, 2))),
            ValueError,
            r"sparse array of shape \(23, 2, 2\); one or two dimensions",
        ),
    ],
)
def test_error_for_non_numeric_data_names_the_leaf(x, error, message):
    with pytest.raises(error, match=message):
        DataHandler(x, Y)


def test_xarray_arrays_are_read_by_rows():
    class DataArray(Lazy):
        __module__ = "xarray.core.dataarray"

        def to_numpy(self):
            raise AssertionError("the whole array was read")

    assert_same(batches(DataArray(X), shuffle=True), batches(X, shuffle=True))


@hypothesis.given(
    st.lists(st.integers(1, 5), min_size=1, max_size=6),
    st.integers(0, 4),
    st.integers(0, 4),
    st.lists(st.integers(0, 99)),
)
def test_compound_columns_equal_the_arrays(lengths, first, last, picked):
    total = sum(lengths)
    array = np.arange(total * 2).reshape(total, 2)
    pieces = np.split(array, np.cumsum(lengths)[:-1])
    columns = [
        concatenate_columns(
            "x", [as_column(convert_arrays(Lazy(piece[:, place]), "x"), "x") for piece in pieces]
        )
        for place in range(2)
    ]
    start, stop = min(first, total - 1), max(total - last, min(first, total - 1) + 1)
    whole, part = array[start:stop], StackedColumn("x", columns)[start:stop]
    index = np.array(picked, "int32") % len(whole)
    if len(index):
        np.testing.assert_array_equal(part.rows(index), whole[index])
    np.testing.assert_array_equal(part.rows(slice(0, len(whole))), whole)
    if len(whole) > 1:
        np.testing.assert_array_equal(part[1:].rows(slice(0, len(whole) - 1)), whole[1:])


def test_lazy_arrays_with_wrong_shapes_or_dtypes_are_refused():
    class Short(Lazy):
        def __getitem__(self, rows):
            return self.array[rows][:-1]

    class Unknown(Lazy):
        shape = (float("nan"), 3)

    class Foreign(Lazy):
        dtype = "number"

    with pytest.raises(
        ValueError,
        match=r"`x` \(Short\) returned an array of shape \(7, 3\) for 8 rows; \(8, 3\)",
    ):
        DataHandler(Short(X), batch_size=8)
    with pytest.raises(ValueError, match=r"`x` \(Unknown\) has the shape \(nan, 3\)"):
        DataHandler(Unknown(X))
    with pytest.raises(
        TypeError, match=r"`x` \(Foreign\) has the dtype 'number', which NumPy does not know"
    ):
        DataHandler(Foreign(X))


def test_closed_and_empty_files_are_refused(tmp_path):
    with h5py.File(tmp_path / "file.h5", "w") as file:
        file["x"], file["text"], file["one"], file["nothing"] = X, ["a"] * 23, 3.0, h5py.Empty("f4")
        file["record"] = np.zeros(23, [("a", "f4"), ("b", "i4")])
        closed = file["x"]
        with pytest.raises(TypeError, match="`x` is an array of Python objects"):
            DataHandler(file["text"])
        with pytest.raises(ValueError, match=r"`x` is the single number of shape \(\)"):
            DataHandler(file["one"])
        with pytest.raises(ValueError, match=r"`x` is an empty HDF5 dataset \(h5py.Empty\)"):
            DataHandler(file["nothing"])
        with pytest.raises(TypeError, match="`x` is a structured array"):
            DataHandler(file["record"])
    with pytest.raises(ValueError, match="`x` is a dataset of an HDF5 file that has been closed"):
        DataHandler(closed)


def test_generators_may_yield_any_kind_of_array():
    x = np.where(X > 0.5, X, 0)
    found = batches(iter([(scipy.sparse.csc_matrix(x), Lazy(Y, most=23))]))
    assert_same(found, batches(iter([(x, Y)])))


@pytest.mark.parametrize("kind", ["list", "memmap", "hdf5", "lazy", "csc", "dataclass"])
def test_all_column_types_train_to_the_same_weights(kind, tmp_path):
    def trained(x, y):
        podium.utils.set_random_seed(5)
        inputs = podium.Input((3,), name="pixels")
        model = (
            podium.Model({"pixels": inputs}, podium.layers.Dense(1)(inputs))
            if kind == "dataclass"
            else None
        )
        model = model or podium.Sequential([inputs, podium.layers.Dense(1)])
        model.compile("sgd", "mse")
        model.fit(x, y, batch_size=8, epochs=2, verbose=0)
        return model.get_weights()

    given = {
        "list": lambda: X.tolist(),
        "dataclass": lambda: dataclasses.make_dataclass("One", ["pixels"])(X),
    }.get(kind, lambda: in_file(X, tmp_path, kind))()
    wanted = trained({"pixels": X} if kind == "dataclass" else X, Y[:, None].astype("float32"))
    assert_same(trained(given, Y[:, None].astype("float32")), wanted)
