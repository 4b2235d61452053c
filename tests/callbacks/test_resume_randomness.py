"""Runs whose data and callbacks draw from the global generators of Python and NumPy: interrupted
and resumed, they equal an uninterrupted run bit for bit, or have warned.
"""

import random
import time

import numpy as np
import pytest

import podium
from podium import callbacks, layers
from podium.callbacks import BackupAndRestore
from podium.data import Dataset

ROWS = np.random.default_rng(0).normal(size=(22, 4)).astype("float32")
X, Y = ROWS[:, :3], ROWS[:, 3:]


class Killed(BaseException):
    """Stands for SIGKILL: nothing may be saved when it is raised."""


class Kills(callbacks.Callback):
    def __init__(self, hook, count):
        super().__init__()
        self._remaining = count
        setattr(self, hook, self._count_down)

    def _count_down(self, *_):
        self._remaining -= 1
        if self._remaining == 0:
            raise Killed

    def get_state(self):
        return None


class Draws(callbacks.Callback):
    """Draws from both generators in every hook."""

    def on_epoch_begin(self, epoch, logs=None):
        np.random.rand()

    def on_train_batch_end(self, batch, logs=None):
        logs["drawn"] = np.random.rand() + random.random()

    def on_test_batch_end(self, batch, logs=None):
        random.random()

    def on_epoch_end(self, epoch, logs=None):
        logs["epoch_drawn"] = np.random.rand() + random.random()


def numpy_noise(x, y):
    return x + np.random.normal(size=(4, 3)).astype("float32")[: len(x)], y


def slow_noise(x, y):
    time.sleep(0.001)
    return numpy_noise(x, y)


def python_noise(x, y):
    return x * (random.random() + 0.5), y


class Augmented(podium.utils.PyDataset):
    def __len__(self):
        return 6

    def __getitem__(self, index):
        rows = slice(4 * index, 4 * index + 4)
        return numpy_noise(X[rows], Y[rows])


def batches(noise):
    return Dataset.from_tensor_slices((X, Y)).shuffle(22).batch(4).map(noise)


SOURCES = {
    "NumPy in map": lambda: batches(numpy_noise),
    "random in a map": lambda: batches(python_noise),
    "slow map": lambda: batches(slow_noise),
    "map before batch": lambda: (
        Dataset.from_tensor_slices((X, Y)).map(lambda x, y: (x + np.random.rand(), y)).batch(4)
    ),
    "repeated": lambda: batches(slow_noise).repeat(),
    "PyDataset": Augmented,
    "arrays": lambda: None,
}


def train(folder, source, *more, k=1, backup=None, noisy_validation=True, seed=5, **fit):
    podium.utils.set_random_seed(seed)
    model = podium.Sequential([podium.Input((3,)), layers.Dense(2), layers.Dense(1)])
    model.compile("adam", "mse", steps_per_execution=k)
    data = SOURCES[source]()
    data = {"x": X, "y": Y, "batch_size": 4} if data is None else {"x": data}
    history = model.fit(
        **data,
        epochs=3,
        verbose=0,
        validation_data=batches(python_noise) if noisy_validation else None,
        callbacks=[*more, BackupAndRestore(folder, **{"on_exception": False, **(backup or {})})],
        **fit,
    )
    state = [variable.numpy().tobytes() for variable in [*model.variables]]
    return state, history.history, np.random.rand(), random.random()


def killed_and_resumed(folder, source, kills, *more, **options):
    with pytest.raises(Killed):
        train(folder, source, *more, kills, **options)
    return train(folder, source, *more, **options)


@pytest.mark.parametrize("source", sorted(set(SOURCES) - {"repeated"}))
@pytest.mark.parametrize(
    "kills",
    [
        ("on_train_batch_end", 2),
        ("on_train_batch_begin", 9),
        ("on_test_batch_end", 4),
        ("on_epoch_end", 2),
        ("on_epoch_begin", 3),
    ],
    ids=lambda kills: f"{kills[0]} {kills[1]}",
)
def test_resumed_run_draws_the_same_random_numbers(tmp_path, source, kills):
    options = {"backup": {"save_freq": 1}}
    expected = train(tmp_path / "a", source, Draws(), **options)
    actual = killed_and_resumed(tmp_path / "b", source, Kills(*kills), Draws(), **options)
    assert actual == expected


@pytest.mark.parametrize(
    "options",
    [
        {"k": 3, "backup": {"save_freq": 3}},
        {"k": 4, "backup": {"save_freq": 1}},
        {"backup": {"save_freq": "epoch"}},
        {"backup": {"save_freq": 2, "asynchronous": True}, "validation_freq": "5 steps"},
    ],
    ids=str,
)
@pytest.mark.parametrize("source", ["slow map", "PyDataset"])
def test_fused_steps_and_partial_epochs_draw_the_same_numbers(tmp_path, source, options):
    expected = train(tmp_path / "a", source, **options)
    kills = Kills("on_epoch_begin", 3)
    assert killed_and_resumed(tmp_path / "b", source, kills, **options) == expected


@pytest.mark.parametrize("steps", [4, 9])
@pytest.mark.parametrize("save_freq", [1, "epoch"])
def test_one_iteration_through_all_epochs_draws_the_same_numbers(tmp_path, steps, save_freq):
    options = {"backup": {"save_freq": save_freq}, "steps_per_epoch": steps}
    expected = train(tmp_path / "a", "repeated", Draws(), **options)
    kills = Kills("on_epoch_begin", 3)
    actual = killed_and_resumed(tmp_path / "b", "repeated", kills, Draws(), **options)
    assert actual == expected


def test_state_of_the_generators_does_not_matter_when_a_run_is_resumed(tmp_path):
    """Also the batch that was read before the run is resumed, for validation, is read again."""
    options = {"backup": {"save_freq": 1}}
    expected = train(tmp_path / "a", "slow map", **options)
    with pytest.raises(Killed):
        train(tmp_path / "b", "slow map", Kills("on_train_batch_end", 3), **options)
    assert train(tmp_path / "b", "slow map", seed=6, **options) == expected


@pytest.mark.parametrize("hook", ["on_train_batch_begin", "on_train_batch_end"])
def test_interrupted_run_draws_the_same_numbers(tmp_path, hook):
    expected = train(tmp_path / "a", "NumPy in map", backup={"on_exception": True})
    options = {"backup": {"on_exception": True}}
    kills = Kills(hook, 4)
    assert killed_and_resumed(tmp_path / "b", "NumPy in map", kills, **options) == expected


own = np.random.default_rng(0)


def own_noise(x, y):
    return x + own.normal(size=(1, 3)).astype("float32"), y


class OwnGenerator(Augmented):
    def __init__(self, **options):
        super().__init__(**options)
        self.generator = np.random.default_rng(0)

    def __getitem__(self, index):
        x, y = super().__getitem__(index)
        return x + self.generator.normal(), y


SOURCES |= {
    "own generator": lambda: batches(own_noise),
    "PyDataset with a generator": OwnGenerator,
}


@pytest.mark.parametrize("save_freq", [1, 3, "epoch"])
@pytest.mark.parametrize("source", sorted(set(SOURCES) - {"repeated"}))
def test_verify_resume_compares_batches(tmp_path, source, save_freq):
    backup = {"save_freq": save_freq, "verify_resume": True}
    if "generator" in source:
        with pytest.raises(RuntimeError, match=r"the batches after checkpoint 1 in .* differ"):
            train(tmp_path, source, backup=backup)
    else:
        expected = train(tmp_path / "a", source, Draws(), backup={"save_freq": save_freq})
        assert train(tmp_path / "b", source, Draws(), backup=backup) == expected


class Threaded(Augmented):
    def __init__(self):
        super().__init__(workers=2)


class InProcess(Augmented):
    def __init__(self):
        super().__init__(workers=1, use_multiprocessing=True)


class RepeatableInProcess(InProcess):
    def __getitem__(self, index):
        rows = slice(4 * index, 4 * index + 4)
        return X[rows] + np.random.default_rng(index).normal(), Y[rows]


@pytest.mark.parametrize("source", [Threaded, InProcess])
def test_numbers_drawn_by_workers_warn(tmp_path, source, monkeypatch):
    monkeypatch.setitem(SOURCES, "workers", source)
    with pytest.warns(UserWarning, match="draw random numbers from np.random in workers"):
        train(tmp_path, "workers", noisy_validation=False)


def test_workers_without_global_random_numbers_do_not_warn(tmp_path, monkeypatch):
    monkeypatch.setitem(SOURCES, "workers", RepeatableInProcess)
    train(tmp_path, "workers", noisy_validation=False)


def test_runs_without_a_backup_record_nothing(monkeypatch):
    """Apart from the first batch, for which the generators' states are compared."""
    calls = []
    monkeypatch.setattr(podium.data._random_draws, "random_state", lambda: calls.append(1) or {})
    monkeypatch.setattr(podium.data._random_draws, "drawn_generators", lambda *states: [])
    model = podium.Sequential([podium.Input((3,)), layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(batches(numpy_noise), epochs=2, verbose=0)
    assert len(calls) == 2
    model.fit(X, Y, verbose=0)
    assert len(calls) == 2
