"""Image layers: which data they take, what is random, and when it is applied."""

import re

import jax
import numpy as np
import pytest
from layer_contract import check_contract

import podium
from podium import layers, ops

SHAPE = (4, 6, 8, 3)
IMAGES = np.random.default_rng(0).uniform(0, 255, SHAPE).astype("float32")
# Layers that change pixels, with arguments for which every image changes.
PIXEL_LAYERS = {
    "RandomBrightness": {"factor": (0.1, 0.2)},
    "RandomContrast": {"factor": (0.3, 0.5)},
    "RandomHue": {"factor": (0.2, 0.5)},
    "RandomSaturation": {"factor": (0.1, 0.3)},
    "RandomGrayscale": {"factor": 1.0},
    "RandomColorDegeneration": {"factor": (0.3, 0.5)},
    "RandomColorJitter": {"brightness_factor": (0.1, 0.2), "contrast_factor": 0.2},
    "RandomInvert": {"factor": (1.0, 1.0)},
    "RandomPosterization": {"factor": (2, 4)},
    "Solarization": {"addition_factor": (0.1, 0.2), "threshold_factor": (0.3, 0.5)},
    "RandomSharpness": {"factor": (0.1, 0.3)},
    "RandomGaussianBlur": {"factor": (1.0, 1.0), "sigma": (0.5, 1.0)},
    "RandomErasing": {"factor": (1.0, 1.0), "fill_value": 300.0, "scale": (0.3, 0.5)},
    "Equalization": {"bins": 16},
}
ALWAYS_APPLIED = {
    "AutoContrast": {},
    "ContrastLimitedAdaptiveHistogramEqualization": {"tile_grid_size": (2, 2)},
    "Resizing": {"height": 3, "width": 5},
    "CenterCrop": {"height": 3, "width": 5},
}
CASES = PIXEL_LAYERS | ALWAYS_APPLIED
TRANSFERS = ("stage", "copy", "convert_element_type")  # of arrays to the device
RANDOM = [name for name in PIXEL_LAYERS if name not in ("Equalization", "RandomGrayscale")]


def make(name, **kwargs):
    return getattr(layers, name)(**CASES[name], **kwargs)


@pytest.fixture
def compiled_programs(caplog):
    """A function that returns the names of the computations compiled since its last call."""

    def names():
        compiled = [
            match[1]
            for record in caplog.records
            if (match := re.match(r"Compiling jit\((\w+)\)", record.getMessage()))
        ]
        caplog.clear()
        return [name for name in compiled if name not in TRANSFERS]

    make("RandomInvert")(IMAGES)
    with jax.log_compiles():
        caplog.clear()
        yield names


@pytest.mark.parametrize("name", CASES)
def test_shapes_compilation_configs_and_export_agree_with_an_eager_call(name):
    check_contract(name, CASES[name], SHAPE)


@pytest.mark.parametrize("name", PIXEL_LAYERS)
def test_images_change_in_training_only(name):
    layer = make(name)
    assert (layer(IMAGES, training=False).numpy() == IMAGES).all()
    changed = (layer(IMAGES).numpy() != IMAGES).any(axis=(1, 2, 3))
    assert changed.all()


@pytest.mark.parametrize("name", CASES)
def test_one_image_is_a_batch_of_one(name):
    layer = make(name)
    transformation = layer.get_random_transformation(IMAGES[:1])
    batch = layer.transform_images(IMAGES[:1], transformation).numpy()
    assert layer(IMAGES[0]).shape == batch.shape[1:]
    if name in ALWAYS_APPLIED:
        np.testing.assert_allclose(layer(IMAGES[0]), batch[0], rtol=1e-6, atol=1e-4)


@pytest.mark.parametrize("name", ["RandomBrightness", "RandomErasing", "Resizing"])
def test_data_are_dictionaries_too(name):
    layer = make(name, bounding_box_format="xyxy")
    masks = np.arange(4 * 6 * 8).reshape(4, 6, 8, 1) % 200
    data = {
        "images": IMAGES,
        "labels": np.ones((4, 2), "float32"),
        "segmentation_masks": masks.astype("uint8"),
        "bounding_boxes": {"boxes": [[[0, 0, 2, 2.5]], [], [], [[0, 0, 8, 6], [1, 1, 2, 2]]]},
        "name": "kept",
    }
    data["bounding_boxes"]["labels"] = [[7], [], [], [8, 9]]
    outputs = layer(data)
    boxes = outputs["bounding_boxes"]
    assert list(outputs) == list(data) and outputs["name"] == "kept"
    assert boxes["boxes"].shape == (4, 2, 4)
    assert boxes["labels"].numpy().tolist() == [[7, -1], [-1, -1], [-1, -1], [8, 9]]
    assert outputs["segmentation_masks"].dtype == "uint8"
    np.testing.assert_array_equal(outputs["labels"], data["labels"])
    if name == "Resizing":
        assert boxes["boxes"].numpy()[3].tolist() == [[0, 0, 5, 3], [0.625, 0.5, 1.25, 1.0]]
        return
    assert boxes["boxes"].numpy()[3].tolist() == [[0, 0, 8, 6], [1, 1, 2, 2]]
    np.testing.assert_array_equal(outputs["segmentation_masks"], masks)
    one = {"images": IMAGES[0], "bounding_boxes": {"boxes": [[0, 0, 2, 2]], "labels": [1]}}
    assert layer(one)["bounding_boxes"]["boxes"].shape == (1, 4)


def test_boxes_need_a_format_and_a_shape():
    boxes = {"boxes": np.zeros((4, 1, 4), "float32"), "labels": np.zeros((4, 1), "int32")}
    with pytest.raises(ValueError, match="does not know their format"):
        layers.RandomBrightness(0.1)({"images": IMAGES, "bounding_boxes": boxes})
    layer = layers.RandomBrightness(0.1, bounding_box_format="xyxy")
    with pytest.raises(ValueError, match="'images' was expected"):
        layer({"bounding_boxes": boxes})
    with pytest.raises(ValueError, match="one label for each box"):
        layer({"images": IMAGES, "bounding_boxes": {**boxes, "labels": np.zeros((4, 2))}})
    with pytest.raises(ValueError, match="'boxes' and 'labels' were expected"):
        layer({"images": IMAGES, "bounding_boxes": {"boxes": boxes["boxes"]}})
    with pytest.raises(ValueError, match="Unknown bounding_box_format 'xyz'"):
        layers.RandomBrightness(0.1, bounding_box_format="xyz")


@pytest.mark.parametrize("name", RANDOM)
def test_draws_differ_between_calls_and_images_and_repeat_with_a_seed(name):
    images = np.tile(IMAGES[:1], (4, 1, 1, 1))
    first, again = make(name, seed=3), make(name, seed=3)
    drawn = [first(images).numpy(), first(images).numpy()]
    np.testing.assert_array_equal(drawn[0], again(images))
    if name not in ("RandomInvert", "RandomPosterization"):
        assert not np.array_equal(drawn[0], drawn[1])
    if name not in ("RandomInvert", "RandomPosterization", "RandomGaussianBlur"):
        assert len({image.tobytes() for image in drawn[0]}) == 4


def test_integers_become_floats_where_keras_lets_them_overflow():
    image = np.full((1, 2, 2, 3), 250, "uint8")
    outputs = layers.RandomBrightness((0.5, 0.5))(image)
    assert outputs.dtype == "float32" and (outputs.numpy() == 255).all()


def test_decisions_have_the_given_probability():
    ones = np.ones((600, 1, 1, 3), "float32")
    changed = layers.RandomInvert((0.3, 0.3), seed=1)(ones).numpy()[:, 0, 0, 0] != 1
    assert changed.mean() == pytest.approx(0.3, abs=0.06)
    # A number x stands for probabilities from 0 to x.
    changed = layers.RandomInvert(0.6, seed=1)(ones).numpy()[:, 0, 0, 0] != 1
    assert changed.mean() == pytest.approx(0.3, abs=0.06)


def test_factors_are_uniform():
    ones = np.full((600, 1, 1, 3), 100.0, "float32")
    added = layers.RandomBrightness((-0.2, 0.2), seed=1)(ones).numpy()[:, 0, 0, 0] - 100
    assert added.min() >= -51 and added.max() <= 51
    assert added.std() == pytest.approx(102 / 12**0.5, rel=0.1)


def test_erased_rectangles_have_the_given_area():
    erased = layers.RandomErasing((1.0, 1.0), scale=(0.25, 0.25), fill_value=[1, 2, 3], seed=1)(
        np.zeros((8, 16, 20, 3), "float32")
    ).numpy()
    assert ((erased != 0).sum((1, 2)) == 80).all()
    assert set(np.unique(erased[..., 1])) == {0, 2}
    noise = layers.RandomErasing((1.0, 1.0), seed=1)(np.full(SHAPE, -1.0, "float32")).numpy()
    assert noise.min() == -1 and noise.max() > 0


def test_a_call_is_one_program(compiled_programs):
    layer, images = make("RandomColorJitter"), np.ones((5, 7, 9, 3), "float32")
    layer(images)
    assert compiled_programs() == ["_call_compiled"]
    layer(images)
    assert compiled_programs() == []


def test_a_layer_is_one_program_in_dataset_map(compiled_programs):
    layer = make("RandomHue")
    dataset = podium.data.Dataset.from_tensor_slices((IMAGES[:, :5], np.arange(4)))
    dataset = dataset.batch(2).map(lambda x, y: (layer(x), y))
    batches = [images for images, _ in dataset]
    assert compiled_programs() == ["_call_compiled"]
    assert not np.array_equal(batches[0], batches[1])


def test_layers_are_part_of_the_program_of_a_step(compiled_programs):
    model = podium.Sequential(
        [make("RandomBrightness"), make("RandomErasing"), layers.Flatten(), layers.Dense(1)]
    )
    model.build((None, *SHAPE[1:]))
    model.compile("sgd", "mse", steps_per_execution=1)
    compiled_programs()
    model.fit(IMAGES / 255, np.zeros((4, 1)), batch_size=2, epochs=2, verbose=0)
    names = compiled_programs()
    assert names.count("train_step") == 1 and "_call_compiled" not in names
    predictions = model.predict(IMAGES, verbose=0)
    np.testing.assert_array_equal(predictions, model.predict(IMAGES, verbose=0))


def test_only_random_layers_have_a_seed():
    counts = {name: len(make(name).variables) for name in CASES}
    without = {*ALWAYS_APPLIED, "Equalization"}
    expected = {name: int(name not in without) for name in CASES} | {"RandomColorJitter": 3}
    assert counts == expected
    assert make("RandomHue").weights == []


def test_color_jitter_draws_each_factor():
    layer = layers.RandomColorJitter((0, 1), 0.2, 0.3, 0.4, 0.1, seed=5)
    transformation = layer.get_random_transformation(IMAGES)
    assert [list(values) for values in transformation] == [
        ["rgb_delta"],
        ["contrast_factor"],
        ["factor"],
        ["factor"],
    ]
    assert len(layer.variables) == 5
    same = layers.RandomColorJitter((0, 1))(IMAGES / 255)
    np.testing.assert_array_equal(same, IMAGES / 255)


def test_equalization_and_clahe_leave_constant_channels():
    constant = np.full((1, 4, 4, 3), 7.0, "float32")
    for layer in (layers.Equalization(), layers.AutoContrast()):
        np.testing.assert_array_equal(layer(constant), constant)
    assert np.isfinite(make("ContrastLimitedAdaptiveHistogramEqualization")(constant).numpy()).all()


def test_auto_contrast_stretches_each_image_channels_first():
    images = np.moveaxis(IMAGES, -1, 1) / 3
    outputs = layers.AutoContrast(data_format="channels_first")(images).numpy()
    assert (outputs.min((2, 3)) == 0).all()
    np.testing.assert_allclose(outputs.max((2, 3)), 255, rtol=1e-6)


def test_center_crop_resizes_masks_without_new_classes():
    masks = np.array([0, 9], "uint8").repeat(8).reshape(1, 4, 4, 1)
    data = {"images": np.zeros((1, 4, 4, 3), "float32"), "segmentation_masks": masks}
    outputs = layers.CenterCrop(7, 7)(data)["segmentation_masks"]
    assert outputs.dtype == "uint8" and set(np.unique(outputs)) == {0, 9}


def test_symbolic_dictionaries_have_their_shapes():
    data = {
        "images": podium.Input((6, 8, 3)),
        "segmentation_masks": podium.Input((6, 8, 1), dtype="uint8"),
    }
    outputs = make("Resizing")(data)
    assert outputs["images"].shape == (None, 3, 5, 3)
    assert outputs["segmentation_masks"].shape == (None, 3, 5, 1)
    assert outputs["segmentation_masks"].dtype == "uint8"
    assert make("Resizing")(podium.Input((None, None, 3))).shape == (None, 3, 5, 3)
    model = podium.Model(data, ops.sum(outputs["images"], axis=(1, 2, 3)))
    assert model(
        {"images": IMAGES, "segmentation_masks": np.ones((4, 6, 8, 1), "uint8")}
    ).shape == (4,)


@pytest.mark.parametrize(
    "name, arguments, message",
    [
        ("RandomBrightness", {"factor": 2}, "factor=2; a number from -1 to 1 was expected"),
        ("RandomBrightness", {"factor": [0.1]}, "or a pair of them, was expected"),
        ("RandomBrightness", {"factor": 0.1, "value_range": 3}, "value_range=3; two different"),
        ("RandomGrayscale", {"factor": 1.5}, "factor=1.5; a number from 0 to 1"),
        ("RandomPosterization", {"factor": 9}, "factor=9; a number from 1 to 8"),
        ("RandomGaussianBlur", {"kernel_size": 4}, "kernel_size=4; an odd int"),
        ("RandomHue", {"factor": 0.1, "data_format": "last"}, "Unknown data_format 'last'"),
        ("Resizing", {"height": 0, "width": 3}, "height=0; an int of at least 1"),
        (
            "Resizing",
            {"height": 2, "width": 3, "crop_to_aspect_ratio": True, "pad_to_aspect_ratio": True},
            "at most one of them",
        ),
        ("Equalization", {"bins": 1}, "bins=1; an int of at least 2"),
    ],
)
def test_wrong_arguments_raise(name, arguments, message):
    with pytest.raises(ValueError, match=message):
        getattr(layers, name)(**arguments)


def test_wrong_images_raise():
    with pytest.raises(ValueError, match=r"images of shape \(3, 4\); one image"):
        layers.RandomBrightness(0.1)(np.ones((3, 4)))
    with pytest.raises(ValueError, match=r"fill_value=\[1, 2\] and images with 3 channels"):
        layers.RandomErasing(fill_value=[1, 2])(IMAGES)
    with pytest.raises(ValueError, match="with 3 channels was expected"):
        layers.RandomColorDegeneration(0.1).compute_output_shape((2, 3, 3, 5))
