"""`preprocess_input` of arrays, Tensors and symbolic values, and compiled."""

import pathlib
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "oracle"))

from application_cases import make_pixels
from check_applications import FIXTURE

import podium
from podium.applications import efficientnet, imagenet_utils, vgg16

RECORDED = np.load(FIXTURE)
MODES = [
    (mode, data_format)
    for mode in ("caffe", "tf", "torch")
    for data_format in ("channels_first", "channels_last")
]


@pytest.mark.parametrize(("mode", "data_format"), MODES)
def test_arrays_and_tensors_are_preprocessed_like_keras(mode, data_format):
    pixels, expected = make_pixels(), RECORDED[f"preprocessing/{mode}/{data_format}"]
    preprocess = imagenet_utils.preprocess_input
    actual = preprocess(pixels, data_format, mode)
    assert isinstance(actual, np.ndarray) and actual.dtype == np.float32
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(pixels, make_pixels())  # not changed in place
    tensor = preprocess(podium.convert_to_tensor(pixels.astype("uint8")), data_format, mode)
    np.testing.assert_allclose(tensor.numpy(), expected, rtol=1e-4, atol=1e-4)
    single = preprocess(pixels[0], data_format, mode)
    np.testing.assert_allclose(single, expected[0], rtol=1e-5, atol=1e-5)


def test_symbolic_values_are_preprocessed_and_saved(tmp_path):
    images = podium.Input((3, 4, 3), dtype="uint8")
    model = podium.Model(images, vgg16.preprocess_input(images))
    model.save(tmp_path / "model.keras")
    loaded = podium.models.load_model(tmp_path / "model.keras")
    pixels = make_pixels()
    expected = RECORDED["preprocessing/caffe/channels_last"]
    for each in (model, loaded):
        actual = each(pixels.astype("uint8")).numpy()
        np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)


def test_compiled_functions_and_datasets_preprocess():
    pixels, expected = make_pixels(), RECORDED["preprocessing/torch/channels_last"]
    compiled = podium.function(lambda x: imagenet_utils.preprocess_input(x, mode="torch"))
    np.testing.assert_allclose(compiled(pixels).numpy(), expected, rtol=1e-4, atol=1e-4)


def test_dtypes_of_floats_are_kept():
    for dtype in ("float16", "float64"):
        images = make_pixels().astype(dtype)
        assert imagenet_utils.preprocess_input(images, mode="torch").dtype == dtype
    assert imagenet_utils.preprocess_input(make_pixels().astype("uint8")).dtype == "float32"


def test_models_with_their_own_preprocessing_leave_images_unchanged():
    images = make_pixels()
    assert efficientnet.preprocess_input(images) is images


def test_wrong_arguments_raise():
    with pytest.raises(ValueError, match="Unknown mode 'bgr'"):
        imagenet_utils.preprocess_input(make_pixels(), mode="bgr")
    with pytest.raises(ValueError, match="Unknown data_format 'last'"):
        imagenet_utils.preprocess_input(make_pixels(), data_format="last")
    with pytest.raises(ValueError, match=r"shape \(2, 3, 4, 1\) with mode='caffe'.*3 channels"):
        imagenet_utils.preprocess_input(make_pixels()[..., :1])
