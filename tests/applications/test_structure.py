"""Layers, weights and numbers of parameters, as Keras has them; and two forward passes.

`make check-applications` compares all architectures and their outputs.
"""

import pathlib
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "oracle"))

from application_cases import CASES, build
from check_applications import FIXTURE, compare_outputs, compare_structure

import podium
from podium.core.internal import override

RECORDED = np.load(FIXTURE)
SMALLEST = [
    "VGG16",
    "ResNet50",
    "ResNet50V2",
    "DenseNet121",
    "Xception",
    "InceptionV3",
    "InceptionResNetV2",
    "EfficientNetB0",
    "EfficientNetV2B0",
    "NASNetMobile/odd",
    "ConvNeXtTiny",
    *(name for name in CASES if name.startswith("MobileNet")),
]


def build_without_initialization(name):
    with override(skips_initialization=True):
        return build(podium, CASES[name])[0]


@pytest.mark.parametrize("name", SMALLEST)
def test_layers_and_weights_are_those_of_keras(name):
    model = build_without_initialization(name)
    assert compare_structure(name, model, RECORDED) == []


@pytest.mark.parametrize("name", ["MobileNet/odd", "MobileNetV3Small/max"])
def test_outputs_are_those_of_keras(name):
    model = build_without_initialization(name)
    assert compare_outputs(name, model, RECORDED) < 1e-4


def test_every_architecture_is_recorded():
    names = {name for name in vars(podium.applications) if name[0].isupper()}
    assert names == {case.architecture for case in CASES.values()}
    assert len(names) == 40
    assert all(f"{name}/outputs" in RECORDED for name in names)
