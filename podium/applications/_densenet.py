"""DenseNet121, DenseNet169 and DenseNet201: each block gets the outputs of all before it.

Huang et al., "Densely Connected Convolutional Networks", https://arxiv.org/abs/1608.06993.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from podium import layers
from podium._typing import ActivationLike, PathLike
from podium.applications._architecture import (
    Architecture,
    ModelArguments,
    add_named_head,
    apply_layers,
    assemble_model,
)
from podium.applications._weights_files import name_kernel_files
from podium.core import KerasTensor
from podium.models import Model

_GROWTH_RATE = 32  # channels that each block adds


def _normalize_and_activate(prefix: str, infix: str = "") -> tuple[layers.Layer, layers.Layer]:
    return (
        layers.BatchNormalization(epsilon=1.001e-5, name=f"{prefix}{infix}bn"),
        layers.Activation("relu", name=f"{prefix}{infix}relu"),
    )


def _block(x: KerasTensor, name: str) -> KerasTensor:
    new = apply_layers(
        x,
        *_normalize_and_activate(name, "_0_"),
        layers.Conv2D(4 * _GROWTH_RATE, 1, use_bias=False, name=f"{name}_1_conv"),
        *_normalize_and_activate(name, "_1_"),
        layers.Conv2D(_GROWTH_RATE, 3, padding="same", use_bias=False, name=f"{name}_2_conv"),
    )
    joined: KerasTensor = layers.Concatenate(name=f"{name}_concat")([x, new])
    return joined


def _halve(x: KerasTensor, name: str) -> KerasTensor:
    """Halve the channels, the height and the width."""
    x = apply_layers(x, *_normalize_and_activate(name, "_"))
    return apply_layers(
        x,
        layers.Conv2D((x.shape[-1] or 0) // 2, 1, use_bias=False, name=f"{name}_conv"),
        layers.AveragePooling2D(2, strides=2, name=f"{name}_pool"),
    )


def _body(images: KerasTensor, depths: tuple[int, ...]) -> KerasTensor:
    x = apply_layers(
        images,
        layers.ZeroPadding2D(3),
        layers.Conv2D(64, 7, strides=2, use_bias=False, name="conv1_conv"),
        *_normalize_and_activate("conv1", "_"),
        layers.ZeroPadding2D(1),
        layers.MaxPooling2D(3, strides=2, name="pool1"),
    )
    for stack, depth in enumerate(depths, start=2):
        if stack > 2:
            x = _halve(x, f"pool{stack - 1}")
        for index in range(1, depth + 1):
            x = _block(x, f"conv{stack}_block{index}")
    return apply_layers(x, *_normalize_and_activate(""))


def _densenet(name: str, depths: tuple[int, ...], hashes: tuple[str, str]) -> Architecture:
    files = name_kernel_files("densenet", name, hashes)
    body = functools.partial(_body, depths=depths)
    return Architecture(body, files, add_named_head, channels_last_only=True)


_DENSENET121 = _densenet(
    "densenet121",
    (6, 12, 24, 16),
    ("9d60b8095a5708f2dcce2bca79d332c7", "30ee3e1110167f948a6b9946edeeb738"),
)
_DENSENET169 = _densenet(
    "densenet169",
    (6, 12, 32, 32),
    ("d699b8f76981ab1b30698df4c175e90b", "b8c4d4c20dd625c148057b9ff1c1176b"),
)
_DENSENET201 = _densenet(
    "densenet201",
    (6, 12, 48, 32),
    ("1ceb130c1ea1b78c3bf6114dbdfd8807", "c13680b51ded0fb44dff2d8f86ac8bb1"),
)


def DenseNet121(
    include_top: bool = True,
    weights: PathLike | None = "imagenet",
    input_tensor: KerasTensor | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: ActivationLike = "softmax",
    name: str = "densenet121",
) -> Model:
    """Create a DenseNet121: see `podium.applications`.

    Preprocess images with `podium.applications.densenet.preprocess_input`. The data format
    "channels_first" is not available.

    Args:
        include_top: Whether the model ends with its classifier.
        weights: None for random weights, "imagenet", or the path of a file of weights.
        input_tensor: A symbolic value to use as the images.
        input_shape: The shape of an image, at least 32 x 32 pixels. With weights of
            ImageNet and the classifier, it is the default.
        pooling: Without a classifier: None, "avg" or "max" pooling of the features.
        classes: The number of classes.
        classifier_activation: The activation of the classifier; None for logits.
        name: The name of the model.

    Example:
        >>> podium.applications.DenseNet121(input_shape=(32, 32, 3))
        Traceback (most recent call last):
        ValueError: input_shape=(32, 32, 3) was given with weights='imagenet' and \
include_top=True; (224, 224, 3), on which the classifier was trained, was expected. ...
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
    return assemble_model(_DENSENET121, arguments)


def DenseNet169(
    include_top: bool = True,
    weights: PathLike | None = "imagenet",
    input_tensor: KerasTensor | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: ActivationLike = "softmax",
    name: str = "densenet169",
) -> Model:
    """Create a DenseNet169. The arguments are those of `DenseNet121`.

    Example:
        >>> podium.applications.DenseNet169(input_shape=(32, 32, 3))
        Traceback (most recent call last):
        ValueError: input_shape=(32, 32, 3) was given with weights='imagenet' and \
include_top=True; (224, 224, 3), on which the classifier was trained, was expected. ...
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
    return assemble_model(_DENSENET169, arguments)


def DenseNet201(
    include_top: bool = True,
    weights: PathLike | None = "imagenet",
    input_tensor: KerasTensor | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: ActivationLike = "softmax",
    name: str = "densenet201",
) -> Model:
    """Create a DenseNet201. The arguments are those of `DenseNet121`.

    Example:
        >>> podium.applications.DenseNet201(input_shape=(32, 32, 3))
        Traceback (most recent call last):
        ValueError: input_shape=(32, 32, 3) was given with weights='imagenet' and \
include_top=True; (224, 224, 3), on which the classifier was trained, was expected. ...
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
    return assemble_model(_DENSENET201, arguments)
