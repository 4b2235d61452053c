"""Running means: weights, masks and shapes; functions wrapped as metrics."""

import numpy as np
import pytest

import podium
from podium import metrics, ops


def test_mean_broadcasts_sample_weights():
    mean = metrics.Mean(name="loss")
    assert float(mean.result()) == 0.0
    mean.update_state([1.0, 3.0], sample_weight=[3.0, 1.0])
    assert float(mean.result()) == 1.5
    mean.reset_states()
    mean.update_state(np.array([[1.0, 2.0], [5.0, 6.0]]), sample_weight=[1.0, 0.0])
    assert float(mean.result()) == 1.5 and [v.path for v in mean.variables] == [
        "loss/total",
        "loss/count",
    ]


def test_mean_counts_samples_not_entries():
    mean = metrics.Mean()
    mean.update_state(np.ones((2, 5)))
    mean.update_state(np.full((2, 1), 4.0))
    assert float(mean.result()) == 2.5 and float(mean.count) == 4.0
    mean.update_state(8.0)
    assert float(mean.count) == 5.0


def test_sample_weights_broadcast_from_the_first_axis():
    # As many steps as samples: no shape error would reveal a wrong alignment.
    values = np.arange(9.0, dtype="float32").reshape(3, 3)
    mean = metrics.Mean()
    assert float(mean(values, sample_weight=[1.0, 0.0, 0.0])) == 1.0
    mean.reset_state()
    mask = np.array([[1, 1, 0], [1, 0, 0], [1, 1, 1]], bool)
    metric = metrics.MeanMetricWrapper(lambda t, p: p)
    y = podium.convert_to_tensor(values)
    y._keras_mask = podium.convert_to_tensor(mask)
    assert float(metric(values, y, sample_weight=[0.0, 1.0, 0.0])) == 3.0


@pytest.mark.parametrize("shape", [(3,), (2, 3), (4, 2), (4, 1, 2)])
def test_sample_weights_of_another_shape_raise(shape):
    with pytest.raises(
        ValueError, match=r"sample_weight \(or the mask\) has shape .* for values of shape \(4,\)"
    ):
        metrics.Mean()(np.ones(4), sample_weight=np.ones(shape))


def test_a_weight_of_zero_excludes_nan():
    assert float(metrics.Mean()([1.0, float("nan"), 3.0], sample_weight=[1, 0, 1])) == 2.0
    assert np.isnan(float(metrics.Mean()([1.0, float("nan")])))


def test_wrapper_passes_arguments_masks_and_values_without_gradients():
    has_mask = []

    def fn(y_true, y_pred, scale=1.0):
        has_mask.append(y_pred._keras_mask is not None)
        return ops.mean(y_true * y_pred, axis=-1) * scale

    x = podium.Variable(np.ones((2, 3), "float32"))
    metric = metrics.MeanMetricWrapper(fn, "scaled", scale=2.0)
    with podium.GradientTape() as tape:
        y = x * 2
        y._keras_mask = podium.convert_to_tensor([True, False])
        metric.update_state(np.float32([[1, 1, 1], [9, 9, 9]]), y)
        result = metric.result()
    assert float(result) == 4.0 and has_mask == [True] and metric.name == "scaled"
    with pytest.raises(ValueError, match="this tape did not record"):
        tape.gradient(result, x)


def test_configs_contain_wrapped_functions_by_name():
    wrapped = metrics.MeanMetricWrapper(metrics.huber, "h", delta=0.5)
    config = wrapped.get_config()
    assert (
        config == {"name": "h", "dtype": "float32", "fn": "huber", "delta": 0.5}
        and wrapped._direction == "down"
    )
    again = metrics.MeanMetricWrapper.from_config(config)
    keras = {
        "module": "builtins",
        "class_name": "function",
        "config": "huber",
        "registered_name": "huber",
    }
    from_keras = metrics.MeanMetricWrapper.from_config(config | {"fn": keras})
    y = np.zeros((2, 1), "float32"), np.float32([[0.2], [3.0]])
    assert float(wrapped(*y)) == float(again(*y)) == float(from_keras(*y))


def test_a_subclass_of_the_wrapper_inherits_its_config():
    class Twice(metrics.MeanMetricWrapper):
        def __init__(self, name="twice", dtype=None):
            super().__init__(lambda t, p: 2 * p, name, dtype)

    assert Twice.from_config(Twice(name="t").get_config()).name == "t"


def test_loss_objects_can_be_wrapped():
    metric = metrics.MeanMetricWrapper(podium.losses.MeanSquaredError(), name="mse")
    assert (
        float(metric(np.zeros((2, 1)), np.full((2, 1), 3.0))) == 9.0 and metric._direction == "down"
    )


def test_built_in_functions_compute_in_the_dtype_of_the_metric():
    y_pred = ops.cast(np.linspace(0, 1, 300).reshape(300, 1), "bfloat16")
    y_true = np.zeros((300, 1), "float32")
    assert (
        abs(
            float(metrics.MeanSquaredError()(y_true, y_pred))
            - np.mean(np.square(np.float32(y_pred)))
        )
        < 1e-6
    )


def test_mean_tensor_averages_elementwise():
    mean = metrics.MeanTensor()
    with pytest.raises(RuntimeError, match="has no state yet"):
        mean.result()
    mean.update_state([0.0, 1.0, 2.0, 3.0])
    mean.update_state([4.0, 5.0, 6.0, 7.0], sample_weight=[0, 0.2, 0.5, 1])
    np.testing.assert_allclose(mean.result(), [0.0, 2 / 1.2, 5 / 1.5, 5.0], rtol=1e-6)
    with pytest.raises(ValueError, match=r"values of shape \(2,\) after values of shape \(4,\)"):
        mean.update_state([1.0, 2.0])
    mean.reset_state()
    assert np.array_equal(mean.result(), np.zeros(4))
    shaped = metrics.MeanTensor.from_config(metrics.MeanTensor(shape=(1, 2)).get_config())
    assert shaped.total.shape == (1, 2)


def test_mean_relative_error_divides_by_the_normalizer():
    metric = metrics.MeanRelativeError(normalizer=[1.0, 0.0, 2.0])
    assert round(float(metric([1, 3, 2], [2, 4, 6])), 5) == 1.0
    again = metrics.MeanRelativeError.from_config(metric.get_config())
    assert float(again([1, 3, 2], [2, 4, 6])) == 1.0
    with pytest.raises(ValueError, match=r"\(3,\) and y_pred has shape \(2,\)"):
        metric([1, 3], [2, 4])
