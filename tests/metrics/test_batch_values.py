"""The value of the batch alone, beside the value of the epoch that a metric returns in a step."""

import copy
import pickle

import numpy as np
import pytest

import podium
from podium import metrics, ops

RANDOM = np.random.RandomState(0)
Y_TRUE = [(np.arange(18).reshape(6, 3) % 5 > 2 - i).astype("float32") for i in range(3)]
Y_PRED = [RANDOM.rand(6, 3).astype("float32") for i in range(3)]
METRICS = {
    "mae": metrics.MeanAbsoluteError,
    "rmse": metrics.RootMeanSquaredError,
    "accuracy": metrics.BinaryAccuracy,
    "categorical accuracy": metrics.CategoricalAccuracy,
    "auc": lambda: metrics.AUC(num_thresholds=20),
    "multi-label auc": lambda: metrics.AUC(num_thresholds=20, multi_label=True),
    "precision": metrics.Precision,
    "recall at precision": lambda: metrics.RecallAtPrecision(0.5),
    "f1": lambda: metrics.F1Score(threshold=0.5),
    "iou": lambda: metrics.BinaryIoU(threshold=0.5),
    "one-hot iou": lambda: metrics.OneHotMeanIoU(num_classes=3),
    "r2": metrics.R2Score,
    "pearson": metrics.PearsonCorrelation,
    "cosine": metrics.CosineSimilarity,
    "false negatives": metrics.FalseNegatives,
}


class Largest(metrics.Metric):
    """A metric of a user's own that is not a sum; it also counts its updates."""

    def __init__(self, name="largest"):
        super().__init__(name=name)
        self.largest = self.add_weight(name="largest")
        self.updates = []

    def reset_state(self):
        self.largest.assign(-np.inf)
        self.updates = []

    def update_state(self, y_true, y_pred, sample_weight=None):
        self.updates.append(len(self.updates))
        self.largest.assign(ops.maximum(self.largest, ops.max(y_pred)))

    def result(self):
        return self.largest


class Mixed(metrics.Metric):
    """A metric made of other metrics, with a result of several values."""

    def __init__(self, name="mixed"):
        super().__init__(name=name)
        self.parts = [metrics.Precision(), metrics.Recall()]

    def update_state(self, y_true, y_pred, sample_weight=None):
        for part in self.parts:
            part.update_state(y_true, y_pred)

    def result(self):
        precision, recall = (part.result() for part in self.parts)
        return {"precision": precision, "sum": precision + recall}


def value_of(result):
    return [np.asarray(leaf).tolist() for leaf in podium.core.tree_leaves(result)]


def alone(make, index):
    metric = make()
    metric.reset_state()
    metric.update_state(Y_TRUE[index], Y_PRED[index])
    return value_of(metric.result())


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    "make", [*METRICS.values(), Largest, Mixed], ids=[*METRICS, "own", "mixed"]
)
def test_batch_value_is_that_of_a_new_metric(make, compiled):
    metric, plain = make(), make()
    metric.reset_state(), plain.reset_state()

    def step(y_true, y_pred):
        with metrics.mark_results() as results:
            metric.update_state(y_true, y_pred)
            running = podium.core.tree_leaves(metric.result())
        return running, [results[id(leaf)].batch for leaf in running]

    run = podium.function(step) if compiled else step
    for index in range(3):
        running, batch = run(Y_TRUE[index], Y_PRED[index])
        plain.update_state(Y_TRUE[index], Y_PRED[index])
        for ours, expected in zip(value_of(running), value_of(plain.result()), strict=True):
            assert ours == pytest.approx(expected, rel=1e-6, nan_ok=True)
        for ours, expected in zip(value_of(batch), alone(make, index), strict=True):
            assert ours == pytest.approx(expected, rel=1e-6, nan_ok=True)


def test_several_updates_in_a_step_are_one_batch():
    metric = metrics.Mean()
    metric.update_state(100.0)
    with metrics.mark_results() as results:
        metric.update_state(1.0)
        metric.update_state(4.0, sample_weight=2.0)
        value = metric.result()
        root = ops.sqrt(value)
        untouched = metrics.Sum().result()
    assert float(value) == 27.25 and float(results[id(value)].batch) == 3.0
    assert float(results[id(root)].batch) == pytest.approx(3**0.5)
    assert results[id(untouched)].batch is untouched  # not updated in this step


def test_metric_of_ones_own_is_updated_once_itself():
    metric = Largest()
    metric.reset_state()
    with metrics.mark_results() as results:
        metric.update_state(Y_TRUE[0], Y_PRED[0])
        value = metric.result()
    assert metric.updates == [0] and value is metric.largest
    assert float(results[id(value)].batch) == Y_PRED[0].max()


def test_metric_in_a_layer_under_a_tape_and_in_a_nested_function():
    class Watched(podium.layers.Layer):
        def __init__(self):
            super().__init__()
            self.mean = metrics.Mean(name="watched")

        def call(self, x):
            self.mean.update_state(x)
            return x * 2.0

    def run(**options):
        podium.utils.set_random_seed(0)
        model = podium.Sequential([podium.Input((3,)), Watched(), podium.layers.Dense(3)])
        model.compile("sgd", "mse", **options)
        seen = []
        show = podium.callbacks.EveryNSteps(1, lambda step, logs: seen.append(dict(logs.batch)))
        x = np.concatenate(Y_PRED)
        history = model.fit(x, x, batch_size=6, shuffle=False, verbose=0, callbacks=show)
        assert history.history["watched"][0] == pytest.approx(x.mean())
        return seen

    compiled, eager = run(), run(run_eagerly=True)
    assert [logs["watched"] for logs in compiled] == pytest.approx([y.mean() for y in Y_PRED])
    for ours, expected in zip(compiled, eager, strict=True):
        assert ours == pytest.approx(expected, rel=1e-5)

    mean = metrics.Mean()

    @podium.function
    def update(x):
        mean.update_state(x)
        return mean.result()

    with metrics.mark_results():
        update(np.ones(2, "float32"))
        value = mean.result()  # no value of the trace above is used
    assert float(value) == 1.0


def test_copies_and_pickles_have_no_state_of_a_batch():
    metric = metrics.Mean()
    with metrics.mark_results():
        metric.update_state(2.0)
    for other in (copy.deepcopy(metric), pickle.loads(pickle.dumps(metric))):
        assert other.total.batch_state is None and float(other.result()) == 2.0


class StepInside(podium.Model):
    """A step whose work is in a function, or in what a strategy runs."""

    def train_step(self, data):
        if self.place == "function":
            return self.compiled_body(*data)
        return podium.distribute.get_strategy().run(self.body, args=data)

    def body(self, x, y):
        loss = ops.mean(ops.square(self(x) - y))
        self.mean.update_state(loss)
        return {"loss": self.mean.result(), "root": ops.sqrt(self.mean.result()), "raw": loss}

    @podium.function
    def compiled_body(self, x, y):
        return self.body(x, y)


@pytest.mark.parametrize("place", ["function", "strategy", "mirrored strategy"])
def test_result_that_a_function_returns_to_an_eager_step_is_not_averaged_again(place):
    x, y = RANDOM.rand(24, 3).astype("float32"), RANDOM.rand(24, 1).astype("float32")
    logs = []
    for eager in (False, True):
        strategy = podium.distribute.get_strategy()
        if place == "mirrored strategy":
            strategy = podium.distribute.MirroredStrategy(["cpu:0", "cpu:1"])
        with strategy.scope():
            inputs = podium.Input((3,))
            model = StepInside(inputs, podium.layers.Dense(1, kernel_initializer="ones")(inputs))
            model.place, model.mean = place, metrics.Mean("loss")
            model.compile("sgd", run_eagerly=eager)
        x[:8] *= 3
        history = model.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0).history
        x[:8] /= 3
        assert history["root"] == pytest.approx(np.sqrt(history["loss"]))
        logs.append(history)
    for name in ("loss", "root", "raw"):
        assert logs[0][name] == pytest.approx(logs[1][name])
