"""ResNet50V2, ResNet101V2 and ResNet152V2: blocks that normalize and activate before convolutions.

He et al., "Identity Mappings in Deep Residual Networks", https://arxiv.org/abs/1603.05027.
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
from podium.applications._resnet import add_stem, normalize_and_activate, resnet_files
from podium.core import KerasTensor
from podium.models import Model


def _block(x: KerasTensor, filters: int, stride: int, name: str, project: bool) -> KerasTensor:
    """Add a bottleneck of three convolutions to the shortcut, which `project` sends through one."""
    active = apply_layers(x, *normalize_and_activate(f"{name}_preact"))
    if project:
        convolution = layers.Conv2D(4 * filters, 1, strides=stride, name=f"{name}_0_conv")
        shortcut = apply_layers(active, convolution)
    else:
        shortcut = x if stride == 1 else layers.MaxPooling2D(1, strides=stride)(x)
    x = apply_layers(
        active,
        layers.Conv2D(filters, 1, use_bias=False, name=f"{name}_1_conv"),
        *normalize_and_activate(f"{name}_1"),
        layers.ZeroPadding2D(1, name=f"{name}_2_pad"),
        layers.Conv2D(filters, 3, strides=stride, use_bias=False, name=f"{name}_2_conv"),
        *normalize_and_activate(f"{name}_2"),
        layers.Conv2D(4 * filters, 1, name=f"{name}_3_conv"),
    )
    total: KerasTensor = layers.Add(name=f"{name}_out")([shortcut, x])
    return total


def _body(images: KerasTensor, depths: tuple[int, ...]) -> KerasTensor:
    """Apply a stack of blocks per depth; the last block of all but the last halves the sizes."""
    x = add_stem(images)
    for stack, depth in enumerate(depths):
        for index in range(depth):
            stride = 2 if index == depth - 1 and stack < len(depths) - 1 else 1
            name = f"conv{stack + 2}_block{index + 1}"
            x = _block(x, 64 * 2**stack, stride, name, project=index == 0)
    return apply_layers(x, *normalize_and_activate("post"))


def _resnet_v2(name: str, depths: tuple[int, ...]) -> Architecture:
    body = functools.partial(_body, depths=depths)
    return Architecture(body, resnet_files(name), add_named_head)


_RESNET50V2 = _resnet_v2("resnet50v2", (3, 4, 6, 3))
_RESNET101V2 = _resnet_v2("resnet101v2", (3, 4, 23, 3))
_RESNET152V2 = _resnet_v2("resnet152v2", (3, 8, 36, 3))


def ResNet50V2(
    include_top: bool = True,
    weights: PathLike | None = "imagenet",
    input_tensor: KerasTensor | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: ActivationLike = "softmax",
    name: str = "resnet50v2",
) -> Model:
    """Create a ResNet50V2: see `podium.applications`.

    Preprocess images with `podium.applications.resnet_v2.preprocess_input`.

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
        >>> podium.applications.ResNet50V2(input_shape=(32, 32, 3))
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
    return assemble_model(_RESNET50V2, arguments)


def ResNet101V2(
    include_top: bool = True,
    weights: PathLike | None = "imagenet",
    input_tensor: KerasTensor | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: ActivationLike = "softmax",
    name: str = "resnet101v2",
) -> Model:
    """Create a ResNet101V2. The arguments are those of `ResNet50V2`.

    Example:
        >>> podium.applications.ResNet101V2(input_shape=(32, 32, 3))
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
    return assemble_model(_RESNET101V2, arguments)


def ResNet152V2(
    include_top: bool = True,
    weights: PathLike | None = "imagenet",
    input_tensor: KerasTensor | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: ActivationLike = "softmax",
    name: str = "resnet152v2",
) -> Model:
    """Create a ResNet152V2. The arguments are those of `ResNet50V2`.

    Example:
        >>> podium.applications.ResNet152V2(input_shape=(32, 32, 3))
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
    return assemble_model(_RESNET152V2, arguments)
