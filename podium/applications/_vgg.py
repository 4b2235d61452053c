"""VGG16 and VGG19: stacks of 3 x 3 convolutions, with three dense layers as classifier.

Simonyan and Zisserman, "Very Deep Convolutional Networks for Large-Scale Image Recognition",
https://arxiv.org/abs/1409.1556.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from podium import layers
from podium._typing import ActivationLike, PathLike
from podium.applications._architecture import (
    Architecture,
    ModelArguments,
    apply_layers,
    assemble_model,
    pool,
)
from podium.applications._weights_files import name_kernel_files
from podium.core import KerasTensor
from podium.models import Model


def _body(images: KerasTensor, depths: tuple[int, ...]) -> KerasTensor:
    """Apply one block per depth, with twice the filters of the block before, up to 512."""
    x = images
    for block, depth in enumerate(depths, start=1):
        filters = min(32 * 2**block, 512)
        for index in range(1, depth + 1):
            name = f"block{block}_conv{index}"
            x = layers.Conv2D(filters, 3, activation="relu", padding="same", name=name)(x)
        x = layers.MaxPooling2D(2, strides=2, name=f"block{block}_pool")(x)
    return x


def _head(x: KerasTensor, arguments: ModelArguments) -> KerasTensor:
    if not arguments.include_top:
        return pool(x, arguments)
    return apply_layers(
        x,
        layers.Flatten(name="flatten"),
        layers.Dense(4096, activation="relu", name="fc1"),
        layers.Dense(4096, activation="relu", name="fc2"),
        layers.Dense(
            arguments.classes, activation=arguments.classifier_activation, name="predictions"
        ),
    )


def _vgg(name: str, depths: tuple[int, ...], hashes: tuple[str, str]) -> Architecture:
    files = name_kernel_files(name, name, hashes)
    return Architecture(functools.partial(_body, depths=depths), files, _head)


_VGG16 = _vgg(
    "vgg16",
    (2, 2, 3, 3, 3),
    ("64373286793e3c8b2b4e3219cbf3544b", "6d6bbae143d832006294945121d1f1fc"),
)
_VGG19 = _vgg(
    "vgg19",
    (2, 2, 4, 4, 4),
    ("cbe5617147190e668d6c5d5026f83318", "253f8cb515780f3b799900260a226db6"),
)


def VGG16(
    include_top: bool = True,
    weights: PathLike | None = "imagenet",
    input_tensor: KerasTensor | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: ActivationLike = "softmax",
    name: str = "vgg16",
) -> Model:
    """Create a VGG16, with 13 convolutions: see `podium.applications`.

    Preprocess images with `podium.applications.vgg16.preprocess_input`.

    Args:
        include_top: Whether the model ends with its classifier.
        weights: None for random weights, "imagenet", or the path of a file of weights.
        input_tensor: A symbolic value to use as the images.
        input_shape: The shape of an image, at least 32 x 32. With the classifier, its weights
            depend on it.
        pooling: Without a classifier: None, "avg" or "max" pooling of the features.
        classes: The number of classes.
        classifier_activation: The activation of the classifier; None for logits.
        name: The name of the model.

    Example:
        >>> model = podium.applications.VGG16(include_top=False, weights=None)
        >>> model.output_shape, model.count_params()
        ((None, None, None, 512), 14714688)
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
    return assemble_model(_VGG16, arguments)


def VGG19(
    include_top: bool = True,
    weights: PathLike | None = "imagenet",
    input_tensor: KerasTensor | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: ActivationLike = "softmax",
    name: str = "vgg19",
) -> Model:
    """Create a VGG19, with 16 convolutions.

    The arguments are those of `VGG16`.

    Example:
        >>> podium.applications.VGG19(input_shape=(32, 32, 3))
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
    return assemble_model(_VGG19, arguments)
