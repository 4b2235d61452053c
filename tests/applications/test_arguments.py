"""Arguments of the architectures: what is accepted, and the errors for the rest."""

import numpy as np
import pytest

import podium
from podium import applications
from podium.core.internal import override


@pytest.fixture(autouse=True)
def without_initialization():
    with override(skips_initialization=True):
        yield


@pytest.fixture
def channels_first():
    podium.config.set_image_data_format("channels_first")
    yield
    podium.config.set_image_data_format("channels_last")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"weights": "missing.h5"},
            "weights='missing.h5' was given; None .random weights., 'image",
        ),
        ({"classes": 10}, "classes=10 was given with weights='imagenet' and include_top=True"),
        ({"weights": None, "classes": 0}, "classes=0 was given; an int of at least 1"),
        (
            {"weights": None, "pooling": "mean"},
            "Unknown pooling 'mean'",
        ),
        ({"include_top": "yes"}, "include_top='yes'"),
        ({"classifier_activation": "relu"}, "classifier_activation='relu' was given with weights="),
        ({"input_shape": (96, 96, 3)}, r"input_shape=\(96, 96, 3\) was given with weights='imag"),
        (
            {"input_shape": (96, 96, 4), "include_top": False},
            r"input_shape=\(96, 96, 4\) was given with weights='imagenet'; 3 channels",
        ),
        (
            {"input_shape": (16, 96, 3), "weights": None},
            r"input_shape=\(16, 96, 3\) was given; a height and a width of at least 32",
        ),
        ({"input_shape": (96, 96), "weights": None}, "three sizes without the batch dimension"),
        (
            {"input_shape": (None, None, 3), "weights": None},
            r"input_shape=\(None, None, 3\) was given with include_top=True; sizes without None",
        ),
    ],
)
def test_wrong_arguments_raise_before_anything_is_built(arguments, message):
    with pytest.raises(ValueError, match=message):
        applications.ResNet50(**arguments)


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        ("MobileNet", {"alpha": 0.3}, "alpha=0.3 was given with weights='imagenet'; 1.0 or 0.75"),
        ("MobileNet", {"depth_multiplier": 2}, "depth_multiplier=2 was given with weights='imag"),
        ("MobileNetV2", {"alpha": 2.0}, "alpha=2.0 was given with weights='imagenet'; 0.35 or"),
        ("MobileNetV3Small", {"alpha": 0.5}, "alpha=0.5 was given with weights='imagenet'; 0.75"),
        (
            "MobileNetV3Large",
            {"minimalistic": True, "alpha": 0.75},
            "alpha=0.75 was given with weights='imagenet'; 1.0 was expected",
        ),
        (
            "NASNetLarge",
            {"input_shape": (None, None, 3), "include_top": False},
            "sizes without None were expected",
        ),
        ("MobileNetV3Small", {"dropout_rate": 2, "weights": None}, "dropout_rate=2"),
    ],
)
def test_arguments_without_weights_of_imagenet_raise(function, arguments, message):
    with pytest.raises(ValueError, match=message):
        getattr(applications, function)(**arguments)


@pytest.mark.parametrize("function", ["DenseNet121", "NASNetMobile", "ConvNeXtTiny"])
def test_architectures_for_channels_last_refuse_channels_first(function, channels_first):
    with pytest.raises(ValueError, match="image_data_format='channels_first'; 'channels_last'"):
        getattr(applications, function)(weights=None)


def test_channels_first_is_built_with_its_shapes(channels_first):
    model = applications.MobileNetV2((3, 64, 48), alpha=0.35, weights=None, include_top=False)
    assert model.input_shape == (None, 3, 64, 48)
    assert model.output_shape == (None, 1280, 2, 2)
    with pytest.raises(ValueError, match=r"input_shape=\(64, 64, 3\) was given; a height and"):
        applications.ResNet50(input_shape=(64, 64, 3), weights=None)


def test_unusual_numbers_of_channels_warn():
    with pytest.warns(UserWarning, match=r"input_shape=\(32, 32, 5\) has 5 channels"):
        applications.MobileNet((32, 32, 5), alpha=0.25, weights=None)


def test_model_of_a_symbolic_value_starts_at_its_inputs():
    images = podium.Input((48, 48, 3), name="images")
    scaled = podium.layers.Rescaling(1 / 255)(images)
    model = applications.MobileNet(alpha=0.25, weights=None, input_tensor=scaled, classes=2)
    assert [layer.name for layer in model.layers[:2]] == ["images", "rescaling"]
    assert model.input_shape == (None, 48, 48, 3) and model.output_shape == (None, 2)
    with pytest.raises(ValueError, match=r"input_tensor of shape \(None, 48, 48, 3\); the same"):
        applications.MobileNetV2((48, 32, 3), weights=None, input_tensor=scaled)
    with pytest.raises(ValueError, match="a KerasTensor was expected"):
        applications.MobileNetV2((48, 48, 3), weights=None, input_tensor=np.ones((1, 48, 48, 3)))
    with pytest.raises(TypeError, match="a KerasTensor was expected"):
        applications.MobileNet(weights=None, input_tensor=np.ones((1, 48, 48, 3)))


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({}, "mobilenet_1.00_224"),
        ({"include_top": False}, "mobilenet_1.00_None"),
        ({"input_shape": (64, 64, 3), "alpha": 0.5}, "mobilenet_0.50_64"),
        ({"name": "mine", "alpha": 0.25}, "mine"),
    ],
)
def test_names_of_mobilenets_have_alpha_and_size(arguments, name):
    assert applications.MobileNet(weights=None, **arguments).name == name


def test_names_and_packages_are_keras_s():
    keras = podium.compat.keras
    assert keras.applications.resnet50.ResNet50 is applications.ResNet50
    assert keras.applications.resnet.preprocess_input is applications.vgg16.preprocess_input
    packages = (
        "convnext densenet efficientnet efficientnet_v2 imagenet_utils inception_resnet_v2 "
        "inception_v3 mobilenet mobilenet_v2 mobilenet_v3 nasnet resnet resnet50 resnet_v2 vgg16 "
        "vgg19 xception"
    )
    for name in packages.split():
        package = getattr(applications, name)
        assert callable(package.preprocess_input) and callable(package.decode_predictions)
