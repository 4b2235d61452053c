"""PyDataset: batches by number, in the order of (seed, epoch), made by threads or processes that
end with the walk.
"""

import multiprocessing
import threading

import numpy as np
import pytest

import podium
from podium.data import DataHandler


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
    """Importable, so that processes can have it."""

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


def model():
    made = podium.Sequential([podium.Input((1,)), podium.layers.Dense(1)])
    made.compile("sgd", "mse")
    return made


def orders(source, epochs=2, start=0, **kwargs):
    """What a handler reads, epoch by epoch, as the numbers of the batches."""
    handler = DataHandler(source, epochs=epochs, initial_epoch=start, **kwargs)
    found = []
    for _, iterator in handler.enumerate_epochs():
        with handler.catch_stop_iteration():
            found.append([int(iterator.next_arrays()[1][0]) for _ in handler.steps()])
    return found


def workers_alive():
    return [
        one for one in threading.enumerate() if one.name.startswith("podium-batches")
    ] + multiprocessing.active_children()


def walk_of(source, **kwargs):
    return DataHandler(source, **kwargs).adapter.iterate(0)


# --- fit, evaluate, predict


def test_fit_takes_each_batch_once_an_epoch():
    batches, trained = Batches(), model()
    trained.fit(batches, epochs=2, verbose=0)
    assert int(trained.optimizer.iterations.numpy()) == 6
    assert [event for event in batches.events if isinstance(event, str)] == ["begin", "end"] * 2
    numbers = [event for event in batches.events if not isinstance(event, str)]
    assert sorted(numbers[:3]) == sorted(numbers[3:]) == [0, 1, 2]


def test_evaluate_and_predict_take_it_in_order():
    x = np.repeat(np.arange(3.0), 2)[:, None]
    made, batches = model(), Batches()
    assert made.evaluate(batches, verbose=0) == pytest.approx(
        made.evaluate(x, 2 * x, verbose=0), rel=1e-5
    )
    assert batches.events == ["begin", 0, 1, 2, "end"]
    np.testing.assert_allclose(
        made.predict(Batches(), verbose=0), made.predict(x, verbose=0), rtol=1e-6
    )


def test_empty_and_unfinished_ones_are_refused():
    with pytest.raises(ValueError, match="empty"):
        model().fit(Batches(0), verbose=0)
    with pytest.raises(NotImplementedError, match="__len__"):
        len(podium.utils.Sequence())
    with pytest.raises(NotImplementedError, match="__getitem__"):
        podium.utils.Sequence()[0]
    assert podium.utils.Sequence is podium.utils.PyDataset


@pytest.mark.parametrize(
    ("kwargs", "error", "message"),
    [
        ({"y": np.ones(2)}, ValueError, r"`y` was given, but `x` is a PyDataset \(Numbers\)"),
        (
            {"batch_size": 4},
            ValueError,
            r"batch_size=4 was given.*PyDataset.*let `__getitem__` return 4 samples",
        ),
        ({"x": Numbers(workers=-1)}, ValueError, "workers=-1 was given"),
        ({"x": Numbers(max_queue_size="many")}, TypeError, "max_queue_size='many' was given"),
        ({"x": Numbers(0)}, ValueError, "`x` is empty"),
    ],
)
def test_wrong_arguments(kwargs, error, message):
    with pytest.raises(error, match=message):
        DataHandler(**({"x": Numbers()} | kwargs))


# --- the number of batches


def test_num_batches_is_the_length_unless_a_class_says_otherwise():
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
    assert orders(ByProperty()) == [[0, 1], [0, 1]]
    assert orders(ByAttribute(), epochs=1) == [[0, 1, 2, 3]]


def test_an_endless_one_needs_steps_and_goes_on_from_epoch_to_epoch():
    class Endless(Numbers):
        num_batches = None

    with pytest.raises(
        ValueError, match=r"endless PyDataset \(Endless.*steps was not given.*`steps=100`"
    ):
        DataHandler(Endless(), caller="evaluate")
    assert orders(Endless(), steps_per_epoch=3, shuffle=True) == [[0, 1, 2], [3, 4, 5]]


# --- order


def test_the_order_depends_on_the_seed_and_the_epoch():
    found = orders(Numbers(20), epochs=3, shuffle=True, shuffle_seed=8)
    assert all(sorted(order) == list(range(20)) for order in found)
    assert found[0] != found[1] != found[2]
    assert orders(Numbers(20), epochs=3, start=2, shuffle=True, shuffle_seed=8) == found[2:]
    assert orders(Numbers(20), epochs=3, shuffle=True, shuffle_seed=9) != found
    assert orders(Numbers(20, workers=3), epochs=3, shuffle="batch", shuffle_seed=8) == found
    assert orders(Numbers(4)) == [[0, 1, 2, 3]] * 2


def test_with_fewer_steps_the_next_epoch_goes_on():
    assert orders(Numbers(5), epochs=3, steps_per_epoch=2) == [[0, 1], [2, 3], [4, 0]]
    assert orders(Numbers(5), epochs=3, start=2, steps_per_epoch=2) == [[0, 1]]
    found = orders(Numbers(5), epochs=5, steps_per_epoch=2, shuffle=True)
    found = np.concatenate(found).tolist()
    assert sorted(found[:5]) == sorted(found[5:]) == [0, 1, 2, 3, 4]


def test_a_run_in_parts_of_passes_is_continued_where_it_stood():
    arguments = {"epochs": 4, "steps_per_epoch": 3, "shuffle": True}
    with DataHandler(Numbers(5), **arguments) as handler:
        read = []
        for _ in handler.enumerate_epochs():
            for _ in handler.steps():
                read.append(int(handler._iterator.next_arrays()[1][0]))
                if len(read) == 8:
                    place = handler.position()
    assert (place["epoch"], place["step"]) == (2, 2)
    with DataHandler(Numbers(5), **arguments) as again:
        again.seek(place)
        rest = [
            int(iterator.next_arrays()[1][0])
            for _, iterator in again.enumerate_epochs()
            for _ in again.steps()
        ]
    assert rest == read[8:]


def test_with_more_steps_than_batches_the_data_run_out():
    with pytest.warns(UserWarning, match="ran out of data"):
        assert orders(Numbers(3), steps_per_epoch=5) == [[0, 1, 2]]


@pytest.mark.parametrize("workers", [1, 3])
def test_a_walk_can_start_anywhere(workers):
    adapter = DataHandler(Numbers(9, workers=workers), shuffle=True).adapter
    read = [int(y[0]) for _, y in adapter.iterate(4)]
    for start in (0, 1, 8, 9):
        place = adapter.position(start)
        assert [
            int(y[0]) for _, y in DataHandler(Numbers(9), shuffle=True).adapter.iterate(4, place)
        ] == read[start:]
    assert (
        adapter.seekable and not DataHandler(Batches()).adapter.seekable
    )  # its own hooks may change its order


# --- workers


def processes(**kwargs):
    return {"workers": 1, "use_multiprocessing": True, **kwargs}


def test_threads_read_ahead_no_further_than_the_size_of_the_queue():
    source = Numbers(9, workers=2, max_queue_size=4)
    walk = walk_of(source)
    source.made.clear()
    assert next(walk)[1][0] == 0 and workers_alive()
    walk.close()
    assert not workers_alive() and set(source.made) <= {0, 1, 2, 3}


def test_batches_come_in_order_and_workers_are_gone_after_the_last():
    walk = walk_of(Numbers(9, workers=3))
    assert [int(next(walk)[1][0]) for _ in range(9)] == list(range(9))
    assert not workers_alive()
    with pytest.raises(StopIteration):
        next(walk)


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, GeneratorExit, ValueError])
def test_workers_are_gone_however_the_walk_ends(interrupt):
    walk = walk_of(Numbers(9, workers=2))
    next(walk)
    assert workers_alive()
    with pytest.raises(interrupt):
        walk.throw(interrupt("now"))
    assert not workers_alive()


@pytest.mark.parametrize("kwargs", [{}, {"workers": 3}, {"workers": 2, "max_queue_size": 1}])
def test_an_error_is_raised_at_its_batch_with_the_number(kwargs):
    handler = DataHandler(Numbers(9, fails_at=4, **kwargs))
    _, iterator = next(handler.enumerate_epochs())
    assert [int(iterator.next_arrays()[1][0]) for _ in range(4)] == [0, 1, 2, 3]
    with pytest.raises(OSError, match="disk gone") as met:
        iterator.next_arrays()
    assert met.value.__notes__ == [
        "It came from `Numbers.__getitem__(4)`.",
        "It was raised while batch 4 of the PyDataset was read (the first is 0).",
    ]
    assert not workers_alive()


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, ValueError])
def test_workers_are_gone_when_fit_is_interrupted(interrupt):
    class Stop(podium.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch == 2:
                raise interrupt("now")

    made = model()
    with pytest.raises(interrupt) as met:
        made.fit(Numbers(20, workers=2), callbacks=[Stop()], verbose=0)
    assert met.value.__traceback__ is not None and not workers_alive()


def test_workers_make_training_no_different():
    def trained(**kwargs):
        podium.utils.set_random_seed(1)
        made = model()
        made.fit(Numbers(**kwargs), epochs=2, verbose=0)
        return made.get_weights()

    for ours, others in zip(trained(), trained(workers=3), strict=True):
        np.testing.assert_array_equal(ours, others)


def test_processes_make_the_batches_stay_for_the_next_epoch_and_end():
    source = Numbers(4, fails_at=3, **processes())
    handler = DataHandler(source, steps_per_epoch=3)
    adapter = handler.adapter
    _, iterator = next(handler.enumerate_epochs())
    found = iterator.next_group(9)
    assert [int(y[0]) for _, y in found] == [0, 1, 2] and source.made == []  # made, but elsewhere
    assert found[0][0].dtype == np.float32 and found[0][1].dtype == np.int32
    before = {process.pid for process in workers_alive()}
    walk = adapter.iterate(2)  # batches 6, 7 and 8 of passes of 4
    assert int(next(walk)[1][0]) == 2 and {process.pid for process in workers_alive()} == before
    with pytest.raises(OSError, match="disk gone") as met:
        next(walk)
    assert met.value.__notes__ == ["It came from `Numbers.__getitem__(3)`."]
    assert len(before) == 1 and not workers_alive()


def test_what_cannot_be_pickled_is_refused_with_the_reason():
    source = Numbers(**processes())
    source.lock = threading.Lock()
    with pytest.raises(TypeError, match="pickle") as met:
        DataHandler(source)
    assert any("the workers are threads then" in note for note in met.value.__notes__)
    assert not workers_alive()


def test_workers_given_to_the_handler_go_before_those_of_the_object():
    from podium.data._argument_names import ArgumentNames
    from podium.data.adapters._choose_adapter import choose_adapter

    common = {
        "batch_size": None,
        "steps": None,
        "shuffle": False,
        "seed": 0,
        "class_weight": None,
        "output_names": None,
    }
    adapter, _ = choose_adapter(
        Numbers(),
        None,
        None,
        names=ArgumentNames(),
        workers={"workers": 2, "max_queue_size": 3},
        **common,
    )
    walk = adapter.iterate(0)
    next(walk)
    assert len(workers_alive()) == 2
    walk.close()


def test_the_workers_of_keras_2s_fit_are_used():
    import threading

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
