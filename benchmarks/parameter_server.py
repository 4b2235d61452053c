"""Training with parameter servers on this machine: what a step costs and how many bytes it moves.

    python benchmarks/parameter_server.py [steps] [latency] [rows]

Each measurement starts a local Ray cluster. Workers, servers and this process share the cores of
the machine: with more workers than cores, the table shows what processes cost, not what machines
add.
"""

from __future__ import annotations

import contextlib
import statistics
import sys
import time
import warnings

import numpy as np

import podium
from podium import layers
from podium.distribute.coordinator import ClusterCoordinator

ROUNDS = 5
SECONDS = 3.0  # of a round
IDS_PER_SAMPLE = 20


def dataset_fn(shape, batch_size):
    """Return a function that makes the endless dataset of a worker."""

    def make_dataset(context):
        rng = np.random.default_rng(context.input_pipeline_id)
        size = (64 * batch_size, *shape)
        x = rng.normal(size=size).astype("float32")
        y = rng.normal(size=(len(x), 1)).astype("float32")
        return podium.data.Dataset.from_tensor_slices((x, y)).repeat().batch(batch_size)

    return make_dataset


def dense():
    """Return a model so small that a step costs what its calls cost, and its data."""
    model = podium.Sequential([podium.Input((32,)), layers.Dense(1)])
    model.compile("sgd", "mse")
    return model, dataset_fn((32,), 32)


def mlp():
    """Return a model of 8 MB, Adam's slots included, and its data."""
    stack = [layers.Dense(512, activation="relu") for _ in range(2)]
    model = podium.Sequential([podium.Input((784,)), *stack, layers.Dense(1)])
    model.compile("adam", "mse")
    return model, dataset_fn((784,), 128)


def recommender(optimizer="adagrad"):
    """Return a function that returns a model with a table of a million rows, and its data."""

    def make_model():
        stack = [layers.Embedding(1_000_000, 16), layers.Flatten(), layers.Dense(1)]
        model = podium.Sequential([podium.Input((IDS_PER_SAMPLE,), dtype="int32"), *stack])
        model.compile(optimizer, "mse")
        return model, ids_fn(128)

    return make_model


def ids_fn(batch_size):
    """Return a function that makes the endless dataset of a worker: ids of a power law."""

    def make_dataset(context):
        rng = np.random.default_rng(context.input_pipeline_id)
        size = (64 * batch_size, IDS_PER_SAMPLE)
        x = (rng.pareto(0.5, size).clip(0, 999_999)).astype("int32")
        y = rng.normal(size=(len(x), 1)).astype("float32")
        return podium.data.Dataset.from_tensor_slices((x, y)).repeat().batch(batch_size)

    return make_dataset


def size_of(variables):
    """Return the size of Variables in bytes."""
    return sum(int(np.prod(v.shape)) * np.dtype(str(v.dtype)).itemsize for v in variables)


class Run:
    """A model that is trained on the workers of a strategy."""

    def __init__(self, make_model, **options):
        podium.utils.set_random_seed(0)
        self.strategy = podium.distribute.ParameterServerStrategy(**options)
        self.coordinator = ClusterCoordinator(self.strategy)
        with self.strategy.scope():
            self.model, make_dataset = make_model()
        self.iterator = iter(self.coordinator.create_per_worker_dataset(make_dataset))
        self.step = podium.function(lambda iterator: self.model.train_step(next(iterator)))
        self.run(3 * self.strategy.num_workers)  # compiles on every worker
        self.size = size_of(self.coordinator.variables_of(self.step))

    def run(self, count):
        """Run some steps; return how many bytes the workers have pulled and pushed."""
        scheduler = self.coordinator._scheduler
        before = np.array([scheduler.bytes_pulled, scheduler.bytes_pushed])
        for _ in range(count):
            self.coordinator.schedule(self.step, args=(self.iterator,))
            self.coordinator.limit_waiting(4 * self.strategy.num_workers)
        self.coordinator.join()
        return np.array([scheduler.bytes_pulled, scheduler.bytes_pushed]) - before

    def measure(self):
        """Return the steps a second of each round, and the bytes pulled and pushed in a step."""
        start = time.perf_counter()
        self.run(10)
        count = max(10, int(SECONDS * 10 / (time.perf_counter() - start)))
        rates = []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            moved = self.run(count)
            rates.append(count / (time.perf_counter() - start))
        return rates, moved / count


@contextlib.contextmanager
def started(*args, **options):
    """Yield a Run, and end its processes."""
    run = Run(*args, **options)
    try:
        yield run
    finally:
        run.strategy.close()


def measure_steps():
    """Print steps a second by the number of workers, and the bytes of a step."""
    print("| model | workers | steps a second, median (range) | pulled / size | pushed / size |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for make_model in (dense, mlp):
        for num_workers in (1, 2, 4):
            with started(make_model, num_workers=num_workers) as run:
                rates, (pulled, pushed) = run.measure()
                print(
                    f"| {make_model.__name__}, {run.size:,} bytes | {num_workers} | "
                    f"{statistics.median(rates):,.0f} ({min(rates):,.0f} to {max(rates):,.0f}) | "
                    f"{pulled / run.size:.3f} | {pushed / run.size:.3f} |",
                    flush=True,
                )


def measure_latency(count=300):
    """Print what an empty call takes from `schedule` to `join`."""
    strategy = podium.distribute.ParameterServerStrategy(num_workers=1)
    coordinator = ClusterCoordinator(strategy)
    empty = podium.function(lambda: None)
    seconds = {"`schedule`": [], "`schedule` and `join`": [], "`join`, nothing scheduled": []}
    for number in range(count + 20):
        times = [time.perf_counter()]
        for call in (lambda: coordinator.schedule(empty), coordinator.join, coordinator.join):
            call()
            times.append(time.perf_counter())
        if number >= 20:
            parts = times[1] - times[0], times[2] - times[0], times[3] - times[2]
            for values, value in zip(seconds.values(), parts, strict=True):
                values.append(1e3 * value)
    strategy.close()
    print("| an empty call, 1 worker | median, ms | 95th percentile, ms |")
    print("| --- | ---: | ---: |")
    for name, values in seconds.items():
        print(f"| {name} | {np.median(values):.3f} | {np.quantile(values, 0.95):.3f} |")


def measure_rows():
    """Print what a step moves of a table of a million rows: the rows of its batch, or all."""
    print("| 1M x 16 table, 128 x 20 ids | rows a step | pulled | pushed | steps a second |")
    print("| --- | ---: | ---: | ---: | ---: |")
    warnings.simplefilter("ignore", UserWarning)  # that Adam moves the table as a whole
    cases = (
        ("Adagrad", "adagrad", {}),
        ("Adam, lazy", "adam", {"lazy_embedding_updates": True}),
        ("Adam: the whole table", "adam", {}),
    )
    for name, optimizer, options in cases:
        with started(recommender(optimizer), num_workers=1, **options) as run:
            scheduler = run.coordinator._scheduler
            before, start = scheduler.rows_pulled, time.perf_counter()
            count = 20 if name.endswith("table") else 300
            pulled, pushed = run.run(count) / count
            rate = count / (time.perf_counter() - start)
            rows = (scheduler.rows_pulled - before) / count
            print(
                f"| {name}, {run.size / 1e6:,.0f} MB | {rows:,.0f} | {pulled / 1e3:,.0f} KB | "
                f"{pushed / 1e3:,.0f} KB | {rate:,.1f} |",
                flush=True,
            )


MEASUREMENTS = {"steps": measure_steps, "latency": measure_latency, "rows": measure_rows}


if __name__ == "__main__":
    for name in sys.argv[1:] or MEASUREMENTS:
        MEASUREMENTS[name]()
        print()
