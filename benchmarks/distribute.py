"""Overhead of distribution strategies on one device, and the time of synchronization on several.

    python benchmarks/distribute.py

Overhead: the same training without a strategy, under OneDeviceStrategy and under a MirroredStrategy
of one device, in one process. They alternate after every step, and each step is compared with the
two steps without a strategy of its round, so that other load affects both. Two models have no
strategy: the difference between them is the noise, and no conclusion is drawn where the noise is
larger than the limit. The result is the median of the ratios with a distribution-free confidence
interval of 95%. `tests/distribute/test_strategy_cost.py` counts the Python calls of a step, which
do not depend on noise.

Synchronization: the same step on 4 virtual devices with and without its collectives (each device
keeps its gradients); the difference is the time spent in them. Virtual devices share the cores of
this machine: the results show the cost of waiting here, not that of a network.
"""

from __future__ import annotations

import contextlib
import gc
import math
import os
import statistics
import sys
import threading
import time
from collections.abc import Callable

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=4")

import numpy as np

import podium
from podium import layers

MAX_OVERHEAD = 0.02
ROUNDS = 3000
CONTROL = "no strategy, again"
STRATEGIES: dict[str, Callable] = {
    "no strategy": podium.distribute.get_strategy,
    CONTROL: podium.distribute.get_strategy,
    "OneDeviceStrategy": lambda: podium.distribute.OneDeviceStrategy("/cpu:0"),
    "MirroredStrategy, 1 device": lambda: podium.distribute.MirroredStrategy(1),
}


def make_data(width, batch_size, steps):
    """Return inputs and targets of `steps` batches."""
    rng = np.random.default_rng(0)
    return tuple(
        rng.normal(size=(batch_size * steps, size)).astype("float32") for size in (width, 8)
    )


def make_model(strategy, width=256):
    """Return a compiled model, single steps, made in the strategy's scope."""
    podium.utils.set_random_seed(0)
    with strategy.scope():
        stack = [layers.Dense(width, activation="relu") for _ in range(3)]
        model = podium.Sequential([podium.Input((width,)), *stack, layers.Dense(8)])
        model.compile(podium.optimizers.Adam(), "mse", steps_per_execution=1)
    return model


class StepControl(podium.callbacks.Callback):
    """Runs the steps of a `fit` in another thread one at a time, on request, and measures the time
    from the request to the result.
    """

    def __init__(self):
        super().__init__()
        self.requested, self.done = threading.Semaphore(0), threading.Semaphore(0)
        self.seconds = self.start = 0.0

    def on_train_begin(self, logs=None):
        self.wait()

    def on_train_batch_end(self, batch, logs=None):
        float(logs["loss"])  # the step has ended
        self.seconds = time.perf_counter() - self.start
        self.done.release()
        self.wait()

    def wait(self):
        self.requested.acquire()
        self.start = time.perf_counter()

    def run_step(self):
        """Run a step; return its seconds."""
        self.requested.release()
        self.done.acquire()
        return self.seconds


@contextlib.contextmanager
def steps_of_fit(strategy, width, batch_size):
    """Yield a function that runs a step of a `fit` and returns its seconds."""
    model = make_model(strategy, width)
    x, y = make_data(width, batch_size, 100)
    steps = StepControl()
    arguments = {
        "batch_size": batch_size,
        "epochs": 10**6,
        "verbose": 0,
        "shuffle": False,
        "callbacks": [steps],
    }
    running = threading.Thread(target=model.fit, args=(x, y), kwargs=arguments, daemon=True)
    running.start()
    yield steps.run_step
    model.stop_training = True
    steps.requested.release()
    steps.requested.release()
    running.join()


@contextlib.contextmanager
def steps_of_custom_loop(strategy, width, batch_size):
    """Yield the same for a custom loop: a distributed dataset, and `run` in a compiled function."""
    model = make_model(strategy, width)
    data = (
        podium.data.Dataset.from_tensor_slices(make_data(width, batch_size, 100))
        .batch(batch_size)
        .repeat()
    )
    batches = iter(strategy.experimental_distribute_dataset(data))

    def step(inputs):
        x, y = inputs
        with podium.GradientTape() as tape:
            loss = podium.ops.mean(podium.ops.square(model(x, training=True) - y))
        gradients = tape.gradient(loss, model.trainable_variables)
        model.optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    @podium.function
    def train(inputs):
        return strategy.reduce("sum", strategy.run(step, args=(inputs,)))

    def run_step():
        start = time.perf_counter()
        float(train(next(batches)))
        return time.perf_counter() - start

    yield run_step


def median_with_interval(values):
    """Return the median of values and its 95% confidence interval."""
    ordered, count = sorted(values), len(values)
    # Ranks by the binomial distribution: valid for any distribution of the noise.
    rank, cumulative = 0, 1
    while 40 * cumulative < 2**count:
        rank += 1
        cumulative += math.comb(count, rank)
    return statistics.median(ordered), ordered[max(rank - 1, 0)], ordered[count - max(rank, 1)]


def interleave_steps(step_functions):
    """Run steps alternately, and return pairs (without, with) for all but the first."""
    first, *compared = step_functions
    for run_step in step_functions.values():
        for _ in range(10):
            run_step()  # compiles
    times = {name: [] for name in compared}
    gc.collect()
    gc.disable()
    try:
        for number in range(ROUNDS):
            # Each function runs equally often at each position, so that caches favor none.
            shift = number % len(step_functions)
            order = [*step_functions][shift:] + [*step_functions][:shift]
            seconds = {
                name: step_functions[name]()
                for name in (order if number % 8 < 4 else reversed(order))
            }
            without = (seconds[first] + seconds[CONTROL]) / 2
            for name in compared:
                times[name].append((seconds[first] if name == CONTROL else without, seconds[name]))
    finally:
        gc.enable()
    return times


def measure_overhead(title, make, width, batch_size):
    """Print the overhead of strategies of one device; return whether one significantly exceeds
    `MAX_OVERHEAD`.
    """
    with contextlib.ExitStack() as stack:
        step_functions = {
            name: stack.enter_context(make(choose(), width, batch_size))
            for name, choose in STRATEGIES.items()
        }
        times = interleave_steps(step_functions)
    baseline = statistics.median(without for pairs in times.values() for without, _ in pairs)
    print(f"{title}, {1e6 * baseline:.0f} us a step without a strategy:")
    exceeded = noisy = False
    for name, pairs in times.items():
        median, low, high = (
            value - 1 for value in median_with_interval([step / without for without, step in pairs])
        )
        added, *_ = median_with_interval([1e6 * (step - without) for without, step in pairs])
        if name == CONTROL:
            noisy, verdict = abs(median) > MAX_OVERHEAD, ""
        else:
            verdict = (
                ""
                if noisy
                else " under 2%"
                if high < MAX_OVERHEAD
                else " above 2%"
                if low > MAX_OVERHEAD
                else ""
            )
            exceeded |= not noisy and low > MAX_OVERHEAD
        print(
            f"  {name:28}{median:+7.2%} ({low:+.2%} to {high:+.2%}), {added:+.1f} us{verdict}",
            flush=True,
        )
    return exceeded


def measure_synchronization():
    """Print how much of a step on several devices is spent in collectives."""
    strategy = podium.distribute.MirroredStrategy(4)
    data = podium.data.Dataset.from_tensor_slices(make_data(256, 256, 1)).batch(256)
    (batch,) = strategy.experimental_distribute_dataset(data)
    model = make_model(strategy)

    def compute_gradients(inputs):
        x, y = inputs
        with podium.GradientTape() as tape:
            loss = podium.ops.sum(podium.ops.square(model(x, training=True) - y)) / 256.0
        return tape.gradient(loss, model.trainable_variables)

    def without_collectives(inputs):
        return [podium.ops.sum(gradient) for gradient in compute_gradients(inputs)]

    def with_collectives(inputs):
        context = podium.distribute.get_replica_context()
        return [
            podium.ops.sum(context.all_reduce("sum", gradient))
            for gradient in compute_gradients(inputs)
        ]

    durations: dict[str, list[float]] = {"without": [], "with": []}
    for _ in range(100):
        for name, step in (("without", without_collectives), ("with", with_collectives)):
            start = time.perf_counter()
            for value in strategy.run(step, args=(batch,)):
                value.array.block_until_ready()
            durations[name].append(time.perf_counter() - start)
    times = {name: statistics.median(values[5:]) for name, values in durations.items()}
    collectives = times["with"] - times["without"]
    size = sum(int(np.prod(variable.shape)) for variable in model.trainable_variables) * 4
    print(
        f"4 devices, {size / 1e6:.1f} MB of gradients: {1e3 * times['with']:.2f} ms a "
        f"step, of which {1e3 * collectives:.2f} ms "
        f"({100 * collectives / times['with']:.0f}%) in synchronization"
    )


if __name__ == "__main__":
    failed = [
        measure_overhead("fit", steps_of_fit, width=256, batch_size=64),
        measure_overhead("fit, tiny steps", steps_of_fit, width=8, batch_size=4),
        measure_overhead("a loop with `run`", steps_of_custom_loop, width=256, batch_size=64),
    ]
    measure_synchronization()
    sys.exit(any(failed))
