"""Moving data: arrays that live on the device, batches read ahead on a thread; neither changes what
is computed.
"""

import gc
import threading
import time

import jax
import numpy as np
import pytest

import podium
from podium import layers
from podium.data import DataHandler, Dataset, device_budget, set_device_budget
from podium.data._read_ahead import ReadAhead

X = np.random.default_rng(0).normal(size=(23, 3)).astype("float32")
Y = X.sum(-1, keepdims=True)


@pytest.fixture
def budget():
    """Restores the budget for arrays on the device."""
    before = device_budget()
    yield set_device_budget
    set_device_budget(before)


def trained(source, k=1, **options):
    podium.utils.set_random_seed(4)
    model = podium.Sequential(
        [podium.Input((3,)), layers.Dense(4, activation="tanh"), layers.Dense(1)]
    )
    model.compile("adam", "mse", metrics=["mae"], steps_per_execution=k)
    history = model.fit(*source, epochs=3, verbose=0, **options)
    return model, history.history


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize(
    "source",
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
def test_arrays_on_the_device_train_to_the_same_bits(budget, source, k):
    results = []
    for size in (2**20, 0):
        budget(size)
        args, options = source()
        model, history = trained(args, k, **options)
        results.append(([w.numpy() for w in model.weights], history))
    for one, other in zip(results[0][0], results[1][0], strict=True):
        np.testing.assert_array_equal(one, other)
    assert results[0][1] == results[1][1]


def test_rows_gathered_on_a_device_are_those_taken_on_the_host(monkeypatch):
    given = [(X.astype("float64"), "float32"), (np.arange(23), "int32")]
    index = np.array([[3, 1], [22, 0]], "int32")
    found = []
    for backend in ("cpu", "gpu"):
        monkeypatch.setattr(jax, "default_backend", lambda backend=backend: backend)
        found.append(podium.core.Table(given, jax.tree.structure((0, 0)), None).gather(index))
    assert isinstance(found[0][0], np.ndarray) and isinstance(found[1][0], jax.Array)
    for host, device, (array, dtype) in zip(*found, given, strict=True):
        assert host.dtype == device.dtype == dtype
        np.testing.assert_array_equal(host, np.asarray(device))
        np.testing.assert_array_equal(host, array.astype(dtype)[index])


@pytest.mark.parametrize("kind", ["arrays", "dataset"])
def test_structures_on_the_device_keep_their_names(budget, kind):
    budget(2**20)
    given = {"second": X, "first": Y}, {"b": Y * 2, "a": X * 3}
    seen = []

    class Looks(podium.Model):
        def train_step(self, data):
            x, y = data
            seen.append({name: part.shape for part in (x, y) for name, part in part.items()})
            return {
                "good": podium.ops.max(podium.ops.abs(x["first"] * 2 - y["b"]))
                + podium.ops.max(podium.ops.abs(x["second"] * 3 - y["a"]))
            }

    model = Looks()
    model.compile()
    source = given if kind == "arrays" else (Dataset.from_tensor_slices(given).batch(4),)
    history = model.fit(
        *source, epochs=2, verbose=0, **({"batch_size": 4} if kind == "arrays" else {})
    )
    assert list(seen[0]) == ["second", "first", "b", "a"] and max(history.history["good"]) == 0.0


def test_a_table_goes_to_the_device_once_and_a_batch_names_its_rows(budget):
    budget(2**20)
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
def test_the_budget_and_the_number_of_passes_decide(
    budget, monkeypatch, size, epochs, backend, kept
):
    monkeypatch.setattr(jax, "default_backend", lambda: backend)
    budget(size)
    data = DataHandler(X, Y, batch_size=4, epochs=epochs)
    element = data._iterator.next_batch()
    assert isinstance(element, podium.core.Selection) == kept


def test_on_cpu_arrays_stay_where_they_are_and_changes_are_seen_in_the_batches_that_follow():
    x, y = X.copy(), Y.copy()

    class Spoils(podium.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            x[:] = y[:] = np.nan

    _, history = trained((x, y), batch_size=4, callbacks=Spoils())
    assert np.isfinite(history["loss"][0]) and np.isnan(history["loss"][1:]).all()


def test_other_arrays_need_no_new_program():
    model, _ = trained((X, Y), batch_size=4)
    before = model.train_function.trace_count
    for count in (12, 20):
        model.fit(X[:count], Y[:count], batch_size=4, epochs=2, verbose=0)
    model.fit(X, Y, batch_size=4, verbose=0)  # one epoch: the batches come from the host
    assert model.train_function.trace_count == before == 2  # batches of 4, and the last one of 3


# --- reading ahead


class Slow:
    """A source that takes its time; it notes who reads from it and how far."""

    def __init__(self, count=12, fails_at=None):
        self.count, self.fails_at = count, fails_at
        self.readers, self.read, self.walks = set(), 0, 0

    def __len__(self):
        return self.count

    def __iter__(self):
        self.walks += 1
        for number in range(self.count):
            time.sleep(0.001)
            self.readers.add(threading.current_thread().name)
            if number == self.fails_at:
                raise KeyError("broken record")
            self.read += 1
            yield X[:2] + number, Y[:2]


def reading_threads():
    return [thread for thread in threading.enumerate() if thread.name == "podium-read-ahead"]


@pytest.fixture(autouse=True)
def no_thread_of_others():
    """Lets threads end that other tests have dropped without closing them."""
    gc.collect()
    for thread in reading_threads():
        thread.join(5)


def test_a_slow_source_is_read_on_a_thread_which_is_gone_afterwards():
    source = Slow()
    model, _ = trained((source,))
    assert "podium-read-ahead" in source.readers and source.read == 36 and not reading_threads()
    assert int(model.optimizer.iterations.numpy()) == 36


def test_a_quick_source_is_read_by_its_caller():
    readers = set()

    class Quick:
        def __iter__(self):
            for _ in range(20):
                readers.add(threading.current_thread())
                yield X[:2], Y[:2]

    data = DataHandler(Quick(), epochs=2)
    for _, iterator in data.enumerate_epochs():
        assert len(iterator.next_group(99)) == 20
    assert readers == {threading.main_thread()}


def test_a_generator_is_never_read_on_a_thread():
    source = Slow()
    trained((iter(source),), steps_per_epoch=4)
    assert source.readers == {threading.main_thread().name} and source.read == 12


@pytest.mark.parametrize("k", [1, 2])
def test_an_error_of_the_source_comes_at_its_step_and_ends_the_thread(k):
    source = Slow(fails_at=8)
    ends = []

    class Notes(podium.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            ends.append(batch)

    with pytest.raises(KeyError, match="broken record") as caught:
        trained((source,), k, callbacks=Notes())
    assert ends == list(range(k - 1, 8, k)) and not reading_threads()
    assert any("batch 8" in note for note in caught.value.__notes__)


@pytest.mark.parametrize("what", ["stop", "error", "interrupt"])
def test_the_thread_is_gone_however_fit_ends(what):
    class Ends(podium.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch == 6:
                assert reading_threads()
                if what == "stop":
                    self.model.stop_training = True
                else:
                    raise KeyboardInterrupt if what == "interrupt" else ValueError("mine")

    source = Slow(50)
    if what == "stop":
        trained((source,), callbacks=Ends())
    else:
        with pytest.raises(KeyboardInterrupt if what == "interrupt" else ValueError):
            trained((source,), callbacks=Ends())
    assert not reading_threads() and source.read < 15


def test_nothing_is_read_ahead_beyond_the_end_of_an_epoch():
    source, seen = Slow(100), []

    class Notes(podium.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            time.sleep(0.02)
            seen.append(source.read)

    trained((source,), steps_per_epoch=10, callbacks=Notes())
    assert seen == [10, 20, 30] and source.walks == 1


def test_evaluate_and_predict_end_their_threads_too():
    model, _ = trained((X, Y))
    assert model.predict(Slow(), verbose=0).shape == (24, 1)
    model.evaluate(Slow(), verbose=0)
    assert not reading_threads()


def test_a_source_that_never_returns_is_left_behind_with_a_warning(monkeypatch):
    monkeypatch.setattr("podium.data._read_ahead._PATIENCE", 0.05)
    release = threading.Event()

    def elements():
        for number in range(3):
            time.sleep(0.001)
            yield number
        release.wait()

    reader = ReadAhead(elements(), 4)
    reader.allow(None, 4)
    assert [next(reader) for _ in range(3)] == [0, 1, 2]
    with pytest.warns(UserWarning, match="has not returned for 0 s"):
        reader.close()
    release.set()


def test_a_thread_that_nobody_closes_ends_with_its_reader():
    before = set(reading_threads())
    data = DataHandler(Slow(50), epochs=2)
    for _, iterator in data.enumerate_epochs():
        next(data.steps())
        iterator.next_group(5)
        break
    (thread,) = set(reading_threads()) - before
    del data, iterator
    gc.collect()
    thread.join(5)
    assert not thread.is_alive()


def test_a_bad_budget_is_refused():
    with pytest.raises(ValueError, match="size=-1"):
        set_device_budget(-1)
