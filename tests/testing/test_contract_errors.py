"""A component that breaks its contract raises a `ContractError` that states what is wrong."""

import numpy as np
import pytest

import podium
from podium import callbacks, data, distribute, layers, losses, metrics, ops, optimizers, testing

X = np.arange(6.0, dtype="float32").reshape(2, 3)


def check_layer(layer):
    testing.check_layer(layer, X)


class ReturnsNothing(layers.Layer):
    def call(self, inputs):
        pass


class WrongShape(layers.Layer):
    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], 7)

    def call(self, inputs):
        return inputs


class NewWeightEachCall(layers.Layer):
    def call(self, inputs):
        self.extra = podium.Variable(1.0)
        return inputs * 2.0


class UnusedWeight(layers.Layer):
    def build(self, input_shape):
        self.unused = self.add_weight(shape=(2,), name="unused")

    def call(self, inputs):
        return inputs


class ForgetsArgument(layers.Layer):
    def __init__(self, factor=2.0, **kwargs):
        super().__init__(**kwargs)
        self.factor = factor

    def call(self, inputs):
        return inputs * self.factor

    def get_config(self):
        return {"name": self.name}


class ConfigOfObjects(ForgetsArgument):
    def get_config(self):
        return {"factor": np.zeros(3)}


class NumpyInside(layers.Layer):
    def call(self, inputs):
        return ops.convert_to_tensor(np.sort(inputs.numpy()))


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        (ReturnsNothing(), "`call` returned None. Is a `return` missing?"),
        (WrongShape(), r"compute_output_shape\(\(2, 3\)\) returned \[\(2, 7\)\]"),
        (NewWeightEachCall(), "the second call made other variables"),
        (UnusedWeight(), r"the trainable variables \['unused'\] are missing or all zero"),
        (ForgetsArgument(5.0), "computes something else. Values differ"),
        (ConfigOfObjects(), r"json.dumps\(get_config\(\)\).*serialize_keras_object"),
        (NumpyInside(), "inside a compiled function, where its values are not known yet"),
        (losses.MeanSquaredError(), "is not a layer"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_check_layer_reports_the_broken_part(layer, message):
    with pytest.raises(testing.ContractError, match=message):
        check_layer(layer)


class ReducesTooMuch(losses.Loss):
    def call(self, y_true, y_pred):
        return ops.mean(ops.square(y_true - y_pred))


class StopsGradient(losses.Loss):
    def call(self, y_true, y_pred):
        return ops.mean(ops.stop_gradient(y_pred) - y_true, axis=-1)


class IgnoresWeights(losses.Loss):
    def call(self, y_true, y_pred):
        return ops.mean(y_pred - y_true, axis=-1)

    def __call__(self, y_true, y_pred, sample_weight=None):
        return super().__call__(y_true, y_pred)


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (ReducesTooMuch(), r"returned shape \(\) for 4 samples. Return one value per sample"),
        (StopsGradient(), "the gradient for the predictions raised"),
        (IgnoresWeights(), "sample_weight does not multiply"),
    ],
)
def test_check_loss_reports_the_broken_part(loss, message):
    with pytest.raises(testing.ContractError, match=message):
        testing.check_loss(loss, np.zeros((4, 2)), np.ones((4, 2)))


class CountsInPython(metrics.Metric):
    def __init__(self, name="count", dtype=None):
        super().__init__(name=name, dtype=dtype)
        self.count = 0

    def update_state(self, values):
        self.count += 1

    def result(self):
        return ops.convert_to_tensor(float(self.count))


class ResultCounts(metrics.Metric):
    def __init__(self, name="count", dtype=None):
        super().__init__(name=name, dtype=dtype)
        self.total = self.add_weight(name="total")

    def update_state(self, values):
        self.total.assign_add(1.0)

    def result(self):
        return self.total.assign_add(1.0)


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        (CountsInPython(), "Keep all state in Variables"),
        (ResultCounts(), "`result` changed the state"),
    ],
)
def test_check_metric_reports_the_broken_part(metric, message):
    with pytest.raises(testing.ContractError, match=message):
        testing.check_metric(metric, np.ones(3))


class Climbs(optimizers.Optimizer):
    def update_step(self, gradient, variable, learning_rate):
        variable.assign_add(learning_rate * gradient)


class DoesNothing(optimizers.Optimizer):
    def update_step(self, gradient, variable, learning_rate):
        pass


class CountsOutside(optimizers.Optimizer):
    def __init__(self, learning_rate, **kwargs):
        super().__init__(learning_rate, **kwargs)
        self.calls = 0

    def update_step(self, gradient, variable, learning_rate):
        self.calls += 1
        variable.assign_sub(learning_rate * gradient * self.calls)


@pytest.mark.parametrize(
    ("optimizer", "message"),
    [
        (Climbs(0.1), "Is the sign of the update right"),
        (DoesNothing(0.1), "three steps did not change a variable"),
        (CountsOutside(0.1), "compiled steps end at other values"),
    ],
)
def test_check_optimizer_reports_the_broken_part(optimizer, message):
    with pytest.raises(testing.ContractError, match=message):
        testing.check_optimizer(optimizer)


class Perturbs(callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        self.model.set_weights([weight + 1.0 for weight in self.model.get_weights()])


class HoldsFile(callbacks.Callback):
    def get_state(self):
        return {"file": object()}


class WrongSignature(callbacks.Callback):
    def on_epoch_end(self, logs):
        pass


@pytest.mark.parametrize(
    ("callback", "message"),
    [
        (Perturbs, "weights differ from those of a `fit` without it"),
        (HoldsFile, "neither JSON-compatible nor an array"),
        (WrongSignature, "`fit` raised TypeError"),
    ],
)
def test_check_callback_reports_the_broken_part(callback, message):
    with pytest.raises(testing.ContractError, match=message):
        testing.check_callback(callback)


class Blocks(list):
    pass


class BlocksAdapter(data.DataAdapter):
    kind = "blocks"
    seekable = True

    @staticmethod
    def can_handle(x):
        return isinstance(x, Blocks)

    def iterate(self, epoch, start=0):
        return iter(self.source[start:])

    def get_size(self):
        return len(self.source)


class MiscountsAdapter(BlocksAdapter):
    def get_size(self):
        return 7


class TakesAllAdapter(BlocksAdapter):
    @staticmethod
    def can_handle(x):
        return True


class CannotSeekAdapter(BlocksAdapter):
    def iterate(self, epoch, start=0):
        return iter(self.source)


@pytest.mark.parametrize(
    ("adapter", "message"),
    [
        (MiscountsAdapter, r"get_size\(\) returned 7, and a pass has 3 batches"),
        (TakesAllAdapter, r"can_handle\(None\) did not return False"),
        (CannotSeekAdapter, "does not yield the rest"),
    ],
)
def test_check_adapter_reports_the_broken_part(adapter, message):
    with pytest.raises(testing.ContractError, match=message):
        testing.check_adapter(adapter, lambda: Blocks([np.ones(2), np.zeros(2), np.ones(2)]))


class LosesResults(distribute.Strategy):
    def run(self, fn, args=(), kwargs=None, options=None):
        super().run(fn, args, kwargs)
        return super().run(fn, args, kwargs)


class WrongMean(distribute.Strategy):
    def reduce(self, reduce_op, value, axis=None):
        return value * 3.0


@pytest.mark.parametrize(
    ("strategy", "message"),
    [
        (LosesResults(), "did not count a Variable up once"),
        (WrongMean(), r"reduce\('sum'\) of 2.0 on 1 replicas returned 6.0"),
    ],
)
def test_check_strategy_reports_the_broken_part(strategy, message):
    with pytest.raises(testing.ContractError, match=message):
        testing.check_strategy(strategy)
