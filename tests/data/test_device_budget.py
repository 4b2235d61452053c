"""Arrays kept on the device within a budget: the results are the same as from host memory."""

import jax
import numpy as np
import pytest

import podium
from podium import layers
from podium.data import DataHandler, Dataset, device_budget, set_device_budget

X = np.random.default_rng(0).normal(size=(23, 3)).astype("float32")
Y = X.sum(-1, keepdims=True)


@pytest.fixture
def set_budget():
    """Restores the device budget after the test."""
    before = device_budget()
    yield set_device_budget
    set_device_budget(before)


def fit_model(source, k=1, **options):
    podium.utils.set_random_seed(4)
    model = podium.Sequential(
        [podium.Input((3,)), layers.Dense(4, activation="tanh"), layers.Dense(1)]
    )
    model.compile("adam", "mse", metrics=["mae"], steps_per_execution=k)
    history = model.fit(*source, epochs=3, verbose=0, **options)
    return model, history.history


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize(
    "make_source",
    [
        lambda: ((X, Y), {"batch_size": 4}),
        lambda: (
            (X.astype("float64"), Y),
            {"batch_size": 4, "sample_weight": np.arange(23.0), "shuffle": "batch"},
        ),
        lambda: ((Dataset.from_tensor_slices((X, Y)).shuffle(99).batch(4),), {}),
    ],
    ids=["arrays", "weighted batches", "dataset"],
)
def test_arrays_on_the_device_train_to_the_same_bits(set_budget, make_source, k):
    results = []
    for size in (2**20, 0):
        set_budget(size)
        args, options = make_source()
        model, history = fit_model(args, k, **options)
        results.append(([weight.numpy() for weight in model.weights], history))
    for on_device, on_host in zip(results[0][0], results[1][0], strict=True):
        np.testing.assert_array_equal(on_device, on_host)
    assert results[0][1] == results[1][1]


def test_rows_gathered_on_a_device_equal_those_taken_on_the_host(monkeypatch):
    arrays = [(X.astype("float64"), "float32"), (np.arange(23), "int32")]
    index = np.array([[3, 1], [22, 0]], "int32")
    results = []
    for backend in ("cpu", "gpu"):
        monkeypatch.setattr(jax, "default_backend", lambda backend=backend: backend)
        results.append(podium.core.Table(arrays, jax.tree.structure((0, 0)), None).gather(index))
    assert isinstance(results[0][0], np.ndarray) and isinstance(results[1][0], jax.Array)
    for host, device, (array, dtype) in zip(*results, arrays, strict=True):
        assert host.dtype == device.dtype == dtype
        np.testing.assert_array_equal(host, np.asarray(device))
        np.testing.assert_array_equal(host, array.astype(dtype)[index])


@pytest.mark.parametrize("kind", ["arrays", "dataset"])
def test_dictionaries_on_the_device_keep_their_keys(set_budget, kind):
    set_budget(2**20)
    data = {"second": X, "first": Y}, {"b": Y * 2, "a": X * 3}
    shapes = []

    class RecordsShapes(podium.Model):
        def train_step(self, data):
            x, y = data
            shapes.append({name: part.shape for part in (x, y) for name, part in part.items()})
            return {
                "difference": podium.ops.max(podium.ops.abs(x["first"] * 2 - y["b"]))
                + podium.ops.max(podium.ops.abs(x["second"] * 3 - y["a"]))
            }

    model = RecordsShapes()
    model.compile()
    source = data if kind == "arrays" else (Dataset.from_tensor_slices(data).batch(4),)
    history = model.fit(
        *source, epochs=2, verbose=0, **({"batch_size": 4} if kind == "arrays" else {})
    )
    assert list(shapes[0]) == ["second", "first", "b", "a"]
    assert max(history.history["difference"]) == 0.0


def test_all_batches_select_rows_of_one_table(set_budget):
    set_budget(2**20)
    data = DataHandler(X, Y, batch_size=4, epochs=2, shuffle=True)
    tables = set()
    for _, iterator in data.enumerate_epochs():
        for _ in data.steps():
            tables.add(id(iterator.next_batch().table))
    assert len(tables) == 1


@pytest.mark.parametrize(
    ("size", "epochs", "backend", "kept"),
    [
        (23 * 16, 2, "gpu", True),
        (23 * 16 - 1, 2, "cpu", False),
        (2**20, 1, "gpu", False),
        (2**20, 1, "cpu", True),
    ],
)
def test_budget_and_number_of_passes_decide_what_is_kept_on_the_device(
    set_budget, monkeypatch, size, epochs, backend, kept
):
    monkeypatch.setattr(jax, "default_backend", lambda: backend)
    set_budget(size)
    data = DataHandler(X, Y, batch_size=4, epochs=epochs)
    element = data._iterator.next_batch()
    assert isinstance(element, podium.core.Selection) == kept


def test_changes_to_arrays_on_cpu_are_seen_in_later_batches():
    x, y = X.copy(), Y.copy()

    class OverwritesData(podium.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            x[:] = y[:] = np.nan

    _, history = fit_model((x, y), batch_size=4, callbacks=OverwritesData())
    assert np.isfinite(history["loss"][0]) and np.isnan(history["loss"][1:]).all()


def test_arrays_of_another_length_do_not_compile_again():
    model, _ = fit_model((X, Y), batch_size=4)
    before = model.train_function.trace_count
    for count in (12, 20):
        model.fit(X[:count], Y[:count], batch_size=4, epochs=2, verbose=0)
    model.fit(X, Y, batch_size=4, verbose=0)  # one epoch: the batches come from the host
    assert model.train_function.trace_count == before == 2  # batches of 4, and the last one of 3


def test_negative_budget_is_refused():
    with pytest.raises(ValueError, match="size=-1"):
        set_device_budget(-1)
