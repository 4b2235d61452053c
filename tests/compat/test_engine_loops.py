"""`make_test_function` and `make_predict_function` written for Keras 2, on several replicas."""

import numpy as np
import pytest

import podium
from podium.compat import tensorflow as tf
from podium.compat.keras.engine import data_adapter, tf_utils, training

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(65, 3)).astype("float32"), RNG.normal(size=(65, 1)).astype("float32")


class Engine(podium.Model):
    """Runs the steps of `evaluate` and `predict` as Keras 2's own functions do."""

    def run_step(self, step, counter, iterator, reduction):
        def run_step(data):
            outputs = step(data)
            with tf.control_dependencies(training._minimum_control_deps(outputs)):
                counter.assign_add(1)
            return outputs

        outputs = self.distribute_strategy.run(run_step, args=(next(iterator),))
        return training.reduce_per_replica(outputs, self.distribute_strategy, reduction)

    def make_test_function(self, force=False):
        def test_function(iterator, steps_per_execution):
            for _ in tf.range(steps_per_execution):
                outputs = self.run_step(self.test_step, self._test_counter, iterator, "first")
            return outputs

        compiled = test_function if self.run_eagerly else tf.function(test_function)
        self.test_function = lambda iterator: compiled(iterator, self._steps_per_execution.value())
        return self.test_function

    def make_predict_function(self, force=False):
        def run(iterator):
            return self.run_step(self.predict_step, self._predict_counter, iterator, "concat")

        def predict_function(iterator):
            outputs = run(iterator)
            for _ in tf.range(self._steps_per_execution - 1):
                spec = tf.nest.map_structure(
                    lambda t: tf_utils.get_tensor_spec(t, dynamic_batch=True).shape, outputs
                )
                tf.autograph.experimental.set_loop_options(shape_invariants=[(outputs, spec)])
                outputs = tf.nest.map_structure(
                    lambda first, second: training.concat([first, second]), outputs, run(iterator)
                )
            return outputs

        self.predict_function = (
            predict_function
            if self.run_eagerly
            else tf.function(predict_function, reduce_retracing=True)
        )
        return self.predict_function


def make_model(strategy, **options):
    podium.utils.set_random_seed(0)
    with strategy.scope():
        x = podium.Input((3,))
        outputs = {"sum": podium.layers.Dense(1)(x), "rows": podium.layers.Dense(2)(x)}
        model = Engine(x, outputs)
        model.compile(loss={"sum": "mse"}, metrics={"sum": ["mae"]}, **options)
    return model


@pytest.mark.parametrize("replicas", [1, 2, 4])
@pytest.mark.parametrize("options", [{}, {"run_eagerly": True}], ids=["compiled", "eager"])
@pytest.mark.parametrize(("k", "batch_size"), [(1, 33), (2, 16), (3, 7)])
def test_overridden_functions_compute_what_one_device_does(replicas, options, k, batch_size):
    strategy = podium.distribute.MirroredStrategy(replicas)
    model = make_model(strategy, steps_per_execution=k, **options)
    steps = -(-len(X) // batch_size)
    predicted = model.predict(X, batch_size=batch_size, verbose=0)
    assert int(model._predict_counter.numpy()) == steps
    expected = model(X)
    for name in ("sum", "rows"):
        np.testing.assert_allclose(predicted[name], expected[name], atol=1e-6)
    logs = model.evaluate(X, {"sum": Y}, batch_size=batch_size, verbose=0, return_dict=True)
    assert int(model._test_counter.numpy()) == steps
    error = expected["sum"].numpy() - Y
    assert logs["loss"] == pytest.approx(np.mean(error**2), rel=1e-5)
    assert logs["sum_mae"] == pytest.approx(np.mean(np.abs(error)), rel=1e-5)


def test_data_handler_accepts_the_arguments_of_keras_2():
    handler = data_adapter.get_data_handler(
        X, Y, batch_size=32, epochs=2, max_queue_size=10, workers=1, use_multiprocessing=False,
        model=None, steps_per_execution=2,
    )  # fmt: skip
    steps = [(epoch, step) for epoch, _ in handler.enumerate_epochs() for step in handler.steps()]
    assert steps == [(0, 0), (0, 2), (1, 0), (1, 2)]
    assert isinstance(handler, data_adapter.DataHandler)


def test_single_batch_iterator_returns_the_whole_batch_once():
    iterator = data_adapter.single_batch_iterator(
        None, X, np.arange(65) % 2, class_weight={0: 1.0, 1: 3.0}
    )
    x, _, weights = next(iterator)
    assert x.shape == (65, 3) and float(podium.ops.sum(weights)) == 33 + 3 * 32
    with pytest.raises(StopIteration):
        next(iterator)


@pytest.mark.parametrize("x", [X, {"a": X}, [X, X]], ids=["array", "dictionary", "list"])
def test_single_batch_iterator_returns_a_tuple_without_targets(x):
    batch = next(data_adapter.single_batch_iterator(None, x))
    assert isinstance(batch, tuple) and len(batch) == 1
    assert [leaf.shape for leaf in podium.core.tree_leaves(batch)] in ([X.shape], [X.shape] * 2)
    assert type(batch[0]) is type(x) or isinstance(batch[0], podium.Tensor)


def test_batch_of_single_batch_iterator_is_split_between_replicas():
    strategy = podium.distribute.MirroredStrategy()
    iterator = data_adapter.single_batch_iterator(strategy, X[:64])
    count = strategy.run(lambda batch: podium.ops.shape(batch[0])[0], args=(next(iterator),))
    shares = strategy.experimental_local_results(count)
    assert [int(share) for share in shares] == [64 // len(shares)] * len(shares)


def test_tensor_spec_has_the_shape_and_dtype_of_a_value():
    value = podium.ops.ones((2, 3), "int32")
    assert tf_utils.get_tensor_spec(value) == podium.TensorSpec((2, 3), "int32")
    assert tf_utils.get_tensor_spec(value, dynamic_batch=True).shape == (None, 3)
    assert tf_utils.get_tensor_spec(podium.Tensor(1.0), dynamic_batch=True).shape == ()


def test_functions_are_not_converted():
    @tf.autograph.experimental.do_not_convert
    def first():
        return 1

    @tf.autograph.experimental.do_not_convert()
    def second():
        return tf.inside_function()

    assert (first(), second(), podium.function(second)()) == (1, False, True)


@pytest.mark.parametrize("options", [{}, {"run_eagerly": True}], ids=["compiled", "eager"])
@pytest.mark.parametrize("k", [1, 2])
def test_a_loop_of_ones_own_gets_the_outputs_of_the_default_predict_function(k, options):
    podium.utils.set_random_seed(0)
    x = podium.Input((3,))
    model = podium.Model(x, {"sum": podium.layers.Dense(1)(x)})
    model.compile("sgd", {"sum": "mse"}, steps_per_execution=k, **options)
    handler = data_adapter.get_data_handler(X, batch_size=16, steps_per_execution=k)
    function, outputs = model.make_predict_function(), []
    for _, iterator in handler.enumerate_epochs():
        with handler.catch_stop_iteration():
            for _ in handler.steps():
                outputs.append(function(iterator)["sum"])
    assert isinstance(outputs[0], podium.Tensor) and outputs[0].shape == (16 * k, 1)
    np.testing.assert_allclose(training.concat(outputs), model(X)["sum"], atol=1e-6)


def test_input_layer_accepts_what_keras_2_passes():
    layer = podium.layers.InputLayer(input_shape=(3,), sparse=False, ragged=False)
    assert layer.output.shape == (None, 3)
    for make in (podium.layers.InputLayer, podium.Input):
        with pytest.raises(ValueError, match="was given ragged=True; only rectangular values"):
            make(shape=(3,), ragged=True)
