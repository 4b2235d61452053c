"""Image layers that move pixels: images, masks and boxes move alike, by random amounts."""

import numpy as np
import pytest
from layer_contract import check_contract

import podium
from podium import layers
from podium.utils import bounding_boxes

SHAPE = (4, 6, 8, 3)
IMAGES = np.random.default_rng(0).uniform(0, 255, SHAPE).astype("float32")
CONSTANT = {"fill_mode": "constant", "interpolation": "nearest"}
CASES = {
    "RandomFlip": {},
    "RandomRotation": {"factor": (0.05, 0.2), **CONSTANT},
    "RandomTranslation": {"height_factor": (0.1, 0.3), "width_factor": (-0.2, -0.1), **CONSTANT},
    "RandomZoom": {"height_factor": (0.2, 0.5), "width_factor": (-0.3, -0.1), **CONSTANT},
    "RandomShear": {"x_factor": (0.2, 0.4), "y_factor": (0.1, 0.3), **CONSTANT},
    "RandomPerspective": {"factor": (1.0, 1.0), "scale": 0.6, "interpolation": "nearest"},
    "RandomElasticTransform": {"factor": (1.0, 1.0), "scale": (0.5, 1.0), **CONSTANT},
    "RandomCrop": {"height": 5, "width": 4},
}
KEEP_SIZE = [name for name in CASES if name != "RandomCrop"]
WITH_BOXES = [name for name in CASES if name != "RandomElasticTransform"]


def make(name, **kwargs):
    return getattr(layers, name)(**{**CASES[name], **kwargs})


@pytest.mark.parametrize("name", CASES)
def test_shapes_compilation_configs_and_export_agree_with_an_eager_call(name):
    check_contract(name, CASES[name], SHAPE)


@pytest.mark.parametrize("name", KEEP_SIZE)
def test_images_move_in_training_only_and_repeat_with_a_seed(name):
    smooth = {"interpolation": "bilinear"} if "interpolation" in CASES[name] else {}
    layer, again = make(name, seed=3, **smooth), make(name, seed=3, **smooth)
    first, second = layer(IMAGES).numpy(), layer(IMAGES).numpy()
    assert (first != IMAGES).any() and (first != second).any()
    np.testing.assert_array_equal(again(IMAGES), first)
    np.testing.assert_array_equal(layer(IMAGES, training=False), IMAGES)
    assert len(layer.variables) == 1


def rectangles(height=40, width=60):
    """Images with one white rectangle each, and their boxes."""
    images = np.zeros((3, height, width, 1), "float32")
    corners = np.array([[20, 10, 34, 25], [25, 15, 40, 20], [18, 14, 30, 30]])
    for image, (x1, y1, x2, y2) in zip(images, corners, strict=True):
        image[y1:y2, x1:x2] = 1
    return images, corners.astype("float32")


def bounds_of(image):
    """The box around the pixels of an image that are not black."""
    y, x = np.nonzero(image[..., 0])
    return [x.min(), y.min(), x.max() + 1, y.max() + 1]


@pytest.mark.parametrize("box_format", ["xyxy", "rel_center_xywh"])
@pytest.mark.parametrize("name", WITH_BOXES)
def test_boxes_and_masks_move_with_the_images(name, box_format):
    arguments = {"height": 33, "width": 50} if name == "RandomCrop" else {}
    layer = make(name, bounding_box_format=box_format, seed=1, **arguments)
    images, corners = rectangles()
    boxes = bounding_boxes.convert_format(corners[:, None], "xyxy", box_format, 40, 60)
    data = {
        "images": images,
        "bounding_boxes": {"boxes": boxes, "labels": np.array([[1], [2], [3]])},
        "segmentation_masks": images.astype("uint8"),
    }
    outputs = layer(data)
    moved = outputs["images"].numpy()
    size = moved.shape[1:3]
    found = bounding_boxes.convert_format(
        outputs["bounding_boxes"]["boxes"], box_format, "xyxy", *size
    )
    np.testing.assert_allclose(found[:, 0], [bounds_of(image) for image in moved], atol=1.6)
    np.testing.assert_array_equal(outputs["segmentation_masks"], moved)
    assert outputs["segmentation_masks"].dtype == "uint8"
    assert outputs["bounding_boxes"]["labels"].numpy().ravel().tolist() == [1, 2, 3]
    assert (moved.shape != images.shape) or (moved != images).any()


def test_boxes_outside_of_the_image_get_the_label_minus_1():
    layer = layers.RandomTranslation((0.5, 0.5), 0, bounding_box_format="xyxy")
    boxes = {"boxes": [[0, 0, 4, 2], [0, 4, 4, 6]], "labels": [1, 2]}
    outputs = layer({"images": np.zeros((6, 8, 3)), "bounding_boxes": boxes})["bounding_boxes"]
    assert outputs["boxes"].numpy().tolist() == [[0, 3, 4, 5], [0, 6, 4, 6]]
    assert outputs["labels"].numpy().tolist() == [1, -1]


def test_transformations_of_one_image_keep_its_rank():
    boxes = {"boxes": np.array([[2, 1, 4, 3], [6, 4, 8, 6]]), "labels": np.array([[1, 2]])}
    layer = layers.RandomTranslation(0.5, 0.5, bounding_box_format="xyxy", fill_mode="constant")
    transformation = {"translations": np.array([[1.0, 2.0]], "float32"), "input_shape": (10, 8, 3)}
    moved = layer.transform_bounding_boxes(boxes, transformation)
    assert moved["boxes"].numpy().tolist() == [[3, 3, 5, 5], [7, 6, 8, 8]]
    assert moved["labels"].numpy().tolist() == [[1, 2]]
    image = layer.transform_images(np.ones((10, 8, 3)), transformation)
    assert image.shape == (10, 8, 3) and image.numpy().sum() == 8 * 7 * 3


def test_half_of_the_images_are_flipped():
    images = np.tile(np.arange(2.0).reshape(1, 1, 2, 1), (600, 1, 1, 1))
    flipped = layers.RandomFlip(seed=1)(images).numpy()[:, 0, 0, 0]
    assert flipped.mean() == pytest.approx(0.5, abs=0.06)


def test_angles_are_uniform():
    layer = layers.RandomRotation((-0.25, 0.5), seed=1)
    angles = layer.get_random_transformation(np.zeros((600, 2, 2, 1)))["angle"].numpy()
    assert angles.min() >= -90 and angles.max() <= 180
    assert angles.mean() == pytest.approx(45, abs=12)
    assert angles.std() == pytest.approx(270 / 12**0.5, rel=0.1)


def test_a_zoom_without_width_factor_keeps_the_aspect_ratio():
    drawn = layers.RandomZoom((-0.5, 0.5), seed=1).get_random_transformation(IMAGES)
    np.testing.assert_array_equal(drawn["height_zoom"], drawn["width_zoom"])
    assert drawn["height_zoom"].numpy().std() > 0


def test_elastic_displacements_are_those_of_the_mask_and_smooth():
    layer = layers.RandomElasticTransform(
        (1.0, 1.0), (1.0, 1.0), "nearest", "nearest", value_range=(0, 63), seed=2
    )
    columns = np.broadcast_to(np.arange(64)[None, None, :, None], (2, 64, 64, 1))
    outputs = layer({"images": columns.astype("float32"), "segmentation_masks": columns})
    np.testing.assert_array_equal(outputs["images"], outputs["segmentation_masks"])
    shift = outputs["images"].numpy() - columns
    assert np.abs(shift).max() >= 2 and (shift[0] != shift[1]).any()
    assert np.abs(np.diff(shift[..., 8:-8, 0], axis=1)).max() <= 4
    boxes = {"boxes": np.zeros((2, 1, 4)), "labels": np.zeros((2, 1))}
    layer = layers.RandomElasticTransform(bounding_box_format="xyxy")
    with pytest.raises(NotImplementedError, match="does not support bounding boxes"):
        layer({"images": columns, "bounding_boxes": boxes})


def test_a_strength_of_zero_draws_nothing():
    layer = layers.RandomElasticTransform(scale=0.0)
    assert layer.get_random_transformation(IMAGES) is None
    np.testing.assert_array_equal(layer(IMAGES), IMAGES)


def test_crops_are_parts_of_the_image_at_any_position():
    image = np.arange(30.0).reshape(5, 6, 1)
    layer, starts = layers.RandomCrop(3, 5, seed=1), set()
    for _ in range(40):
        crop = layer(image).numpy()
        top, left = divmod(int(crop[0, 0, 0]), 6)
        np.testing.assert_array_equal(crop, image[top : top + 3, left : left + 5])
        starts.add((top, left))
    assert starts == {(top, left) for top in range(3) for left in range(2)}
    full = layers.RandomCrop(5, 3)  # one side of the image is that of the crop
    assert {float(full(image)[0, 0, 0]) for _ in range(40)} == {0, 1, 2, 3}


def test_crops_have_their_size_in_inference_and_for_small_images():
    layer = layers.RandomCrop(4, 4, bounding_box_format="xyxy")
    boxes = {"boxes": np.array([[[0, 0, 8, 6]]] * 4), "labels": np.zeros((4, 1), "int32")}
    outputs = layer({"images": IMAGES, "bounding_boxes": boxes}, training=False)
    center = podium.ops.image.resize(IMAGES[:, :, 1:7], (4, 4))
    np.testing.assert_allclose(outputs["images"], center, rtol=1e-6)
    assert outputs["bounding_boxes"]["boxes"].numpy()[0].tolist() == [[0, 0, 4, 4]]
    small = layers.RandomCrop(12, 8)(IMAGES)
    assert small.shape == (4, 12, 8, 3)


def test_layers_of_one_pipeline_are_one_program_for_a_batch():
    steps = [make("RandomFlip"), make("RandomRotation"), make("RandomCrop")]

    @podium.function
    def augment(images):
        for step in steps:
            images = step(images)
        return images

    dataset = podium.data.Dataset.from_tensor_slices(IMAGES).batch(2).map(augment)
    assert [batch.shape for batch in dataset] == [(2, 5, 4, 3)] * 2
    assert augment.trace_count == 1


@pytest.mark.parametrize(
    "name, arguments, message",
    [
        ("RandomFlip", {"mode": "diagonal"}, "Unknown mode 'diagonal'"),
        ("RandomRotation", {"factor": 0.1, "fill_mode": "edge"}, "Unknown fill_mode 'edge'"),
        ("RandomRotation", {"factor": 0.1, "interpolation": "cubic"}, "Unknown interpolation"),
        ("RandomTranslation", {"height_factor": 0.1, "width_factor": 2}, "width_factor=2; a num"),
        ("RandomZoom", {"height_factor": (-1, 0.5)}, "numbers above -1 were expected"),
        ("RandomShear", {"x_factor": -0.1}, "x_factor=-0.1; a number from 0 to 1"),
        ("RandomPerspective", {"scale": 1.5}, "scale=1.5; a number from 0 to 1"),
        ("RandomCrop", {"height": 3, "width": 0}, "width=0; an int of at least 1"),
    ],
)
def test_wrong_arguments_raise(name, arguments, message):
    with pytest.raises(ValueError, match=message):
        getattr(layers, name)(**arguments)
