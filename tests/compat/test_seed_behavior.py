"""Every API that the documents behind Podium name does what they show: one call for each name.

The names are listed in `test_seed_names.py`; this table has the same ones, each with an expression
that must be true. It runs in a namespace of imports as TensorFlow code writes them.
"""

import numpy as np
import pytest
from test_seed_names import HELPERS, HOOKS, KERAS, MODEL, TENSORFLOW

import podium

IMPORTS = """
import tensorflow as tf
import tensorflow.keras as keras
import numpy as np
from tensorflow.python.eager import backprop, context, def_function
from tensorflow.python.framework import errors, ops
from tensorflow.python.keras import callbacks as callbacks_module
from tensorflow.python.keras import optimizers
from tensorflow.python.keras.engine import data_adapter, training, training_utils
from tensorflow.python.keras.saving import saving_utils
from tensorflow.python.keras.utils import tf_utils
from tensorflow.python.ops import array_ops, math_ops
from tensorflow.python.saved_model import loader_impl as sm_loader
from tensorflow.python.util import nest
"""
# name in the documents: an expression that is true.
TF_CALLS = {
    "Variable": "float(tf.Variable(1.0).assign_add(2.0)) == 3.0",
    "VariableAggregation.ONLY_FIRST_REPLICA": (
        "tf.Variable(0, dtype='int64', aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA,"
        " trainable=False).aggregation == 'only_first_replica'"
    ),
    "Tensor": "isinstance(tf.constant(1.0), tf.Tensor)",
    "function": (
        "float(def_function.function(lambda x: x + 1, experimental_relax_shapes=True)(1.0)) == 2"
    ),
    "range": "[int(i) for i in math_ops.range(3)] == [0, 1, 2]",
    "GradientTape": "record(lambda x: x * x, 3.0) == 6.0",
    "GradientTape.gradient": "record(lambda x: [x * x, x], 3.0) == 7.0",
    "control_dependencies": "ordered(1.0) == 2.0",
    "concat": "tf.concat([np.ones((1, 2)), np.zeros((2, 2))], axis=0).shape == (3, 2)",
    "ones": "tf.ones((2, 1)).numpy().tolist() == [[1.0], [1.0]]",
    "zeros": "array_ops.zeros((2,)).numpy().tolist() == [0.0, 0.0]",
    "shape": "int(tf.shape(np.ones((5, 2)))[0]) == 5",
    "random.normal": "differ(lambda: tf.random.normal((2, 3)))",
    "random.uniform": "differ(lambda: tf.random.uniform((2, 3)))",
    "errors.OutOfRangeError": "raises(tf.errors.OutOfRangeError, next_in_function, [])",
    "data.Dataset": "isinstance(dataset, tf.data.Dataset) and len(list(dataset)) == 4",
    "data.Dataset.from_tensor_slices": "next(iter(dataset))[0].shape == (3,)",
    "data.Dataset.shuffle": (
        "sorted(int(i) for i in tf.data.Dataset.range(4).shuffle(4)) == [0, 1, 2, 3]"
    ),
    "data.Dataset.batch": "[len(x) for x, y in dataset.batch(3)] == [3, 1]",
    "data.Dataset.take": "len(list(dataset.take(2))) == 2",
    "data.Iterator": "isinstance(iter(dataset), tf.data.Iterator)",
    "distribute.Strategy": "isinstance(mirrored, tf.distribute.Strategy)",
    "distribute.Strategy.scope": "scope_of(mirrored) is mirrored",
    "distribute.Strategy.run": "values(mirrored.run(lambda x: x + 1, args=(share,))) == [1.0, 2.0]",
    "distribute.Strategy.unwrap": "len(mirrored.unwrap(share)) == 2",
    "distribute.Strategy.gather": "mirrored.gather(rows, axis=0).shape == (4, 1)",
    "distribute.Strategy.experimental_distribute_dataset": (
        "[len(x.values) for x in mirrored.experimental_distribute_dataset([np.ones(4)])] == [2]"
    ),
    "distribute.get_strategy": "tf.distribute.get_strategy().num_replicas_in_sync == 1",
    "distribute.OneDeviceStrategy": (
        "tf.distribute.OneDeviceStrategy(device='/cpu:0').num_replicas_in_sync == 1"
    ),
}
KERAS_CALLS = {
    "Model": "keras.Model(inputs, outputs)(x).shape == (4, 1)",
    "Sequential": "keras.Sequential([keras.layers.Dense(2)])(x).shape == (4, 2)",
    "Input": "keras.Input(shape=(3,)).shape == (None, 3)",
    "layers.Layer": "issubclass(keras.layers.Dense, keras.layers.Layer)",
    "layers.Dense": "keras.layers.Dense(1)(x).shape == (4, 1)",
    "layers.Conv2D": (
        "keras.layers.Conv2D(2, (3, 3), strides=(2, 2), padding='same')(image).shape"
        " == (1, 4, 4, 2)"
    ),
    "layers.Conv2DTranspose": (
        "keras.layers.Conv2DTranspose(2, (4, 4), strides=(2, 2), padding='same')(image).shape"
        " == (1, 16, 16, 2)"
    ),
    "layers.LeakyReLU": (
        "float(keras.layers.LeakyReLU(alpha=0.2)(tf.constant([-1.0]))[0]) == np.float32(-0.2)"
    ),
    "layers.GlobalMaxPooling2D": "keras.layers.GlobalMaxPooling2D()(image).shape == (1, 1)",
    "layers.Reshape": "keras.layers.Reshape((8, 8))(image).shape == (1, 8, 8)",
    "losses.mean_squared_error": "keras.losses.mean_squared_error(x, x + 1.0).shape == (4,)",
    "losses.MeanSquaredError": (
        "float(keras.losses.MeanSquaredError(reduction=keras.losses.Reduction.SUM)(y, y + 1)) == 4"
    ),
    "losses.BinaryCrossentropy": (
        "round(float(keras.losses.BinaryCrossentropy(from_logits=True)([[1.0]], [[0.0]])),"
        " 3) == 0.693"
    ),
    "losses.Reduction.SUM": "keras.losses.Reduction.SUM == 'sum'",
    "metrics.Mean": "updated(keras.metrics.Mean(name='m'), [1.0, 3.0]) == 2.0",
    "metrics.MeanAbsoluteError": "updated(keras.metrics.MeanAbsoluteError(), y, y + 2.0) == 2.0",
    "metrics.MeanAbsolutePercentageError": (
        "updated(keras.metrics.MeanAbsolutePercentageError(), [[1.0]], [[0.0]]) == 100.0"
    ),
    "optimizers.Adam": "float(keras.optimizers.Adam(learning_rate=0.5).learning_rate) == 0.5",
    "optimizers.get": "[type(optimizers.get(n)).__name__ for n in ('adam', 'sgd', 'rmsprop')]"
    " == ['Adam', 'SGD', 'RMSprop']",
    "callbacks.CallbackList": (
        "callbacks_module.CallbackList(None, add_history=True, add_progbar=False, model=model,"
        " verbose=0, epochs=1).callbacks[0] is model.history"
    ),
    "callbacks.History": "isinstance(fit(), keras.callbacks.History)",
    "datasets.mnist.load_data": "callable(keras.datasets.mnist.load_data)",
}
MODEL_CALLS = {
    "compile": "model.compile(loss='mse', metrics='mae') is None and model._is_compiled",
    "fit": "sorted(fit().history) == ['loss', 'mae']",
    "evaluate": "[type(v) for v in model.evaluate(x, y, verbose=0)] == [float, float]",
    "predict": "type(model.predict(x, verbose=0)) is np.ndarray",
    "build": "model.build((None, 3)) is None and model.built",
    "call": "model.call(tf.constant(x)).shape == (4, 1)",
    "__call__": "model(x, training=False).shape == (4, 1)",
    "train_step": "sorted(model.train_step((x, y))) == ['loss', 'mae']",
    "test_step": "sorted(model.test_step((x, y))) == ['loss', 'mae']",
    "predict_step": "model.predict_step(tf.constant(x)).shape == (4, 1)",
    "eval_step": "sorted(model.eval_step((x, y))) == ['loss', 'mae']",
    "make_train_function": "sorted(model.make_train_function()(batches())) == ['loss', 'mae']",
    "make_test_function": "sorted(model.make_test_function()(batches())) == ['loss', 'mae']",
    "make_predict_function": "model.make_predict_function()(batches(x)).shape == (2 * 4, 1)",
    "train_function": (
        "model.train_function is None and model.make_train_function() is model.train_function"
    ),
    "train_tf_function": (
        "model.train_tf_function is None and model.make_train_function() is model.train_tf_function"
    ),
    "predict_function": "model.make_predict_function() is model.predict_function",
    "train_on_batch": "len(model.train_on_batch(x, y)) == 2",
    "compiled_loss": (
        "float(model.compiled_loss(y, y + 2.0, regularization_losses=[1.0])) == 5.0"
        " and model.metrics[0].name == 'loss'"
    ),
    "compiled_metrics": (
        "model.compiled_metrics.update_state(y, y + 2.0, None) is None"
        " and [float(m.result()) for m in model.metrics if m.name == 'mae'] == [2.0]"
    ),
    "losses": "len(regularized.losses) == 1",
    "metrics": "[m.name for m in fit().model.metrics] == ['loss', 'mae']",
    "reset_metrics": "fit() and model.reset_metrics() is None and model.metrics[0].result() == 0",
    "trainable_variables": "len(model.trainable_variables) == 2",
    "trainable_weights": "len(model.trainable_weights) == 2",
    "optimizer": "model.optimizer.name == 'sgd'",
    "distribute_strategy": "model.distribute_strategy is tf.distribute.get_strategy()",
    "run_eagerly": "model.run_eagerly is False",
    "steps_per_execution": "model.steps_per_execution == 2",
    "save": "saved('model.keras', model.save)",
    "save_weights": "saved('model.weights.h5', model.save_weights)",
    "load_weights": "saved('a.weights.h5', model.save_weights)"
    " and len(model.load_weights(folder + '/a.weights.h5').loaded) == 2",
    "_train_counter": "fit() and model._train_counter == 4",
    "_test_counter": "model.evaluate(x, y, batch_size=1, verbose=0) and model._test_counter == 4",
    "_predict_counter": "model.predict(x, verbose=0).size and model._predict_counter == 1",
    "_cluster_coordinator": "model._cluster_coordinator is None",
    "_is_compiled": "model._is_compiled",
    "_jit_compile": "model._jit_compile is False",
    "_steps_per_execution": (
        "model._steps_per_execution.numpy().item() == 2 == model._steps_per_execution.value()"
    ),
    "_validate_compile": "raises(TypeError, model._validate_compile, object(), None)",
}
HANDLER = "data_adapter.DataHandler"
HELPER_CALLS = {
    HANDLER: "steps_of(data_adapter.DataHandler(x, y, batch_size=3)) == [0, 1]",
    "data_adapter.DataAdapter": "data_adapter.DataAdapter is podium.data.DataAdapter",
    "data_adapter.get_data_handler": (
        "steps_of(data_adapter.get_data_handler(x, y, batch_size=1, steps_per_execution=3))"
        " == [0, 3]"
    ),
    "data_adapter.expand_1d": "data_adapter.expand_1d((np.ones(4), x))[0].shape == (4, 1)",
    "data_adapter.unpack": "data_adapter.unpack((1, 2)) == (1, 2)",
    "data_adapter.unpack_x_y_sample_weight": (
        "data_adapter.unpack_x_y_sample_weight((1, 2)) == (1, 2, None)"
    ),
    f"{HANDLER}.enumerate_epochs": (
        "[epoch for epoch, _ in data_adapter.DataHandler(x, epochs=3, initial_epoch=1)"
        ".enumerate_epochs()] == [1, 2]"
    ),
    f"{HANDLER}.steps": "steps_of(data_adapter.DataHandler(x, batch_size=2)) == [0, 1]",
    f"{HANDLER}.step_increment": "increments(7, 3) == [2, 2, 0]",
    f"{HANDLER}.catch_stop_iteration": "caught_stop_iteration()",
    f"{HANDLER}.should_sync": "data_adapter.DataHandler(iter([x])).should_sync is True",
    "data_adapter.DataAdapter.should_recreate_iterator": "adapter(x).should_recreate_iterator()",
    "data_adapter.DataAdapter.on_epoch_end": "adapter(x).on_epoch_end() is None",
    "training_utils.RespectCompiledTrainableState": "frozen_inside() == [False, True, False]",
    "training.reduce_per_replica": (
        "float(training.reduce_per_replica({'a': share}, mirrored, reduction='first')['a']) == 0"
        " and training.reduce_per_replica(rows, mirrored, 'concat').shape == (4, 1)"
        " and raises(ValueError, training.reduce_per_replica, share, mirrored, 'last')"
    ),
    "training._minimum_control_deps": "training._minimum_control_deps({'a': y}) == []",
    "training._multi_worker_concat": (
        "training._multi_worker_concat(rows, mirrored).shape == (4, 1)"
    ),
    "training._tpu_multi_host_concat": (
        "training._tpu_multi_host_concat(rows, mirrored).shape == (4, 1)"
    ),
    "training.concat": "training.concat([x, x]).shape == (8, 3)",
    "training.write_scalar_summaries": (
        "training.write_scalar_summaries({'loss': 1.0}, step=model._train_counter) is None"
    ),
    "training._disallow_inside_tf_function": (
        "training._disallow_inside_tf_function('fit') is None and raises(RuntimeError,"
        " tf.function(lambda: training._disallow_inside_tf_function('fit')))"
    ),
    "training._detect_save_format": (
        "[training._detect_save_format(p)[1] for p in ('a.h5', 'a.keras', 'a.hdf5', 'a')]"
        " == ['h5'] * 4"
    ),
    "tf_utils.sync_to_numpy_or_python_type": (
        "tf_utils.sync_to_numpy_or_python_type({'a': tf.constant(1.0)}) == {'a': 1.0}"
    ),
    "saving_utils.is_hdf5_filepath": (
        "[saving_utils.is_hdf5_filepath(p) for p in ('a.h5', 'a.keras', 'a.hdf5', 'a.tf')]"
        " == [True, True, True, False]"
    ),
    "sm_loader.contains_saved_model": "not sm_loader.contains_saved_model(folder)",
    "context.async_wait": "context.async_wait() is None",
    "nest.map_structure": "nest.map_structure(lambda v: v + 1, {'a': [1, 2]}) == {'a': [2, 3]}",
    "nest.map_structure_up_to": (
        "nest.map_structure_up_to({'a': 0}, len, {'a': [1, 2, 3]}) == {'a': 3}"
    ),
    "ops.inside_function": (
        "not ops.inside_function()"
        " and bool(tf.function(lambda: tf.constant(ops.inside_function()))())"
    ),
}
OTHER_CALLS = {
    "Optimizer.minimize": "minimized(3.0) == 2.0",
    "Optimizer.apply_gradients": "applied(3.0) == 2.0",
    "Metric.update_state": "updated(keras.metrics.Mean(), 2.0) == 2.0",
    "Metric.result": "float(keras.metrics.Mean().result()) == 0.0",
    "Metric.reset_state": "keras.metrics.Mean().reset_state() is None",
    "Metric.reset_states": "keras.metrics.Mean().reset_states() is None",
    "Metric.name": "keras.metrics.Mean(name='m').name == 'm'",
    "strings": "[callable(keras.losses.get(name)) for name in ('mse', 'mae')] == [True, True]",
}
TABLE = TF_CALLS | KERAS_CALLS | MODEL_CALLS | HELPER_CALLS | OTHER_CALLS
SETUP = """
x, y = np.ones((4, 3), "float32"), np.ones((4, 1), "float32")
image = np.ones((1, 8, 8, 1), "float32")
inputs = keras.Input((3,))
outputs = keras.layers.Dense(1)(inputs)
model = keras.Model(inputs, outputs)
model.compile("sgd", "mse", metrics=["mae"], steps_per_execution=2)
regularized = keras.Sequential([inputs, keras.layers.Dense(1, kernel_regularizer="l2")])
dataset = tf.data.Dataset.from_tensor_slices((x, y))
mirrored = tf.distribute.MirroredStrategy(2)
share = podium.distribute.PerReplica(tf.constant([0.0, 1.0]))
rows = podium.distribute.PerReplica(tf.ones((2, 2, 1)))

def values(per_replica):
    return [float(value) for value in mirrored.unwrap(per_replica)]

def scope_of(strategy):
    with strategy.scope():
        return tf.distribute.get_strategy()

def record(function, value):
    x = tf.Variable(value)
    with backprop.GradientTape() as tape:
        target = function(x)
    return float(tape.gradient(target, x))

@tf.function
def ordered_in_function(value):
    with ops.control_dependencies([value]):
        return value + 1.0

def ordered(value):
    return float(ordered_in_function(tf.constant(value)))

def differ(draw):
    compiled = tf.function(draw)
    return draw().shape == (2, 3) and not np.array_equal(compiled().numpy(), compiled().numpy())

def raises(error, function, *arguments):
    try:
        function(*arguments)
    except error:
        return True

def next_in_function(elements):
    source = iter(tf.data.Dataset.from_generator(lambda: iter(elements)))
    return tf.function(lambda iterator: next(iterator))(source)

def updated(metric, *arguments):
    metric.update_state(*arguments)
    return float(metric.result())

def fit():
    return model.fit(x, y, batch_size=1, verbose=0)

def batches(data=(x, y)):
    return iter(tf.data.Dataset.from_tensors(data).repeat(2))

def saved(name, save):
    import os
    save(os.path.join(folder, name))
    return os.path.exists(os.path.join(folder, name))

def steps_of(handler):
    return [step for _, iterator in handler.enumerate_epochs() for step in handler.steps()]

def increments(samples, steps_per_execution):
    handler = data_adapter.DataHandler(
        np.ones((samples, 1)), batch_size=1, steps_per_execution=steps_per_execution
    )
    found = []
    for _, iterator in handler.enumerate_epochs():
        for step in handler.steps():
            found.append(handler.step_increment)
    return found

def caught_stop_iteration():
    handler = data_adapter.DataHandler(iter([x]))
    for _, iterator in handler.enumerate_epochs():
        with handler.catch_stop_iteration():
            next(iterator), next(iterator)
    return handler.inferred_steps == 0

def adapter(x):
    return podium.data.DataHandler(x)._adapter

def frozen_inside():
    layer = model.layers[1]
    layer.trainable = False
    before = layer.trainable
    with training_utils.RespectCompiledTrainableState(model):
        inside = layer.trainable
    after, layer.trainable = layer.trainable, True
    return [before, inside, after]

def minimized(value):
    w, optimizer = tf.Variable(value), keras.optimizers.SGD(0.5)
    with tf.GradientTape() as tape:
        loss = 2.0 * w
    optimizer.minimize(loss, [w], tape=tape)
    return float(w)

def applied(value):
    w, optimizer = tf.Variable(value), keras.optimizers.SGD(0.5)
    optimizer.apply_gradients(zip([tf.constant(2.0)], [w]))
    return float(w)
"""


def test_table_has_every_name():
    for names, calls in ((TENSORFLOW, TF_CALLS), (KERAS, KERAS_CALLS), (MODEL, MODEL_CALLS)):
        assert set(names.split()) == set(calls)
    assert set(HELPERS.split()) <= set(HELPER_CALLS)


@pytest.fixture(scope="module")
def namespace(tmp_path_factory):
    """Return the names that the calls use, made while the import hook is installed."""
    podium.compat.install()
    names = {"podium": podium, "np": np, "folder": str(tmp_path_factory.mktemp("saved"))}
    exec(IMPORTS, names)
    yield names
    podium.compat.uninstall()


@pytest.mark.parametrize("name", TABLE)
def test_named_api_does_what_the_documents_show(namespace, name):
    podium.utils.set_random_seed(0)
    exec(SETUP, namespace)
    result = eval(TABLE[name], namespace)
    assert bool(result) is True, TABLE[name]


@pytest.mark.parametrize("name", HOOKS.split())
def test_named_hook_is_called(name):
    calls = []

    class Recorder(podium.callbacks.Callback):
        pass

    setattr(Recorder, name, lambda self, *arguments: calls.append(arguments))
    model = podium.Sequential([podium.Input((1,)), podium.layers.Dense(1)])
    model.compile("sgd", "mse")
    x = np.ones((4, 1), "float32")
    if "predict" in name:
        model.predict(x, batch_size=2, callbacks=[Recorder()], verbose=0)
    else:
        model.fit(x, x, batch_size=2, callbacks=[Recorder()], verbose=0)
    assert len(calls) == (2 if "batch" in name else 1)
