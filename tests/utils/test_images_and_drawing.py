"""Image files and arrays, `plot_model` and `clear_session`."""

import builtins

import numpy as np
import pytest

import podium
from podium import utils


@pytest.mark.parametrize(("channels", "mode"), [(1, "grayscale"), (3, "rgb"), (4, "rgba")])
def test_saved_image_equals_loaded_image(channels, mode, tmp_path):
    image = np.random.default_rng(0).integers(0, 256, (4, 6, channels)).astype("float32")
    utils.save_img(tmp_path / "image.png", image, scale=False)
    loaded = utils.load_img(tmp_path / "image.png", color_mode=mode)
    np.testing.assert_array_equal(utils.img_to_array(loaded), image)
    assert utils.img_to_array(loaded, data_format="channels_first").shape == (channels, 4, 6)
    assert utils.load_img(
        str(tmp_path / "image.png"), target_size=(2, 2), keep_aspect_ratio=True
    ).size == (2, 2)


def test_array_to_img_scales_and_rejects_invalid_shapes():
    assert utils.img_to_array(utils.array_to_img([[[0.0], [0.5], [1.0]]])).ravel().tolist() == [
        0.0,
        127.0,
        255.0,
    ]
    with pytest.raises(ValueError, match=r"an array of shape \(4, 6\)"):
        utils.array_to_img(np.zeros((4, 6)))
    with pytest.raises(ValueError, match="was given 2 channels"):
        utils.array_to_img(np.zeros((4, 6, 2)))


@pytest.fixture
def hide_packages(monkeypatch):
    original_import = builtins.__import__

    def hide(*hidden):
        def import_visible(name, *args, **kwargs):
            if name.split(".")[0] in hidden:
                raise ImportError(name)
            return original_import(name, *args, **kwargs)

        monkeypatch.setattr(builtins, "__import__", import_visible)

    return hide


def test_error_names_the_missing_package(hide_packages, tmp_path):
    model = podium.Sequential([podium.layers.Dense(1)])
    hide_packages("PIL", "matplotlib")
    with pytest.raises(ImportError, match="pip install pillow"):
        utils.array_to_img(np.zeros((2, 2, 1)))
    with pytest.raises(ImportError, match=r"podium\[plot\]"):
        utils.plot_model(model, tmp_path / "model.png")


@pytest.mark.parametrize("rankdir", ["TB", "LR"])
def test_plot_model_draws_graphs(tmp_path, rankdir):
    x = podium.Input((4,), name="start")
    left = podium.layers.Dense(3, activation="relu", name="left")(x)
    right = podium.layers.Dense(3, name="right")(x)
    model = podium.Model(x, podium.layers.Add(name="sum")([left, right]) * 2.0)
    path = tmp_path / "model.svg"
    utils.plot_model(
        model,
        path,
        show_shapes=True,
        show_dtype=True,
        show_layer_activations=True,
        show_trainable=True,
        rankdir=rankdir,
    )
    text = path.read_text()
    for label in (
        "start (Input)",
        "left (Dense)",
        "sum (Add)",
        "multiply (Operation)",
        "output: (None, 3)",
        "activation: relu",
    ):
        assert label in text


def test_plot_model_draws_a_chain_without_a_graph(tmp_path):
    class TwoLayers(podium.Model):
        def __init__(self):
            super().__init__()
            self.first = podium.layers.Dense(1)
            self.second = podium.layers.Dense(1)

    utils.plot_model(TwoLayers(), tmp_path / "two.png", show_layer_names=False)
    assert (tmp_path / "two.png").read_bytes()[1:4] == b"PNG"
    with pytest.raises(ValueError, match="has no layers to draw"):
        utils.plot_model(podium.Model())


def test_clear_session_resets_names_and_settings():
    podium.layers.Dense(1)
    podium.core.set_dtype_policy("mixed_bfloat16")
    utils.clear_session()
    layer = podium.layers.Dense(1)
    assert layer.name == "dense" and layer.compute_dtype == "float32"


def test_format_of_an_image_file_may_be_called_jpg(tmp_path):
    podium.utils.save_img(tmp_path / "a.jpg", np.zeros((4, 6, 4)), file_format="jpg")
    assert podium.utils.load_img(tmp_path / "a.jpg").size == (6, 4)
