"""Every API that the documents behind Podium name, in one list."""

import operator

import pytest

import podium
from podium import callbacks, data
from podium.compat import keras
from podium.compat import tensorflow as tf

TENSORFLOW = """
    Variable VariableAggregation.ONLY_FIRST_REPLICA Tensor function range GradientTape
    GradientTape.gradient control_dependencies concat ones zeros shape random.normal random.uniform
    errors.OutOfRangeError data.Dataset data.Dataset.from_tensor_slices data.Dataset.shuffle
    data.Dataset.batch data.Dataset.take data.Iterator distribute.Strategy distribute.Strategy.scope
    distribute.Strategy.run distribute.Strategy.unwrap distribute.Strategy.gather
    distribute.Strategy.experimental_distribute_dataset distribute.get_strategy
    distribute.OneDeviceStrategy
"""
KERAS = """
    Model Sequential Input layers.Layer layers.Dense layers.Conv2D layers.Conv2DTranspose
    layers.LeakyReLU layers.GlobalMaxPooling2D layers.Reshape losses.mean_squared_error
    losses.MeanSquaredError losses.BinaryCrossentropy losses.Reduction.SUM metrics.Mean
    metrics.MeanAbsoluteError metrics.MeanAbsolutePercentageError optimizers.Adam optimizers.get
    callbacks.CallbackList callbacks.History datasets.mnist.load_data
"""
MODEL = """
    compile fit evaluate predict build call __call__ train_step test_step predict_step eval_step
    make_train_function make_test_function make_predict_function train_function train_tf_function
    predict_function train_on_batch compiled_loss compiled_metrics losses metrics reset_metrics
    trainable_variables trainable_weights optimizer distribute_strategy run_eagerly
    steps_per_execution save save_weights load_weights _train_counter _test_counter _predict_counter
    _cluster_coordinator _is_compiled _jit_compile _steps_per_execution _validate_compile
"""
HELPERS = """
    data_adapter.DataHandler data_adapter.DataAdapter data_adapter.get_data_handler
    data_adapter.expand_1d data_adapter.unpack data_adapter.unpack_x_y_sample_weight
    data_adapter.DataHandler.enumerate_epochs data_adapter.DataHandler.steps
    data_adapter.DataHandler.step_increment data_adapter.DataHandler.catch_stop_iteration
    data_adapter.DataHandler.should_sync data_adapter.DataAdapter.should_recreate_iterator
    data_adapter.DataAdapter.on_epoch_end training_utils.RespectCompiledTrainableState
    training.reduce_per_replica training._minimum_control_deps training._multi_worker_concat
    training._tpu_multi_host_concat training.concat training.write_scalar_summaries
    training._disallow_inside_tf_function training._detect_save_format
    tf_utils.sync_to_numpy_or_python_type
"""
HOOKS = """
    on_train_begin on_train_end on_epoch_begin on_epoch_end on_train_batch_begin on_train_batch_end
    on_predict_begin on_predict_end on_predict_batch_begin on_predict_batch_end
"""
# With the import hook, as the sources of Keras import them.
IMPORTED = """
    from tensorflow.python.saved_model import loader_impl as sm_loader
    from tensorflow.python.keras.saving import saving_utils
    from tensorflow.python.eager import context
    from tensorflow.python.framework import ops
    from tensorflow.python.util import nest
    from tensorflow.python.keras.utils import tf_utils
    from tensorflow.python.keras.engine import data_adapter, training, training_utils
    saving_utils.is_hdf5_filepath, sm_loader.contains_saved_model, context.async_wait
    nest.map_structure, nest.map_structure_up_to, tf_utils.sync_to_numpy_or_python_type
    ops.inside_function, data_adapter.unpack, training.Model
    training_utils.RespectCompiledTrainableState
"""


@pytest.mark.parametrize(
    ("owner", "names"),
    [
        (tf, TENSORFLOW),
        (keras, KERAS),
        (keras.engine, HELPERS),
        (callbacks.Callback, HOOKS),
        (podium.optimizers.Optimizer, "minimize apply_gradients"),
        (podium.metrics.Metric, "update_state result reset_state reset_states name"),
    ],
    ids=["tf", "keras", "helpers", "callbacks", "optimizer", "metric"],
)
def test_every_named_api_exists(owner, names):
    if owner is podium.metrics.Metric:
        owner = podium.metrics.Mean()
    for name in names.split():
        assert operator.attrgetter(name)(owner) is not None or name == "name"


def test_every_named_attribute_of_a_model_exists():
    model = podium.Sequential([podium.Input((1,)), podium.layers.Dense(1)])
    model.compile("sgd", "mse")
    for name in MODEL.split():
        operator.attrgetter(name)(model)


def test_every_named_helper_is_imported_as_the_sources_of_keras_do():
    podium.compat.install()
    try:
        exec("\n".join(line.strip() for line in IMPORTED.strip().splitlines()), {})
    finally:
        podium.compat.uninstall()


def test_arguments_that_are_named_are_accepted():
    podium.layers.LeakyReLU(alpha=0.2)
    podium.losses.MeanSquaredError(reduction=keras.losses.Reduction.SUM)
    podium.losses.BinaryCrossentropy(from_logits=True)
    podium.optimizers.Adam(learning_rate=0.1)
    assert [keras.optimizers.get(name).name for name in ("adam", "sgd", "rmsprop")]
    assert [keras.losses.get(name) for name in ("mse", "mae")]
    for options in ({"jit_compile": True}, {"reduce_retracing": True}):
        assert float(tf.function(lambda x: x + 1, **options)(tf.constant(1.0))) == 2.0
    relaxed = tf.function(lambda x: x, experimental_relax_shapes=True)
    assert float(relaxed(tf.constant(1.0))) == 1.0
    assert issubclass(keras.engine.data_adapter.DataHandler, data.DataHandler)
