"""Every API that the documents name, under the paths of TensorFlow's code, doing what they show."""

import io

import numpy as np
import pytest
from requirement_cases import make_recorder

import podium
from podium.datasets import _grayscale_images

from .helpers import make_network, make_samples

X, Y = make_samples()
X10 = np.arange(20, dtype="float32").reshape(10, 2)


@pytest.fixture
def names():
    """The modules as the documents import them, while the import hook is installed."""
    podium.compat.install()
    namespace = {}
    exec(
        "import tensorflow as tf\n"
        "from tensorflow import keras\n"
        "from tensorflow.keras import layers\n"
        "import tensorflow.keras.optimizers as optimizers\n"
        "import tensorflow.keras.losses as losses\n"
        "from tensorflow.python.eager import backprop, context, def_function\n"
        "from tensorflow.python.framework import errors, ops\n"
        "from tensorflow.python.ops import array_ops, math_ops\n"
        "from tensorflow.python.util import nest\n"
        "from tensorflow.python.saved_model import loader_impl as sm_loader\n"
        "from tensorflow.python.saved_model import constants as sm_constants\n"
        "from tensorflow.python.keras.engine import data_adapter, training, training_utils\n"
        "from tensorflow.python.keras.engine import compile_utils\n"
        "from tensorflow.python.keras.saving import saving_utils\n"
        "from tensorflow.python.keras.utils import tf_utils\n",
        namespace,
    )
    yield type("Names", (), namespace)
    podium.compat.uninstall()


def test_functions_and_values_of_tensorflow(names):
    """`tf.` functions compute what TensorFlow computes, eagerly and in `tf.function`."""
    tf = names.tf
    assert isinstance(tf.constant(1.0), tf.Tensor) and repr(tf.constant(100.0)) == (
        "<tf.Tensor: shape=(), dtype=float32, numpy=100.0>"
    )

    def compute(x):
        size = tf.shape(x)[0]
        labels = tf.concat([tf.ones((size, 1)), tf.zeros((size, 1))], axis=0)
        labels += 0.0 * tf.random.uniform(tf.shape(labels))
        total = tf.random.normal(shape=(size, 2)) * 0.0
        for _ in tf.range(3):
            total += x
        with tf.control_dependencies([total]):
            return tf.reduce_sum(labels) + tf.reduce_sum(total)

    expected = 10 + 3 * X10.sum()
    for options in (
        None,
        {},
        {"jit_compile": True},
        {"reduce_retracing": True},
        {"experimental_relax_shapes": True},
    ):
        function = compute if options is None else tf.function(compute, **options)
        assert float(function(tf.constant(X10))) == expected
    decorated = tf.function(jit_compile=True)(compute)
    assert float(decorated(tf.constant(X10))) == expected
    normal = tf.random.normal((10000,)).numpy()
    uniform = tf.random.uniform((10000,)).numpy()
    assert abs(normal.mean()) < 0.1 and abs(normal.std() - 1) < 0.1
    assert uniform.min() >= 0 and uniform.max() < 1 and abs(uniform.mean() - 0.5) < 0.05
    assert names.math_ops.range(3).numpy().tolist() == [0, 1, 2]
    assert names.array_ops.zeros((2,)).numpy().tolist() == [0.0, 0.0]


def test_variables_and_tapes_of_tensorflow(names):
    """`tf.Variable` with an aggregation, and `tf.GradientTape` with `gradient`."""
    tf = names.tf
    aggregation = tf.VariableAggregation.ONLY_FIRST_REPLICA
    counter = tf.Variable(0, dtype="int64", aggregation=aggregation, trainable=False)
    counter.assign_add(2)
    counter.assign(counter + 1)
    assert int(counter.numpy()) == 3 and not counter.trainable
    assert counter.aggregation == aggregation and isinstance(counter, tf.Variable)
    weight = tf.Variable([1.0, 2.0])
    for tape_class in (tf.GradientTape, names.backprop.GradientTape):
        with tape_class() as tape:
            loss = tf.reduce_sum(weight * weight)
        assert tape.gradient(loss, [weight, counter])[0].numpy().tolist() == [2.0, 4.0]


def test_datasets_of_tensorflow(names):
    """`tf.data.Dataset` with from_tensor_slices, shuffle, batch and take; `tf.data.Iterator`; the
    end of the data is `tf.errors.OutOfRangeError`.
    """
    tf = names.tf
    dataset = tf.data.Dataset.from_tensor_slices((X10, X10[:, 0]))
    assert isinstance(dataset, tf.data.Dataset)
    batches = list(dataset.shuffle(buffer_size=1024).batch(4).take(2))
    assert [[part.shape for part in batch] for batch in batches] == [[(4, 2), (4,)]] * 2
    assert isinstance(batches[0][0], tf.Tensor)
    iterator = iter(tf.data.Dataset.from_tensor_slices(X10).batch(10))
    assert isinstance(iterator, tf.data.Iterator)
    read = tf.function(lambda it: tf.reduce_sum(next(it)))
    assert float(read(iterator)) == X10.sum()
    for end in (tf.errors.OutOfRangeError, names.errors.OutOfRangeError):
        with pytest.raises(end):
            read(iterator)


def test_strategies_of_tensorflow(names):
    """`tf.distribute` with get_strategy, OneDeviceStrategy, scope, run, unwrap, gather and
    experimental_distribute_dataset.
    """
    tf = names.tf
    with pytest.warns(UserWarning, match="device='/gpu:0' was given, and this machine has no"):
        one = tf.distribute.OneDeviceStrategy(device="/gpu:0")
    for strategy in (one, tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])):
        assert isinstance(strategy, tf.distribute.Strategy)
        with strategy.scope():
            assert tf.distribute.get_strategy() is strategy
        dataset = tf.data.Dataset.from_tensor_slices(X10).batch(6)
        rows = []
        for batch in strategy.experimental_distribute_dataset(dataset):
            outputs = strategy.run(lambda x: x * 2.0, args=(batch,))
            rows += [np.asarray(part) for part in strategy.unwrap(outputs)]
            joined = np.asarray(strategy.gather(outputs, axis=0))
            np.testing.assert_array_equal(np.concatenate(rows)[-len(joined) :], joined)
        np.testing.assert_array_equal(np.concatenate(rows), 2.0 * X10)


def test_layers_losses_metrics_and_optimizers_of_keras(names, tmp_path, monkeypatch):
    """The GAN of 003 can be built: layers, losses, metrics, optimizers and the digits."""
    tf, keras, layers = names.tf, names.keras, names.layers
    discriminator = keras.Sequential(
        [
            keras.Input(shape=(28, 28, 1)),
            layers.Conv2D(4, (3, 3), strides=(2, 2), padding="same"),
            layers.LeakyReLU(alpha=0.2),
            layers.GlobalMaxPooling2D(),
            layers.Dense(1),
        ],
        name="discriminator",
    )
    generator = keras.Sequential(
        [
            keras.Input(shape=(8,)),
            layers.Dense(7 * 7 * 2),
            layers.Reshape((7, 7, 2)),
            layers.Conv2DTranspose(2, (4, 4), strides=(2, 2), padding="same"),
            layers.Conv2DTranspose(2, (4, 4), strides=(2, 2), padding="same"),
            layers.Conv2D(1, (7, 7), padding="same", activation="sigmoid"),
        ],
        name="generator",
    )
    images = generator(tf.random.normal((2, 8)))
    assert images.shape == (2, 28, 28, 1) and discriminator(images).shape == (2, 1)
    assert layers.LeakyReLU(alpha=0.2)(tf.constant([-1.0, 2.0])).numpy() == pytest.approx([-0.2, 2])
    assert isinstance(discriminator, keras.Model) and issubclass(keras.Model, layers.Layer)

    y, y_pred = tf.constant([[0.0], [1.0]]), tf.constant([[0.0], [3.0]])
    assert keras.losses.mean_squared_error(y, y_pred).numpy().tolist() == [0.0, 4.0]
    total = names.losses.MeanSquaredError(reduction=tf.keras.losses.Reduction.SUM)
    assert float(total(y, y_pred)) == 4.0
    # log(1 + e^0) and log(1 + e^-3)
    crossentropy = keras.losses.BinaryCrossentropy(from_logits=True)
    assert float(crossentropy(y, y_pred)) == pytest.approx((0.693147 + 0.048587) / 2, rel=1e-5)
    mean = keras.metrics.Mean(name="loss")
    mean.update_state(tf.constant([1.0, 5.0]))
    assert float(mean.result()) == 3.0 and mean.name == "loss"
    error, percentage = (
        keras.metrics.MeanAbsoluteError(name="mae"),
        tf.keras.metrics.MeanAbsolutePercentageError(),
    )
    for metric in (error, percentage):
        metric.update_state(tf.ones((2, 1)), tf.constant([[1.0], [1.5]]), None)
    assert (float(error.result()), float(percentage.result())) == (0.25, 25.0)
    assert percentage.name == "mean_absolute_percentage_error"
    assert float(keras.optimizers.Adam(learning_rate=0.0003).learning_rate) == pytest.approx(0.0003)
    for name in ("adam", "sgd", "rmsprop"):
        assert type(names.optimizers.get(name)).__name__.lower() == name
    for name in ("mse", "mae"):
        assert keras.losses.get(name)(y, y_pred).numpy().tolist() == [
            0.0,
            4.0 if name == "mse" else 2,
        ]

    file = io.BytesIO()
    digits = np.zeros((2, 28, 28), "uint8")
    labels = np.array([3, 4], "uint8")
    np.savez(file, x_train=digits, y_train=labels, x_test=digits[:1], y_test=labels[:1])
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets" / "mnist.npz").write_bytes(file.getvalue())
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    monkeypatch.setattr(_grayscale_images, "_MNIST_HASH", None)
    (x_train, _), (x_test, _) = keras.datasets.mnist.load_data()
    assert np.concatenate([x_train, x_test]).shape == (3, 28, 28)


MODEL_ATTRIBUTES = """
    compile fit evaluate predict build call __call__ train_step test_step predict_step eval_step
    make_train_function make_test_function make_predict_function train_function train_tf_function
    predict_function train_on_batch compiled_loss compiled_metrics losses metrics reset_metrics
    trainable_variables trainable_weights optimizer distribute_strategy run_eagerly
    steps_per_execution save save_weights load_weights _train_counter _test_counter _predict_counter
    _cluster_coordinator _is_compiled _jit_compile _steps_per_execution _validate_compile
"""


def test_attributes_of_models_optimizers_and_metrics(names):
    """Models, optimizers and metrics have the attributes that the documents read and override."""
    keras = names.keras
    model = make_network()
    model.compile("sgd", "mse", metrics=["mae"])
    for name in MODEL_ATTRIBUTES.split():
        assert hasattr(model, name), name
    loss, error = model.train_on_batch(X, Y)
    assert float(model.metrics[0].result()) == loss and type(error) is float
    model.reset_metrics()
    assert [float(metric.result()) for metric in model.metrics] == [0.0, 0.0]
    assert model.trainable_variables == model.trainable_weights and len(model.losses) == 0
    assert model._cluster_coordinator is None and model._is_compiled and not model._jit_compile
    assert model._steps_per_execution.numpy().item() == model._steps_per_execution.value() == 1
    eager = model.eval_step((names.tf.constant(X), names.tf.constant(Y)))
    assert list(eager) == ["loss", "mae"]

    variable = names.tf.Variable(2.0)
    optimizer = keras.optimizers.SGD(0.25)
    with names.tf.GradientTape() as tape:
        loss = variable * variable
    optimizer.minimize(loss, [variable], tape=tape)
    assert float(variable.numpy()) == 1.0
    with names.tf.GradientTape() as tape:
        loss = variable * variable
    optimizer.apply_gradients(zip(tape.gradient(loss, [variable]), [variable]))
    assert float(variable.numpy()) == 0.5
    metric = keras.metrics.Mean(name="m")
    for reset in (metric.reset_state, metric.reset_states):
        metric.update_state(3.0)
        assert float(metric.result()) == 3.0 and metric.name == "m"
        reset()


def test_helpers_of_the_training_loop(names, tmp_path):
    """The helpers of Keras 2's loop, under the paths of its sources, do what the documents show."""
    tf, training, data_adapter = names.tf, names.training, names.data_adapter
    handler = data_adapter.DataHandler(X, Y, batch_size=5, epochs=2, steps_per_execution=2)
    assert isinstance(handler.adapter, data_adapter.DataAdapter)
    assert handler.adapter.should_recreate_iterator() and handler.adapter.on_epoch_end() is None
    seen = []
    for epoch, iterator in handler.enumerate_epochs():
        with handler.catch_stop_iteration():
            for step in handler.steps():
                data = next(iterator)
                assert not handler.should_sync
                seen.append((epoch, step, step + handler.step_increment, len(data[0])))
    assert seen[0][:3] == (0, 0, 1) and seen[1][:3] == (0, 2, 2) and len(seen) == 4
    assert data_adapter.unpack((1, 2)) == (1, 2)
    assert data_adapter.unpack_x_y_sample_weight((1, 2)) == (1, 2, None)
    assert data_adapter.unpack_x_y_sample_weight((1, 2, 3)) == (1, 2, 3)
    assert data_adapter.expand_1d(tf.constant([1.0])).shape == (1, 1)

    model = make_network()
    model.compile("sgd", "mse")
    assert isinstance(model.compiled_loss, names.compile_utils.LossesContainer)
    model.layers[-1].trainable = False
    with names.training_utils.RespectCompiledTrainableState(model):
        assert len(model.trainable_variables) == 4
    assert len(model.trainable_variables) == 2
    training._disallow_inside_tf_function("fit")
    with pytest.raises(RuntimeError, match=r"`fit` was called inside .*`model\(x\)`"):
        tf.function(lambda: training._disallow_inside_tf_function("fit"))()
    assert training.concat([tf.ones((2, 1)), tf.zeros((1, 1))]).numpy().ravel().tolist() == [
        1,
        1,
        0,
    ]
    assert training._minimum_control_deps({"loss": tf.constant(1.0)}) == []
    assert training.write_scalar_summaries({"loss": tf.constant(1.0)}, step=1) is None

    weights = tmp_path / "weights"
    model.save_weights(weights)
    assert training._detect_save_format(weights)[1] == "tf"
    assert names.saving_utils.is_hdf5_filepath("w.h5")
    assert not names.saving_utils.is_hdf5_filepath(str(weights))
    assert not names.sm_loader.contains_saved_model(str(tmp_path))
    assert names.sm_constants.VARIABLES_DIRECTORY == names.sm_constants.VARIABLES_FILENAME
    assert names.context.async_wait() is None


def test_nests_and_phases_of_tensorflow(names):
    """`nest.map_structure`, `map_structure_up_to`, `sync_to_numpy_or_python_type` and
    `inside_function`, as the text of `predict` in 002 uses them.
    """
    nest, training, tf = names.nest, names.training, names.tf
    outputs = None
    for batch in (X10[:6], X10[6:]):
        batch_outputs = {"a": tf.constant(batch), "b": (tf.constant(batch * 2.0),)}
        if outputs is None:
            outputs = nest.map_structure(lambda batch_output: [batch_output], batch_outputs)
        else:
            nest.map_structure_up_to(
                batch_outputs,
                lambda output, batch_output: output.append(batch_output),
                outputs,
                batch_outputs,
            )
    joined = nest.map_structure_up_to(batch_outputs, training.concat, outputs)
    result = names.tf_utils.sync_to_numpy_or_python_type(joined)
    assert type(result["a"]) is np.ndarray
    np.testing.assert_array_equal(result["a"], X10)
    np.testing.assert_array_equal(result["b"][0], 2.0 * X10)
    assert names.tf_utils.sync_to_numpy_or_python_type(tf.constant(2.0)) == 2.0

    phases = []
    names.def_function.function(lambda: phases.append(names.ops.inside_function()))()
    assert set(phases) == {True} and names.ops.inside_function() is False


def test_hooks_of_callbacks_are_called(names):
    """Each hook that the documents name is called by `fit` or `predict`."""
    events = []
    model = make_network()
    model.compile("sgd", "mse")
    recorder = make_recorder(names.tf, events)
    model.fit(X, Y, verbose=0, callbacks=[recorder])
    model.predict(X, verbose=0, callbacks=[recorder])
    assert [event.split()[0] for event in events] == [
        "on_train_begin", "on_epoch_begin", "on_train_batch_begin", "on_train_batch_end",
        "on_epoch_end", "on_train_end", "on_predict_begin", "on_predict_batch_begin",
        "on_predict_batch_end", "on_predict_end",
    ]  # fmt: skip
    assert type(model.history) is names.keras.callbacks.History
