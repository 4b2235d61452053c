"""The base class: state in Variables, resetting, stateless methods, Keras 2's names, and custom
metrics.
"""

import copy

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import podium
from podium import metrics, ops


def test_sum_adds_up_and_is_not_recorded_on_the_tape():
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


def test_metrics_track_nested_metrics_and_missing_methods_raise():
    class Both(metrics.Metric):
        def __init__(self):
            super().__init__(name="both")
            self.inner = metrics.Mean()
            self.more = {"list": [metrics.Sum()]}
            self.worst = self.add_weight(name="worst", initializer="ones")

        def update_state(self, values):
            self.inner.update_state(values)
            self.worst.assign(ops.maximum(self.worst, ops.max(values)))

    both = Both()
    both.update_state(np.array([1.0, 7.0], "float32"))
    assert len(both.variables) == 4 and float(both.worst) == 7.0
    both.reset_state()
    assert [float(v) for v in both.variables] == [0.0] * 4
    with pytest.raises(NotImplementedError, match="Both has no `result`"):
        both.result()
    with pytest.raises(NotImplementedError, match="Metric has no `update_state`"):
        metrics.Metric().update_state(1)


def test_a_custom_metric_can_return_a_dictionary_and_keep_state_in_a_function():
    class Extremes(metrics.Metric):
        def __init__(self, name="extremes"):
            super().__init__(name=name)
            self.low, self.high = self.add_weight("low"), self.add_weight("high", shape=())

        def update_state(self, y_true, y_pred, sample_weight=None):
            self.low.assign(ops.minimum(self.low, ops.min(y_pred)))
            self.high.assign(ops.maximum(self.high, ops.max(y_pred)))

        def result(self):
            return {"low": self.low, "high": self.high}

    metric = Extremes()
    step = podium.function(lambda x: metric(x, x))
    step(podium.Tensor([1.0, -2.0]))
    assert {k: float(v) for k, v in step(podium.Tensor([3.0, 0.0])).items()} == {
        "low": -2.0,
        "high": 3.0,
    }


def test_keras_2_arguments_of_add_weight():
    metric = metrics.Metric(name="kept")
    a = metric.add_weight("a", (2,), initializer="ones")
    b = metric.add_weight("b", shape=(3,), dtype="int32", synchronization="auto")
    c = metric.add_weight(name="c", initializer="ones")
    assert [(v.path, v.shape) for v in (a, b, c)] == [
        ("kept/a", (2,)),
        ("kept/b", (3,)),
        ("kept/c", ()),
    ]
    assert float(c) == 1.0 and b.dtype == jnp.int32 and not a.trainable


def test_reset_state_calls_an_overridden_reset_states():
    class WithResetStates(metrics.Mean):
        def reset_states(self):
            super().reset_states()
            self.resets = getattr(self, "resets", 0) + 1

    metric = WithResetStates()
    metric.update_state(3.0)
    metric.reset_state()
    assert metric.resets == 1 and float(metric.result()) == 0.0
    metric.update_state(3.0)
    metric.reset_states()
    assert float(metric.result()) == 0.0


def test_creating_state_before_init_raises():
    class Early(metrics.Metric):
        def __init__(self):
            self.total = self.add_weight(name="total")

    with pytest.raises(RuntimeError, match=r"Early makes state before `super\(\).__init__\(\)`"):
        Early()


def test_stateless_methods_leave_the_metric_unchanged_and_run_in_jit():
    metric = metrics.BinaryAccuracy()
    metric.update_state([1.0], [0.0])

    @jax.jit
    def run(state, y_true, y_pred):
        state = metric.stateless_update_state(state, y_true, y_pred)
        return state, metric.stateless_result(state)

    state = metric.stateless_reset_state()
    y = jnp.float32([1, 0, 1, 1]), jnp.float32([0.9, 0.2, 0.7, 0.1])
    state, result = run(state, *y)
    state, result = run(state, *y)
    assert float(result) == 0.75 and float(state[1]) == 8.0
    assert float(metric.result()) == 0.0 and float(metric.count) == 1.0
    with pytest.raises(ValueError, match="was given 1 values for its 2 Variables"):
        metric.stateless_result(state[:1])


def test_state_keeps_its_dtype_inside_a_mixed_precision_layer():
    class InputMean(podium.layers.Layer):
        def __init__(self):
            super().__init__(dtype="mixed_bfloat16")
            self.mean = metrics.Mean()

        def call(self, x):
            self.mean.update_state(x)
            assert self.mean.result().dtype == jnp.float32
            return x

    layer = InputMean()
    for _ in range(3):
        layer(np.full((1000,), 1.0, "float32"))
    assert float(layer.mean.count) == 3000.0  # bfloat16 cannot count to 3000


def test_the_default_dtype_is_floatx_for_any_policy():
    podium.core.set_dtype_policy("bfloat16")
    assert metrics.Mean().dtype == "float32" and metrics.Mean(dtype="bfloat16").dtype == "bfloat16"
    assert metrics.Mean(dtype="mixed_bfloat16").dtype == "float32"


def test_names_are_automatic_and_can_contain_a_slash():
    assert [metrics.AUC().name, metrics.AUC().name] == ["auc", "auc_1"]
    assert metrics.Mean(name="a/b").total.path == "a>b/total" and metrics.Mean().name == "mean"


def test_deepcopy_copies_the_state():
    metric = metrics.AUC(num_thresholds=5)
    metric.update_state([0, 1], [0.2, 0.7])
    copied = copy.deepcopy(metric)
    copied.reset_state()
    assert float(metric.result()) == 1.0 and float(copied.result()) == 0.0
