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

WANTED = 0.02
ROUNDS = 3000
CONTROL = "no strategy, again"
STRATEGIES: dict[str, Callable] = {
    "no strategy": podium.distribute.get_strategy,
    CONTROL: podium.distribute.get_strategy,
    "OneDeviceStrategy": lambda: podium.distribute.OneDeviceStrategy("/cpu:0"),
    "MirroredStrategy, 1 device": lambda: podium.distribute.MirroredStrategy(1),
}


def data_of(width, batch_size, steps):
    """Return inputs and targets of `steps` batches."""
    rng = np.random.default_rng(0)
    return tuple(
        rng.normal(size=(batch_size * steps, size)).astype("float32") for size in (width, 8)
    )


def model_in(strategy, width=256):
    """Return a compiled model, single steps, made in the strategy's scope."""
    podium.utils.set_random_seed(0)
    with strategy.scope():
        stack = [layers.Dense(width, activation="relu") for _ in range(3)]
        model = podium.Sequential([podium.Input((width,)), *stack, layers.Dense(8)])
        model.compile(podium.optimizers.Adam(), "mse", steps_per_execution=1)
    return model


class OneByOne(podium.callbacks.Callback):
    """Lets `fit`, in a thread of its own, take a step whenever it is asked to, and takes the time
    from asking to the result.
    """

    def __init__(self):
        super().__init__()
        self.asked, self.done = threading.Semaphore(0), threading.Semaphore(0)
        self.seconds = self.start = 0.0

    def on_train_begin(self, logs=None):
        self.wait()

    def on_train_batch_end(self, batch, logs=None):
        float(logs["loss"])  # the step has ended
        self.seconds = time.perf_counter() - self.start
        self.done.release()
        self.wait()

    def wait(self):
        self.asked.acquire()
        self.start = time.perf_counter()

    def take(self):
        """Have a step taken; return how long it took."""
        self.asked.release()
        self.done.acquire()
        return self.seconds


@contextlib.contextmanager
def by_fit(strategy, width, batch_size):
    """Give a function that takes a step of a `fit`, and returns its seconds."""
    model = model_in(strategy, width)
    x, y = data_of(width, batch_size, 100)
    steps = OneByOne()
    arguments = {
        "batch_size": batch_size,
        "epochs": 10**6,
        "verbose": 0,
        "shuffle": False,
        "callbacks": [steps],
    }
    running = threading.Thread(target=model.fit, args=(x, y), kwargs=arguments, daemon=True)
    running.start()
    yield steps.take
    model.stop_training = True
    steps.asked.release()
    steps.asked.release()
    running.join()


@contextlib.contextmanager
def by_loop(strategy, width, batch_size):
    """Give the same for a loop of one's own: a distributed dataset, and `run` in a compiled
    function.
    """
    model = model_in(strategy, width)
    data = (
        podium.data.Dataset.from_tensor_slices(data_of(width, batch_size, 100))
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

    def take():
        start = time.perf_counter()
        float(train(next(batches)))
        return time.perf_counter() - start

    yield take


def interval(values):
    """Return the median of values and its 95% confidence interval."""
    ordered, count = sorted(values), len(values)
    place, below = 0, 1
    while (
        40 * below < 2**count
    ):  # ranks by the binomial distribution: right for any shape of the noise
        place += 1
        below += math.comb(count, place)
    return statistics.median(ordered), ordered[max(place - 1, 0)], ordered[count - max(place, 1)]


def in_turns(takes):
    """Take steps in turns, and return pairs (without, with) for all but the first."""
    first, *others = takes
    for take in takes.values():
        for _ in range(10):
            take()  # compiles
    found = {name: [] for name in others}
    gc.collect()
    gc.disable()
    try:
        for number in range(ROUNDS):
            shift = number % len(
                takes
            )  # all take as many steps, and each place as often: caches favour none
            order = [*takes][shift:] + [*takes][:shift]
            seconds = {
                name: takes[name]() for name in (order if number % 8 < 4 else reversed(order))
            }
            without = (seconds[first] + seconds[CONTROL]) / 2
            for name in others:
                found[name].append((seconds[first] if name == CONTROL else without, seconds[name]))
    finally:
        gc.enable()
    return found


def overhead(what, make, width, batch_size):
    """Print what the strategies of one device cost; returns whether one surely costs more than it
    may.
    """
    with contextlib.ExitStack() as stack:
        takes = {
            name: stack.enter_context(make(choose(), width, batch_size))
            for name, choose in STRATEGIES.items()
        }
        found = in_turns(takes)
    alone = statistics.median(without for pairs in found.values() for without, _ in pairs)
    print(f"{what}, {1e6 * alone:.0f} us a step without a strategy:")
    too_much = noisy = False
    for name, pairs in found.items():
        middle, low, high = (
            value - 1 for value in interval([ours / without for without, ours in pairs])
        )
        added, *_ = interval([1e6 * (ours - without) for without, ours in pairs])
        if name == CONTROL:
            noisy, verdict = abs(middle) > WANTED, ""
        else:
            verdict = (
                ""
                if noisy
                else " under 2%"
                if high < WANTED
                else " above 2%"
                if low > WANTED
                else ""
            )
            too_much |= not noisy and low > WANTED
        print(
            f"  {name:28}{middle:+7.2%} ({low:+.2%} to {high:+.2%}), {added:+.1f} us{verdict}",
            flush=True,
        )
    return too_much


def synchronisation():
    """Print how much of a step on several devices is spent in collectives."""
    strategy = podium.distribute.MirroredStrategy(4)
    data = podium.data.Dataset.from_tensor_slices(data_of(256, 256, 1)).batch(256)
    (batch,) = strategy.experimental_distribute_dataset(data)
    model = model_in(strategy)

    def gradients_of(inputs):
        x, y = inputs
        with podium.GradientTape() as tape:
            loss = podium.ops.sum(podium.ops.square(model(x, training=True) - y)) / 256.0
        return tape.gradient(loss, model.trainable_variables)

    def apart(inputs):
        return [podium.ops.sum(gradient) for gradient in gradients_of(inputs)]

    def together(inputs):
        context = podium.distribute.get_replica_context()
        return [
            podium.ops.sum(context.all_reduce("sum", gradient)) for gradient in gradients_of(inputs)
        ]

    found: dict[str, list[float]] = {"apart": [], "together": []}
    for _ in range(100):
        for name, step in (("apart", apart), ("together", together)):
            start = time.perf_counter()
            for value in strategy.run(step, args=(batch,)):
                value.array.block_until_ready()
            found[name].append(time.perf_counter() - start)
    times = {name: statistics.median(each[5:]) for name, each in found.items()}
    waiting = times["together"] - times["apart"]
    size = sum(int(np.prod(variable.shape)) for variable in model.trainable_variables) * 4
    print(
        f"4 devices, {size / 1e6:.1f} MB of gradients: {1e3 * times['together']:.2f} ms a "
        f"step, of which {1e3 * waiting:.2f} ms "
        f"({100 * waiting / times['together']:.0f}%) in synchronisation"
    )


if __name__ == "__main__":
    failed = [
        overhead("fit", by_fit, width=256, batch_size=64),
        overhead("fit, tiny steps", by_fit, width=8, batch_size=4),
        overhead("a loop with `run`", by_loop, width=256, batch_size=64),
    ]
    synchronisation()
    sys.exit(any(failed))
