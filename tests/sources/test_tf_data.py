"""TensorFlow's tf.data: training equals training on arrays, without copies."""

import numpy as np
import pytest

import podium
from podium.data import DataHandler

tf = pytest.importorskip("tensorflow", reason="needs tensorflow: `make test-sources` installs it")

X = np.random.default_rng(0).normal(size=(22, 3)).astype("float32")
Y = X.sum(1, keepdims=True)


def model():
    podium.utils.set_random_seed(3)
    made = podium.Sequential(
        [podium.Input((3,)), podium.layers.Dense(4, activation="relu"), podium.layers.Dense(1)]
    )
    made.compile("adam", "mse")
    return made


def pipeline(*parts, batch_size=5):
    return tf.data.Dataset.from_tensor_slices(parts or (X, Y)).batch(batch_size)


def unknown_size():
    return tf.data.Dataset.from_tensor_slices((X, Y)).filter(lambda x, y: True).batch(5)


@pytest.mark.parametrize(
    "make",
    [pipeline, unknown_size, lambda: pipeline().with_options(tf.data.Options()).prefetch(2)],
    ids=["known", "unknown", "options"],
)
def test_fit_evaluate_and_predict_equal_arrays(make, equal_to_arrays):
    equal_to_arrays(make, model, X, Y)


def test_known_sizes():
    assert (
        DataHandler(pipeline()).inferred_steps == 5 and not DataHandler(pipeline()).adapter.seekable
    )
    assert DataHandler(unknown_size()).inferred_steps is None
    assert DataHandler(pipeline().repeat(), steps_per_epoch=3).adapter.get_size() is None


def first(source):
    return DataHandler(source).peek()


def test_batches_share_memory_with_tensorflow():
    tensor = tf.constant(X)
    assert np.shares_memory(
        first(tf.data.Dataset.from_tensors((tensor, tensor)))[0], np.asarray(memoryview(tensor))
    )


def test_dtypes_are_narrowed_and_structures_preserved():
    kinds = {
        "float64": "float32",
        "int64": "int32",
        "uint8": "uint8",
        "bool": "bool",
        "bfloat16": "bfloat16",
    }
    parts = {kind: tf.cast(np.ones((4, 1)), kind) for kind in kinds}
    found = first(pipeline(parts, (Y[:4], Y[:4])))
    assert {name: leaf.dtype.name for name, leaf in found[0].items()} == kinds
    assert isinstance(found[1], tuple) and found[1][0].shape == (4, 1)
    with pytest.raises(OverflowError, match="beyond the 32 bits"):
        first(pipeline(np.full(4, 2**40)))


def test_iterator_is_read_once():
    iterator = iter(pipeline())
    made = model()
    made.fit(iterator, steps_per_epoch=2, verbose=0)
    np.testing.assert_array_equal(next(iterator)[0].numpy(), X[10:15])


def test_each_epoch_is_shuffled_by_the_pipeline():
    shuffled = tf.data.Dataset.range(20).shuffle(20, seed=1).batch(20)
    handler = DataHandler(shuffled, epochs=2)
    orders = [iterator.next_group(1)[0].tolist() for _, iterator in handler.enumerate_epochs()]
    assert sorted(orders[0]) == sorted(orders[1]) == list(range(20)) and orders[0] != orders[1]


RAGGED = tf.ragged.constant([[1.0], [1.0, 2.0]])
SPARSE = tf.sparse.from_dense([[1.0, 0.0], [0.0, 1.0]])
TEXT = tf.constant([["a"], ["b"]])


@pytest.mark.parametrize(
    ("source", "kwargs", "error", "message"),
    [
        (
            lambda: pipeline(RAGGED, Y[:2]),
            {},
            TypeError,
            r"component `x` of the tf.data.Dataset `x` is of RaggedTensorSpec.*to_tensor",
        ),
        (
            lambda: pipeline({"a": X[:2], "b": SPARSE}, Y[:2]),
            {},
            TypeError,
            r"component `x\['b'\]`.*SparseTensorSpec.*to_dense",
        ),
        (
            lambda: pipeline(X[:2], TEXT),
            {},
            TypeError,
            "component `y` of the tf.data.Dataset `x` holds strings",
        ),
        (
            lambda: tf.data.Dataset.range(4).window(2),
            {},
            TypeError,
            "component `x`.*DatasetSpec.*flat_map",
        ),
        (pipeline, {"y": Y}, ValueError, "`y` was given, but `x` is a tf.data.Dataset"),
        (pipeline, {"batch_size": 4}, ValueError, r"batch_size=4 was given.*`dataset\.batch\(4\)`"),
        (
            lambda: pipeline().repeat(),
            {},
            ValueError,
            "an infinite tf.data.Dataset; steps_per_epoch was not given",
        ),
        (
            lambda: pipeline().repeat(),
            {"caller": "predict"},
            ValueError,
            "infinite tf.data.Dataset; steps was not given",
        ),
        (lambda: pipeline().take(0), {}, ValueError, "`x` is empty"),
        (
            lambda: tf.data.Dataset.from_tensor_slices((X, Y)),
            {},
            ValueError,
            r"`x` has 3, `y` has 1.*`dataset\.batch\(32\)`",
        ),
        (
            lambda: tf.data.Dataset.from_tensor_slices((X, Y[:, 0])),
            {},
            ValueError,
            r"`y` in batch 0 .* is a single number",
        ),
        (
            lambda: tf.distribute.MirroredStrategy(["CPU:0"]).experimental_distribute_dataset(
                pipeline()
            ),
            {},
            TypeError,
            "is a DistributedDataset.*Give the `tf.data.Dataset`",
        ),
    ],
    ids=[
        "ragged",
        "sparse",
        "text",
        "window",
        "y",
        "batch_size",
        "infinite",
        "predict",
        "empty",
        "rows",
        "row",
        "distributed",
    ],
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_invalid_sources_raise(source, kwargs, error, message):
    with pytest.raises(error, match=message):
        DataHandler(source(), **kwargs)


def test_error_in_the_pipeline_names_the_batch():
    def fail(x):
        if x == 7:
            raise KeyError("row 7")
        return np.float32(x)

    source = (
        tf.data.Dataset.range(10).map(lambda x: tf.numpy_function(fail, [x], tf.float32)).batch(2)
    )
    with pytest.raises(tf.errors.UnknownError, match="row 7") as met:
        for _, iterator in DataHandler(source).enumerate_epochs():
            iterator.next_group(9)
    assert "batch 3 of the tf.data.Dataset" in met.value.__notes__[0]
