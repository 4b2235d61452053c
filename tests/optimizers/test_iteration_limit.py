"""The counter of updates does not wrap at 2**31."""

import numpy as np
import pytest

import podium
from podium import Tensor, Variable, optimizers

LIMIT = 2**31


def run(optimizer, steps, start):
    w = Variable(1.0)
    optimizer.build([w])
    optimizer._iterations.assign(start)
    values, counts = [], []

    @podium.function
    def step():
        optimizer.apply([Tensor(1.0)], [w])

    for _ in range(steps):
        step()
        values.append(float(w))
        counts.append(int(optimizer._iterations))
    return values, counts


@pytest.mark.parametrize(
    "make",
    [
        lambda: optimizers.Adam(0.1),
        lambda: optimizers.Nadam(0.1),
        lambda: optimizers.MultiOptimizer(lambda variable: optimizers.Adam(0.1)),
        lambda: optimizers.SGD(optimizers.schedules.CosineDecay(0.1, 100, alpha=0.5)),
    ],
    ids=["adam", "nadam", "multi", "schedule"],
)
def test_updates_continue_at_the_limit(make):
    values, counts = run(make(), 8, LIMIT - 1027)
    assert counts == [LIMIT - 1026, LIMIT - 1025, *[LIMIT - 1024] * 6]
    steps = -np.diff(values)
    assert (steps > 0.01).all() and np.isfinite(values).all()


def test_accumulation_keeps_its_period_at_the_limit():
    early, _ = run(optimizers.SGD(0.5, gradient_accumulation_steps=3), 21, 9)
    start = LIMIT - 1024 - (LIMIT - 1024) % 3 - 9
    late, counts = run(optimizers.SGD(0.5, gradient_accumulation_steps=3), 21, start)
    assert early == late and max(counts) < LIMIT - 1000


def test_averages_overwrite_weights_in_their_period_at_the_limit():
    def make():
        return optimizers.SGD(0.5, use_ema=True, ema_momentum=0.5, ema_overwrite_frequency=4)

    early, _ = run(make(), 20, 8)
    late, _ = run(make(), 20, LIMIT - 1024 - 8)
    np.testing.assert_allclose(early, late, rtol=1e-6)
