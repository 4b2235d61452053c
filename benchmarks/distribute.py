"""What the strategy layer costs: on one device beside no strategy, and the time that synchronisation takes on several.

    python benchmarks/distribute.py

Overhead: the same `fit` without a strategy, under OneDeviceStrategy and under a MirroredStrategy of one device, interleaved; the
median of the ratios counts. Synchronisation: the same step on 4 virtual devices with and without its collectives (each device
updates by its own gradients), of which the difference is the time spent in them. Virtual devices share this machine's cores: the
figures say what waiting costs here, not what a network would.
"""

from __future__ import annotations

import os
import statistics
import time

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=4")

import numpy as np

import podium
from podium import layers

ROUNDS = 15
STEPS = 200
WANTED = 0.02


def model_in(strategy, width=256):
    """Return a compiled model, single steps, made in the strategy's scope."""
    podium.utils.set_random_seed(0)
    with strategy.scope():
        stack = [layers.Dense(width, activation="relu") for _ in range(3)]
        model = podium.Sequential([podium.Input((width,)), *stack, layers.Dense(8)])
        model.compile(podium.optimizers.Adam(), "mse", steps_per_execution=1)
    return model


def seconds_of(model, x, y):
    """Return how long a `fit` over the data takes, for one step."""
    start = time.perf_counter()
    model.fit(x, y, batch_size=64, verbose=0, shuffle=False)
    return (time.perf_counter() - start) / STEPS


def overhead():
    """Print the cost of strategies of one device; returns the worst."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(64 * STEPS, 256)).astype("float32"), rng.normal(size=(64 * STEPS, 8)).astype("float32")
    plain = model_in(podium.distribute.get_strategy())
    others = {
        "OneDeviceStrategy": model_in(podium.distribute.OneDeviceStrategy("/cpu:0")),
        "MirroredStrategy, 1 device": model_in(podium.distribute.MirroredStrategy(1)),
    }
    for model in (plain, *others.values()):
        seconds_of(model, x, y)  # compiles
    ratios: dict[str, list[float]] = {name: [] for name in others}
    plains = []
    for _ in range(ROUNDS):
        for name, model in others.items():
            before, ours, after = seconds_of(plain, x, y), seconds_of(model, x, y), seconds_of(plain, x, y)
            plains.append(before)
            ratios[name].append(ours / ((before + after) / 2))
    print(f"no strategy: {1e6 * statistics.median(plains):.0f} us a step")
    worst = 0.0
    for name, found in ratios.items():
        middle = statistics.median(found) - 1
        worst = max(worst, middle)
        print(f"{name}: {100 * middle:+.2f}% (wanted: under {100 * WANTED:.0f}%)")
    return worst


def synchronisation():
    """Print how much of a step on several devices is spent in collectives."""
    strategy = podium.distribute.MirroredStrategy(4)
    rng = np.random.default_rng(0)
    data = podium.data.Dataset.from_tensor_slices(
        (rng.normal(size=(256, 256)).astype("float32"), rng.normal(size=(256, 8)).astype("float32"))
    ).batch(256)
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
        return [podium.ops.sum(context.all_reduce("sum", gradient)) for gradient in gradients_of(inputs)]

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
        f"4 devices, {size / 1e6:.1f} MB of gradients: {1e3 * times['together']:.2f} ms a step, of which {1e3 * waiting:.2f} ms "
        f"({100 * waiting / times['together']:.0f}%) in synchronisation"
    )


if __name__ == "__main__":
    overhead()
    synchronisation()
