"""The names of TensorFlow that scripts use exist and behave like TensorFlow's."""

import numpy as np
import pytest
from jax.experimental import sparse

import podium
from podium.compat import keras
from podium.compat import tensorflow as tf

# Ordered by how many real scripts use them, without names that need strings, TensorFlow's files or
# several devices.
USED = {
    "tf": "GradientTape shape reduce_mean cast concat reduce_sum reshape zeros exp "
    "expand_dims range matmul "
    "convert_to_tensor clip_by_value squeeze ones Variable square constant argmax "
    "one_hot function transpose tile "
    "where cos sqrt stop_gradient gather split newaxis reduce_max minimum stack eye "
    "repeat abs maximum linspace "
    "ones_like map_fn pad norm sin Tensor einsum floor get_logger device equal pow "
    "reduce_min zeros_like "
    "clip_by_norm cond random_uniform_initializer sigmoid unstack multiply TensorSpec "
    "add broadcast_to fill "
    "identity meshgrid reverse round IndexedSlices acos argmin argsort reduce_prod sign "
    "size tanh tensordot "
    "not_equal TensorShape constant_initializer cumsum greater initializers "
    "numpy_function reduce_any TensorArray "
    "__version__ complex divide dynamic_partition gather_nd greater_equal is_tensor "
    "less logical_not logical_or "
    "losses negative nest optimizers py_function random_normal_initializer roll "
    "sequence_mask slice unique float32 "
    "int32 int64 float64 bool string uint8 complex64 int8 VariableAggregation "
    "control_dependencies keras data",
    "tf.math": "l2_normalize log exp reduce_mean pow reduce_std cos sin sqrt top_k reduce_max "
    "minimum reduce_prod argmax "
    "reduce_sum unsorted_segment_sum not_equal bincount divide equal less logical_not "
    "maximum square cumprod "
    "greater_equal logical_and round ceil unsorted_segment_max unsorted_segment_mean "
    "abs confusion_matrix cumsum "
    "divide_no_nan floordiv floormod real sigmoid softmax squared_difference tanh",
    "tf.nn": "softmax gelu relu moments conv2d dropout leaky_relu sigmoid depth_to_space "
    "avg_pool2d log_softmax tanh "
    "embedding_lookup l2_normalize sigmoid_cross_entropy_with_logits swish",
    "tf.image": "resize random_flip_left_right random_crop convert_image_dtype "
    "crop_to_bounding_box rgb_to_grayscale psnr "
    "ResizeMethod random_brightness random_contrast random_hue random_saturation extract_patches "
    "pad_to_bounding_box flip_left_right ssim central_crop crop_and_resize "
    "image_gradients resize_with_pad rot90 "
    "rgb_to_yuv",
    "tf.linalg": "set_diag matmul diag_part einsum matrix_transpose normalize",
    "tf.random": "uniform normal set_seed shuffle categorical gamma Generator",
    "tf.signal": "stft linear_to_mel_weight_matrix fft2d fft",
    "tf.config": "list_logical_devices list_physical_devices optimizer experimental "
    "run_functions_eagerly",
    "tf.dtypes": "float32 bool int32 int64 complex64 float64 string",
    "tf.data": "AUTOTUNE Dataset Options experimental",
    "tf.distribute": "get_strategy Strategy OneDeviceStrategy",
    "tf.errors": "OutOfRangeError",
    "keras": "Model Input Sequential __version__ layers losses metrics optimizers callbacks "
    "utils datasets models "
    "initializers regularizers activations constraints backend mixed_precision saving "
    "ops random preprocessing "
    "config",
    "keras.backend": "random_normal clear_session ctc_batch_cost ctc_decode epsilon abs "
    "get_value image_data_format int_shape "
    "mean set_value sum",
    "keras.mixed_precision": "set_global_policy Policy",
    "keras.utils": "get_file array_to_img img_to_array load_img save_img set_random_seed "
    "to_categorical plot_model pad_sequences "
    "register_keras_serializable",
    "keras.datasets": "mnist cifar10 fashion_mnist cifar100 imdb",
    "keras.optimizers": "legacy schedules",
    "keras.preprocessing.sequence": "skipgrams pad_sequences",
}


@pytest.mark.parametrize("namespace", USED)
def test_names_that_scripts_use_exist(namespace):
    module = {"tf": tf, "keras": keras}[namespace.split(".")[0]]
    for part in namespace.split(".")[1:]:
        module = getattr(module, part)
    missing = [name for name in USED[namespace].split() if not hasattr(module, name)]
    assert not missing


def test_keras_has_every_public_name_of_podium():
    only_in_podium = ("compat", "execution", "state", "telemetry", "testing")
    names = [name for name in dir(podium) if not name.startswith("_")]
    missing = [name for name in names if not hasattr(keras, name)]
    assert [name for name in missing if name not in only_in_podium] == []


@pytest.mark.parametrize(
    ("module", "name", "message"),
    [
        (
            tf,
            "reduce_men",
            r"tf\.reduce_men is not in Podium's subset of TensorFlow\. Nearest: tf\.reduce_mean",
        ),
        (
            tf.math,
            "coss",
            r"tf\.math\.coss is not in Podium's subset of TensorFlow\. Nearest: tf\.math\.cos",
        ),
        (keras, "no_such_name", r"keras\.no_such_name is not in Podium's subset of Keras"),
    ],
)
def test_missing_name_raises_with_nearest_names(module, name, message):
    with pytest.raises(AttributeError, match=message):
        getattr(module, name)


def test_dtypes_are_accepted_by_podium_and_numpy():
    assert (
        tf.float32.name == "float32"
        and repr(tf.float32) == "tf.float32"
        and f"{tf.float32}" == "float32"
    )
    assert (
        tf.float32 == "float32" == tf.float32
        and tf.float32 == np.float32
        and tf.float32 != tf.int32
    )
    assert np.dtype("float32") == tf.float32 and np.zeros(2, tf.uint8).dtype == np.uint8
    assert tf.zeros(2).dtype == tf.float32 and {tf.float32: 1}["float32"] == 1
    assert podium.layers.Dense(1, dtype=tf.float16).compute_dtype == "float16"
    assert (
        tf.as_dtype(bool) == tf.bool
        and tf.as_dtype("half") is not None
        and tf.uint8.max == 255
        and tf.float32.max > 3e38
    )
    assert (
        tf.bool.is_bool
        and tf.complex64.is_complex
        and tf.int8.size == 1
        and tf.string.as_numpy_dtype is object
    )


@pytest.mark.parametrize("dtype", ["int64", "float64", "uint64"])
def test_64_bit_dtypes_are_32_bits_without_a_warning(dtype):
    tf_dtype = tf.as_dtype(dtype)
    values = [
        tf.cast([1.0], tf_dtype),
        tf.constant([1], tf_dtype),
        tf.zeros(1, tf_dtype),
        tf.ones_like([1], tf_dtype),
        tf.Variable([1], dtype=tf_dtype),
    ]
    assert {str(value.dtype) for value in values} == {dtype.replace("64", "32")}


def test_shape_is_known_inside_compiled_functions():
    @tf.function
    def step(x):
        batch = tf.shape(x)[0]
        noise = tf.random.normal(shape=(batch, 3))
        labels = tf.concat([tf.ones((batch, 1)), tf.zeros((batch // 2, 1))], axis=0)
        labels += 0.05 * tf.random.uniform(tf.shape(labels))
        positions = tf.range(start=0, limit=tf.shape(x)[-1], delta=1)
        repeats = tf.concat(
            [tf.expand_dims(batch, -1), tf.constant([1, 1], dtype=tf.int32)], axis=0
        )
        mask = tf.tile(tf.reshape(tf.range(4), (1, 2, 2)), repeats)
        flat = tf.reshape(x, [tf.shape(x)[0], -1])
        halves = tf.reshape(
            x, tf.concat([tf.shape(x)[:1] * 2, [tf.reduce_prod(tf.shape(x)[1:]) // 2]], 0)
        )
        return noise, labels, positions, mask, flat, halves

    shapes = [value.shape for value in step(tf.zeros((4, 3, 6)))]
    assert shapes == [(4, 3), (6, 1), (6,), (4, 2, 2), (4, 18), (8, 9)]


def test_arrays_created_from_shapes_are_not_program_constants():
    import jax

    @tf.function
    def create():
        created.append([tf.zeros((8, 8)), tf.ones((8, 8), tf.int32), tf.fill((8, 8), 1)])
        return created[-1]

    created = []
    create()
    assert all(isinstance(tensor._value, jax.core.Tracer) for tensor in created[0])


def test_shape_has_vector_arithmetic():
    sizes = tf.shape(np.zeros((6, 4, 2)))
    assert (
        sizes[1:] * 2 == (8, 4)
        and sizes + 1 == (7, 5, 3)
        and 1 + sizes == (7, 5, 3)
        and sizes // 2 == (3, 2, 1)
    )
    assert isinstance(sizes[:2], tuple) and sizes.shape == (3,) and sizes.numpy().dtype == np.int32
    np.testing.assert_allclose((sizes / 2).numpy(), [3, 2, 1])
    np.testing.assert_allclose(tf.cast(sizes, tf.float32).numpy(), [6, 4, 2])
    assert (10 - sizes) == (4, 6, 8) and sizes % 4 == (2, 0, 2) and tf.reduce_prod(sizes) == 48


def test_unknown_size_raises_with_advice():
    with pytest.raises(
        ValueError, match=r"The shape \(None, 2\) has an unknown size.*`call` method of a layer"
    ):
        tf.zeros((tf.shape(keras.Input((3,)))[0], 2))


def test_variable_takes_tensorflow_arguments():
    aggregation = tf.VariableAggregation.ONLY_FIRST_REPLICA
    counter = tf.Variable(0, dtype="int64", aggregation=aggregation, trainable=False)
    assert counter.aggregation == "only_first_replica" and not counter.trainable
    counter.assign_add(2)
    assert (
        counter.numpy() == 2
        and counter.read_value().numpy() == 2
        and isinstance(counter, tf.Variable)
    )
    assert isinstance(keras.layers.Dense(1).add_weight(shape=(1,)), tf.Variable) and not isinstance(
        tf.ones(1), tf.Variable
    )
    assert tf.Variable(initial_value=lambda: 1.0, name="a/b:0", shape=()).name == "a_b_0"
    with pytest.raises(ValueError, match="no initial_value"):
        tf.Variable()
    with pytest.raises(ValueError, match="Unknown aggregation 'most'"):
        tf.Variable(1.0, aggregation="most")


def test_functions_work_with_tapes_and_graphs():
    x = tf.Variable([3.0, 4.0])
    with tf.GradientTape() as tape:
        y = tf.math.l2_normalize(x)[0] + tf.reduce_sum(tf.nn.softmax(x) * x) + tf.norm(x)
    assert np.isfinite(tape.gradient(y, x).numpy()).all()
    inputs = keras.Input((4,))
    outputs = tf.concat(
        [tf.nn.relu(inputs), tf.expand_dims(tf.reduce_mean(inputs, axis=-1), -1)], axis=-1
    )
    model = keras.Model(inputs, outputs)
    assert model(np.ones((2, 4), "float32")).shape == (2, 5)


def test_seeded_sequences_continue_and_set_seed_restarts_them():
    tf.random.set_seed(3)
    first, second = tf.random.normal((4,), seed=1).numpy(), tf.random.normal((4,), seed=1).numpy()
    assert not np.allclose(first, second)
    tf.random.set_seed(3)
    np.testing.assert_array_equal(tf.random.normal((4,), seed=1).numpy(), first)

    sample = tf.function(lambda: tf.random.uniform((4,), seed=7))
    assert not np.allclose(sample().numpy(), sample().numpy())


def test_print_prints_when_the_value_is_computed(capfd):
    import jax

    step = tf.function(lambda x: [tf.print("x is", x * 2), x][1])
    step(tf.constant(3))
    step(tf.constant(4))
    jax.effects_barrier()
    assert [line for line in capfd.readouterr().err.splitlines() if line.startswith("x is")] == [
        "x is 6",
        "x is 8",
    ]


def test_exhausted_iterator_raises_out_of_range_inside_and_outside_functions():
    iterator = iter(tf.data.Dataset.range(3).batch(2))
    read = tf.function(lambda iterator: tf.reduce_sum(next(iterator)))
    assert int(read(iterator)) == 1 and int(read(iterator)) == 2
    with pytest.raises(tf.errors.OutOfRangeError):
        read(iterator)
    with pytest.raises(tf.errors.OutOfRangeError):
        next(iterator)


def test_config_lists_devices():
    assert tf.config.list_physical_devices("CPU") and tf.config.list_physical_devices("GPU") == []
    tf.config.run_functions_eagerly(True)
    assert tf.config.functions_run_eagerly()
    tf.config.run_functions_eagerly(False)


def test_backend_reads_and_writes_variables():
    rate = tf.Variable(0.1)
    keras.backend.set_value(rate, 0.5)
    assert float(keras.backend.get_value(rate)) == 0.5
    with pytest.raises(TypeError, match="a Variable was expected"):
        keras.backend.set_value(0.1, 0.5)


def test_nest_preserves_the_order_of_keys():
    structure = {"b": 1, "a": (2, [3])}
    assert tf.nest.flatten(structure) == [2, 3, 1]
    assert tf.nest.pack_sequence_as(structure, [20, 30, 10]) == {"b": 10, "a": (20, [30])}
    assert list(tf.nest.map_structure(lambda x: x, structure)) == ["b", "a"]
    with pytest.raises(ValueError, match="differ; the same lists"):
        tf.nest.assert_same_structure([1, 2], [1, [2]])
    with pytest.raises(ValueError, match="differ; the same lists"):
        tf.nest.map_structure(lambda x, y: x, [1], (1,))
    assert tf.nest.map_structure(lambda x, y: (x, y), [1, {"a": 2}], [3, {"a": 4}]) == [
        (1, 3),
        {"a": (2, 4)},
    ]


def test_nest_does_not_look_into_none_replicas_and_sparse_values():
    values = podium.distribute.PerReplica(np.ones((2, 1), "float32"))
    rows = sparse.BCOO.fromdense(np.eye(2, dtype="float32"))
    seen = []
    tf.nest.map_structure(seen.append, {"none": None, "replicas": values, "sparse": [rows]})
    assert seen[0] is None and seen[1] is values and seen[2] is rows


def test_functions_of_tf_image_are_always_channels_last():
    images = np.random.default_rng(0).uniform(size=(2, 12, 12, 3)).astype("float32")
    size = [1, 2, 2, 1]
    calls = [
        lambda: tf.image.resize(images, (6, 6)),
        lambda: tf.image.rgb_to_grayscale(images),
        lambda: tf.image.hsv_to_rgb(tf.image.rgb_to_hsv(images)),
        lambda: tf.image.adjust_hue(images, 0.2),
        lambda: tf.image.adjust_saturation(images, 0.2),
        lambda: tf.image.ssim(images, images[:, ::-1], 1.0),
        lambda: tf.image.extract_patches(images, size, size, [1, 1, 1, 1], "VALID"),
    ]
    expected = [call().numpy() for call in calls]
    keras.backend.set_image_data_format("channels_first")
    try:
        results = [call().numpy() for call in calls]
    finally:
        keras.backend.set_image_data_format("channels_last")
    for result, value in zip(results, expected, strict=True):
        np.testing.assert_array_equal(result, value)
