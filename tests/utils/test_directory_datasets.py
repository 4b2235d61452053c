"""Folders of images and of text as Datasets: what they yield, when they read, in which order, and
what they refuse.
"""

import builtins
import os

import numpy as np
import pytest
from PIL import Image

import podium
from podium import utils


@pytest.fixture
def pictures(tmp_path):
    """Ten images in two classes; the number of a file is its brightness."""
    for number in range(10):
        path = tmp_path / ("even" if number % 2 == 0 else "odd") / f"{number}.png"
        path.parent.mkdir(exist_ok=True)
        Image.fromarray(np.full((4, 6, 3), number, np.uint8)).save(path)
    return tmp_path


@pytest.fixture
def texts(tmp_path):
    for number in range(6):
        path = tmp_path / ("bad" if number < 3 else "good") / f"{number}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(f"text {number}\r\né".encode())
    return tmp_path


def images_of(folder, **options):
    return utils.image_dataset_from_directory(
        folder, **{"image_size": (2, 2), "verbose": False} | options
    )


def texts_of(folder, **options):
    return utils.text_dataset_from_directory(folder, **{"verbose": False} | options)


def numbers(dataset):
    return [int(images[0, 0, 0]) for images, _ in dataset.unbatch().as_numpy_iterator()]


# --- what is yielded


def test_batches_of_images(pictures):
    dataset = images_of(pictures, batch_size=4, shuffle=False)
    assert isinstance(dataset, podium.data.Dataset) and len(dataset) == 3
    assert repr(dataset.element_spec) == (
        "(TensorSpec(shape=(None, 2, 2, 3), dtype=float32), TensorSpec(shape=(None,), dtype=int32))"
    )
    shapes = [(images.shape, labels.numpy().tolist()) for images, labels in dataset]
    assert shapes == [((4, 2, 2, 3), [0] * 4), ((4, 2, 2, 3), [0, 1, 1, 1]), ((2, 2, 2, 3), [1, 1])]
    assert dataset.class_names == ["even", "odd"] and dataset.file_paths[0] == str(
        pictures / "even" / "0.png"
    )


def test_single_images_and_layouts(pictures):
    dataset = images_of(
        pictures,
        batch_size=None,
        label_mode="categorical",
        data_format="channels_first",
        color_mode="rgba",
    )
    image, label = next(iter(dataset))
    assert image.shape == (4, 2, 2) and label.shape == (2,) and len(dataset) == 10
    assert images_of(pictures, image_size=3, labels=None).element_spec.shape == (None, 3, 3, 3)
    image, label = next(iter(images_of(pictures, label_mode="binary", smart_resize=True)))
    assert label.shape == (10, 1) and label.dtype == "float32"


def test_listed_labels_may_be_numbers_of_any_kind(pictures):
    dataset = images_of(pictures, labels=[float(n) / 2 for n in range(10)], shuffle=False)
    assert next(iter(dataset))[1].numpy().tolist() == [n / 2 for n in range(10)]
    given = list(range(10))
    images_of(pictures, labels=given, seed=1)
    assert given == list(range(10))


def test_palettes_and_animations_and_masks(tmp_path):
    frames = [Image.fromarray(np.full((3, 3), value, np.uint8)) for value in (10, 20)]
    frames[0].save(tmp_path / "a.gif", save_all=True, append_images=frames[1:])
    palette = Image.fromarray(np.full((3, 3), 7, np.uint8)).convert("P")
    palette.save(tmp_path / "b.png", transparency=b"\x00\x80")
    Image.fromarray(np.eye(3, dtype=bool)).save(tmp_path / "c.bmp")
    first, second, third = images_of(
        tmp_path, labels=None, shuffle=False, batch_size=None, image_size=3
    ).as_numpy_iterator()
    assert (
        (first == 10).all()
        and (second == 7).all()
        and third[:, :, 0].tolist() == (np.eye(3) * 255).tolist()
    )


def test_texts(texts):
    dataset = texts_of(texts, shuffle=False, batch_size=4)
    assert repr(dataset.element_spec[0]) == "TensorSpec(shape=(None,), dtype=string)"
    words, labels = next(iter(dataset))
    assert words.tolist() == [f"text {n}\r\né" for n in range(4)] and labels.numpy().tolist() == [
        0,
        0,
        0,
        1,
    ]
    assert dataset.class_names == ["bad", "good"] and len(dataset.file_paths) == 6
    (first, *_) = texts_of(
        texts, labels=None, shuffle=False, batch_size=None, max_length=6
    ).as_numpy_iterator()
    assert first == "text 0"


def test_texts_pass_through_the_words_of_datasets(texts):
    dataset = (
        texts_of(texts, shuffle=False, batch_size=2)
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


def test_training_on_text_needs_numbers(texts):
    model = podium.Sequential([podium.layers.Dense(1)])
    model.compile("sgd", "mse")
    with pytest.raises(
        TypeError, match=r"is an array of strings .* Turn the strings into numbers first"
    ):
        model.fit(texts_of(texts), verbose=0)


def test_training_on_a_folder_of_images(pictures):
    train, validation = images_of(
        pictures, validation_split=0.2, subset="both", seed=1, batch_size=4
    )
    layers = [podium.layers.Rescaling(1 / 255), podium.layers.Flatten(), podium.layers.Dense(2)]
    model = podium.Sequential(layers)
    model.compile("sgd", podium.losses.SparseCategoricalCrossentropy(from_logits=True))
    history = model.fit(train, validation_data=validation, epochs=2, verbose=0)
    assert set(history.history) == {"loss", "val_loss"}


# --- orders and splits


def test_orders_depend_on_the_seed_and_the_pass_only(pictures):
    first, again, other = (
        images_of(pictures, seed=5),
        images_of(pictures, seed=5),
        images_of(pictures, seed=6),
    )
    passes = [numbers(first), numbers(first)]
    assert (
        passes == [numbers(again), numbers(again)]
        and passes[0] != passes[1]
        and numbers(other) not in passes
    )
    assert sorted(passes[0]) == list(range(10))
    utils.set_random_seed(3)
    free = numbers(images_of(pictures))
    utils.set_random_seed(3)
    assert numbers(images_of(pictures)) == free


def test_parts_do_not_overlap_and_both_are_the_two(pictures, capsys):
    options = {"validation_split": 0.3, "seed": 9}
    train, validation = images_of(pictures, subset="both", verbose=True, **options)
    assert capsys.readouterr().out.splitlines() == [
        "Found 10 files belonging to 2 classes.",
        "Using 7 files for training.",
        "Using 3 files for validation.",
    ]
    assert train.file_paths == images_of(pictures, subset="training", **options).file_paths
    assert validation.file_paths == images_of(pictures, subset="validation", **options).file_paths
    assert sorted(numbers(train) + numbers(validation)) == list(range(10))
    assert numbers(validation) == numbers(validation)  # beside training, validation keeps its order
    assert capsys.readouterr().out == ""


def test_links_are_followed_when_asked_and_not_for_ever(pictures, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    Image.fromarray(np.zeros((2, 2, 3), np.uint8)).save(outside / "linked.png")
    os.symlink(outside, pictures / "odd" / "more")
    os.symlink(pictures / "odd", pictures / "odd" / "again")
    assert len(images_of(pictures).file_paths) == 10
    assert len(images_of(pictures, follow_links=True).file_paths) == 11


# --- reading


def test_files_are_read_when_their_turn_comes(pictures):
    dataset = images_of(pictures, batch_size=2, shuffle=False)
    (pictures / "even" / "8.png").write_bytes(b"no image")
    assert dataset.element_spec[0].shape == (None, 2, 2, 3)
    walk = iter(dataset)
    assert [next(walk)[1].numpy().tolist() for _ in range(2)] == [[0, 0], [0, 0]]
    with pytest.raises(
        ValueError,
        match=r"even/8\.png could not be read as an image: UnidentifiedImageError.*Mend or remove",
    ):
        next(walk)


def test_a_walk_that_begins_later_does_not_open_the_files_before(pictures):
    whole = numbers(images_of(pictures, seed=4))
    dataset = images_of(pictures, seed=4, batch_size=2)
    for number in whole[:4]:
        (pictures / ("even" if number % 2 == 0 else "odd") / f"{number}.png").write_bytes(
            b"no image"
        )
    assert [
        int(image[0, 0, 0]) for images, _ in dataset.pipeline.elements(2) for image in images
    ] == whole[4:]


def test_a_cut_off_image_is_named(pictures):
    path = pictures / "odd" / "1.png"
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (40, 40, 3)).astype("uint8")).save(
        path
    )
    path.write_bytes(path.read_bytes()[:800])
    with pytest.raises(ValueError, match=r"odd/1\.png could not be read as an image"):
        list(images_of(pictures))


def test_text_that_is_not_utf8_is_named(texts):
    (texts / "bad" / "1.txt").write_bytes("é".encode("latin1"))
    with pytest.raises(ValueError, match=r"bad/1\.txt is not UTF-8 text"):
        list(texts_of(texts))


# --- mistakes


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"labels": "infered"}, ValueError, "Unknown labels 'infered'. Did you mean 'inferred'"),
        ({"labels": 3}, TypeError, "labels is of type int; 'inferred', None or a list"),
        ({"labels": ["a"] * 10}, ValueError, "Number the classes first"),
        ({"labels": [0, 1]}, ValueError, "labels has 2 numbers and directory=.* has 10 files"),
        (
            {"labels": [0] * 5 + [3] * 5, "label_mode": "binary"},
            ValueError,
            "whole numbers from 0 to 1, .* are 0, 3",
        ),
        (
            {"labels": [1, 2] * 5, "label_mode": "categorical"},
            ValueError,
            "whole numbers from 0 to 1",
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
            "only one of them",
        ),
        ({"shufle": True}, TypeError, "unexpected argument 'shufle'"),
    ],
)
def test_mistakes_are_explained_before_a_file_is_read(pictures, options, kind, message):
    with pytest.raises(kind, match=message):
        images_of(pictures, **options)


def test_folders_without_data_are_explained(tmp_path, texts):
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(ValueError, match="which does not exist; a folder was expected"):
        images_of(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="which is a file"):
        images_of(texts / "bad" / "1.txt")
    with pytest.raises(
        ValueError, match=r"has no subfolders, .*\(0 files lie in the folder itself\)"
    ):
        images_of(empty)
    with pytest.raises(ValueError, match=r"No images found in .* end in \.bmp, \.gif"):
        images_of(texts)
    with pytest.raises(ValueError, match="No text files found"):
        texts_of(empty, labels=None)
    with pytest.raises(ValueError, match="max_length=0 was given"):
        texts_of(texts, max_length=0)


def test_without_pillow_it_says_how_to_install_it(pictures, monkeypatch):
    real = builtins.__import__

    def refusing(name, *args, **kwargs):
        if name.split(".")[0] == "PIL":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refusing)
    with pytest.raises(ImportError, match=r"pip install 'podium\[image\]'"):
        images_of(pictures)


def test_keras_and_tensorflow_names(pictures):
    from podium.compat import keras

    assert (
        keras.utils.image_dataset_from_directory is keras.preprocessing.image_dataset_from_directory
    )
    assert keras.preprocessing.text_dataset_from_directory is utils.text_dataset_from_directory
    assert keras.preprocessing.timeseries_dataset_from_array is utils.timeseries_dataset_from_array
    smart_resize = keras.preprocessing.image.smart_resize
    batch = np.arange(2 * 3 * 8 * 6, dtype="float32").reshape(2, 8, 6, 3)
    for method in ("bilinear", "nearest"):
        ours = smart_resize(batch, (4, 4), interpolation=method)
        theirs = smart_resize(podium.convert_to_tensor(batch), (4, 4), interpolation=method)
        np.testing.assert_allclose(ours, theirs.numpy(), rtol=1e-5)
    assert smart_resize(
        batch.transpose(0, 3, 1, 2), (4, 5), data_format="channels_first"
    ).shape == (2, 3, 4, 5)
    with pytest.raises(ValueError, match=r"x has the shape \(8, 6\)"):
        smart_resize(batch[0, ..., 0], (4, 4))
    with pytest.raises(ValueError, match=r"size=.* was given"):
        smart_resize(batch, (4, 0))
