"""`keras.preprocessing` and `keras.utils` of Keras 2: in `fit`, with files, and errors."""

import numpy as np
import pytest

import podium
from podium import compat
from podium.compat import keras

image = keras.preprocessing.image


def classifier(shape, classes):
    layers = [podium.Input(shape), podium.layers.Flatten(), podium.layers.Dense(classes)]
    model = podium.Sequential(layers)
    model.compile("sgd", podium.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


def test_fit_evaluate_and_predict_read_batches_of_a_generator():
    x, y = np.ones((10, 4, 4, 3), "float32"), np.arange(10) % 2
    generator = image.ImageDataGenerator(horizontal_flip=True, rescale=0.1)
    model = classifier((4, 4, 3), 2)
    history = model.fit(generator.flow(x, y, batch_size=4, seed=1), epochs=3, verbose=0)
    assert len(history.history["loss"]) == 3 and int(model.optimizer.iterations) == 9
    flow = generator.flow(x, y, batch_size=4, shuffle=False)
    model.fit(flow, steps_per_epoch=2, epochs=2, verbose=0, validation_data=flow)
    assert int(model.optimizer.iterations) == 13
    assert np.isfinite(model.evaluate(flow, verbose=0))
    assert model.predict(generator.flow(x, batch_size=4, shuffle=False), verbose=0).shape == (10, 2)


def test_timeseries_generator_trains():
    series = np.arange(30.0, dtype="float32")
    batches = keras.preprocessing.sequence.TimeseriesGenerator(series, series, 4, batch_size=5)
    model = podium.Sequential([podium.Input((4,)), podium.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(batches, epochs=2, verbose=0)
    assert int(model.optimizer.iterations) == 2 * len(batches) == 12


def test_transformed_images_are_saved(tmp_path):
    generator = image.ImageDataGenerator()
    next(generator.flow(np.ones((2, 4, 4, 3)), save_to_dir=tmp_path, save_prefix="a", seed=1))
    names = sorted(path.name for path in tmp_path.iterdir())
    assert len(names) == 2 and all(name.startswith("a_") for name in names)


def test_load_img_in_gray(tmp_path):
    path = tmp_path / "image.png"
    keras.utils.save_img(path, np.zeros((6, 8, 3)))
    with pytest.warns(UserWarning, match=r"use `color_mode=\"grayscale\"`"):
        assert keras.utils.load_img(path, grayscale=True).mode == "L"
    assert image.load_img(path, color_mode="rgba").mode == "RGBA"
    with pytest.raises(TypeError, match=r"Pass `color_mode='rgb'` by name"):
        keras.utils.load_img(path, "rgb")


def test_vocabulary_of_embeddings_from_a_file(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("b\na\n")
    matrix = keras.utils.warmstart_embedding_matrix(
        path, podium.ops.array([1, 2]), np.ones((2, 3), "float32"), "zeros"
    )
    np.testing.assert_array_equal(matrix, np.zeros((2, 3)))
    matrix = keras.utils.warmstart_embedding_matrix(str(path), ("c", "b"), np.ones((2, 3)), "zeros")
    np.testing.assert_array_equal(matrix, [[0, 0, 0], [1, 1, 1]])


def test_enqueuers_raise_errors_of_their_workers_and_stop():
    def broken():
        yield 1
        raise OSError("disk")

    enqueuer = keras.utils.GeneratorEnqueuer(broken())
    enqueuer.start()
    stream = enqueuer.get()
    assert next(stream) == 1
    with pytest.raises(OSError, match="disk"):
        next(stream)
    assert not enqueuer.is_running()
    shuffled = keras.utils.OrderedEnqueuer([1, 2, 3], shuffle=True)
    shuffled.start(workers=2, max_queue_size=1)
    with pytest.raises(RuntimeError, match=r"is running\. Call `stop` first"):
        shuffled.start()
    batches = shuffled.get()
    assert sorted(next(batches) for _ in range(3)) == [1, 2, 3]
    shuffled.stop()
    assert list(batches) == []
    with pytest.warns(UserWarning, match=r"its workers are threads"):
        keras.utils.OrderedEnqueuer([1], use_multiprocessing=True)


def test_statistics_that_are_missing_are_warned_about():
    with pytest.warns(UserWarning, match=r"turns featurewise_center on"):
        generator = image.ImageDataGenerator(featurewise_std_normalization=True)
    with pytest.warns(UserWarning) as warned:
        generator.standardize(np.ones((2, 2, 3)))
    texts = [str(warning.message) for warning in warned]
    assert [text.split(" of the")[0] for text in texts] == ["The mean", "The standard deviation"]


def test_keras_utils_has_podiums_names_and_those_of_keras_2():
    assert keras.utils.get_file is podium.utils.get_file
    assert {"to_ordinal", "get_file"} <= set(dir(keras.utils))
    assert not hasattr(podium.utils, "to_ordinal")
    with pytest.raises(AttributeError, match=r"Nearest: keras\.utils\.to_ordinal"):
        _ = keras.utils.to_ordinals
    compat.install()
    try:
        exec("from tensorflow.keras.preprocessing.image import ImageDataGenerator")
        exec("from tensorflow.keras.preprocessing.text import Tokenizer")
        exec("from tf_keras.utils import to_ordinal, to_categorical")
        exec("from keras.preprocessing.sequence import TimeseriesGenerator")
    finally:
        compat.uninstall()


IMAGES = np.ones((4, 2, 2, 3))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: image.ImageDataGenerator(validation_split=2), ValueError, r"a fraction below 1"),
        (lambda: image.ImageDataGenerator(zoom_range=(1, 2, 3)), ValueError, r"a number or a pair"),
        (lambda: image.ImageDataGenerator(brightness_range=1), ValueError, r"a pair of numbers"),
        (lambda: image.ImageDataGenerator(data_format="last"), ValueError, r"data_format"),
        (lambda: image.ImageDataGenerator().flow(IMAGES, [1]), ValueError, r"equal lengths"),
        (lambda: image.ImageDataGenerator().flow(IMAGES[0]), ValueError, r"four dimensions"),
        (lambda: image.ImageDataGenerator().flow(IMAGES)[9], IndexError, r"there are 1 batches"),
        (
            lambda: image.ImageDataGenerator(validation_split=0.5).flow(
                IMAGES, [0, 0, 1, 1], subset="training"
            ),
            ValueError,
            r"classes of the training and the validation subset differ",
        ),
        (
            lambda: image.ImageDataGenerator().flow(IMAGES, subset="test"),
            ValueError,
            r"subset",
        ),
        (lambda: image.random_zoom(IMAGES[0], (1,)), ValueError, r"a pair was expected"),
        (lambda: image.apply_affine_transform(IMAGES), ValueError, r"one image with a dimension"),
        (
            lambda: image.apply_affine_transform(IMAGES[0], row_axis=0),
            ValueError,
            r"channels first or last",
        ),
        (
            lambda: keras.preprocessing.text.Tokenizer().texts_to_matrix(["a"]),
            ValueError,
            r"width of the matrix is unknown",
        ),
        (
            lambda: keras.preprocessing.text.Tokenizer(3).texts_to_matrix(["a"], "tfidf"),
            ValueError,
            r"needs counts",
        ),
        (
            lambda: keras.preprocessing.text.tokenizer_from_json("{}"),
            ValueError,
            r"the result of `Tokenizer\.to_json` was expected",
        ),
        (
            lambda: keras.preprocessing.text.hashing_trick("a", 9, "sha"),
            ValueError,
            r"'md5', a function or None",
        ),
        (
            lambda: keras.preprocessing.sequence.TimeseriesGenerator([1, 2], [1], 1),
            ValueError,
            r"a target for each step",
        ),
        (
            lambda: keras.preprocessing.sequence.TimeseriesGenerator([1, 2], [1, 2], 3),
            ValueError,
            r"leave no window",
        ),
        (lambda: keras.utils.to_ordinal([3], num_classes=2), ValueError, r"from 0 to 1 were"),
        (
            lambda: keras.utils.warmstart_embedding_matrix([], ["a"], np.ones((1, 1))),
            ValueError,
            r"at least one word",
        ),
    ],
)
def test_wrong_arguments_raise(call, error, message):
    with pytest.raises(error, match=message):
        call()
