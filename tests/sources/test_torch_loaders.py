"""Torch's DataLoaders: training equals training on arrays, few copies, known positions."""

import collections
import subprocess
import sys

import numpy as np
import pytest

import podium
from podium.data import DataHandler

torch = pytest.importorskip("torch", reason="needs torch: `make test-sources` installs it")

DataLoader, Dataset = torch.utils.data.DataLoader, torch.utils.data.Dataset
IterableDataset, TensorDataset = torch.utils.data.IterableDataset, torch.utils.data.TensorDataset

X = np.random.default_rng(0).normal(size=(22, 3)).astype("float32")
Y = X.sum(1, keepdims=True)


def model():
    podium.utils.set_random_seed(3)
    made = podium.Sequential(
        [podium.Input((3,)), podium.layers.Dense(4, activation="relu"), podium.layers.Dense(1)]
    )
    made.compile("adam", "mse")
    return made


def loader(*arrays, **kwargs):
    tensors = [torch.from_numpy(array) for array in arrays or (X, Y)]
    return DataLoader(TensorDataset(*tensors), **({"batch_size": 5} | kwargs))


class Rows(IterableDataset):
    def __iter__(self):
        return iter(zip(X, Y, strict=True))


@pytest.mark.parametrize(
    "make", [loader, lambda: DataLoader(Rows(), batch_size=5)], ids=["map-style", "iterable"]
)
def test_fit_evaluate_and_predict_equal_arrays(make, equal_to_arrays):
    equal_to_arrays(make, model, X, Y)


def test_known_sizes():
    adapter = DataHandler(loader()).adapter
    assert (
        adapter.get_size(),
        adapter.batch_size(),
        adapter.partial_batch_size(),
        adapter.seekable,
    ) == (5, 5, 2, False)
    assert not DataHandler(loader(drop_last=True)).adapter.has_partial_batch()
    assert DataHandler(DataLoader(Rows(), batch_size=5)).adapter.get_size() is None


def batches(source):
    handler = DataHandler(source)
    return next(iterator.next_group(99) for _, iterator in handler.enumerate_epochs())


def columns(group):
    return [torch.stack(column) for column in zip(*group, strict=True)]


def test_dtypes_are_narrowed():
    rows = [
        torch.zeros(4, dtype=kind)
        for kind in (torch.float64, torch.int64, torch.uint8, torch.bool, torch.bfloat16)
    ]
    found = batches(
        DataLoader(
            TensorDataset(*rows),
            batch_size=4,
            collate_fn=lambda group: (dict(enumerate(columns(group))),),
        )
    )
    assert [leaf.dtype.name for leaf in found[0][0].values()] == [
        "float32",
        "int32",
        "uint8",
        "bool",
        "bfloat16",
    ]
    with pytest.raises(OverflowError, match="beyond the 32 bits"):
        DataHandler(DataLoader(TensorDataset(torch.full((4,), 2**40)), batch_size=2))


def test_batches_share_memory_with_torch_only_if_torch_collated_them():
    made = []

    class Seen(DataLoader):
        def __iter__(self):
            for batch in super().__iter__():
                made.append(batch[0])
                yield batch

    data = TensorDataset(torch.from_numpy(X), torch.from_numpy(Y))
    found = batches(Seen(data, batch_size=5))
    assert np.shares_memory(found[0][0], made[0].numpy())
    made.clear()
    whole = torch.from_numpy(X)
    found = batches(
        Seen(
            data,
            batch_size=5,
            collate_fn=lambda group: (whole[: len(group)], whole[: len(group), :1]),
        )
    )
    assert not np.shares_memory(found[0][0], X)


Pair = collections.namedtuple("Pair", ["left", "right"])


@pytest.mark.parametrize(
    ("collate", "expected"),
    [
        (lambda group: {"a": torch.stack([x for x, _ in group])}, dict),
        (
            lambda group: [torch.stack([x for x, _ in group]), torch.stack([y for _, y in group])],
            tuple,
        ),
        (
            lambda group: (
                Pair(*[torch.stack([x for x, _ in group])] * 2),
                torch.stack([y for _, y in group]),
            ),
            tuple,
        ),
        (
            lambda group: (
                np.stack([x.numpy() for x, _ in group]),
                [float(y[0]) for _, y in group],
            ),
            tuple,
        ),
    ],
    ids=["dict", "list", "namedtuple", "numpy and numbers"],
)
def test_batches_of_any_structure(collate, expected):
    first = batches(loader(collate_fn=collate))[0]
    assert isinstance(first, expected)
    left = first["a"] if isinstance(first, dict) else first[0]
    if isinstance(left, tuple):
        assert left._fields == ("left", "right")
        left = left.left
    np.testing.assert_array_equal(left, X[:5])


def test_tensor_that_requires_gradients_is_accepted():
    weights = torch.ones(3, requires_grad=True)
    found = batches(loader(collate_fn=lambda group: torch.stack([x * weights for x, _ in group])))
    np.testing.assert_array_equal(found[0], X[:5])


def test_error_names_the_sparse_tensor():
    with pytest.raises(TypeError, match="`batch 0 of the DataLoader` is a sparse PyTorch tensor"):
        DataHandler(loader(collate_fn=lambda group: torch.eye(3).to_sparse()))


def test_set_epoch_is_called_on_samplers():
    class Sampler(torch.utils.data.Sampler):
        def __init__(self):
            self.epochs = []

        def set_epoch(self, epoch):
            self.epochs.append(epoch)

        def __iter__(self):
            return iter([0, 1, 2])

        def __len__(self):
            return 3

    sampler = Sampler()
    model().fit(loader(sampler=sampler), epochs=4, initial_epoch=1, verbose=0)
    assert sampler.epochs == [1, 2, 3]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_loader_with_torch_workers():
    with DataHandler(loader(num_workers=1, multiprocessing_context="spawn")) as handler:
        _, iterator = next(handler.enumerate_epochs())
        found = iterator.next_group(99)
    np.testing.assert_array_equal(np.concatenate([x for x, _ in found]), X)


class Stateful(DataLoader):
    """Like torchdata's StatefulDataLoader: the state after the last batch, restored by the
    next iteration.
    """

    taken = first = 0

    def __iter__(self):
        self.taken, self.first = self.first, 0
        return self.iterate(super().__iter__())

    def iterate(self, batches):
        for number, batch in enumerate(batches):
            if number >= self.taken:
                self.taken = number + 1
                yield batch

    def state_dict(self):
        return {"taken": self.taken, "generator": torch.arange(3, dtype=torch.uint8)}

    def load_state_dict(self, state):
        assert state["generator"].tolist() == [0, 1, 2]
        self.first = state["taken"]


def test_loader_with_state_dict_can_start_anywhere():
    data = TensorDataset(torch.from_numpy(X), torch.from_numpy(Y))
    adapter = DataHandler(Stateful(data, batch_size=5)).adapter
    read = [x.numpy() for x, _ in adapter.iterate(0)]
    places = [adapter.position(taken) for taken in range(6)]
    assert adapter.seekable
    for taken, place in enumerate(places):
        again = [
            x.numpy()
            for x, _ in DataHandler(Stateful(data, batch_size=5)).adapter.iterate(0, place)
        ]
        assert [one.tolist() for one in again] == [one.tolist() for one in read[taken:]]


class Samples(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return X[index], Y[index]


@pytest.mark.parametrize(
    ("kwargs", "error", "message"),
    [
        (
            {"x": Samples()},
            TypeError,
            r"torch Dataset \(Samples\).*DataLoader\(dataset, batch_size=32\)",
        ),
        (
            {"x": loader(), "y": Y},
            ValueError,
            r"`y` was given, but `x` is a DataLoader \(DataLoader\)",
        ),
        (
            {"x": loader(), "batch_size": 4},
            ValueError,
            r"batch_size=4 was given.*DataLoader\(dataset, batch_size=4\)",
        ),
        (
            {"x": loader(batch_size=None)},
            ValueError,
            r"`x` has 3, `y` has 1.*DataLoader\(dataset, batch_size=32\)",
        ),
        (
            {"x": DataLoader(TensorDataset(torch.zeros(0, 3)), batch_size=2)},
            ValueError,
            "`x` is empty",
        ),
    ],
    ids=["dataset", "y", "batch_size", "unbatched", "empty"],
)
def test_invalid_arguments_raise(kwargs, error, message):
    with pytest.raises(error, match=message):
        DataHandler(**kwargs)


def test_packages_are_not_imported_unless_used():
    code = (
        "import sys, numpy, podium\n"
        "list(podium.data.DataHandler(numpy.ones((4, 1))).enumerate_epochs())\n"
        "list(podium.data.DataHandler(iter([numpy.ones((4, 1))])).enumerate_epochs())\n"
        "print([name for name in ('torch', 'tensorflow', 'grain', 'datasets', 'pandas') if "
        "name in sys.modules])\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


def test_error_in_the_dataset_names_the_batch():
    class Broken(Samples):
        def __getitem__(self, index):
            if index == 3:
                raise KeyError("row 3")
            return super().__getitem__(index)

    with pytest.raises(KeyError, match="row 3") as met:
        model().fit(DataLoader(Broken(), batch_size=2), verbose=0)
    assert "batch 1 of the DataLoader" in met.value.__notes__[0]
