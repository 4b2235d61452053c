"""Checks that the JAX implementations compute the same as Podium, so that times are comparable.

From the same weights, without shuffling, Podium's `fit` and the hand-written loops must end with
the same weights and losses. Run: python benchmarks/run.py --check
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import numpy as np
from twins_jax import TWINS, ByHand
from workloads import WORKLOADS

import podium

TOLERANCE = 1e-5
LOOSER = {
    "residual": 1e-3
}  # Adam makes whole steps of gradients near zero, such as those of a ReLU that rounding turns on
STEPS = 4  # and a smaller one at the end, of each of two epochs


def differences(name: str, scan: bool) -> tuple[float, float]:
    """Train both; return the largest difference between weights, and between losses and metrics
    (relative).
    """
    workload = WORKLOADS[name]
    samples = STEPS * workload.batch + (workload.batch // 2 if workload.kind == "fit" else 0)
    workload = dataclasses.replace(workload, samples=samples, epochs=2, shuffle=False)
    podium.utils.set_random_seed(3)
    model = workload.build(podium)
    weights, state = (
        [w.numpy() for w in part] for part in (model.trainable_weights, model.non_trainable_weights)
    )
    twin = ByHand(name, scan, workload, weights, state)
    if workload.kind == "predict":
        ours, theirs = workload.run(model, workload.data()), twin.run()
        return float(np.max(np.abs(ours - theirs))), 0.0
    history = workload.run(model, workload.data()).history
    twin.run()
    ours = np.stack(list(history.values()), axis=1)
    found = [*model.trainable_weights, *model.non_trainable_weights]
    wanted = [*twin.carry[0], *twin.carry[1]]
    apart = max(
        float(np.max(np.abs(a.numpy() - np.asarray(b)))) for a, b in zip(found, wanted, strict=True)
    )
    return apart, float(np.max(np.abs(ours / np.stack(twin.history) - 1)))


def main(names: Iterable[str]) -> None:
    """Print a table, and end with an error if something differs."""
    print(
        "| Podium and plain JAX | weights differ by | losses differ by | |\n| --- | ---: | "
        "---: | --- |"
    )
    wrong = []
    for name in [name for name in names if name in TWINS]:
        for scan in (False, True) if TWINS[name].scan else (False,):
            weights, losses = differences(name, scan)
            same = weights <= LOOSER.get(name, TOLERANCE) and losses <= 1e-4
            wrong += [] if same else [name]
            print(
                f"| {name}, {'scan' if scan else 'loop'} | {weights:.1e} | {losses:.1e} | "
                f"{'same' if same else 'WRONG'} |"
            )
    if wrong:
        raise SystemExit(f"These twins compute something else: {', '.join(wrong)}")
