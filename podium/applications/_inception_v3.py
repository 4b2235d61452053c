"""InceptionV3: blocks of parallel convolutions whose outputs are concatenated.

Szegedy et al., "Rethinking the Inception Architecture for Computer Vision",
https://arxiv.org/abs/1512.00567.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from podium import layers
from podium._typing import ActivationLike, PathLike
from podium.applications._architecture import (
    Architecture,
    ModelArguments,
    apply_layers,
    assemble_model,
)
from podium.applications._input_shape import image_channel_axis
from podium.applications._weights_files import name_kernel_files
from podium.core import KerasTensor
from podium.models import Model

# Filters, and height and width of the kernel, of a convolution.
_Convolution: TypeAlias = tuple[int, int, int]


def _apply_convolutions(
    x: KerasTensor, *convolutions: _Convolution, strides: int = 1, padding: str = "same"
) -> KerasTensor:
    """Apply convolutions with normalization and activation; options are those of the last one."""
    for index, (filters, height, width) in enumerate(convolutions):
        is_last = index == len(convolutions) - 1
        x = apply_layers(
            x,
            layers.Conv2D(
                filters,
                (height, width),
                strides=strides if is_last else 1,
                padding=padding if is_last else "same",
                use_bias=False,
            ),
            layers.BatchNormalization(axis=image_channel_axis(), scale=False),
            layers.Activation("relu"),
        )
    return x


def _halve_size(x: KerasTensor, *convolutions: _Convolution) -> KerasTensor:
    """Apply convolutions, the last of which halves height and width."""
    return _apply_convolutions(x, *convolutions, strides=2, padding="valid")


def _halve(x: KerasTensor) -> KerasTensor:
    return apply_layers(x, layers.MaxPooling2D(3, strides=2))


def _pool_and_project(x: KerasTensor, filters: int) -> KerasTensor:
    average = layers.AveragePooling2D(3, strides=1, padding="same")
    return _apply_convolutions(apply_layers(x, average), (filters, 1, 1))


def _merge_branches(branches: list[KerasTensor], name: str | None = None) -> KerasTensor:
    joined: KerasTensor = layers.Concatenate(axis=image_channel_axis(), name=name)(branches)
    return joined


def _mix_35(x: KerasTensor, pool_filters: int, name: str) -> KerasTensor:
    branches = [
        _apply_convolutions(x, (64, 1, 1)),
        _apply_convolutions(x, (48, 1, 1), (64, 5, 5)),
        _apply_convolutions(x, (64, 1, 1), (96, 3, 3), (96, 3, 3)),
        _pool_and_project(x, pool_filters),
    ]
    return _merge_branches(branches, name)


def _mix_17(x: KerasTensor, filters: int, name: str) -> KerasTensor:
    """Apply 7 x 7 convolutions as pairs of 1 x 7 and 7 x 1."""
    row, column = (filters, 1, 7), (filters, 7, 1)
    branches = [
        _apply_convolutions(x, (192, 1, 1)),
        _apply_convolutions(x, (filters, 1, 1), row, (192, 7, 1)),
        _apply_convolutions(x, (filters, 1, 1), column, row, column, (192, 1, 7)),
        _pool_and_project(x, 192),
    ]
    return _merge_branches(branches, name)


def _mix_8(x: KerasTensor, name: str, inner_name: str) -> KerasTensor:
    first = _apply_convolutions(x, (320, 1, 1))
    second = _apply_convolutions(x, (384, 1, 1))
    second = _merge_branches(
        [_apply_convolutions(second, (384, 1, 3)), _apply_convolutions(second, (384, 3, 1))],
        inner_name,
    )
    third = _apply_convolutions(x, (448, 1, 1), (384, 3, 3))
    third = _merge_branches(
        [_apply_convolutions(third, (384, 1, 3)), _apply_convolutions(third, (384, 3, 1))]
    )
    return _merge_branches([first, second, third, _pool_and_project(x, 192)], name)


def _body(images: KerasTensor) -> KerasTensor:
    x = _apply_convolutions(_halve_size(images, (32, 3, 3)), (32, 3, 3), padding="valid")
    x = _halve(_apply_convolutions(x, (64, 3, 3)))
    x = _apply_convolutions(x, (80, 1, 1), padding="valid")
    x = _halve(_apply_convolutions(x, (192, 3, 3), padding="valid"))
    for index, pool_filters in enumerate((32, 64, 64)):
        x = _mix_35(x, pool_filters, f"mixed{index}")
    branches = [_halve_size(x, (384, 3, 3)), _halve_size(x, (64, 1, 1), (96, 3, 3), (96, 3, 3))]
    x = _merge_branches([*branches, _halve(x)], "mixed3")
    for index, filters in enumerate((128, 160, 160, 192), start=4):
        x = _mix_17(x, filters, f"mixed{index}")
    branches = [
        _halve_size(x, (192, 1, 1), (320, 3, 3)),
        _halve_size(x, (192, 1, 1), (192, 1, 7), (192, 7, 1), (192, 3, 3)),
    ]
    x = _merge_branches([*branches, _halve(x)], "mixed8")
    for index in range(2):
        x = _mix_8(x, f"mixed{9 + index}", f"mixed9_{index}")
    return x


_INCEPTION_V3 = Architecture(
    _body,
    name_kernel_files(
        "inception_v3",
        "inception_v3",
        ("9a0d58056eeedaa3f26cb7ebd46da564", "bcbd6486424b2319ff4ef7d526e38f63"),
    ),
    default_size=299,
    min_size=75,
)


def InceptionV3(
    include_top: bool = True,
    weights: PathLike | None = "imagenet",
    input_tensor: KerasTensor | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: ActivationLike = "softmax",
    name: str = "inception_v3",
) -> Model:
    """Create an InceptionV3: see `podium.applications`.

    Preprocess images with `podium.applications.inception_v3.preprocess_input`. They have 299 x 299
    pixels by default.

    Args:
        include_top: Whether the model ends with its classifier.
        weights: None for random weights, "imagenet", or the path of a file of weights.
        input_tensor: A symbolic value to use as the images.
        input_shape: The shape of an image, at least 75 x 75 pixels. With weights of
            ImageNet and the classifier, it is the default.
        pooling: Without a classifier: None, "avg" or "max" pooling of the features.
        classes: The number of classes.
        classifier_activation: The activation of the classifier; None for logits.
        name: The name of the model.

    Example:
        >>> podium.applications.InceptionV3(input_shape=(32, 32, 3))
        Traceback (most recent call last):
        ValueError: input_shape=(32, 32, 3) was given with weights='imagenet' and \
include_top=True; (299, 299, 3), on which the classifier was trained, was expected. ...
    """
    arguments = ModelArguments(
        include_top,
        weights,
        input_tensor,
        input_shape,
        pooling,
        classes,
        classifier_activation,
        name,
    )
    return assemble_model(_INCEPTION_V3, arguments)
