"""Retrying: reads that fail are tried again, and every batch is returned once, in its place."""

import collections
import json
import threading
import warnings

import numpy as np
import pytest

import podium
from podium.data import DataHandler, Dataset, Retrying
from podium.data.adapters._choose_adapter import choose_adapter
from podium.data.adapters._retrying_adapter import RetryingAdapter
from podium.testing import check_adapter

BATCHES = [np.arange(2.0 * i, 2.0 * i + 2, dtype="float32")[:, None] for i in range(6)]
X = np.concatenate(BATCHES)


class Faults:
    """Raises at the reads of given batches, the first times."""

    def __init__(self, error=OSError, **counts):
        self.left = collections.Counter({int(key[1:]): count for key, count in counts.items()})
        self.error = error
        self.reads = []

    def read(self, index):
        self.reads.append(index)
        if self.left[index]:
            self.left[index] -= 1
            raise self.error(f"cannot read {index}")
        return BATCHES[index]


class Files(podium.utils.PyDataset):
    """Batches by index."""

    def __init__(self, faults, **options):
        super().__init__(**options)
        self.faults = faults

    def __len__(self):
        return len(BATCHES)

    def __getitem__(self, index):
        return self.faults.read(index)


class Loader:
    """An iterable of batches."""

    def __init__(self, faults):
        self.faults = faults

    def __iter__(self):
        return (self.faults.read(index) for index in range(6))


class LazyRows:
    """An array that is read by slices, from a file."""

    shape, dtype, ndim = X.shape, X.dtype, 2

    def __init__(self, faults):
        self.faults = faults

    def __len__(self):
        return len(X)

    def __getitem__(self, rows):
        start = rows.start if isinstance(rows, slice) else int(np.min(rows))
        self.faults.read(start // 2)
        return X[rows]


def read_function(faults):
    def read_batches():
        for index in range(6):
            yield faults.read(index)

    return read_batches


def mapped(faults):
    return Dataset.range(6).map(lambda i: faults.read(int(i)))


def shuffled(faults):
    dataset = Dataset.range(6).shuffle(6, seed=3)
    return dataset.map(lambda i: faults.read(int(i)))


SOURCES = {
    "function": read_function,
    "from_generator": lambda faults: Dataset.from_generator(read_function(faults)),
    "iterable": Loader,
    "map": mapped,
    "shuffle": shuffled,
    "PyDataset": Files,
    "PyDataset of threads": lambda faults: Files(faults, workers=3),
    "lazy array": LazyRows,
}


def read_all(source, epochs=2, **options):
    """Return the batches of every epoch, as DataHandler returns them."""
    if isinstance(getattr(source, "source", source), LazyRows):
        options["batch_size"] = 2
    result = []
    with DataHandler(source, epochs=epochs, **options) as data:
        for _, iterator in data.enumerate_epochs():
            result.append([np.asarray(batch).ravel().tolist() for batch in iterator])
    return result


def quiet(source, **options):
    return Retrying(source, delay=0.0, **options)


def test_sources_of_the_test_are_the_batches():
    for name, make in SOURCES.items():
        passes = read_all(quiet(make(Faults())))
        assert [sorted(epoch) for epoch in passes] == [[b.ravel().tolist() for b in BATCHES]] * 2
        assert (passes[0] != passes[1]) == (name == "shuffle")


@pytest.mark.parametrize("make", SOURCES.values(), ids=SOURCES)
@pytest.mark.parametrize("counts", [{"_0": 1}, {"_2": 2, "_4": 1}, {"_5": 3}, {"_1": 1, "_2": 1}])
@pytest.mark.filterwarnings("ignore:Read")
def test_no_batch_is_lost_or_repeated(make, counts):
    source = quiet(make(Faults(**counts)))
    assert read_all(source) == read_all(quiet(make(Faults())))
    assert source.retries == sum(counts.values()) == source.errors["OSError"]


@pytest.mark.filterwarnings("ignore:Read")
def test_only_the_failing_batch_of_a_py_dataset_is_read_again():
    faults = Faults(_2=2)
    read_all(quiet(Files(faults)), epochs=1)
    assert faults.reads == [0, 1, 2, 2, 2, 3, 4, 5]
    faults = Faults(_2=1)
    read_all(quiet(mapped(faults)), epochs=1)  # from its position
    assert faults.reads[-5:] == [2, 2, 3, 4, 5] and faults.reads.count(1) == 1


@pytest.mark.parametrize("make", SOURCES.values(), ids=SOURCES)
@pytest.mark.filterwarnings("ignore:Read")
def test_error_after_the_last_try_is_raised_with_a_note(make):
    source = quiet(make(Faults(_3=9)), times=2)
    with pytest.raises(OSError, match="cannot read 3") as raised:
        read_all(source)
    assert any("tried 3 times" in note for note in raised.value.__notes__)
    assert source.retries == 2


@pytest.mark.parametrize("make", SOURCES.values(), ids=SOURCES)
def test_other_errors_are_not_retried(make):
    source = quiet(make(Faults(KeyError, _3=1)))
    with pytest.raises(KeyError, match="cannot read 3"):
        read_all(source)
    assert source.retries == 0
    source = quiet(make(Faults(_3=1)), times=0)
    with pytest.raises(OSError, match="cannot read 3"):
        read_all(source)


def test_warns_at_the_users_line_and_reports_at_the_end():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        source = quiet(Loader(Faults(TimeoutError, _1=2, _3=1)))
        read_all(source, epochs=1)
    first, summary = caught
    assert first.filename == summary.filename == __file__
    assert "failed with TimeoutError: cannot read 1 It is tried again, up to 3 times" in str(
        first.message
    )
    assert "tried again 3 times in this run" in str(summary.message)
    assert "3 retries (TimeoutError 3)" in str(summary.message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_all(source, epochs=1) == read_all(Loader(Faults()), epochs=1)


def test_delays_double_up_to_a_limit(monkeypatch):
    waits = []
    monkeypatch.setattr("podium.data._retrying.time.sleep", waits.append)
    source = Retrying(Loader(Faults(_1=4, _2=1)), times=4, delay=0.5, max_delay=1.5)
    with pytest.warns(UserWarning, match="tried again"):
        read_all(source, epochs=1)
    assert waits == [0.5, 1.0, 1.5, 1.5, 0.5]


@pytest.mark.filterwarnings("ignore:Read")
def test_source_that_changes_is_not_read_again():
    class Changing:
        def __init__(self, faults):
            self.faults, self.order = faults, collections.deque(range(6))

        def __iter__(self):
            self.order.rotate(1)
            return (self.faults.read(index) for index in list(self.order))

    source = quiet(Changing(Faults(_4=1)))
    with pytest.raises(RuntimeError, match=r"batch 0 was another one than before.*lost or repeat"):
        read_all(source)


@pytest.mark.parametrize("make", [mapped, Files, LazyRows], ids=["map", "PyDataset", "array"])
@pytest.mark.filterwarnings("ignore:Read")
def test_positions_are_those_of_the_source(make):
    options = {"batch_size": 2} if make is LazyRows else {}
    options |= {"shuffle": make is not mapped, "shuffle_seed": 5}
    for count in range(1, 6):
        with DataHandler(quiet(make(Faults(_1=1, _3=2))), **options) as data:
            for _, iterator in data.enumerate_epochs():
                first = [np.asarray(next(iterator)).tolist() for _ in range(count)]
                position = json.loads(json.dumps(data.position()))
        with DataHandler(make(Faults()), **options) as data:
            data.seek(position)
            rest = [np.asarray(b).tolist() for _, it in data.enumerate_epochs() for b in it]
        assert (
            len(first + rest) == 6 and sorted(np.concatenate(first + rest).tolist()) == X.tolist()
        )


@pytest.mark.filterwarnings("ignore:Read")
def test_reads_ahead_on_a_thread():
    threads = set()

    class Slow(Faults):
        def read(self, index):
            threads.add(threading.current_thread().name)
            threading.Event().wait(0.002)
            return super().read(index)

    with DataHandler(quiet(mapped(Slow(_4=2, _5=1))), epochs=2) as data:
        batches = []
        for _, iterator in data.enumerate_epochs():
            for batch in iterator:
                batches.append(np.asarray(batch).tolist())
                position = data.position()
                assert position["step"] == (len(batches) - 1) % 6 + 1
                assert position["place"]["element"] == position["step"]
        assert data.adapter.retries == 3
    assert batches == [batch.tolist() for batch in BATCHES] * 2
    assert "podium-read-ahead" in threads


class FilesOfProcess(podium.utils.PyDataset):
    """Fails once for each batch, in a worker process."""

    tried = ()

    def __len__(self):
        return 4

    def __getitem__(self, index):
        if index not in self.tried:
            self.tried = (*self.tried, index)
            raise OSError(f"cannot read {index}")
        return BATCHES[index]


@pytest.mark.filterwarnings("ignore:Read")
def test_worker_processes_retry_and_count():
    source = quiet(FilesOfProcess(workers=1, use_multiprocessing=True))
    (batches,) = read_all(source, epochs=1)
    assert batches == [batch.ravel().tolist() for batch in BATCHES[:4]]
    assert source.retries == 4


@pytest.mark.filterwarnings("ignore:Read")
def test_fit_evaluate_predict_and_resume(tmp_path):
    def make():
        podium.utils.set_random_seed(0)
        model = podium.Sequential([podium.Input((1,)), podium.layers.Dense(1)])
        model.compile("sgd", "mse")
        return model

    def pairs(faults):
        return Dataset.range(6).map(lambda i: (faults.read(int(i)) / 10, BATCHES[int(i)]))

    plain = make()
    expected = plain.fit(pairs(Faults()), epochs=3, verbose=0).history
    model, source = make(), quiet(pairs(Faults(_2=2, _4=1)))
    assert model.fit(source, epochs=3, verbose=0).history == expected
    assert model.evaluate(quiet(pairs(Faults(_1=1))), verbose=0) == plain.evaluate(
        pairs(Faults()), verbose=0
    )
    lazy = quiet(LazyRows(Faults(_3=1)))
    assert model.predict(lazy, batch_size=2, verbose=0).tolist() == (
        plain.predict(X, batch_size=2, verbose=0).tolist()
    )
    history = make().fit(lazy, X, batch_size=2, shuffle=False, verbose=0, validation_data=source)
    assert history.history.keys() == {"loss", "val_loss"}

    class Fails(podium.callbacks.Callback):
        every_batch = False

        def on_epoch_end(self, epoch, logs=None):
            if epoch == 1:
                raise RuntimeError("the machine is gone")

        def get_state(self):
            return None

    backup = podium.callbacks.BackupAndRestore(tmp_path, save_freq=4)
    with pytest.raises(RuntimeError, match="the machine is gone"):
        make().fit(quiet(pairs(Faults(_2=1))), epochs=3, verbose=0, callbacks=[backup, Fails()])
    source = quiet(pairs(Faults(_3=1)))
    assert make().fit(source, epochs=3, verbose=0, callbacks=backup).history == expected
    assert source.retries == 1


def test_in_memory_arrays_are_unchanged():
    assert read_all(quiet(X), batch_size=2, shuffle=True, shuffle_seed=1) == read_all(
        X, batch_size=2, shuffle=True, shuffle_seed=1
    )


@pytest.mark.parametrize("make", [Loader, mapped], ids=["iterable", "map"])
def test_contract(make):
    class Adapter(RetryingAdapter):
        def __init__(self, source, steps=None):
            options = dict.fromkeys(("batch_size", "seed", "class_weight", "output_names"))
            inner, _ = choose_adapter(
                source.source, None, None, steps=steps, shuffle=False,
                names=podium.data._argument_names.DEFAULT_NAMES, **options,
            )  # fmt: skip
            super().__init__(source, inner)

    check_adapter(Adapter, lambda: quiet(make(Faults())))


def test_wrong_arguments_raise():
    with pytest.raises(TypeError, match=r"a generator, which can be read only once.*g\(read"):
        Retrying(read_function(Faults())())
    with pytest.raises(TypeError, match="a map, which can be read only once"):
        Retrying(map(np.ones, [1, 2]))
    with pytest.raises(TypeError, match="was given a Retrying source"):
        Retrying(Retrying(X))
    with pytest.raises(TypeError, match="on='OSError'; a class of exceptions"):
        Retrying(X, on="OSError")
    with pytest.raises(TypeError, match=r"on=.*KeyboardInterrupt.*; a class of exceptions"):
        Retrying(X, on=(OSError, KeyboardInterrupt))
    with pytest.raises(TypeError, match="StopIteration is the end of the data"):
        Retrying(X, on=StopIteration)
    with pytest.raises(ValueError, match="Retrying was given times=-1"):
        Retrying(X, times=-1)
    with pytest.raises(ValueError, match=r"Retrying was given delay=-1"):
        Retrying(X, delay=-1.0)
    with pytest.raises(TypeError, match=r"the function `<lambda>`, which returned 3; a generator"):
        read_all(Retrying(lambda: 3))
    assert repr(Retrying(X)) == "<podium.data.Retrying times=3, on=(OSError), retries=0>"
