"""Cases of `keras.preprocessing` and `keras.utils`: tf_keras runs them when fixtures are recorded,
Podium in the tests.
"""

import io
import json
import pathlib
import tempfile
from contextlib import redirect_stdout

import numpy as np

TEXTS = ["The cat sat on the mat.", "The dog & the cat; the END", "a\tbird\nsat", ""]


def _images(count=5, height=6, width=7, channels=3):
    values = np.random.default_rng(0).integers(0, 255, (count, height, width, channels))
    return values.astype("float32")


def words(keras):
    text = keras.preprocessing.text
    return [
        text.text_to_word_sequence("Hello, (big) World! it's"),
        text.text_to_word_sequence("A,b;C", filters=";", lower=False, split=","),
        text.hashing_trick("a big big world", 50, hash_function="md5"),
        text.hashing_trick("a b", 7, hash_function=len, analyzer=list),
    ]


def _tokenize(keras, **kwargs):
    tokenizer = keras.preprocessing.text.Tokenizer(**kwargs)
    tokenizer.fit_on_texts([*TEXTS, ["Some", "cat"]])
    unseen = [*TEXTS, "the unicorn sat", ["the", "Unicorn"]]
    sequences = tokenizer.texts_to_sequences(unseen)
    restored = keras.preprocessing.text.tokenizer_from_json(tokenizer.to_json())
    return [
        tokenizer.word_index,
        dict(tokenizer.word_counts),
        sorted(tokenizer.word_docs.items()),
        sorted(tokenizer.index_docs.items()),
        sequences,
        tokenizer.sequences_to_texts([*sequences, [1, 99]]),
        [tokenizer.texts_to_matrix(unseen, mode) for mode in ("binary", "count", "freq", "tfidf")],
        restored.texts_to_sequences(unseen) == sequences,
        restored.get_config() == tokenizer.get_config(),
    ]


def tokenizer(keras):
    return [
        _tokenize(keras),
        _tokenize(keras, num_words=4),
        _tokenize(keras, num_words=5, oov_token="<unk>", lower=False),
        _tokenize(keras, char_level=True),
    ]


def tokenizer_of_sequences(keras):
    tokenizer = keras.preprocessing.text.Tokenizer(num_words=6)
    tokenizer.fit_on_sequences([[1, 2, 2], [2, 5, 9], []])
    return tokenizer.sequences_to_matrix([[1, 2, 2, 9], []], mode="tfidf")


def timeseries(keras):
    data = np.arange(40.0).reshape(20, 2)
    targets = np.arange(20.0)
    results = []
    for kwargs in (
        {"length": 5, "batch_size": 4},
        {"length": 6, "sampling_rate": 2, "stride": 3, "batch_size": 2, "reverse": True},
        {"length": 3, "start_index": 4, "end_index": 12, "batch_size": 3},
    ):
        batches = keras.preprocessing.sequence.TimeseriesGenerator(data, targets, **kwargs)
        results.append([len(batches), *(list(batches[i]) for i in range(len(batches)))])
        config = batches.get_config()
        results.append([config["start_index"], config["end_index"], config["data"]])
    np.random.seed(3)
    shuffled = keras.preprocessing.sequence.TimeseriesGenerator(
        data, targets, 4, shuffle=True, batch_size=3
    )
    return [*results, list(shuffled[0])]


def affine_transforms(keras):
    image = keras.preprocessing.image
    x = _images(1)[0]
    last = {"row_axis": 0, "col_axis": 1, "channel_axis": 2}
    return [
        image.apply_affine_transform(x, theta=30, **last),
        image.apply_affine_transform(x, tx=1.5, ty=-1, fill_mode="constant", cval=9, **last),
        image.apply_affine_transform(x, shear=20, zx=0.8, zy=1.3, fill_mode="reflect", **last),
        image.apply_affine_transform(x, 10, 1, 2, 5, 0.9, 1.1, fill_mode="wrap", order=3, **last),
        image.apply_affine_transform(x.transpose(2, 0, 1), theta=15, tx=1),
        image.apply_affine_transform(x, tx=1, row_axis=1, col_axis=0, channel_axis=2),
        image.apply_affine_transform(x, **last),
    ]


def random_images(keras):
    image = keras.preprocessing.image
    x = _images(1)[0]
    last = {"row_axis": 0, "col_axis": 1, "channel_axis": 2}
    np.random.seed(1)
    return [
        image.random_rotation(x, 40, **last),
        image.random_shift(x, 0.3, 0.2, **last),
        image.random_shear(x, 25, fill_mode="constant", cval=1.0, **last),
        image.random_zoom(x, (0.7, 1.4), interpolation_order=0, **last),
        image.random_zoom(x, (1, 1), **last),
        image.random_channel_shift(x, 60, channel_axis=2),
        image.apply_channel_shift(x, 30, channel_axis=2),
        image.random_brightness(x, (0.5, 1.5)),
        image.apply_brightness_shift(x, 1.3, scale=False),
        image.apply_brightness_shift(x - 100, 0.7, scale=False),
        image.apply_brightness_shift(x, 0.6, scale=True),
    ]


SETTINGS = [
    {"rotation_range": 30, "width_shift_range": 0.2, "height_shift_range": 0.1},
    {"width_shift_range": 3, "height_shift_range": [-2, 2], "horizontal_flip": True},
    {"width_shift_range": 1.5, "zoom_range": 0.3, "vertical_flip": True, "rescale": 1 / 255},
    {"shear_range": 20, "zoom_range": (0.8, 0.9), "channel_shift_range": 40.0, "cval": 5.0},
    {"brightness_range": (0.5, 1.5), "samplewise_center": True, "fill_mode": "constant"},
    {"samplewise_center": True, "samplewise_std_normalization": True},
    {"preprocessing_function": np.tanh, "interpolation_order": 0, "rotation_range": 10},
]


def generator_batches(keras):
    results = []
    for settings in SETTINGS:
        generator = keras.preprocessing.image.ImageDataGenerator(**settings)
        np.random.seed(5)
        parameters = generator.get_random_transform((6, 7, 3), seed=4)
        results.append([float(parameters[name] or 0) for name in sorted(parameters)])
        batches = generator.flow(_images(3), np.arange(3), batch_size=2, seed=7)
        results.append([list(next(batches)) for _ in range(3)])
        results.append([len(batches), list(batches[1])])
        batches.on_epoch_end()
        results.append(list(batches[0]))
    return results


def generator_statistics(keras):
    image = keras.preprocessing.image
    x = _images(6, 3, 3)
    normal = image.ImageDataGenerator(
        featurewise_center=True, featurewise_std_normalization=True, rescale=0.1
    )
    normal.fit(x)
    whitening = image.ImageDataGenerator(
        featurewise_center=True, zca_whitening=True, zca_epsilon=0.1
    )
    whitening.fit(x)
    augmented = image.ImageDataGenerator(
        featurewise_center=True, horizontal_flip=True, rotation_range=20
    )
    augmented.fit(x, augment=True, rounds=2, seed=3)
    return [
        normal.mean,
        normal.std,
        normal.standardize(x[0].copy()),
        whitening.standardize(x[0].copy()),
        augmented.mean,
    ]


def generator_arrays(keras):
    generator = keras.preprocessing.image.ImageDataGenerator(validation_split=0.4)
    x, y = _images(5, 2, 2, 1), np.array([0, 1, 0, 1, 1])
    training = generator.flow((x, y * 10), y, shuffle=False, subset="training")
    validation = generator.flow(x, y, shuffle=False, subset="validation", batch_size=1)
    plain = generator.flow(x, batch_size=2, seed=1)
    weighted = generator.flow(x, y, sample_weight=y + 0.5, batch_size=3, shuffle=False)
    first = keras.preprocessing.image.ImageDataGenerator(data_format="channels_first")
    return [
        [list(part) if isinstance(part, list) else part for part in training[0]],
        list(validation[1]),
        next(plain),
        list(weighted[1]),
        first.flow(x.transpose(0, 3, 1, 2), batch_size=2, seed=1)[0],
    ]


def directories(keras):
    results = []
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(io.StringIO()):
        folder = pathlib.Path(folder)
        for index, image in enumerate(_images(7)):
            path = folder / ("cat", "dog", "bird")[index % 3] / f"{index}.bmp"
            path.parent.mkdir(exist_ok=True)
            keras.preprocessing.image.save_img(str(path), image, scale=False)
        (folder / "cat" / "notes.txt").write_text("no image")
        generator = keras.preprocessing.image.ImageDataGenerator(
            validation_split=0.5, horizontal_flip=True
        )
        for kwargs in (
            {"shuffle": False},
            {"seed": 2, "class_mode": "sparse", "color_mode": "grayscale"},
            {"class_mode": "binary", "classes": ["dog", "cat"], "seed": 1},
            {"class_mode": None, "subset": "training", "shuffle": False},
            {"class_mode": "input", "subset": "validation", "interpolation": "bilinear"},
        ):
            np.random.seed(0)
            batches = generator.flow_from_directory(
                str(folder), target_size=(4, 5), batch_size=2, **kwargs
            )
            batch = next(batches)
            results.append(
                [
                    batches.filenames,
                    batches.class_indices,
                    batches.samples,
                    batches.labels,
                    len(batches),
                    list(batch) if isinstance(batch, tuple) else batch,
                ]
            )
    return results


def tables(keras):
    import pandas

    results = []
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(io.StringIO()):
        for index, image in enumerate(_images(5)):
            keras.preprocessing.image.save_img(f"{folder}/{index}.bmp", image, scale=False)
        table = pandas.DataFrame(
            {
                "filename": [f"{index}.bmp" for index in range(5)],
                "class": ["b", "a", "b", "c", "a"],
                "labels": [["b"], ["a", "c"], "b", ("c",), ["z"]],
                "x": [1.0, 2.0, 3.0, 4.0, 5.0],
                "weight": [0.1, 0.2, 0.3, 0.4, 0.5],
            }
        )
        generator = keras.preprocessing.image.ImageDataGenerator(validation_split=0.4)
        for kwargs in (
            {"weight_col": "weight"},
            {"class_mode": "sparse", "subset": "training"},
            {"class_mode": "binary", "classes": ["b", "a"], "color_mode": "grayscale"},
            {"y_col": "labels", "classes": ["a", "b", "c"]},
            {"class_mode": "raw", "y_col": "x"},
            {"class_mode": "raw", "y_col": ["x", "weight"]},
            {"class_mode": "multi_output", "y_col": ["x", "class"]},
            {"class_mode": "input", "validate_filenames": False},
            {"class_mode": None},
        ):
            batches = generator.flow_from_dataframe(
                table, folder, target_size=(2, 3), batch_size=4, shuffle=False, **kwargs
            )
            batch = next(batches)
            results.append([batches.filenames, list(batch) if isinstance(batch, tuple) else batch])
    return results


def utilities(keras):
    utils = keras.utils
    base, new = ["unk", "a", "b", "c"], ["unk", "x", "c", "a"]
    embeddings = np.arange(8, dtype="float32").reshape(4, 2)
    return [
        utils.to_ordinal([0, 1, 2, 3], num_classes=4),
        utils.to_ordinal([[1], [2], [0]]),
        utils.to_ordinal(np.array([[0, 2], [1, 1]]), dtype="int32"),
        utils.warmstart_embedding_matrix(base, new, embeddings, "ones"),
        utils.warmstart_embedding_matrix(base, ["z"], embeddings, "zeros"),
    ]


def enqueuers(keras):
    data = np.arange(8.0)
    batches = keras.preprocessing.sequence.TimeseriesGenerator(data, data, 3, batch_size=2)
    ordered = keras.utils.OrderedEnqueuer(batches)
    ordered.start(workers=2, max_queue_size=2)
    stream = ordered.get()
    results = [list(next(stream)) for _ in range(5)]
    ordered.stop()
    running = ordered.is_running()
    generated = keras.utils.GeneratorEnqueuer(iter([[1.0], [2.0], None, [3.0]]))
    generated.start()
    return [results, running, list(generated.get())]


CASES = [
    words,
    tokenizer,
    tokenizer_of_sequences,
    timeseries,
    affine_transforms,
    random_images,
    generator_batches,
    generator_statistics,
    generator_arrays,
    directories,
    tables,
    utilities,
    enqueuers,
]


def run(case, keras):
    """Return the result of a case as plain lists, dictionaries and numbers."""
    return json.loads(json.dumps(_plain(case(keras))))


def _plain(value):
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "dtype"):
        array = np.asarray(value)
        is_float = array.dtype.kind == "f"
        return array.astype("float64").round(5).tolist() if is_float else array.tolist()
    return value
