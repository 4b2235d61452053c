"""PyDataset: batches by index, in an order given by the seed and the epoch, made by threads or
processes that end with the iteration.
"""

import gc
import multiprocessing
import threading

import numpy as np
import pytest

import podium
from podium.data import DataHandler
from podium.data._argument_names import ArgumentNames
from podium.data.adapters._choose_adapter import choose_adapter


class Batches(podium.utils.Sequence):
    def __init__(self, num_batches=3):  # no super().__init__(), and a `num_batches` of its own
        self.num_batches = num_batches
        self.events = []

    def __len__(self):
        return self.num_batches

    def __getitem__(self, index):
        self.events.append(index)
        x = np.full((2, 1), index, "float32")
        return x, 2 * x

    def on_epoch_begin(self):
        self.events.append("begin")

    def on_epoch_end(self):
        self.events.append("end")


class Numbers(podium.utils.PyDataset):
    """Batches that hold their own index. Importable, so that worker processes can unpickle it."""

    def __init__(self, size=7, fails_at=None, **kwargs):
        super().__init__(**kwargs)
        self.size = size
        self.fails_at = fails_at
        self.made = []

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        self.made.append(index)
        if index == self.fails_at:
            raise OSError("disk gone")
        return np.full((2, 1), index, "float64"), np.full(2, index)


def make_model():
    model = podium.Sequential([podium.Input((1,)), podium.layers.Dense(1)])
    model.compile("sgd", "mse")
    return model


def read_orders(source, epochs=2, start=0, **kwargs):
    """Return the indices of the batches that a handler reads, a list for each epoch."""
    handler = DataHandler(source, epochs=epochs, initial_epoch=start, **kwargs)
    orders = []
    for _, iterator in handler.enumerate_epochs():
        with handler.catch_stop_iteration():
            orders.append([int(iterator.next_arrays()[1][0]) for _ in handler.steps()])
    return orders


def list_workers():
    threads = [
        thread for thread in threading.enumerate() if thread.name.startswith("podium-batches")
    ]
    return threads + multiprocessing.active_children()


@pytest.fixture
def running_workers():
    """A function that lists the worker threads and processes started in the test."""
    gc.collect()
    before = set(list_workers())
    return lambda: [worker for worker in list_workers() if worker not in before]


def iterate(source, **kwargs):
    return DataHandler(source, **kwargs).adapter.iterate(0)


# --- fit, evaluate, predict


def test_fit_reads_each_batch_once_per_epoch():
    batches, model = Batches(), make_model()
    model.fit(batches, epochs=2, verbose=0)
    assert int(model.optimizer.iterations.numpy()) == 6
    assert [event for event in batches.events if isinstance(event, str)] == ["begin", "end"] * 2
    numbers = [event for event in batches.events if not isinstance(event, str)]
    assert sorted(numbers[:3]) == sorted(numbers[3:]) == [0, 1, 2]


def test_evaluate_and_predict_read_batches_in_order():
    x = np.repeat(np.arange(3.0), 2)[:, None]
    model, batches = make_model(), Batches()
    assert model.evaluate(batches, verbose=0) == pytest.approx(
        model.evaluate(x, 2 * x, verbose=0), rel=1e-5
    )
    assert batches.events == ["begin", 0, 1, 2, "end"]
    np.testing.assert_allclose(
        model.predict(Batches(), verbose=0), model.predict(x, verbose=0), rtol=1e-6
    )


def test_empty_and_incomplete_datasets_are_refused():
    with pytest.raises(ValueError, match="empty"):
        make_model().fit(Batches(0), verbose=0)
    with pytest.raises(NotImplementedError, match="__len__"):
        len(podium.utils.Sequence())
    with pytest.raises(NotImplementedError, match="__getitem__"):
        podium.utils.Sequence()[0]
    assert podium.utils.Sequence is podium.utils.PyDataset


@pytest.mark.parametrize(
    ("kwargs", "error", "message"),
    [
        ({"y": np.ones(2)}, ValueError, r"`y` was given, but `x` is a PyDataset \(Numbers\)"),
        ({"x": Numbers(workers=-1)}, ValueError, "workers=-1 was given"),
        ({"x": Numbers(max_queue_size="many")}, TypeError, "max_queue_size='many' was given"),
        ({"x": Numbers(0)}, ValueError, "`x` is empty"),
    ],
)
def test_invalid_arguments_are_refused(kwargs, error, message):
    with pytest.raises(error, match=message):
        DataHandler(**({"x": Numbers()} | kwargs))


def test_batch_size_warns_and_is_ignored():
    message = r"batch_size=4 has no effect.*PyDataset \(Numbers\).*`__getitem__` return 4 samples"
    with pytest.warns(UserWarning, match=message):
        handler = DataHandler(x=Numbers(), batch_size=4)
    assert handler.inferred_steps == DataHandler(x=Numbers()).inferred_steps


# --- the number of batches


def test_num_batches_is_the_length_unless_overridden():
    class ByProperty(podium.utils.PyDataset):
        @property
        def num_batches(self):
            return 2

        def __getitem__(self, index):
            return np.full((2, 1), index), np.full(2, index)

    class ByAttribute(ByProperty):
        num_batches = None

        def __init__(self):
            self.num_batches = 4

    assert Numbers(5).num_batches == 5 and len(list(Numbers(5))) == 5
    assert read_orders(ByProperty()) == [[0, 1], [0, 1]]
    assert read_orders(ByAttribute(), epochs=1) == [[0, 1, 2, 3]]


def test_infinite_dataset_needs_steps_and_continues_in_the_next_epoch():
    class Endless(Numbers):
        num_batches = None

    with pytest.raises(
        ValueError, match=r"infinite PyDataset \(Endless.*steps was not given.*`steps=100`"
    ):
        DataHandler(Endless(), caller="evaluate")
    assert read_orders(Endless(), steps_per_epoch=3, shuffle=True) == [[0, 1, 2], [3, 4, 5]]


# --- order


def test_order_depends_on_the_seed_and_the_epoch():
    orders = read_orders(Numbers(20), epochs=3, shuffle=True, shuffle_seed=8)
    assert all(sorted(order) == list(range(20)) for order in orders)
    assert orders[0] != orders[1] != orders[2]
    assert read_orders(Numbers(20), epochs=3, start=2, shuffle=True, shuffle_seed=8) == orders[2:]
    assert read_orders(Numbers(20), epochs=3, shuffle=True, shuffle_seed=9) != orders
    assert read_orders(Numbers(20, workers=3), epochs=3, shuffle="batch", shuffle_seed=8) == orders
    assert read_orders(Numbers(4)) == [[0, 1, 2, 3]] * 2


def test_next_epoch_continues_when_steps_per_epoch_is_smaller_than_the_data():
    assert read_orders(Numbers(5), epochs=3, steps_per_epoch=2) == [[0, 1], [2, 3], [4, 0]]
    assert read_orders(Numbers(5), epochs=3, start=2, steps_per_epoch=2) == [[0, 1]]
    orders = read_orders(Numbers(5), epochs=5, steps_per_epoch=2, shuffle=True)
    indices = np.concatenate(orders).tolist()
    assert sorted(indices[:5]) == sorted(indices[5:]) == [0, 1, 2, 3, 4]


def test_position_inside_a_partial_pass_can_be_restored():
    arguments = {"epochs": 4, "steps_per_epoch": 3, "shuffle": True}
    with DataHandler(Numbers(5), **arguments) as handler:
        read = []
        for _ in handler.enumerate_epochs():
            for _ in handler.steps():
                read.append(int(handler._iterator.next_arrays()[1][0]))
                if len(read) == 8:
                    position = handler.position()
    assert (position["epoch"], position["step"]) == (2, 2)
    with DataHandler(Numbers(5), **arguments) as resumed:
        resumed.seek(position)
        remaining = [
            int(iterator.next_arrays()[1][0])
            for _, iterator in resumed.enumerate_epochs()
            for _ in resumed.steps()
        ]
    assert remaining == read[8:]


def test_more_steps_than_batches_run_out_of_data():
    with pytest.warns(UserWarning, match="ran out of data"):
        assert read_orders(Numbers(3), steps_per_epoch=5) == [[0, 1, 2]]


@pytest.mark.parametrize("workers", [1, 3])
def test_iteration_can_start_at_any_batch(workers):
    adapter = DataHandler(Numbers(9, workers=workers), shuffle=True).adapter
    read = [int(y[0]) for _, y in adapter.iterate(4)]
    for start in (0, 1, 8, 9):
        position = adapter.position(start)
        assert [
            int(y[0]) for _, y in DataHandler(Numbers(9), shuffle=True).adapter.iterate(4, position)
        ] == read[start:]
    # Batches overrides the epoch hooks, which may change its order.
    assert adapter.seekable and not DataHandler(Batches()).adapter.seekable


# --- workers


def processes(**kwargs):
    return {"workers": 1, "use_multiprocessing": True, **kwargs}


def test_threads_read_ahead_at_most_max_queue_size_batches(running_workers):
    source = Numbers(9, workers=2, max_queue_size=4)
    batches = iterate(source)
    source.made.clear()
    assert next(batches)[1][0] == 0 and running_workers()
    batches.close()
    assert not running_workers() and set(source.made) <= {0, 1, 2, 3}


def test_batches_come_in_order_and_workers_end_after_the_last(running_workers):
    batches = iterate(Numbers(9, workers=3))
    assert [int(next(batches)[1][0]) for _ in range(9)] == list(range(9))
    assert not running_workers()
    with pytest.raises(StopIteration):
        next(batches)


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, GeneratorExit, ValueError])
def test_workers_end_however_the_iteration_ends(running_workers, interrupt):
    batches = iterate(Numbers(9, workers=2))
    next(batches)
    assert running_workers()
    with pytest.raises(interrupt):
        batches.throw(interrupt("now"))
    assert not running_workers()


@pytest.mark.parametrize("kwargs", [{}, {"workers": 3}, {"workers": 2, "max_queue_size": 1}])
def test_error_is_raised_at_its_batch_and_names_the_index(running_workers, kwargs):
    handler = DataHandler(Numbers(9, fails_at=4, **kwargs))
    _, iterator = next(handler.enumerate_epochs())
    assert [int(iterator.next_arrays()[1][0]) for _ in range(4)] == [0, 1, 2, 3]
    with pytest.raises(OSError, match="disk gone") as caught:
        iterator.next_arrays()
    assert caught.value.__notes__ == [
        "It was raised by `Numbers.__getitem__(4)`.",
        "It was raised while batch 4 of the PyDataset was read (the first is 0).",
    ]
    assert not running_workers()


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, ValueError])
def test_workers_end_when_fit_is_interrupted(running_workers, interrupt):
    class Stop(podium.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch == 2:
                raise interrupt("now")

    model = make_model()
    with pytest.raises(interrupt) as caught:
        model.fit(Numbers(20, workers=2), callbacks=[Stop()], verbose=0)
    assert caught.value.__traceback__ is not None and not running_workers()


def test_training_is_the_same_with_and_without_workers():
    def fit_weights(**kwargs):
        podium.utils.set_random_seed(1)
        model = make_model()
        model.fit(Numbers(**kwargs), epochs=2, verbose=0)
        return model.get_weights()

    for without, with_workers in zip(fit_weights(), fit_weights(workers=3), strict=True):
        np.testing.assert_array_equal(without, with_workers)


def test_worker_processes_are_kept_for_the_next_epoch_and_end(running_workers):
    source = Numbers(4, fails_at=3, **processes())
    handler = DataHandler(source, steps_per_epoch=3)
    adapter = handler.adapter
    _, iterator = next(handler.enumerate_epochs())
    group = iterator.next_group(9)
    # The batches were made in another process.
    assert [int(y[0]) for _, y in group] == [0, 1, 2] and source.made == []
    assert group[0][0].dtype == np.float32 and group[0][1].dtype == np.int32
    before = {process.pid for process in running_workers()}
    batches = adapter.iterate(2)  # batches 6, 7 and 8 of passes of 4
    assert int(next(batches)[1][0]) == 2
    assert {process.pid for process in running_workers()} == before
    with pytest.raises(OSError, match="disk gone") as caught:
        next(batches)
    assert caught.value.__notes__ == ["It was raised by `Numbers.__getitem__(3)`."]
    assert len(before) == 1 and not running_workers()


def test_dataset_that_cannot_be_pickled_is_refused(running_workers):
    source = Numbers(**processes())
    source.lock = threading.Lock()
    with pytest.raises(TypeError, match="pickle") as caught:
        DataHandler(source)
    assert "the workers are then threads" in str(caught.value)
    assert not running_workers()


def test_workers_argument_overrides_the_attribute_of_the_dataset(running_workers):
    class TwoAtOnce(Numbers):
        """Batches that are made only while two threads make one at the same time."""

        def __init__(self):
            super().__init__(8)
            self.barrier = threading.Barrier(2, timeout=120)

        def __getitem__(self, index):
            self.barrier.wait()
            return super().__getitem__(index)

    common = {
        "batch_size": None,
        "steps": None,
        "shuffle": False,
        "seed": 0,
        "class_weight": None,
        "output_names": None,
    }
    adapter, _ = choose_adapter(
        TwoAtOnce(),
        None,
        None,
        names=ArgumentNames(),
        workers={"workers": 2, "max_queue_size": 4},
        **common,
    )
    batches = adapter.iterate(0)
    next(batches)
    assert len(running_workers()) == 2
    assert len(list(batches)) == 7 and not running_workers()


def test_fit_accepts_workers_as_keras_2_does():
    readers = set()

    class Reads(podium.utils.Sequence):
        def __len__(self):
            return 8

        def __getitem__(self, index):
            readers.add(threading.current_thread().name)
            return np.full((2, 1), float(index)), np.zeros((2, 1))

    model = podium.Sequential([podium.Input((1,)), podium.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(Reads(), workers=2, max_queue_size=4, verbose=0)
    assert threading.main_thread().name not in readers and len(readers) >= 1


def test_a_local_class_cannot_be_copied_to_worker_processes():
    class Local(podium.utils.PyDataset):
        def __len__(self):
            return 2

        def __getitem__(self, index):
            return np.zeros((2, 1))

    message = "Local cannot be copied to worker processes: .*at the top level of a file"
    with pytest.raises(TypeError, match=message):
        podium.data.DataHandler(Local(workers=2, use_multiprocessing=True))
