"""Checks that the JAX implementations compute the same as Podium, so that times are comparable.

From the same weights, without shuffling, Podium's `fit` and the hand-written loops must end with
the same weights and losses. Run: python benchmarks/run.py --check
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import numpy as np
from jax_workloads import JAX_WORKLOADS, JaxTrainer
from workloads import WORKLOADS

import podium

TOLERANCE = 1e-5
# Adam takes full steps for gradients near zero, such as those of a ReLU that rounding activates.
LARGER_TOLERANCES = {"residual": 1e-3}
STEPS = 4  # full batches in each of two epochs, before a smaller one


def differences(name: str, scan: bool) -> tuple[float, float]:
    """Train both; return the largest difference of weights, and the relative one of losses and
    metrics.
    """
    workload = WORKLOADS[name]
    samples = STEPS * workload.batch + (workload.batch // 2 if workload.kind == "fit" else 0)
    workload = dataclasses.replace(workload, samples=samples, epochs=2, shuffle=False)
    podium.utils.set_random_seed(3)
    model = workload.build(podium)
    weights, state = (
        [w.numpy() for w in part] for part in (model.trainable_weights, model.non_trainable_weights)
    )
    trainer = JaxTrainer(name, scan, workload, weights, state)
    if workload.kind == "predict":
        outputs, expected = workload.run(model, workload.data()), trainer.run()
        return float(np.max(np.abs(outputs - expected))), 0.0
    history = workload.run(model, workload.data()).history
    trainer.run()
    losses = np.stack(list(history.values()), axis=1)
    trained_weights = [*model.trainable_weights, *model.non_trainable_weights]
    expected_weights = [*trainer.carry[0], *trainer.carry[1]]
    weight_difference = max(
        float(np.max(np.abs(weight.numpy() - np.asarray(expected))))
        for weight, expected in zip(trained_weights, expected_weights, strict=True)
    )
    return weight_difference, float(np.max(np.abs(losses / np.stack(trainer.history) - 1)))


def main(names: Iterable[str]) -> None:
    """Print a table, and end with an error if a result differs."""
    print(
        "| Podium and plain JAX | weights differ by | losses differ by | |\n| --- | ---: | "
        "---: | --- |"
    )
    failed = []
    for name in [name for name in names if name in JAX_WORKLOADS]:
        for scan in (False, True) if JAX_WORKLOADS[name].scan else (False,):
            weights, losses = differences(name, scan)
            same = weights <= LARGER_TOLERANCES.get(name, TOLERANCE) and losses <= 1e-4
            failed += [] if same else [name]
            print(
                f"| {name}, {'scan' if scan else 'loop'} | {weights:.1e} | {losses:.1e} | "
                f"{'same' if same else 'DIFFERENT'} |"
            )
    if failed:
        raise SystemExit(f"These JAX workloads compute something else: {', '.join(failed)}")
