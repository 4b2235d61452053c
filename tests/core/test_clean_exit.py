"""Ctrl-C in the very moment in which a setting was changed or put back: the thread is left as it
was.
"""

import jax.extend.core
import numpy as np
import pytest

import podium
from podium.core._context import changed, current

X = np.ones((4, 3), "float32")


def compiled_step():
    weight = podium.Variable(np.ones((3, 1), "float32"))

    @podium.function
    def step(x):
        with podium.GradientTape() as tape:
            loss = podium.ops.mean(podium.ops.matmul(x, weight))
        weight.assign_sub(tape.gradient(loss, weight))

    return lambda: step(X)


def eager_step():
    layer = podium.layers.Dense(1)

    def step():
        with podium.GradientTape() as tape:
            loss = podium.ops.mean(layer(X))
        tape.gradient(loss, layer.trainable_variables)

    return step


def fit():
    model = podium.Sequential(
        [podium.Input((3,)), podium.layers.Dropout(0.5), podium.layers.Dense(1)]
    )
    model.compile("sgd", "mse")
    return lambda: model.fit(X, X[:, :1], verbose=0)


class Strike:
    """Raises KeyboardInterrupt in the n-th call of a method, before or after its work."""

    def __init__(self, method, turn, after):
        self.method, self.turn, self.after, self.calls = method, turn, after, 0

    def __get__(self, instance, owner=None):
        def call(*args):
            self.calls += 1
            if self.calls == self.turn and not self.after:
                raise KeyboardInterrupt
            result = self.method(instance, *args)
            if self.calls == self.turn:
                raise KeyboardInterrupt
            return result

        return call


@pytest.mark.parametrize("work", [compiled_step, eager_step, fit])
@pytest.mark.parametrize(
    "kind", [changed, jax.extend.core.set_current_trace], ids=["ours", "of JAX"]
)
@pytest.mark.parametrize(
    ("method", "after"), [("__enter__", True), ("__exit__", False), ("__exit__", True)]
)
def test_an_interrupt_between_a_change_and_its_end_leaves_nothing_open(
    work, kind, method, after, monkeypatch
):
    work()()  # what is made once in a process is made
    before = dict(current.__dict__)
    struck = 0
    for turn in (1, 2, 3, 5, 8, 13, 21, 34):
        first = work()
        with monkeypatch.context() as patch:
            patch.setattr(kind, method, Strike(getattr(kind, method), turn, after))
            try:
                first()
            except KeyboardInterrupt as error:
                struck += 1
                at = error  # as a notebook does: what was on the stack stays alive
        assert current.__dict__ == before, f"at turn {turn}"
        assert not isinstance((podium.ops.ones(()) + 1)._value, jax.core.Tracer), f"at turn {turn}"
        at = None  # and goes, without putting back what was there in its time
        assert current.__dict__ == before, f"at turn {turn}"
    assert struck >= 2 and at is None
    work()()
