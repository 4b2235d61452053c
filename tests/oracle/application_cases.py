"""The architectures of `keras.applications` as cases: arguments, deterministic weights and inputs.

`record_applications.py` runs them with Keras, `check_applications.py` and `tests/applications` with
Podium. Weights are not stored: both sides fill a model's weights by their positions.
"""

import time
from typing import NamedTuple

import numpy as np


class Case(NamedTuple):
    """One model.

    Attributes:
        architecture: The function in `applications`.
        size: Height and width of the images.
        gain: The scale of kernels, relative to He's initialisation. With residual connections,
            activations grow with depth unless it is less than 1.
        pixels: Whether the model expects values from 0 to 255.
        arguments: Other arguments.
        forward: Whether the outputs are compared, too.
    """

    architecture: str
    size: int = 32
    gain: float = 1.0
    pixels: bool = False
    arguments: dict = {}  # noqa: RUF012
    forward: bool = True


def make_cases():
    cases = {name: Case(name, 32, 1.2) for name in ("VGG16", "VGG19")}
    cases["MobileNet"] = Case("MobileNet", 32, 1.6)
    for depth, gain in ((50, 0.8), (101, 0.65), (152, 0.6)):
        cases[f"ResNet{depth}"] = Case(f"ResNet{depth}", 32, gain)
    cases |= {f"ResNet{depth}V2": Case(f"ResNet{depth}V2", 32, 0.7) for depth in (50, 101, 152)}
    cases |= {f"DenseNet{depth}": Case(f"DenseNet{depth}", 32, 1.2) for depth in (121, 169, 201)}
    cases["Xception"] = Case("Xception", 71, 0.8)
    cases["InceptionV3"] = Case("InceptionV3", 75, 1.0)
    cases["InceptionResNetV2"] = Case("InceptionResNetV2", 75, 1.0)
    cases["MobileNetV2"] = Case("MobileNetV2", 32, 1.2)
    for size, gain in (("Small", 1.2), ("Large", 1.0)):
        cases[f"MobileNetV3{size}"] = Case(f"MobileNetV3{size}", 32, gain, True)
    for index, gain in enumerate((1.25, 1.2, 1.2, 1.2, 1.1, 1.1, 1.1, 1.1)):
        cases[f"EfficientNetB{index}"] = Case(f"EfficientNetB{index}", 32, gain, True)
    for variant in ("B0", "B1", "B2", "B3", "S", "M", "L"):
        gain = 1.0 if variant.startswith("B") else 0.8
        cases[f"EfficientNetV2{variant}"] = Case(f"EfficientNetV2{variant}", 32, gain, True)
    for size in ("Mobile", "Large"):
        cases[f"NASNet{size}"] = Case(f"NASNet{size}", 32, 1.0)
    for size in ("Tiny", "Small", "Base", "Large", "XLarge"):
        cases[f"ConvNeXt{size}"] = Case(f"ConvNeXt{size}", 32, 0.5, True)
    return cases | argument_cases()


def argument_cases():
    """Other arguments than the size, of small architectures; structure only where noted."""
    headless = {"include_top": False}
    return {
        "MobileNet/alpha": Case("MobileNet", arguments={"alpha": 0.25, "depth_multiplier": 2}),
        "MobileNet/avg": Case("MobileNet", arguments={**headless, "pooling": "avg"}),
        "MobileNet/odd": Case("MobileNet", 45, arguments={"alpha": 0.25, "dropout": 0.5}),
        "MobileNetV2/alpha": Case("MobileNetV2", 35, 0.8, arguments={"alpha": 1.3}),
        "MobileNetV2/narrow": Case(
            "MobileNetV2", 96, 0.8, arguments={"alpha": 0.35}, forward=False
        ),
        "MobileNetV3Small/minimalistic": Case(
            "MobileNetV3Small", 33, 1.0, True, {"minimalistic": True, "alpha": 0.75}
        ),
        "MobileNetV3Large/minimalistic": Case(
            "MobileNetV3Large", arguments={"minimalistic": True, "alpha": 1.25}, forward=False
        ),
        "MobileNetV3Small/max": Case(
            "MobileNetV3Small",
            arguments={**headless, "pooling": "max", "include_preprocessing": False},
        ),
        "ResNet50/max": Case("ResNet50", arguments={**headless, "pooling": "max"}, forward=False),
        "ResNet50V2/headless": Case("ResNet50V2", arguments=headless, forward=False),
        "DenseNet121/avg": Case(
            "DenseNet121", arguments={**headless, "pooling": "avg"}, forward=False
        ),
        "VGG16/avg": Case("VGG16", arguments={**headless, "pooling": "avg"}, forward=False),
        "Xception/max": Case(
            "Xception", 71, arguments={**headless, "pooling": "max"}, forward=False
        ),
        "InceptionV3/avg": Case(
            "InceptionV3", 75, arguments={**headless, "pooling": "avg"}, forward=False
        ),
        "NASNetMobile/odd": Case("NASNetMobile", 45, arguments=headless, forward=False),
        "EfficientNetB0/max": Case(
            "EfficientNetB0", 33, arguments={**headless, "pooling": "max"}, forward=False
        ),
        "EfficientNetV2B0/bare": Case(
            "EfficientNetV2B0", arguments={"include_preprocessing": False}, forward=False
        ),
        "EfficientNetV2B0/grey": Case(
            "EfficientNetV2B0", arguments={"input_shape": (32, 32, 1)}, forward=False
        ),
        "ConvNeXtTiny/avg": Case(
            "ConvNeXtTiny",
            arguments={**headless, "pooling": "avg", "include_preprocessing": False},
            forward=False,
        ),
    }


CASES = make_cases()


def build(library, case):
    """Return the model of a case, with ten classes, and the seconds that this took."""
    arguments = {"input_shape": (case.size, case.size, 3), "weights": None, **case.arguments}
    if arguments.get("include_top", True):
        arguments |= {"classes": 10, "classifier_activation": None}
    start = time.perf_counter()
    model = getattr(library.applications, case.architecture)(**arguments)
    return model, time.perf_counter() - start


def layer_lines(model):
    """Return for each layer, in order, its class, its name, the shape of its output and those
    options that its outputs do not show.
    """
    return [
        f"{type(layer).__name__} {layer.name} {tuple(layer.output.shape)} {_options(layer)}"
        for layer in model.layers
    ]


def _options(layer):
    config = layer.get_config()
    names = [name for name in ("momentum", "epsilon", "rate") if name in config]
    options = [f"{name}={config[name]}" for name in names]
    for name in ("kernel_initializer", "depthwise_initializer", "bias_initializer"):
        initializer = config.get(name)
        if initializer is not None:
            arguments = sorted(initializer["config"].items())
            texts = [f"{key}={value}" for key, value in arguments if key != "seed"]
            options.append(f"{initializer['class_name']}({', '.join(texts)})")
    return " ".join(options)


def weight_lines(model):
    """Return the path and shape of each weight, in order."""
    return [f"{weight.path} {tuple(weight.shape)}" for weight in model.weights]


def fill_weights(model, gain):
    """Give each weight values that depend on its position, name and shape alone."""
    for index, weight in enumerate(model.weights):
        weight.assign(weight_values(index, weight.path.split("/")[-1], tuple(weight.shape), gain))


def weight_values(index, name, shape, gain):
    if name == "count":
        return np.zeros(shape, "int32")
    values = np.random.default_rng(index).random(shape, dtype="float32") * 2 - 1
    if len(shape) > 1:
        is_depthwise = len(shape) == 4 and shape[-1] <= 2
        fan_in = np.prod(shape[:2] if is_depthwise else shape[:-1])
        return values * np.float32(gain * np.sqrt(6 / fan_in))
    if name in ("gamma", "variable") or "variance" in name:
        return 1 + np.float32(0.3) * values
    return np.float32(0.1) * values


def make_images(case):
    shape = case.arguments.get("input_shape", (case.size, case.size, 3))
    images = np.random.RandomState(case.size).uniform(-1, 1, (2, *shape)).astype("float32")
    return (images + 1) * np.float32(127.5) if case.pixels else images


def make_pixels():
    """Return two images for `preprocess_input`, in both data formats at once."""
    return np.random.RandomState(0).randint(0, 256, (2, 3, 4, 3)).astype("float32")
