"""What stale values do to convergence: the digits classifier with workers that miss pushes.

    python benchmarks/staleness.py

The schedule of a run is simulated in this process, so that it repeats: of n workers, each computes
its change from the values that it read `s` rounds of n steps earlier, and changes are summed as
parameter servers sum them. The weights, slots and batches are those of training with Podium.
"""

from __future__ import annotations

import collections

import numpy as np

import podium

NUM_STEPS = 600
BATCH_SIZE = 32
SEEDS = (1, 2, 3)


def digits():
    """Return the training data and the test data."""
    train, test = podium.datasets.digits.load_data()
    return [(x.reshape(len(x), -1).astype("float32") / 255, y) for x, y in (train, test)]


def make_model(seed, optimizer):
    """Return the classifier."""
    podium.utils.set_random_seed(seed)
    stack = [podium.layers.Dense(32, activation="relu"), podium.layers.Dense(10)]
    model = podium.Sequential([podium.Input((64,)), *stack])
    loss = podium.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer, loss, metrics=["accuracy"])
    model.optimizer.build(model.trainable_variables)
    return model


def train(model, data, num_workers, staleness, seed):
    """Train with changes that are computed from old values."""
    x, y = data
    rng = np.random.default_rng(seed)
    state = [*model.trainable_variables, *model.optimizer.variables]
    step = podium.function(lambda x, y: model.train_step((x, y)))
    values = [variable.numpy() for variable in state]
    # The values at the beginning of the latest rounds; steps of a round do not see each other.
    history = collections.deque([values], maxlen=staleness + 1)
    for _ in range(NUM_STEPS // num_workers):
        start, changes = history[0], []
        for _ in range(num_workers):
            rows = rng.integers(0, len(x), BATCH_SIZE)
            for variable, value in zip(state, start, strict=True):
                variable.assign(value)
            step(x[rows], y[rows])
            changes.append([v.numpy() - old for v, old in zip(state, start, strict=True)])
        values = [
            (value + sum(parts)).astype(value.dtype)
            for value, *parts in zip(values, *changes, strict=True)
        ]
        history.append(values)
    for variable, value in zip(state, values, strict=True):
        variable.assign(value)


CASES = {
    "SGD 0.1": lambda n: podium.optimizers.SGD(0.1),
    "SGD 0.1 / n": lambda n: podium.optimizers.SGD(0.1 / n),
    "Adam 0.003": lambda n: podium.optimizers.Adam(0.003),
    "Adam 0.003 / n": lambda n: podium.optimizers.Adam(0.003 / n),
    "Adam 0.03": lambda n: podium.optimizers.Adam(0.03),
    "Adam 0.03 / n": lambda n: podium.optimizers.Adam(0.03 / n),
}
SCHEDULES = ((1, 0), (2, 0), (2, 4), (4, 0), (4, 4), (8, 0), (8, 4))


def main():
    """Print the accuracy on test data after 600 steps, by workers and staleness."""
    data, test = digits()
    titles = [f"{n} workers, s={s}" if n > 1 else "1 worker" for n, s in SCHEDULES]
    print("| optimizer | " + " | ".join(titles) + " |")
    print("| --- |" + " ---: |" * len(SCHEDULES))
    for name, make_optimizer in CASES.items():
        cells = []
        for num_workers, staleness in SCHEDULES:
            accuracies = []
            for seed in SEEDS:
                model = make_model(seed, make_optimizer(num_workers))
                train(model, data, num_workers, staleness, seed)
                accuracies.append(model.evaluate(*test, verbose=0)[1])
            cells.append(f"{100 * np.mean(accuracies):.1f}")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
