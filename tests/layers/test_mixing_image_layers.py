"""Layers that mix images, choose augmentations at random, or apply several in a row."""

import re

import jax
import numpy as np
import pytest
from layer_contract import check_contract

import podium
from podium import layers

SHAPE = (4, 6, 8, 3)
IMAGES = np.random.default_rng(0).uniform(0, 255, SHAPE).astype("float32")
LABELS = np.eye(4, dtype="float32")
CASES = {
    "MixUp": {"alpha": 1.0},
    "CutMix": {},
    "RandAugment": {"num_ops": 2},
    "AugMix": {"num_chains": 2, "chain_depth": 2},
}


@pytest.mark.parametrize("name", CASES)
def test_shapes_compilation_configs_and_export_agree_with_an_eager_call(name):
    check_contract(name, CASES[name], SHAPE)


@pytest.mark.parametrize("name", CASES)
def test_images_change_in_training_only_and_repeat_with_a_seed(name):
    layer, again = (getattr(layers, name)(**CASES[name], seed=3) for _ in range(2))
    drawn = [layer(IMAGES).numpy() for _ in range(3)]
    assert any((images != IMAGES).any() for images in drawn)
    assert len({images.tobytes() for images in drawn}) > 1
    for images in drawn:
        np.testing.assert_array_equal(again(IMAGES), images)
    np.testing.assert_array_equal(layer(IMAGES, training=False), IMAGES)


def test_mix_up_blends_images_labels_and_masks_by_the_same_weights():
    layer = layers.MixUp(alpha=1.0, seed=1, bounding_box_format="xyxy")
    images = np.broadcast_to(np.arange(4.0).reshape(4, 1, 1, 1), SHAPE).astype("float32")
    boxes = {"boxes": np.arange(16.0).reshape(4, 1, 4), "labels": np.arange(4).reshape(4, 1)}
    data = {"images": images, "labels": LABELS, "segmentation_masks": images[..., :1]}
    outputs = layer({**data, "bounding_boxes": boxes})
    mixed, labels = outputs["images"].numpy(), outputs["labels"].numpy()
    np.testing.assert_allclose(labels.sum(1), 1, rtol=1e-6)
    np.testing.assert_allclose(mixed[:, 0, 0, 0], labels @ np.arange(4.0), rtol=1e-5)
    np.testing.assert_array_equal(outputs["segmentation_masks"], mixed[..., :1])
    found = outputs["bounding_boxes"]
    assert found["boxes"].shape == (4, 2, 4) and found["labels"].shape == (4, 2)
    partners = found["labels"].numpy()[:, 1]
    assert sorted(partners) == [0, 1, 2, 3]
    np.testing.assert_array_equal(found["boxes"].numpy()[:, 1], boxes["boxes"][partners, 0])
    for index, partner in enumerate(partners):
        assert np.delete(labels[index], [index, partner]).sum() == 0


def test_weights_of_mix_up_follow_the_beta_distribution():
    ones = np.ones((600, 1, 1, 1))
    drawn = {
        alpha: layers.MixUp(alpha, seed=1).get_random_transformation(ones)["mix_weight"].numpy()
        for alpha in (0.2, 1.0)
    }
    for alpha, weights in drawn.items():
        assert weights.mean() == pytest.approx(0.5, abs=0.06)
        assert weights.var() == pytest.approx(0.25 / (2 * alpha + 1), rel=0.2)


def test_cut_mix_replaces_rectangles_and_mixes_labels_by_their_area():
    layer = layers.CutMix(seed=2)
    images = np.broadcast_to(np.arange(4.0).reshape(4, 1, 1, 1), (4, 40, 30, 3))
    outputs = layer({"images": images, "labels": LABELS, "segmentation_masks": images[..., :1]})
    mixed, labels = outputs["images"].numpy(), outputs["labels"].numpy()
    np.testing.assert_array_equal(outputs["segmentation_masks"], mixed[..., :1])
    for index in range(4):
        fractions = [(mixed[index] == value).mean() for value in range(4)]
        np.testing.assert_allclose(labels[index], fractions, atol=0.07)
    assert (mixed != images).any()
    np.testing.assert_array_equal(layer(images[0]), images[0])  # there is nothing to mix it with


@pytest.mark.parametrize("name", ["MixUp", "CutMix"])
def test_labels_that_cannot_be_mixed_raise(name):
    layer = getattr(layers, name)(bounding_box_format="xyxy")
    with pytest.raises(ValueError, match=r"labels of shape \(4,\); one vector for each image"):
        layer({"images": IMAGES, "labels": np.arange(4)})
    if name == "CutMix":
        boxes = {"boxes": np.zeros((4, 1, 4)), "labels": np.zeros((4, 1))}
        with pytest.raises(NotImplementedError, match="CutMix does not support bounding boxes"):
            layer({"images": IMAGES, "bounding_boxes": boxes})


def test_rand_augment_moves_boxes_like_the_images_in_their_order():
    layer = layers.RandAugment(factor=0.2, interpolation="nearest", bounding_box_format="xywh")
    images = np.zeros((1, 40, 60, 3), "float32")
    images[:, 15:25, 20:35] = 255
    boxes = {"boxes": np.array([[[20, 15, 15, 10]]], "float32"), "labels": np.array([[1]])}
    drawn = layer.get_random_transformation(images)
    for order in ([2, 0], [0, 2], [1, 1], [5, 2]):
        transformation = drawn | {"layer_idxes": np.array(order)}
        moved = layer.transform_images(images, transformation).numpy()[0, :, :, 0]
        outputs = layer.transform_bounding_boxes(boxes, transformation)
        y, x = np.nonzero(moved > moved.min())
        low, high = np.array([x.min(), y.min()]), np.array([x.max() + 1, y.max() + 1])
        np.testing.assert_allclose(
            outputs["boxes"].numpy()[0, 0], [*low, *(high - low)], atol=4 if order != [1, 1] else 2
        )


def test_rand_augment_draws_each_augmentation():
    layer = layers.RandAugment(num_ops=300, seed=1)
    indices = layer.get_random_transformation(IMAGES)["layer_idxes"].numpy()
    assert sorted(set(indices)) == list(range(len(layer.augmentations)))
    assert len(layers.AugMix(all_ops=False).augmentations) == 7
    np.testing.assert_array_equal(layers.RandAugment(num_ops=0)(IMAGES), IMAGES)


def test_aug_mix_mixes_chains_by_weights_that_sum_to_1():
    layer = layers.AugMix(num_chains=3, seed=1)
    drawn = layer.get_random_transformation(IMAGES)
    assert float(drawn["chain_mixing_weights"].numpy().sum()) == pytest.approx(1)
    assert drawn["layer_idxes"].shape == (3, 3)
    unchanged = drawn | {"layer_idxes": np.full((3, 3), 11)}
    np.testing.assert_allclose(layer.transform_images(IMAGES, unchanged), IMAGES, rtol=1e-5)
    # All chains stretch the contrast: the original images keep their weight.
    stretched = drawn | {"layer_idxes": np.full((3, 3), 9)}
    weight = float(drawn["weight_sample"])
    np.testing.assert_allclose(
        layer.transform_images(IMAGES, stretched),
        weight * IMAGES + (1 - weight) * layers.AutoContrast()(IMAGES).numpy(),
        rtol=1e-4,
        atol=1e-2,
    )


def make_pipeline(**kwargs):
    return layers.Pipeline(
        [
            layers.Resizing(5, 6, **kwargs),
            layers.RandomFlip("horizontal", seed=1, **kwargs),
            layers.RandomBrightness(0.1, seed=1, **kwargs),
        ]
    )


def test_a_pipeline_applies_its_layers_in_order():
    pipeline, (first, second, third) = make_pipeline(), make_pipeline().layers
    np.testing.assert_allclose(pipeline(IMAGES), third(second(first(IMAGES))), rtol=1e-6)
    np.testing.assert_array_equal(pipeline(IMAGES, training=False), first(IMAGES))
    assert pipeline.compute_output_shape((None, None, None, 3)) == (None, 5, 6, 3)
    assert pipeline(podium.Input((None, None, 3))).shape == (None, 5, 6, 3)
    assert len(pipeline.variables) == 2


def test_a_pipeline_takes_dictionaries():
    pipeline = make_pipeline(bounding_box_format="rel_xyxy")
    data = {
        "images": IMAGES,
        "labels": LABELS,
        "bounding_boxes": {"boxes": [[[0, 0, 0.5, 1]], [], [], []], "labels": [[1], [], [], []]},
        "segmentation_masks": np.ones((4, 6, 8, 1), "uint8"),
        "path": "a.png",
    }
    outputs = pipeline(data)
    assert outputs["path"] == "a.png" and outputs["images"].shape == (4, 5, 6, 3)
    assert outputs["segmentation_masks"].shape == (4, 5, 6, 1)
    assert outputs["bounding_boxes"]["boxes"].shape == (4, 1, 4)


def test_a_pipeline_is_one_program_for_the_batches_of_a_dataset(caplog):
    pipeline = layers.Pipeline([*make_pipeline().layers, layers.RandAugment(), layers.MixUp()])
    dataset = podium.data.Dataset.from_tensor_slices({"images": IMAGES, "labels": LABELS})
    dataset = dataset.batch(2).map(pipeline)
    layers.RandomInvert()(IMAGES)
    with jax.log_compiles():
        caplog.clear()
        batches = list(dataset)
    names = re.findall(r"Compiling jit\((\w+)\)", caplog.text)
    assert [name for name in names if name not in ("stage", "convert_element_type")] == [
        "_call_compiled"
    ]
    assert [batch["images"].shape for batch in batches] == [(2, 5, 6, 3)] * 2
    assert [batch["labels"].shape for batch in batches] == [(2, 4)] * 2


def test_a_sequential_model_of_image_layers_is_one_program_in_dataset_map(caplog):
    model = podium.Sequential([layers.Rescaling(1 / 255), *make_pipeline().layers])
    dataset = podium.data.Dataset.from_tensor_slices((IMAGES, np.arange(4))).batch(2)
    dataset = dataset.map(lambda x, y: (model(x, training=True), y))
    layers.RandomInvert()(IMAGES)
    with jax.log_compiles():
        caplog.clear()
        batches = [images for images, _ in dataset]
    names = re.findall(r"Compiling jit\((\w+)\)", caplog.text)
    assert names.count("_call_compiled") == 1
    assert set(names) <= {"_call_compiled", "stage", "convert_element_type"}
    assert not np.array_equal(batches[0], batches[1])


def test_a_sequential_model_of_image_layers_takes_images_of_any_size():
    model = podium.Sequential([layers.Resizing(4, 5), layers.Rescaling(1 / 255)])
    sizes = [(6, 8), (9, 7), (4, 5)]
    shapes = [model(np.ones((1, *size, 3), "float32")).shape for size in sizes]
    assert shapes == [(1, 4, 5, 3)] * 3
    crop = podium.Sequential([layers.CenterCrop(5, 6)])
    predictions = crop.predict((np.ones((2, size, size, 3)) for size in (9, 4)), verbose=0)
    assert predictions.shape == (4, 5, 6, 3)


def test_a_pipeline_augments_the_batches_of_fit():
    pipeline = make_pipeline()
    dataset = podium.data.Dataset.from_tensor_slices((IMAGES / 255, np.ones((4, 1), "float32")))
    dataset = dataset.batch(2).map(lambda x, y: (pipeline(x), y))
    model = podium.Sequential([layers.Flatten(), layers.Dense(1)])
    model.compile("sgd", "mse")
    history = model.fit(dataset, epochs=2, verbose=0)
    assert np.isfinite(history.history["loss"]).all()


def test_a_pipeline_is_saved_with_a_model(tmp_path):
    model = podium.Sequential([podium.Input(SHAPE[1:]), make_pipeline(), layers.Flatten()])
    model.save(tmp_path / "model.keras")
    loaded = podium.saving.load_model(tmp_path / "model.keras")
    configs = [[layer.get_config() for layer in m.layers[0].layers] for m in (model, loaded)]
    assert configs[0] == configs[1]
    np.testing.assert_array_equal(
        model.predict(IMAGES, verbose=0), loaded.predict(IMAGES, verbose=0)
    )


def test_a_pipeline_passes_a_mask_to_the_first_layer_that_takes_it():
    class Masked(layers.Layer):
        def call(self, inputs, mask=None):
            return inputs if mask is None else inputs * podium.ops.cast(mask, inputs.dtype)

    pipeline = layers.Pipeline([layers.Rescaling(2.0), Masked()])
    outputs = pipeline(np.ones((1, 2), "float32"), mask=np.array([[True, False]]))
    assert outputs.numpy().tolist() == [[2, 0]]


def test_wrong_arguments_raise():
    with pytest.raises(TypeError, match="a list of layers was expected"):
        layers.Pipeline([np.abs])
    with pytest.raises(ValueError, match="a list of the configs of layers"):
        layers.Pipeline.from_config({"name": "a"})
    with pytest.raises(ValueError, match="alpha=0; a positive number"):
        layers.MixUp(0)
    with pytest.raises(ValueError, match="factor=2; a number from 0 to 1"):
        layers.RandAugment(factor=2)
    with pytest.raises(ValueError, match="num_chains=0; an int of at least 1"):
        layers.AugMix(num_chains=0)
