"""Reading ahead: slow sources are read on a thread, which ends whenever reading ends.

No test depends on how fast the machine is, or on threads that other tests have left behind.
"""

import gc
import threading
import time

import numpy as np
import pytest

import podium
from podium import layers
from podium.data import DataHandler, _read_ahead
from podium.data._read_ahead import ReadAhead

X = np.random.default_rng(0).normal(size=(23, 3)).astype("float32")
Y = X.sum(-1, keepdims=True)
THREAD_NAME = "podium-read-ahead"
LONG = 120  # seconds to wait for what always happens, however busy the machine is


def fit_model(source, k=1, **options):
    podium.utils.set_random_seed(4)
    model = podium.Sequential(
        [podium.Input((3,)), layers.Dense(4, activation="tanh"), layers.Dense(1)]
    )
    model.compile("adam", "mse", metrics=["mae"], steps_per_execution=k)
    history = model.fit(*source, epochs=3, verbose=0, **options)
    return model, history.history


class SlowSource:
    """A source slow enough to be read ahead; records which threads read how many batches."""

    def __init__(self, count=12, fails_at=None):
        self.count, self.fails_at = count, fails_at
        self.readers, self.num_read, self.num_passes = set(), 0, 0

    def __len__(self):
        return self.count

    def __iter__(self):
        self.num_passes += 1
        for number in range(self.count):
            time.sleep(0.001)
            self.readers.add(threading.current_thread().name)
            if number == self.fails_at:
                raise KeyError("broken record")
            self.num_read += 1
            yield X[:2] + number, Y[:2]


@pytest.fixture
def reading_threads(monkeypatch):
    """A function that lists the reading threads which the test has started and that still run."""
    monkeypatch.setattr(_read_ahead, "_JOIN_SECONDS", LONG)
    before = set(threading.enumerate())

    def list_threads():
        return [
            thread
            for thread in threading.enumerate()
            if thread.name == THREAD_NAME and thread not in before
        ]

    return list_threads


def test_slow_source_is_read_on_a_thread_that_ends_with_fit(reading_threads):
    source = SlowSource()
    model, _ = fit_model((source,))
    assert THREAD_NAME in source.readers and source.num_read == 36 and not reading_threads()
    assert int(model.optimizer.iterations.numpy()) == 36


def test_quick_source_is_read_by_its_caller(monkeypatch):
    monkeypatch.setattr(_read_ahead, "_SLOW_SECONDS", LONG)  # a busy machine may pause any read
    readers = set()

    class QuickSource:
        def __iter__(self):
            for _ in range(20):
                readers.add(threading.current_thread())
                yield X[:2], Y[:2]

    data = DataHandler(QuickSource(), epochs=2)
    for _, iterator in data.enumerate_epochs():
        assert len(iterator.next_group(99)) == 20
    assert readers == {threading.main_thread()}


@pytest.mark.parametrize(("seconds", "starts_thread"), [(2e-4, False), (4e-4, True)])
def test_thread_starts_after_three_slow_reads(monkeypatch, seconds, starts_thread):
    clock = [0.0]
    monkeypatch.setattr(_read_ahead.time, "perf_counter", lambda: clock[0])
    threads = []

    def elements():
        for number in range(6):
            threads.append(threading.current_thread())
            clock[0] += seconds
            yield number

    reader = ReadAhead(elements(), 4)
    reader.allow(None, 4)
    assert list(reader) == list(range(6))
    assert [thread is not threading.main_thread() for thread in threads] == (
        [False] * 3 + [starts_thread] * 3
    )


def test_generator_is_never_read_on_a_thread():
    source = SlowSource()
    fit_model((iter(source),), steps_per_epoch=4)
    assert source.readers == {threading.main_thread().name} and source.num_read == 12


@pytest.mark.parametrize("k", [1, 2])
def test_error_of_the_source_is_raised_at_its_step_and_ends_the_thread(reading_threads, k):
    source = SlowSource(fails_at=8)
    ends = []

    class RecordsBatches(podium.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            ends.append(batch)

    with pytest.raises(KeyError, match="broken record") as caught:
        fit_model((source,), k, callbacks=RecordsBatches())
    assert ends == list(range(k - 1, 8, k)) and not reading_threads()
    assert any("batch 8" in note for note in caught.value.__notes__)


@pytest.mark.parametrize("reason", ["stop", "error", "interrupt"])
def test_thread_ends_however_fit_ends(reading_threads, reason):
    class EndsFit(podium.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch == 6:
                assert reading_threads()
                if reason == "stop":
                    self.model.stop_training = True
                else:
                    raise KeyboardInterrupt if reason == "interrupt" else ValueError("mine")

    source = SlowSource(50)
    if reason == "stop":
        fit_model((source,), callbacks=EndsFit())
    else:
        with pytest.raises(KeyboardInterrupt if reason == "interrupt" else ValueError):
            fit_model((source,), callbacks=EndsFit())
    assert not reading_threads() and source.num_read < 15


def test_nothing_is_read_beyond_the_end_of_an_epoch():
    source, num_read = SlowSource(100), []

    class RecordsReads(podium.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            time.sleep(0.02)  # enough for a thread to read on, if it did
            num_read.append(source.num_read)

    fit_model((source,), steps_per_epoch=10, callbacks=RecordsReads())
    assert num_read == [10, 20, 30] and source.num_passes == 1


def test_evaluate_and_predict_end_their_threads(reading_threads):
    model, _ = fit_model((X, Y))
    assert model.predict(SlowSource(), verbose=0).shape == (24, 1)
    model.evaluate(SlowSource(), verbose=0)
    assert not reading_threads()


def test_close_warns_when_the_source_does_not_return(monkeypatch):
    monkeypatch.setattr(_read_ahead, "_JOIN_SECONDS", 0.05)
    blocked, release = threading.Event(), threading.Event()

    def elements():
        for number in range(3):
            time.sleep(0.001)
            yield number
        blocked.set()
        release.wait()

    reader = ReadAhead(elements(), 4)
    reader.allow(None, 4)
    assert [next(reader) for _ in range(3)] == [0, 1, 2]
    assert blocked.wait(LONG)  # the thread is inside the source now
    with pytest.warns(UserWarning, match="has not returned for 0 s"):
        reader.close()
    release.set()


def test_thread_ends_when_its_reader_is_garbage_collected(reading_threads):
    data = DataHandler(SlowSource(50), epochs=2)
    for _, iterator in data.enumerate_epochs():
        next(data.steps())
        iterator.next_group(5)
        break
    (thread,) = reading_threads()
    del data, iterator
    gc.collect()
    thread.join(LONG)
    assert not thread.is_alive()
