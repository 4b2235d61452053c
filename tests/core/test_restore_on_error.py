"""Ctrl-C at the moment at which the context is changed or restored leaves the thread unchanged."""

import jax.extend.core
import numpy as np
import pytest

import podium
from podium.core._context import context, override

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


class InterruptAt:
    """Raises KeyboardInterrupt in the n-th call of a method, before or after the method runs."""

    def __init__(self, method, number, after):
        self.method, self.number, self.after, self.calls = method, number, after, 0

    def __get__(self, instance, owner=None):
        def call(*args):
            self.calls += 1
            if self.calls == self.number and not self.after:
                raise KeyboardInterrupt
            result = self.method(instance, *args)
            if self.calls == self.number:
                raise KeyboardInterrupt
            return result

        return call


@pytest.mark.parametrize("make_work", [compiled_step, eager_step, fit])
@pytest.mark.parametrize(
    "kind", [override, jax.extend.core.set_current_trace], ids=["podium", "JAX"]
)
@pytest.mark.parametrize(
    ("method", "after"), [("__enter__", True), ("__exit__", False), ("__exit__", True)]
)
def test_interrupt_while_context_changes_leaves_nothing_open(
    make_work, kind, method, after, monkeypatch
):
    make_work()()  # create what is created once in a process
    before = dict(context.__dict__)
    interrupts = 0
    for number in (1, 2, 3, 5, 8, 13, 21, 34):
        work = make_work()
        with monkeypatch.context() as patch:
            patch.setattr(kind, method, InterruptAt(getattr(kind, method), number, after))
            try:
                work()
            except KeyboardInterrupt as error:
                interrupts += 1
                kept = error  # as in a notebook: the frames on the stack stay alive
        assert context.__dict__ == before, f"at call {number}"
        assert not isinstance((podium.ops.ones(()) + 1)._value, jax.core.Tracer), (
            f"at call {number}"
        )
        kept = None  # released frames must not restore the context they saved
        assert context.__dict__ == before, f"at call {number}"
    assert interrupts >= 2 and kept is None
    make_work()()
