"""Boxes, masks and galleries beyond Keras's drawings, which `tests/oracle` compares."""

import builtins

import numpy as np
import pytest

from podium import visualization
from podium.compat import keras

IMAGES = np.random.default_rng(0).integers(0, 256, (5, 16, 20, 3)).astype("uint8")
BOXES = {"boxes": np.array([[[3, 4, 12, 9]]] * 5), "labels": np.zeros((5, 1), int)}


def test_keras_has_the_names():
    assert keras.visualization is visualization


def test_inputs_are_not_changed_and_channels_first_gives_the_same():
    before = IMAGES.copy()
    drawn = visualization.draw_bounding_boxes(IMAGES, BOXES, "xywh", {0: "cat"})
    np.testing.assert_array_equal(IMAGES, before)
    first = visualization.draw_bounding_boxes(
        np.moveaxis(IMAGES, -1, 1), BOXES, "xywh", {0: "cat"}, data_format="channels_first"
    )
    np.testing.assert_array_equal(np.moveaxis(first, 1, -1), drawn)
    masks = IMAGES[..., 0] % 3
    blended = visualization.draw_segmentation_masks(IMAGES, masks)
    first = visualization.draw_segmentation_masks(
        np.moveaxis(IMAGES, -1, 1), masks[:, None], data_format="channels_first"
    )
    np.testing.assert_array_equal(first, blended)


def test_names_and_confidences_are_written_near_their_boxes():
    black = np.zeros((1, 60, 120, 3), "uint8")
    boxes = {"boxes": np.array([[[10, 40, 30, 55]]]), "labels": np.array([[7]])}
    plain = visualization.draw_bounding_boxes(black, boxes, "xyxy")
    named = visualization.draw_bounding_boxes(black, boxes, "xyxy", {7: "dog"})
    more = visualization.draw_bounding_boxes(
        black, {**boxes, "confidences": np.array([[0.987]])}, "xyxy", {7: "dog"}
    )
    texts = [np.argwhere((image != plain)[0, ..., 0]) for image in (named, more)]
    assert texts[0][:, 0].min() > 10 and texts[0][:, 0].max() < 40 and texts[0][:, 1].min() >= 10
    assert texts[1][:, 1].max() > texts[0][:, 1].max()
    other = visualization.draw_bounding_boxes(black, boxes, "xyxy", {6: "dog"})
    np.testing.assert_array_equal(other, plain)


def test_a_fourth_channel_is_opaque():
    drawn = visualization.draw_bounding_boxes(
        np.zeros((1, 16, 20, 4), "uint8"), {k: v[:1] for k, v in BOXES.items()}, "xyxy"
    )
    assert drawn[0, 4, 5].tolist() == [128, 128, 128, 255]


def test_every_class_of_the_masks_is_drawn():
    masks = np.zeros((1, 2, 2), "int32")
    masks[0, 1, 1] = 2
    drawn = visualization.draw_segmentation_masks(np.full((1, 2, 2, 3), 9.0), masks, alpha=1.0)
    assert drawn[0, 1, 1].tolist() == [2, 254, 62] and drawn[0, 0, 0].tolist() == [0, 0, 0]
    kept = visualization.draw_segmentation_masks(np.full((1, 2, 2, 3), 9.0), masks, ignore_index=0)
    assert kept[0, 0, 0].tolist() == [9, 9, 9]


def axes_of_saved_picture(monkeypatch, draw):
    from matplotlib.figure import Figure

    saved = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *args, **kwargs: saved.append(figure))
    draw()
    (figure,) = saved
    return figure.axes


def test_gallery_shows_every_image_with_its_titles(monkeypatch):
    axes = axes_of_saved_picture(
        monkeypatch,
        lambda: visualization.plot_image_gallery(
            IMAGES / 255,
            y_true=[0, 1, 0, 1, 2],
            y_pred=[1, 1],
            label_map={0: "cat", 1: "dog"},
            value_range=(0, 1),
            path="unused.png",
        ),
    )
    assert len(axes) == 6  # 3 rows of 2
    for shown, image in zip(axes, IMAGES, strict=False):
        np.testing.assert_allclose(shown.images[0].get_array(), image, atol=1)
    assert [shown.get_title() for shown in axes] == [
        *("Label: cat  Pred: dog", "Label: dog  Pred: dog", "Label: cat", "Label: dog"),
        *("Label: Unknown", ""),
    ]


def test_gallery_of_boxes_draws_both_kinds(monkeypatch):
    shifted = {"boxes": BOXES["boxes"] + 2, "labels": BOXES["labels"]}
    axes = axes_of_saved_picture(
        monkeypatch,
        lambda: visualization.plot_bounding_box_gallery(
            np.zeros((5, 16, 20, 3)),
            "xyxy",
            y_true=BOXES,
            y_pred=shifted,
            line_thickness=1,
            legend=True,
            path="unused.png",
        ),
    )
    image = axes[0].images[0].get_array()
    assert image[4, 3].tolist() == [0, 188, 212] and image[6, 5].tolist() == [255, 235, 59]
    assert [text.get_text() for text in axes[0].figure.legends[0].texts] == [
        "Ground Truth",
        "Prediction",
    ]


def test_gallery_of_masks_has_a_row_per_image(monkeypatch):
    masks = (IMAGES[:2, ..., :1] % 3).astype("float32")
    axes = axes_of_saved_picture(
        monkeypatch,
        lambda: visualization.plot_segmentation_mask_gallery(
            IMAGES[:2], 3, y_true=masks, y_pred=masks[..., 0], path="unused.png"
        ),
    )
    shown = [axis.images[0].get_array() for axis in axes]
    np.testing.assert_array_equal(shown[0], IMAGES[0])
    np.testing.assert_array_equal(shown[1], shown[2])
    drawn = visualization.draw_segmentation_masks(IMAGES[:2], masks.astype(int), 3)
    np.testing.assert_array_equal(shown[4], drawn[1])


def test_wrong_arguments_raise(monkeypatch):
    draw = visualization.draw_bounding_boxes
    with pytest.raises(ValueError, match="a batch of images with 4 dimensions was expected"):
        draw(IMAGES[0], BOXES, "xyxy")
    with pytest.raises(ValueError, match="Did you mean 'center_xywh'"):
        draw(IMAGES, BOXES, "centre_xywh")
    with pytest.raises(TypeError, match="a dictionary with 'boxes' and 'labels' was expected"):
        draw(IMAGES, BOXES["boxes"], "xyxy")
    with pytest.raises(ValueError, match=r"Pad with boxes of label -1"):
        draw(IMAGES, {"boxes": BOXES["boxes"], "labels": np.zeros((5, 2))}, "xyxy")
    with pytest.raises(TypeError, match="class numbers of an integer dtype were expected"):
        visualization.draw_segmentation_masks(IMAGES, np.zeros((5, 16, 20)))
    with pytest.raises(ValueError, match="one class number for each pixel"):
        visualization.draw_segmentation_masks(IMAGES, np.zeros((5, 16, 2), int))
    with pytest.raises(ValueError, match="without label_map"):
        visualization.plot_image_gallery(IMAGES, y_true=[0] * 5)
    with pytest.raises(ValueError, match="value_range"):
        visualization.plot_image_gallery(IMAGES, value_range=(1, 1), path="unused.png")
    with pytest.raises(ValueError, match="one of them was expected"):
        visualization.plot_image_gallery(IMAGES, path="unused.png", show=True)


def test_missing_packages_are_named(monkeypatch):
    imported = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name.split(".")[0] in ("PIL", "matplotlib"):
            raise ImportError(name)
        return imported(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ImportError, match=r"podium\[image\]"):
        visualization.draw_bounding_boxes(IMAGES, BOXES, "xyxy", {0: "cat"})
