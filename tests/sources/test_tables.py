"""Tables of pandas, Polars and Arrow as inputs: one array of their columns, without copies."""

import subprocess
import sys

import numpy as np
import pytest

from podium.data import DataHandler, train_validation_split
from podium.data._convert_arrays import convert_arrays
from podium.data.columns._column import Column

pd = pytest.importorskip(
    "pandas", reason="pandas is not installed here; `make test-sources` runs this"
)
pl = pytest.importorskip(
    "polars", reason="Polars is not installed here; `make test-sources` runs this"
)
pa = pytest.importorskip(
    "pyarrow", reason="PyArrow is not installed here; `make test-sources` runs this"
)

NAMES = ["a", "b", "c"]
FRAMES = {
    "pandas": lambda x: pd.DataFrame(x, columns=NAMES),
    "pandas in pieces": lambda x: (
        pd.DataFrame(index=range(len(x))).assign(a=x[:, 0]).assign(b=x[:, 1]).assign(c=x[:, 2])
    ),
    "pandas Float64": lambda x: pd.DataFrame(x, columns=NAMES).astype("Float64"),
    "pandas on Arrow": lambda x: pd.DataFrame(x, columns=NAMES).astype("double[pyarrow]"),
    "polars": lambda x: pl.DataFrame(x, schema=NAMES),
    "polars in chunks": lambda x: pl.concat(
        [pl.DataFrame(x[:10], schema=NAMES), pl.DataFrame(x[10:], schema=NAMES)], rechunk=False
    ),
    "arrow table": lambda x: pa.table({name: x[:, place] for place, name in enumerate(NAMES)}),
    "arrow in chunks": lambda x: pa.concat_tables(
        [
            pa.table({name: part[:, place] for place, name in enumerate(NAMES)})
            for part in (x[:4], x[4:4], x[4:20], x[20:])
        ]
    ),
    "arrow record batch": lambda x: pa.RecordBatch.from_pydict(
        {name: x[:, place] for place, name in enumerate(NAMES)}
    ),
}
SERIES = {"pandas": pd.Series, "polars": pl.Series, "arrow": pa.array}


@pytest.mark.parametrize("kind", FRAMES)
def test_training_with_a_table_equals_arrays(kind, x, labels, trained, same):
    same(trained(FRAMES[kind](x), labels), trained(x, labels))


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("shuffle", [True, False, "batch"])
def test_batches_of_tables(kind, shuffle, x, labels, batches, same):
    expected = batches((x, x[:, :1]), labels, shuffle=shuffle)
    same(
        batches(
            (FRAMES[kind](x), FRAMES[kind](x)[["a"]] if "arrow" not in kind else x[:, :1]),
            labels,
            shuffle=shuffle,
        ),
        expected,
    )


@pytest.mark.parametrize("kind", SERIES)
def test_series_is_one_column(kind, x, labels, batches, same):
    make = SERIES[kind]
    expected = batches({"a": x[:, :1], "b": x[:, 1:2]}, labels[:, None], x[:, 2:])
    same(batches({"a": make(x[:, 0]), "b": make(x[:, 1])}, make(labels), make(x[:, 2])), expected)
    same(batches(make(labels > 1), make(labels)), batches(labels[:, None] > 1, labels[:, None]))


def test_columns_of_several_dtypes_are_promoted(x, labels, batches, same):
    columns = {
        "n": labels,
        "yes": labels > 1,
        "small": x[:, 0].astype("float32"),
        "byte": labels.astype("uint8"),
    }
    expected = np.stack([column.astype("float64") for column in columns.values()], axis=1)
    for make in (pd.DataFrame, pl.DataFrame, pa.table):
        same(batches(make(columns)), batches(expected))
        same(
            batches(make({"n": labels, "yes": labels > 1})),
            batches(np.stack([labels, labels > 1], axis=1)),
        )
        same(
            batches(make({"yes": labels > 1, "no": labels == 0})),
            batches(np.stack([labels > 1, labels == 0], axis=1)),
        )


@pytest.mark.parametrize("kind", FRAMES)
def test_tables_are_not_copied_entirely(kind, x):
    big = np.repeat(x, 1000, axis=0)
    frame = FRAMES[kind](big)
    found = convert_arrays(frame, "x")
    if isinstance(found, np.ndarray):
        assert np.may_share_memory(found, np.asarray(frame))
        return
    first = found._columns[0]
    pieces = first._chunks if hasattr(first, "_chunks") else [first]
    source = frame["a"]
    if kind.startswith("pandas"):
        source = (
            source.array.__arrow_array__() if "Arrow" in kind else source.to_numpy(dtype="float64")
        )
    views = [source] if isinstance(source, np.ndarray) else None
    if views is None:
        parts = (
            source.get_chunks()
            if kind.startswith("polars")
            else getattr(source, "chunks", [source])
        )
        views = [part.to_numpy() for part in parts if len(part)]
    assert all(
        np.shares_memory(piece.in_memory, view) for piece, view in zip(pieces, views, strict=True)
    )


def test_contiguous_frames_are_viewed_as_one_array(x):
    assert isinstance(convert_arrays(pd.DataFrame(x), "x"), np.ndarray)
    assert isinstance(convert_arrays(pl.DataFrame(np.asfortranarray(x)), "x"), np.ndarray)
    assert isinstance(convert_arrays(FRAMES["pandas in pieces"](x), "x"), Column)


def test_sparse_frames_stay_sparse(x, labels, batches, same):
    frame = pd.get_dummies(pd.Series(labels), sparse=True, dtype="float64")
    column = convert_arrays(frame, "x")
    assert type(column).__name__ == "SparseColumn"
    same(batches(frame), batches(frame.to_numpy()))
    frame["dense"] = x[:, 0]
    same(batches(frame), batches(np.column_stack([np.eye(3)[labels], x[:, 0]])))


def test_columns_of_arrays(x, labels, batches, same):
    fixed = pa.FixedSizeListArray.from_arrays(pa.array(x.ravel()), 3)
    same(batches(fixed), batches(x))
    same(batches(fixed[5:]), batches(x[5:]))
    tensors = pa.FixedShapeTensorArray.from_numpy_ndarray(
        np.ascontiguousarray(np.repeat(x, 2, 1).reshape(23, 3, 2))
    )
    same(batches(tensors), batches(np.repeat(x, 2, 1).reshape(23, 3, 2)))
    same(batches({"v": pl.Series(x, dtype=pl.Array(pl.Float64, 3))}), batches({"v": x}))
    with pytest.raises(
        TypeError,
        match=r"column 'v' of `x` holds an array in each row .*Give a dictionary of the columns",
    ):
        DataHandler(pa.table({"v": fixed, "n": labels}))
    with pytest.raises(TypeError, match=r"column 'v' of `x` holds an array in each row"):
        DataHandler(pl.DataFrame({"v": pl.Series(x, dtype=pl.Array(pl.Float64, 3))}))


WHEN = np.array(["2020-01-01"] * 23, "datetime64[ns]")
TEXT = ["x"] * 23
GAPS = [None, *range(22)]


@pytest.mark.parametrize(
    ("column", "error", "message"),
    [
        (
            pd.Series(TEXT),
            TypeError,
            r"holds text \(dtype str\).*numbers and booleans only.*pd.factorize\(x\['city'\]\)",
        ),
        (
            pd.Series(TEXT, dtype=object),
            TypeError,
            r"holds Python objects \(dtype object\).*astype\('float32'\)",
        ),
        (
            pd.Series(TEXT).astype("category"),
            TypeError,
            r"holds categories \(dtype category\).*x\['city'\].cat.codes",
        ),
        (
            pd.Series(WHEN),
            TypeError,
            r"holds dates or times \(dtype datetime64.*x\['city'\].astype",
        ),
        (pd.Series(WHEN).dt.tz_localize("UTC"), TypeError, "holds dates or times"),
        (pd.Series(WHEN - WHEN), TypeError, "holds dates or times"),
        (
            pd.Series(GAPS, dtype="Int64"),
            ValueError,
            r"missing values at 1 of 23 places \(dtype Int64\).*x\['city'\].fillna\(0\)",
        ),
        (pd.Series(GAPS, dtype="Float64"), ValueError, "missing values at 1 of 23 places"),
        (pd.Series([None, *[True] * 22], dtype="boolean"), ValueError, "missing values at 1 of 23"),
        (pd.Series(GAPS, dtype="int64[pyarrow]"), ValueError, "missing values at 1 of 23"),
        (pl.Series(TEXT), TypeError, r"holds text \(dtype String\).*x\['city'\].rank\('dense'\)"),
        (
            pl.Series(TEXT).cast(pl.Categorical),
            TypeError,
            r"holds categories .*x\['city'\].to_physical\(\)",
        ),
        (pl.Series(WHEN), TypeError, "holds dates or times"),
        (pl.Series([[1], *[[1, 2]] * 22]), TypeError, "holds values that are not numbers"),
        (
            pl.Series([1] * 23).cast(pl.Decimal(10, 2)),
            TypeError,
            r"that JAX does not support .*cast\(pl.Float32\)",
        ),
        (pl.Series([object()] * 23), TypeError, "holds values that are not numbers"),
        (
            pl.Series(GAPS),
            ValueError,
            r"missing values at 1 of 23 places \(dtype Int64\).*x\['city'\].fill_null\(0\)",
        ),
        (pa.array(TEXT), TypeError, r"holds text \(dtype string\).*dictionary_encode"),
        (pa.array(TEXT).dictionary_encode(), TypeError, "holds categories"),
        (pa.array(WHEN), TypeError, r"holds dates or times .*cast\('int64'\)"),
        (pa.array([[1], *[[1, 2]] * 22]), TypeError, "holds lists of variable length"),
        (pa.array([None] * 23), TypeError, "holds missing values only"),
        (pa.array([b"x"] * 23), TypeError, "holds values that are not numbers"),
        (
            pa.array(GAPS),
            ValueError,
            r"missing values at 1 of 23 places \(dtype int64\).*fill_null\(0\)",
        ),
    ],
)
def test_error_names_the_column_without_numbers(column, error, message, labels):
    package = type(column).__module__.partition(".")[0]
    make = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[package]
    with pytest.raises(error, match="^column 'city' of `x` .*" + message):
        DataHandler(make({"n": labels, "city": column}), labels)
    with pytest.raises(error, match=r"^`x\['city'\]` "):
        DataHandler({"n": labels, "city": column}, labels)
    with pytest.raises(error, match=r"^`y` "):
        DataHandler(labels, column)


def test_packages_are_not_imported_unless_used():
    code = """
import sys, numpy as np, podium
model = podium.Sequential([podium.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit({"a": np.ones((4, 1))}["a"], [[1.0]] * 4, validation_split=0.5, verbose=0)
packages = {"pandas", "polars", "pyarrow", "torch", "tensorflow", "zarr", "datasets", "grain"}
assert not packages & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_missing_values_that_are_nan_stay_nan(batches, same):
    gaps = np.array([np.nan, *range(22)])
    same(batches(pd.DataFrame({"a": gaps})), batches(gaps[:, None]))


def test_error_names_the_column_with_integers_beyond_32_bits(labels, x):
    big = labels.astype("int64") + 2**40
    for make in (pd.DataFrame, pl.DataFrame, pa.table):
        with pytest.raises(
            OverflowError, match="`column 'big' of x` holds integers from 1099511627776"
        ):
            DataHandler(make({"n": labels, "big": big}))
        DataHandler(make({"n": x[:, 0], "big": big}))  # they become floats


def test_lazy_frame_raises(x):
    with pytest.raises(
        TypeError,
        match=r"`x` is a Polars LazyFrame, a query that has not been run.*`x.collect\(\)`",
    ):
        DataHandler(pl.LazyFrame(x))


def test_empty_tables():
    for frame in (
        pd.DataFrame({"a": [1.0]}).iloc[:0],
        pl.DataFrame({"a": [1.0]}).head(0),
        pa.table({"a": [1.0]}).slice(1),
    ):
        with pytest.raises(ValueError, match="`x` is empty: its shape is"):
            DataHandler(frame)
    for frame in (pd.DataFrame(index=range(3)), pl.DataFrame(), pa.table({})):
        with pytest.raises(ValueError, match="without columns"):
            DataHandler(frame)


@pytest.mark.parametrize(
    "make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "arrow"]
)
def test_targets_and_weights_by_column_name(make, x, labels, batches, same, trained):
    table = make({"a": x[:, 0], "label": labels, "b": x[:, 1], "c": x[:, 2], "w": x[:, 0] ** 2})
    expected = batches(x, labels[:, None], x[:, :1] ** 2)
    same(batches(table, "label", "w"), expected)
    same(batches(table, ["label"], "w"), expected)
    same(
        batches(table, ["c", "b"]),
        batches(np.stack([x[:, 0], labels, x[:, 0] ** 2], 1), x[:, [2, 1]]),
    )
    (half, target, _), (rest, _, _) = train_validation_split((table, "label", "w"), 0.3)
    assert half.shape == (16, 3) and target.shape == (16, 1) and rest.shape == (7, 3)
    expected = trained(
        x, labels[:, None], validation_split=0.3, class_weight={0: 1.0, 1: 2.0, 2: 3.0}
    )
    table = make({"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "label": labels})
    same(
        trained(table, "label", validation_split=0.3, class_weight={0: 1.0, 1: 2.0, 2: 3.0}),
        expected,
    )
    with pytest.raises(ValueError, match=r"Unknown column in `y`: 'lable'\. Did you mean 'label'"):
        DataHandler(table, "lable")
    with pytest.raises(ValueError, match="`x` has no column left for the inputs"):
        DataHandler(table, ["a", "b", "c", "label"])
    with pytest.raises(TypeError, match="`y` is an array of strings"):
        DataHandler(x, ["label"] * 23)


def test_duplicate_and_integer_column_names(x, labels, batches, same):
    frame = pd.DataFrame(np.column_stack([x, labels]), columns=["a", 0, "a", "label"])
    same(batches(frame, "label"), batches(x, labels[:, None].astype("float64")))
    same(batches(frame), batches(np.column_stack([x, labels])))
    with pytest.raises(ValueError, match="`y` names the column 'a', of which `x` has 2"):
        DataHandler(frame, "a")


def test_target_in_the_first_or_last_column_leaves_a_view(x):
    frame = pd.DataFrame(x, columns=NAMES)
    data = DataHandler(frame, "c")
    assert data.adapter.columns[0].in_memory is not None
    assert np.may_share_memory(data.adapter.columns[0].in_memory, frame.to_numpy())
    assert DataHandler(frame, "b").adapter.columns[0].in_memory is None
