"""ResNet50, ResNet101 and ResNet152: bottleneck blocks with a shortcut around each.

He et al., "Deep Residual Learning for Image Recognition", https://arxiv.org/abs/1512.03385.
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
from podium.applications._input_shape import image_channel_axis
from podium.applications._weights_files import WeightsFiles, name_kernel_files
from podium.core import KerasTensor
from podium.models import Model

_HASHES = {
    "resnet50": ("2cb95161c43110f7111970584f804107", "4d473c1dd8becc155b73f8504c6f6626"),
    "resnet101": ("f1aeb4b969a6efcfb50fad2f0c20cfc5", "88cf7a10940856eca736dc7b7e228a21"),
    "resnet152": ("100835be76be38e30d865e96f2aaae62", "ee4c566cf9a93f14d82f913c2dc6dd0c"),
    "resnet50v2": ("3ef43a0b657b3be2300d5770ece849e0", "fac2f116257151a9d068a22e544a4917"),
    "resnet101v2": ("6343647c601c52e1368623803854d971", "c0ed64b8031c3730f411d2eb4eea35b5"),
    "resnet152v2": ("a49b44d1979771252814e80f8ec446f9", "ed17cf2e0169df9d443503ef94b23b33"),
}


def resnet_files(name: str) -> WeightsFiles:
    """Return the files of a ResNet of either version."""
    return name_kernel_files("resnet", name, _HASHES[name])


def batch_norm(name: str) -> layers.BatchNormalization:
    """Return the batch normalization of all ResNets."""
    return layers.BatchNormalization(axis=image_channel_axis(), epsilon=1.001e-5, name=f"{name}_bn")


def normalize_and_activate(name: str) -> tuple[layers.Layer, layers.Layer]:
    """Return batch normalization and ReLU."""
    return batch_norm(name), layers.Activation("relu", name=f"{name}_relu")


def add_stem(images: KerasTensor, *between: layers.Layer) -> KerasTensor:
    """Reduce images to a quarter of their height and width.

    Args:
        images: The images.
        *between: Layers after the convolution.
    """
    return apply_layers(
        images,
        layers.ZeroPadding2D(3, name="conv1_pad"),
        layers.Conv2D(64, 7, strides=2, name="conv1_conv"),
        *between,
        layers.ZeroPadding2D(1, name="pool1_pad"),
        layers.MaxPooling2D(3, strides=2, name="pool1_pool"),
    )


def _block(x: KerasTensor, filters: int, stride: int, name: str, project: bool) -> KerasTensor:
    """Add a bottleneck of three convolutions to the shortcut, which `project` sends through one."""
    shortcut = x
    if project:
        convolution = layers.Conv2D(4 * filters, 1, strides=stride, name=f"{name}_0_conv")
        shortcut = apply_layers(x, convolution, batch_norm(f"{name}_0"))
    x = apply_layers(
        x,
        layers.Conv2D(filters, 1, strides=stride, name=f"{name}_1_conv"),
        *normalize_and_activate(f"{name}_1"),
        layers.Conv2D(filters, 3, padding="same", name=f"{name}_2_conv"),
        *normalize_and_activate(f"{name}_2"),
        layers.Conv2D(4 * filters, 1, name=f"{name}_3_conv"),
        batch_norm(f"{name}_3"),
    )
    total = layers.Add(name=f"{name}_add")([shortcut, x])
    return apply_layers(total, layers.Activation("relu", name=f"{name}_out"))


def _body(images: KerasTensor, depths: tuple[int, ...]) -> KerasTensor:
    """Apply a stack of blocks per depth; all but the first halve height and width."""
    x = add_stem(images, *normalize_and_activate("conv1"))
    for stack, depth in enumerate(depths):
        for index in range(depth):
            stride = 2 if index == 0 and stack > 0 else 1
            name = f"conv{stack + 2}_block{index + 1}"
            x = _block(x, 64 * 2**stack, stride, name, project=index == 0)
    return x


def _resnet(name: str, depths: tuple[int, ...]) -> Architecture:
    body = functools.partial(_body, depths=depths)
    return Architecture(body, resnet_files(name), add_named_head)


_RESNET50 = _resnet("resnet50", (3, 4, 6, 3))
_RESNET101 = _resnet("resnet101", (3, 4, 23, 3))
_RESNET152 = _resnet("resnet152", (3, 8, 36, 3))


def ResNet50(
    include_top: bool = True,
    weights: PathLike | None = "imagenet",
    input_tensor: KerasTensor | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: ActivationLike = "softmax",
    name: str = "resnet50",
) -> Model:
    """Create a ResNet50: see `podium.applications`.

    Preprocess images with `podium.applications.resnet.preprocess_input`.

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
        >>> podium.applications.ResNet50(input_shape=(32, 32, 3))
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
    return assemble_model(_RESNET50, arguments)


def ResNet101(
    include_top: bool = True,
    weights: PathLike | None = "imagenet",
    input_tensor: KerasTensor | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: ActivationLike = "softmax",
    name: str = "resnet101",
) -> Model:
    """Create a ResNet101. The arguments are those of `ResNet50`.

    Example:
        >>> podium.applications.ResNet101(input_shape=(32, 32, 3))
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
    return assemble_model(_RESNET101, arguments)


def ResNet152(
    include_top: bool = True,
    weights: PathLike | None = "imagenet",
    input_tensor: KerasTensor | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: ActivationLike = "softmax",
    name: str = "resnet152",
) -> Model:
    """Create a ResNet152. The arguments are those of `ResNet50`.

    Example:
        >>> podium.applications.ResNet152(input_shape=(32, 32, 3))
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
    return assemble_model(_RESNET152, arguments)
