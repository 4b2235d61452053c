"""The table of sources in docs/data.md: every cell is checked, with the real packages if they are
installed.

Where a package is missing its rows are skipped; `make test-sources` runs all of them.
"""

import importlib.util
import pathlib
import tempfile

import numpy as np
import pytest

import podium
from podium.data import DataHandler, Dataset

ROWS, BATCH = 22, 4
X = np.random.default_rng(0).normal(size=(ROWS, 3)).astype("float32")
Y = X.sum(1, keepdims=True)
STARTS = range(0, ROWS, BATCH)


def pairs():
    return [(X[at : at + BATCH], Y[at : at + BATCH]) for at in STARTS]


class Numbered(podium.utils.PyDataset):
    def __len__(self):
        return len(STARTS)

    def __getitem__(self, index):
        return pairs()[index]


class Loader:
    def __iter__(self):
        return iter(pairs())


class Lazy:
    """An array that is read by slices."""

    shape, dtype = X.shape, X.dtype

    def __getitem__(self, index):
        return X[index]


def of_file(kind, folder):
    if kind == "memmap":
        np.save(folder / "x.npy", X)
        return np.load(folder / "x.npy", mmap_mode="r")
    if kind == "h5":
        import h5py

        return h5py.File(folder / "x.h5", "w").create_dataset("x", data=X)
    import zarr

    stored = zarr.create_array(folder / "x.zarr", shape=X.shape, dtype="float32", chunks=(5, 3))
    stored[:] = X
    return stored


def of_package(kind):
    if kind == "pandas":
        import pandas

        return pandas.DataFrame(X)
    if kind == "polars":
        import polars

        return polars.DataFrame(X, schema=["a", "b", "c"])
    if kind == "pyarrow":
        import pyarrow

        return pyarrow.table({name: X[:, i] for i, name in enumerate("abc")})
    if kind == "scipy":
        import scipy.sparse

        return scipy.sparse.csr_array(X)
    if kind == "torch tensor":
        import torch

        return torch.from_numpy(X.copy())
    if kind == "torch loader":
        import torch
        from torch.utils.data import DataLoader, TensorDataset

        return DataLoader(
            TensorDataset(torch.from_numpy(X.copy()), torch.from_numpy(Y.copy())), batch_size=BATCH
        )
    if kind == "tf.data":
        import tensorflow

        return tensorflow.data.Dataset.from_tensor_slices((X, Y)).batch(BATCH)
    import grain

    made = grain.MapDataset.source(list(zip(X, Y, strict=True))).batch(BATCH)
    return made if kind == "grain map" else made.to_iter_dataset()


def hugging_face(kind):
    import datasets

    table = datasets.Dataset.from_dict({"x": X, "label": Y}).with_format("numpy")
    return table if kind == "table" else table.to_iterable_dataset()


# The name in the table -> (package, arguments of fit given a folder); x only, or x with y.
SOURCES = {
    "NumPy, JAX, `Tensor`; lists; nested": ("numpy", lambda _: {"x": X, "y": Y}),
    "`np.memmap`": ("numpy", lambda at: {"x": of_file("memmap", at), "y": Y}),
    "h5py dataset": ("h5py", lambda at: {"x": of_file("h5", at), "y": Y}),
    "zarr array": ("zarr", lambda at: {"x": of_file("zarr", at), "y": Y}),
    "any lazy array (shape, dtype, slices)": ("numpy", lambda _: {"x": Lazy(), "y": Y}),
    "SciPy sparse": ("scipy", lambda _: {"x": of_package("scipy"), "y": Y}),
    "pandas": ("pandas", lambda _: {"x": of_package("pandas"), "y": Y}),
    "polars": ("polars", lambda _: {"x": of_package("polars"), "y": Y}),
    "pyarrow": ("pyarrow", lambda _: {"x": of_package("pyarrow"), "y": Y}),
    "torch and TensorFlow tensors": ("torch", lambda _: {"x": of_package("torch tensor"), "y": Y}),
    "Hugging Face `Dataset`": (
        "datasets.arrow_dataset",
        lambda _: {"x": hugging_face("table"), "y": "label"},
    ),
    "`podium.data.Dataset` of arrays": (
        "numpy",
        lambda _: {"x": Dataset.from_tensor_slices((X, Y)).batch(BATCH)},
    ),
    "`Dataset.from_generator`": (
        "numpy",
        lambda _: {"x": Dataset.from_generator(lambda: iter(pairs()))},
    ),
    "`PyDataset`, `Sequence`": ("numpy", lambda _: {"x": Numbered()}),
    "any iterable of batches": ("numpy", lambda _: {"x": Loader()}),
    "generator, iterator": ("numpy", lambda _: {"x": iter(pairs())}),
    "torch `DataLoader`": ("torch", lambda _: {"x": of_package("torch loader")}),
    "`tf.data.Dataset`": ("tensorflow", lambda _: {"x": of_package("tf.data")}),
    "Grain `MapDataset`": ("grain", lambda _: {"x": of_package("grain map")}),
    "Grain `IterDataset`, `DataLoader`": ("grain", lambda _: {"x": of_package("grain iter")}),
    "Hugging Face `IterableDataset`": (
        "datasets.arrow_dataset",
        lambda _: {"x": hugging_face("stream"), "y": "label"},
    ),
}
TABLE = pathlib.Path(__file__).parents[2] / "docs" / "data.md"


def table():
    """Read the table out of the page: the name of a row, and its cells by the names of the
    columns.
    """
    lines = [line for line in TABLE.read_text().splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    head = next(row for row in cells if row[0] == "source")
    return {row[0]: dict(zip(head[1:], row[1:], strict=True)) for row in cells if row[0] in SOURCES}


def make_source(name, folder):
    """Return the arguments of a new source; its file, if it has one, is in `folder`."""
    package, make = SOURCES[name]
    try:
        found = importlib.util.find_spec(package)
    except ModuleNotFoundError:
        found = None
    if found is None:
        pytest.skip(
            f"needs {package}, which is not installed here: `make test-sources` installs it"
        )
    arguments = make(pathlib.Path(tempfile.mkdtemp(dir=folder)))
    rows = "y" in arguments
    return arguments, {"batch_size": BATCH} if rows else {}


def network():
    podium.utils.set_random_seed(1)
    model = podium.Sequential([podium.Input((3,)), podium.layers.Dense(1)])
    model.compile("sgd", "mse")
    return model


@pytest.fixture(scope="module")
def expected():
    """What the arrays themselves give: weights after an epoch, the loss, and predictions."""
    model = network()
    model.fit(X, Y, batch_size=BATCH, shuffle=False, verbose=0)
    return (
        model.get_weights(),
        model.evaluate(X, Y, batch_size=BATCH, verbose=0),
        model.predict(X, verbose=0),
    )


def test_every_source_is_documented():
    assert list(table()) == list(SOURCES)


@pytest.mark.parametrize("name", SOURCES)
def test_fit_evaluate_and_predict_equal_those_with_arrays(name, expected, tmp_path):
    weights, loss, outputs = expected
    cells = table()[name]
    model = network()
    arguments, size = make_source(name, tmp_path)
    model.fit(**arguments, **size, shuffle=False, verbose=0)
    for one, other in zip(model.get_weights(), weights, strict=True):
        np.testing.assert_array_equal(one, other)
    arguments, _ = make_source(name, tmp_path)
    assert model.evaluate(**arguments, **size, verbose=0) == loss
    arguments, _ = make_source(name, tmp_path)
    if "y" in arguments and isinstance(arguments["y"], str):
        arguments["x"] = arguments["x"].remove_columns("label")
    found = model.predict(arguments["x"], **size, verbose=0)
    np.testing.assert_allclose(found, outputs, rtol=1e-6)
    assert cells["fit"] == cells["evaluate"] == cells["predict"] == "yes"


def order_of(name, folder, shuffle):
    arguments, size = make_source(name, folder)
    data = DataHandler(**arguments, **size, shuffle=shuffle, shuffle_seed=3)
    with data:
        return [
            np.asarray(batch[0])
            for _, iterator in data.enumerate_epochs()
            for batch in iterator.next_group(99)
        ]


@pytest.mark.parametrize("name", SOURCES)
def test_order_with_shuffle(name, tmp_path):
    plain, mixed = order_of(name, tmp_path, False), order_of(name, tmp_path, True)
    same_batches = sorted(batch.tolist() for batch in plain) == sorted(
        batch.tolist() for batch in mixed
    )
    same_order = all(
        a.shape == b.shape and (a == b).all() for a, b in zip(plain, mixed, strict=True)
    )
    what = "its own" if same_order else "batches" if same_batches else "samples"
    assert table()[name]["`shuffle=True`"] == what
    assert (
        sorted(np.concatenate(plain).tolist())
        == sorted(np.concatenate(mixed).tolist())
        == sorted(X.tolist())
    )


@pytest.mark.parametrize("name", SOURCES)
def test_position_can_be_restored_if_documented(name, tmp_path):
    arguments, size = make_source(name, tmp_path)
    with DataHandler(**arguments, **size) as data:
        for _, iterator in data.enumerate_epochs():
            iterator.next_group(2)
            if table()[name]["seekable"] == "no":
                with pytest.raises(ValueError, match="cannot start in the middle"):
                    data.position()
                return
            position = data.position()
            rest = [np.asarray(batch[0]) for batch in iterator.next_group(99)]
    assert table()[name]["seekable"] == "yes"
    arguments, size = make_source(name, tmp_path)
    with DataHandler(**arguments, **size) as again:
        again.seek(position)
        for _, iterator in again.enumerate_epochs():
            for one, other in zip(iterator.next_group(99), rest, strict=True):
                np.testing.assert_array_equal(np.asarray(one[0]), other)


def memory_of(source):
    """Return an array that shares the memory of a source, or None if that is not known."""
    kind = type(source).__module__.partition(".")[0]
    if isinstance(source, np.ndarray):
        return source
    return np.from_dlpack(source) if kind == "torch" and hasattr(source, "__dlpack__") else None


@pytest.mark.parametrize("name", SOURCES)
def test_batch_is_a_copy_if_its_memory_is_shared(name, tmp_path):
    """A 0 in the table means that the source makes new arrays; otherwise a batch is a copy."""
    arguments, size = make_source(name, tmp_path)
    with DataHandler(**arguments, **size) as data:
        batch = data.peek()
        fresh = data.adapter.fresh or type(data.adapter).__name__ == "TensorFlowAdapter"
    held = memory_of(arguments["x"])
    if held is not None:
        assert not np.shares_memory(np.asarray(batch[0]), held)
    assert fresh == table()[name]["copies"].startswith("0")
