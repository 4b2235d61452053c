"""Datasets from directories of images and text: elements, order, reading and errors."""

import builtins
import os

import numpy as np
import pytest
from PIL import Image

import podium
from podium import utils


@pytest.fixture
def image_directory(tmp_path):
    """Ten images of two classes; the pixels of file `n.png` are n."""
    for number in range(10):
        path = tmp_path / ("even" if number % 2 == 0 else "odd") / f"{number}.png"
        path.parent.mkdir(exist_ok=True)
        Image.fromarray(np.full((4, 6, 3), number, np.uint8)).save(path)
    return tmp_path


@pytest.fixture
def text_directory(tmp_path):
    for number in range(6):
        path = tmp_path / ("bad" if number < 3 else "good") / f"{number}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(f"text {number}\r\né".encode())
    return tmp_path


def load_images(directory, **options):
    return utils.image_dataset_from_directory(
        directory, **{"image_size": (2, 2), "verbose": False} | options
    )


def load_texts(directory, **options):
    return utils.text_dataset_from_directory(directory, **{"verbose": False} | options)


def pixel_values(dataset):
    return [int(images[0, 0, 0]) for images, _ in dataset.unbatch().as_numpy_iterator()]


# --- elements


def test_image_batches_have_shapes_labels_and_class_names(image_directory):
    dataset = load_images(image_directory, batch_size=4, shuffle=False)
    assert isinstance(dataset, podium.data.Dataset) and len(dataset) == 3
    assert repr(dataset.element_spec) == (
        "(TensorSpec(shape=(None, 2, 2, 3), dtype=float32), TensorSpec(shape=(None,), dtype=int32))"
    )
    shapes = [(images.shape, labels.numpy().tolist()) for images, labels in dataset]
    assert shapes == [((4, 2, 2, 3), [0] * 4), ((4, 2, 2, 3), [0, 1, 1, 1]), ((2, 2, 2, 3), [1, 1])]
    assert dataset.class_names == ["even", "odd"] and dataset.file_paths[0] == str(
        image_directory / "even" / "0.png"
    )


def test_unbatched_images_and_data_formats(image_directory):
    dataset = load_images(
        image_directory,
        batch_size=None,
        label_mode="categorical",
        data_format="channels_first",
        color_mode="rgba",
    )
    image, label = next(iter(dataset))
    assert image.shape == (4, 2, 2) and label.shape == (2,) and len(dataset) == 10
    assert load_images(image_directory, image_size=3, labels=None).element_spec.shape == (
        None,
        3,
        3,
        3,
    )
    image, label = next(iter(load_images(image_directory, label_mode="binary", smart_resize=True)))
    assert label.shape == (10, 1) and label.dtype == "float32"


def test_labels_can_be_a_list_of_numbers(image_directory):
    dataset = load_images(image_directory, labels=[float(n) / 2 for n in range(10)], shuffle=False)
    assert next(iter(dataset))[1].numpy().tolist() == [n / 2 for n in range(10)]
    labels = list(range(10))
    load_images(image_directory, labels=labels, seed=1)
    assert labels == list(range(10))


def test_palette_animated_and_one_bit_images(tmp_path):
    frames = [Image.fromarray(np.full((3, 3), value, np.uint8)) for value in (10, 20)]
    frames[0].save(tmp_path / "a.gif", save_all=True, append_images=frames[1:])
    palette = Image.fromarray(np.full((3, 3), 7, np.uint8)).convert("P")
    palette.save(tmp_path / "b.png", transparency=b"\x00\x80")
    Image.fromarray(np.eye(3, dtype=bool)).save(tmp_path / "c.bmp")
    first, second, third = load_images(
        tmp_path, labels=None, shuffle=False, batch_size=None, image_size=3
    ).as_numpy_iterator()
    assert (
        (first == 10).all()
        and (second == 7).all()
        and third[:, :, 0].tolist() == (np.eye(3) * 255).tolist()
    )


def test_text_batches_have_labels_and_class_names(text_directory):
    dataset = load_texts(text_directory, shuffle=False, batch_size=4)
    assert repr(dataset.element_spec[0]) == "TensorSpec(shape=(None,), dtype=string)"
    words, labels = next(iter(dataset))
    assert words.tolist() == [f"text {n}\r\né" for n in range(4)] and labels.numpy().tolist() == [
        0,
        0,
        0,
        1,
    ]
    assert dataset.class_names == ["bad", "good"] and len(dataset.file_paths) == 6
    (first, *_) = load_texts(
        text_directory, labels=None, shuffle=False, batch_size=None, max_length=6
    ).as_numpy_iterator()
    assert first == "text 0"


def test_texts_pass_through_dataset_transformations(text_directory):
    dataset = (
        load_texts(text_directory, shuffle=False, batch_size=2)
        .unbatch()
        .shuffle(6, seed=1)
        .skip(1)
        .take(4)
        .cache()
        .batch(3)
    )
    lengths = dataset.map(
        lambda words, labels: (np.array([[len(word)] for word in words], "float32"), labels)
    )
    assert [batch[0].shape for batch in lengths] == [(3, 1), (1, 1)]
    assert sorted(word for batch, _ in dataset for word in batch)[0].startswith("text ")


def test_fit_on_text_raises(text_directory):
    model = podium.Sequential([podium.layers.Dense(1)])
    model.compile("sgd", "mse")
    with pytest.raises(TypeError, match=r"is text .* which only the preprocessing layers accept"):
        model.fit(load_texts(text_directory), verbose=0)


def test_fit_on_a_directory_of_images(image_directory):
    train, validation = load_images(
        image_directory, validation_split=0.2, subset="both", seed=1, batch_size=4
    )
    layers = [podium.layers.Rescaling(1 / 255), podium.layers.Flatten(), podium.layers.Dense(2)]
    model = podium.Sequential(layers)
    model.compile("sgd", podium.losses.SparseCategoricalCrossentropy(from_logits=True))
    history = model.fit(train, validation_data=validation, epochs=2, verbose=0)
    assert set(history.history) == {"loss", "val_loss"}


# --- order and splits


def test_order_depends_on_seed_and_epoch_only(image_directory):
    first, same_seed, other_seed = (
        load_images(image_directory, seed=5),
        load_images(image_directory, seed=5),
        load_images(image_directory, seed=6),
    )
    epochs = [pixel_values(first), pixel_values(first)]
    assert (
        epochs == [pixel_values(same_seed), pixel_values(same_seed)]
        and epochs[0] != epochs[1]
        and pixel_values(other_seed) not in epochs
    )
    assert sorted(epochs[0]) == list(range(10))
    utils.set_random_seed(3)
    free = pixel_values(load_images(image_directory))
    utils.set_random_seed(3)
    assert pixel_values(load_images(image_directory)) == free


def test_training_and_validation_files_do_not_overlap(image_directory, capsys):
    options = {"validation_split": 0.3, "seed": 9}
    train, validation = load_images(image_directory, subset="both", verbose=True, **options)
    assert capsys.readouterr().out.splitlines() == [
        "Found 10 files belonging to 2 classes.",
        "Using 7 files for training.",
        "Using 3 files for validation.",
    ]
    assert train.file_paths == load_images(image_directory, subset="training", **options).file_paths
    assert (
        validation.file_paths
        == load_images(image_directory, subset="validation", **options).file_paths
    )
    assert sorted(pixel_values(train) + pixel_values(validation)) == list(range(10))
    assert pixel_values(validation) == pixel_values(
        validation
    )  # with subset="both", validation is not shuffled
    assert capsys.readouterr().out == ""


def test_links_are_followed_on_request_without_loops(image_directory, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    Image.fromarray(np.zeros((2, 2, 3), np.uint8)).save(outside / "linked.png")
    os.symlink(outside, image_directory / "odd" / "more")
    os.symlink(image_directory / "odd", image_directory / "odd" / "again")
    assert len(load_images(image_directory).file_paths) == 10
    assert len(load_images(image_directory, follow_links=True).file_paths) == 11


# --- reading


def test_files_are_read_when_requested(image_directory):
    dataset = load_images(image_directory, batch_size=2, shuffle=False)
    (image_directory / "even" / "8.png").write_bytes(b"no image")
    assert dataset.element_spec[0].shape == (None, 2, 2, 3)
    iterator = iter(dataset)
    assert [next(iterator)[1].numpy().tolist() for _ in range(2)] == [[0, 0], [0, 0]]
    with pytest.raises(
        ValueError,
        match=r"even/8\.png could not be read as an image: UnidentifiedImageError.*Fix or remove",
    ):
        next(iterator)


def test_iteration_from_a_later_start_does_not_open_earlier_files(image_directory):
    order = pixel_values(load_images(image_directory, seed=4))
    dataset = load_images(image_directory, seed=4, batch_size=2)
    for number in order[:4]:
        (image_directory / ("even" if number % 2 == 0 else "odd") / f"{number}.png").write_bytes(
            b"no image"
        )
    assert [
        int(image[0, 0, 0]) for images, _ in dataset.pipeline.elements(2) for image in images
    ] == order[4:]


def test_error_names_the_truncated_image(image_directory):
    path = image_directory / "odd" / "1.png"
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (40, 40, 3)).astype("uint8")).save(
        path
    )
    path.write_bytes(path.read_bytes()[:800])
    with pytest.raises(ValueError, match=r"odd/1\.png could not be read as an image"):
        list(load_images(image_directory))


def test_error_names_the_text_file_that_is_not_utf8(text_directory):
    (text_directory / "bad" / "1.txt").write_bytes("é".encode("latin1"))
    with pytest.raises(ValueError, match=r"bad/1\.txt is not UTF-8 text"):
        list(load_texts(text_directory))


# --- errors


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"labels": "infered"}, ValueError, "Unknown labels 'infered'. Did you mean 'inferred'"),
        ({"labels": 3}, TypeError, "labels is of type int; 'inferred', None or a list"),
        ({"labels": ["a"] * 10}, ValueError, "Encode the classes first"),
        ({"labels": [0, 1]}, ValueError, "labels has 2 entries and directory=.* has 10 files"),
        (
            {"labels": [0] * 5 + [3] * 5, "label_mode": "binary"},
            ValueError,
            "ints from 0 to 1, .* are 0, 3",
        ),
        (
            {"labels": [1, 2] * 5, "label_mode": "categorical"},
            ValueError,
            "ints from 0 to 1",
        ),
        (
            {"labels": [0] * 10, "class_names": ["odd"]},
            ValueError,
            r"class_names=\['odd'\] was given",
        ),
        (
            {"labels": None, "class_names": ["odd"]},
            ValueError,
            "which are read only if labels='inferred'",
        ),
        ({"label_mode": "integer"}, ValueError, "Unknown label_mode 'integer'"),
        (
            {"label_mode": "binary", "class_names": ["odd"]},
            ValueError,
            "needs two classes, and 1 were found",
        ),
        (
            {"class_names": ["odd", "evn"]},
            ValueError,
            "Unknown name in class_names, 'evn'. Did you mean 'even'",
        ),
        ({"class_names": ["odd", "odd"]}, ValueError, "names a class twice"),
        ({"color_mode": "gray"}, ValueError, "Unknown color_mode 'gray'"),
        ({"interpolation": "bilinar"}, ValueError, "Did you mean 'bilinear'"),
        ({"data_format": "last"}, ValueError, "Unknown data_format 'last'"),
        ({"format": "torch"}, ValueError, "Unknown format 'torch'"),
        ({"batch_size": 0}, ValueError, "batch_size=0 was given"),
        ({"batch_size": -2}, ValueError, "batch_size=-2 was given"),
        ({"image_size": (2, 2, 3)}, ValueError, r"image_size=\(2, 2, 3\) was given; a pair"),
        ({"image_size": (0, 2)}, ValueError, r"image_size\[0\]=0 was given"),
        ({"image_size": None}, ValueError, "image_size=None was given"),
        ({"seed": -1}, ValueError, "seed=-1 was given"),
        ({"validation_split": 0.2}, ValueError, "they belong together"),
        ({"subset": "training"}, ValueError, "they belong together"),
        (
            {"validation_split": 0.2, "subset": "train", "seed": 1},
            ValueError,
            "Unknown subset 'train'",
        ),
        ({"validation_split": 0.2, "subset": "training"}, ValueError, "shuffle=True and no seed"),
        (
            {"validation_split": 1.2, "subset": "training", "seed": 1},
            ValueError,
            "a fraction between 0 and 1",
        ),
        (
            {"validation_split": 0.01, "subset": "training", "seed": 1},
            ValueError,
            "leaves 10 for training and 0 for val",
        ),
        (
            {"crop_to_aspect_ratio": True, "pad_to_aspect_ratio": True},
            ValueError,
            "at most one of them",
        ),
        ({"shufle": True}, TypeError, "unexpected argument 'shufle'"),
    ],
)
def test_invalid_arguments_raise_before_a_file_is_read(image_directory, options, error, message):
    with pytest.raises(error, match=message):
        load_images(image_directory, **options)


def test_directories_without_data_raise(tmp_path, text_directory):
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(ValueError, match="which does not exist; a directory was expected"):
        load_images(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="which is a file"):
        load_images(text_directory / "bad" / "1.txt")
    with pytest.raises(
        ValueError, match=r"has no subdirectories, .*\(0 files are in the directory itself\)"
    ):
        load_images(empty)
    with pytest.raises(ValueError, match=r"No images found in .* end in \.bmp, \.gif"):
        load_images(text_directory)
    with pytest.raises(ValueError, match="No text files found"):
        load_texts(empty, labels=None)
    with pytest.raises(ValueError, match="max_length=0 was given"):
        load_texts(text_directory, max_length=0)


def test_error_names_pillow_if_it_is_not_installed(image_directory, monkeypatch):
    original_import = builtins.__import__

    def import_without_pillow(name, *args, **kwargs):
        if name.split(".")[0] == "PIL":
            raise ImportError(name)
        return original_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", import_without_pillow)
    with pytest.raises(ImportError, match=r"pip install 'podium\[image\]'"):
        load_images(image_directory)


def test_keras_names_and_smart_resize(image_directory):
    from podium.compat import keras

    assert (
        keras.utils.image_dataset_from_directory is keras.preprocessing.image_dataset_from_directory
    )
    assert keras.preprocessing.text_dataset_from_directory is utils.text_dataset_from_directory
    assert keras.preprocessing.timeseries_dataset_from_array is utils.timeseries_dataset_from_array
    smart_resize = keras.preprocessing.image.smart_resize
    batch = np.arange(2 * 3 * 8 * 6, dtype="float32").reshape(2, 8, 6, 3)
    for method in ("bilinear", "nearest"):
        from_array = smart_resize(batch, (4, 4), interpolation=method)
        from_tensor = smart_resize(podium.convert_to_tensor(batch), (4, 4), interpolation=method)
        np.testing.assert_allclose(from_array, from_tensor.numpy(), rtol=1e-5)
    assert smart_resize(
        batch.transpose(0, 3, 1, 2), (4, 5), data_format="channels_first"
    ).shape == (2, 3, 4, 5)
    with pytest.raises(ValueError, match=r"x has the shape \(8, 6\)"):
        smart_resize(batch[0, ..., 0], (4, 4))
    with pytest.raises(ValueError, match=r"size=.* was given"):
        smart_resize(batch, (4, 0))
