"""Metrics: running sums in Variables, weighted, reset, usable inside compiled functions."""

import numpy as np
import pytest

import podium
from podium import metrics, ops


def test_mean_weighs_and_broadcasts():
    mean = metrics.Mean(name="loss")
    assert float(mean.result()) == 0.0
    mean.update_state([1.0, 3.0], sample_weight=[3.0, 1.0])
    assert float(mean.result()) == 1.5
    mean.reset_states()
    mean.update_state(np.array([[1.0, 2.0], [5.0, 6.0]]), sample_weight=[1.0, 0.0])
    assert float(mean.result()) == 1.5 and [v.path for v in mean.variables] == ["loss/total", "loss/count"]


def test_sum_adds_up_and_is_no_part_of_the_tape():
    total, x = metrics.Sum(), podium.Variable(2.0)
    with podium.GradientTape() as tape:
        y = x * 3
        total.update_state(y)
    assert float(total.result()) == 6.0 and float(tape.gradient(y, x)) == 3.0


def test_a_metric_inside_a_function_keeps_its_state_between_calls():
    mean = metrics.Mean()
    step = podium.function(lambda x: mean(x))
    assert [float(step(podium.Tensor(v))) for v in (1.0, 3.0, 8.0)] == [1.0, 2.0, 4.0]
    mean.reset_state()
    assert float(step(podium.Tensor(5.0))) == 5.0 and step.trace_count == 1


def test_metrics_hold_metrics_and_say_what_is_missing():
    class Both(metrics.Metric):
        def __init__(self):
            super().__init__(name="both")
            self.inner = metrics.Mean()
            self.worst = self.add_weight(name="worst", initializer="ones")

        def update_state(self, values):
            self.inner.update_state(values)
            self.worst.assign(ops.maximum(self.worst, ops.max(values)))

    both = Both()
    both.update_state(np.array([1.0, 7.0], "float32"))
    assert len(both.variables) == 3 and float(both.worst) == 7.0
    with pytest.raises(NotImplementedError, match="Both has no `result`"):
        both.result()
    assert metrics.Mean.from_config(metrics.Mean(name="m").get_config()).name == "m"
