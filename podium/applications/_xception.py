"""Xception: depthwise separable convolutions with a shortcut around every two or three.

Chollet, "Xception: Deep Learning with Depthwise Separable Convolutions",
https://arxiv.org/abs/1610.02357.
"""

from __future__ import annotations

from collections.abc import Sequence

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


def _batch_norm(name: str | None = None) -> layers.BatchNormalization:
    return layers.BatchNormalization(axis=image_channel_axis(-1), name=name)


def _stem_convolution(filters: int, strides: int, name: str) -> tuple[layers.Layer, ...]:
    return (
        layers.Conv2D(filters, 3, strides=strides, use_bias=False, name=name),
        _batch_norm(f"{name}_bn"),
        layers.Activation("relu", name=f"{name}_act"),
    )


def _separable_layers(filters: int, name: str) -> tuple[layers.Layer, layers.Layer]:
    return (
        layers.SeparableConv2D(filters, 3, padding="same", use_bias=False, name=name),
        _batch_norm(f"{name}_bn"),
    )


def _reduction(x: KerasTensor, block: int, filters: tuple[int, int]) -> KerasTensor:
    """Halve height and width."""
    project = layers.Conv2D(filters[1], 1, strides=2, padding="same", use_bias=False)
    residual = apply_layers(x, project, _batch_norm())
    name = f"block{block}_sepconv"
    if block > 2:  # the block before has no activation at its end
        x = layers.Activation("relu", name=f"{name}1_act")(x)
    x = apply_layers(
        x,
        *_separable_layers(filters[0], f"{name}1"),
        layers.Activation("relu", name=f"{name}2_act"),
        *_separable_layers(filters[1], f"{name}2"),
        layers.MaxPooling2D(3, strides=2, padding="same", name=f"block{block}_pool"),
    )
    return apply_layers([x, residual], layers.Add())


def _body(images: KerasTensor) -> KerasTensor:
    stem = _stem_convolution(32, 2, "block1_conv1") + _stem_convolution(64, 1, "block1_conv2")
    x = apply_layers(images, *stem)
    for block, filters in enumerate((128, 256, 728), start=2):
        x = _reduction(x, block, (filters, filters))
    for block in range(5, 13):
        residual = x
        for index in (1, 2, 3):
            name = f"block{block}_sepconv{index}"
            activation = layers.Activation("relu", name=f"{name}_act")
            x = apply_layers(x, activation, *_separable_layers(728, name))
        x = apply_layers([x, residual], layers.Add())
    x = _reduction(x, 13, (728, 1024))
    for index, filters in enumerate((1536, 2048), start=1):
        name = f"block14_sepconv{index}"
        activation = layers.Activation("relu", name=f"{name}_act")
        x = apply_layers(x, *_separable_layers(filters, name), activation)
    return x


_XCEPTION = Architecture(
    _body,
    name_kernel_files(
        "xception",
        "xception",
        ("0a58e3b7378bc2990ea3b43d5981f1f6", "b0042744bf5b25fce3cb969f33bebb97"),
    ),
    default_size=299,
    min_size=71,
)


def Xception(
    include_top: bool = True,
    weights: PathLike | None = "imagenet",
    input_tensor: KerasTensor | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: ActivationLike = "softmax",
    name: str = "xception",
) -> Model:
    """Create an Xception: see `podium.applications`.

    Preprocess images with `podium.applications.xception.preprocess_input`. They have 299 x 299
    pixels by default.

    Args:
        include_top: Whether the model ends with its classifier.
        weights: None for random weights, "imagenet", or the path of a file of weights.
        input_tensor: A symbolic value to use as the images.
        input_shape: The shape of an image, at least 71 x 71 pixels. With weights of
            ImageNet and the classifier, it is the default.
        pooling: Without a classifier: None, "avg" or "max" pooling of the features.
        classes: The number of classes.
        classifier_activation: The activation of the classifier; None for logits.
        name: The name of the model.

    Example:
        >>> podium.applications.Xception(input_shape=(32, 32, 3))
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
    return assemble_model(_XCEPTION, arguments)
