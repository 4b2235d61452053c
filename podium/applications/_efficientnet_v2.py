"""EfficientNetV2: smaller and faster to train, with fused convolutions in the first blocks.

Tan and Le, "EfficientNetV2: Smaller Models and Faster Training", https://arxiv.org/abs/2104.00298.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

from podium import initializers, layers
from podium._typing import ActivationLike, PathLike
from podium.applications._architecture import (
    Architecture,
    ModelArguments,
    apply_layers,
    assemble_model,
)
from podium.applications._efficientnet import (
    add_dropout_head,
    add_shortcut,
    excite,
    initialize_kernel,
    normalize_and_activate,
    unbiased_convolution,
)
from podium.applications._input_shape import image_channel_axis
from podium.applications._weights_files import name_files
from podium.core import KerasTensor
from podium.models import Model

_DROP_RATE = 0.2  # of the last block; those before have less
_MOMENTUM = 0.9
_SQUEEZE_RATIO = 0.25


class _Stack(NamedTuple):
    """Blocks of the same sizes; the first of them changes the channels and has the stride.

    Attributes:
        fused: Whether one convolution replaces the first two, and there is no squeeze and
            excitation.
        depth: The number of blocks.
        channels: The number of output channels.
        expansion: The factor of channels inside each block.
        stride: The stride of the first block.
    """

    fused: bool
    depth: int
    channels: int
    expansion: int
    stride: int


_B_STACKS = (
    _Stack(True, 1, 16, 1, 1),
    _Stack(True, 2, 32, 4, 2),
    _Stack(True, 2, 48, 4, 2),
    _Stack(False, 3, 96, 4, 2),
    _Stack(False, 5, 112, 6, 1),
    _Stack(False, 8, 192, 6, 2),
)
_S_STACKS = (
    _Stack(True, 2, 24, 1, 1),
    _Stack(True, 4, 48, 4, 2),
    _Stack(True, 4, 64, 4, 2),
    _Stack(False, 6, 128, 4, 2),
    _Stack(False, 9, 160, 6, 1),
    _Stack(False, 15, 256, 6, 2),
)
_M_STACKS = (
    _Stack(True, 3, 24, 1, 1),
    _Stack(True, 5, 48, 4, 2),
    _Stack(True, 5, 80, 4, 2),
    _Stack(False, 7, 160, 4, 2),
    _Stack(False, 14, 176, 6, 1),
    _Stack(False, 18, 304, 6, 2),
    _Stack(False, 5, 512, 6, 1),
)
_L_STACKS = (
    _Stack(True, 4, 32, 1, 1),
    _Stack(True, 7, 64, 4, 2),
    _Stack(True, 7, 96, 4, 2),
    _Stack(False, 10, 192, 4, 2),
    _Stack(False, 19, 224, 6, 1),
    _Stack(False, 25, 384, 6, 2),
    _Stack(False, 7, 640, 6, 1),
)


class _Scale(NamedTuple):
    """What makes one variant.

    Attributes:
        stacks: The stacks of blocks.
        stem_channels: The number of channels of the first convolution.
        width: The factor of channels.
        depth: The factor of the number of blocks.
        size: The default height and width of images.
        hashes: Those of the files of weights: with the classifier, and without it.
        normalizes: Whether preprocessing normalizes each channel.
    """

    stacks: tuple[_Stack, ...]
    stem_channels: int
    width: float
    depth: float
    size: int
    hashes: tuple[str, str]
    normalizes: bool = True


_B0 = _Scale(
    _B_STACKS,
    32,
    1.0,
    1.0,
    224,
    ("21ecbf6da12460d5c40bb2f29ceb2188", "893217f2bb855e2983157299931e43ff"),
)
_B1 = _Scale(
    _B_STACKS,
    32,
    1.0,
    1.1,
    240,
    ("069f0534ff22adf035c89e2d9547a9dc", "0e80663031ca32d657f9caa404b6ec37"),
)
_B2 = _Scale(
    _B_STACKS,
    32,
    1.1,
    1.2,
    260,
    ("424e49f28180edbde1e94797771950a7", "1dfe2e7a5d45b6632553a8961ea609eb"),
)
_B3 = _Scale(
    _B_STACKS,
    32,
    1.2,
    1.4,
    300,
    ("1f1fc43bd98a6e4fd8fdfd551e02c7a0", "f6abf7b5849ac99a89b50dd3fd532856"),
)
_S = _Scale(
    _S_STACKS,
    24,
    1.0,
    1.0,
    384,
    ("e1d88a8495beba45748fedd0cecbe016", "af0682fb74e8c54910f2d4393339c070"),
    normalizes=False,
)
_M = _Scale(
    _M_STACKS,
    24,
    1.0,
    1.0,
    480,
    ("a3bf6aa3276309f4fc6a34aa114c95cd", "1b8dc055df72dde80d614482840fe342"),
    normalizes=False,
)
_L = _Scale(
    _L_STACKS,
    32,
    1.0,
    1.0,
    480,
    ("27e6d408b53c7ebc868fefa357689935", "b0b66b5c863aef5b46e8608fe1711615"),
    normalizes=False,
)


def _round_channels(channels: float) -> int:
    """Return the nearest multiple of 8; unlike the first version's, it may be less than 90%."""
    return max(8, int(channels + 4) // 8 * 8)


def _normalize_and_activate(prefix: str, infix: str = "") -> tuple[layers.Layer, layers.Layer]:
    return normalize_and_activate(prefix, infix, _MOMENTUM)


def _batch_norm(name: str) -> layers.BatchNormalization:
    return layers.BatchNormalization(axis=image_channel_axis(), momentum=_MOMENTUM, name=name)


def _fused_body(
    x: KerasTensor, stack: _Stack, stride: int, filters: int, prefix: str
) -> KerasTensor:
    """Expand the channels by a 3 x 3 convolution; without an expansion, there is only this one."""
    name, channels = f"{prefix}project_conv", x.shape[image_channel_axis()] or 0
    if stack.expansion == 1:
        convolution = unbiased_convolution(filters, 3, name, stride)
        return apply_layers(x, convolution, *_normalize_and_activate(prefix, "project_"))
    return apply_layers(
        x,
        unbiased_convolution(channels * stack.expansion, 3, f"{prefix}expand_conv", stride),
        *_normalize_and_activate(prefix, "expand_"),
        unbiased_convolution(filters, 1, name),
        _batch_norm(f"{prefix}project_bn"),
    )


def _depthwise_body(
    x: KerasTensor, stack: _Stack, stride: int, filters: int, prefix: str
) -> KerasTensor:
    channels = x.shape[image_channel_axis()] or 0
    expanded = channels * stack.expansion
    x = apply_layers(
        x,
        unbiased_convolution(expanded, 1, f"{prefix}expand_conv"),
        *_normalize_and_activate(prefix, "expand_"),
        layers.DepthwiseConv2D(
            3,
            stride,
            "same",
            use_bias=False,
            depthwise_initializer=initialize_kernel(),
            name=f"{prefix}dwconv2",
        ),
        *_normalize_and_activate(prefix),
    )
    x = excite(x, expanded, max(1, int(channels * _SQUEEZE_RATIO)), prefix)
    project = unbiased_convolution(filters, 1, f"{prefix}project_conv")
    return apply_layers(x, project, _batch_norm(f"{prefix}project_bn"))


def _preprocess(images: KerasTensor, normalizes: bool) -> KerasTensor:
    axis = image_channel_axis()
    if not (normalizes and images.shape[axis] == 3):
        return apply_layers(images, layers.Rescaling(1 / 128, offset=-1))
    variance = [stddev**2 for stddev in (0.229, 0.224, 0.225)]
    normalization = layers.Normalization(axis, mean=[0.485, 0.456, 0.406], variance=variance)
    return apply_layers(images, layers.Rescaling(1 / 255), normalization)


def _body(images: KerasTensor, scale: _Scale, include_preprocessing: bool) -> KerasTensor:
    x = _preprocess(images, scale.normalizes) if include_preprocessing else images
    stem = unbiased_convolution(
        _round_channels(scale.stem_channels * scale.width), 3, "stem_conv", 2
    )
    x = apply_layers(x, stem, *_normalize_and_activate("stem_"))
    # Keras divides by the number of blocks before scaling the depth, so that rates exceed 0.2.
    num_blocks, block = sum(stack.depth for stack in scale.stacks), 0
    for number, stack in enumerate(scale.stacks, start=1):
        filters = _round_channels(stack.channels * scale.width)
        for index in range(math.ceil(scale.depth * stack.depth)):
            inputs, prefix = x, f"block{number}{chr(97 + index)}_"
            stride = stack.stride if index == 0 else 1
            block_body = _fused_body if stack.fused else _depthwise_body
            x = block_body(inputs, stack, stride, filters, prefix)
            if stride == 1 and inputs.shape[image_channel_axis()] == filters:
                x = add_shortcut(x, inputs, _DROP_RATE * block / num_blocks, prefix)
            block += 1
    top = unbiased_convolution(_round_channels(1280 * scale.width), 1, "top_conv")
    return apply_layers(x, top, *_normalize_and_activate("top_"))


def _build_variant(
    variant: str, scale: _Scale, include_preprocessing: bool, arguments: ModelArguments
) -> Model:
    folder = "tensorflow/keras-applications/efficientnet_v2"
    architecture = Architecture(
        functools.partial(_body, scale=scale, include_preprocessing=include_preprocessing),
        name_files(folder, f"efficientnetv2-{variant}", scale.hashes, (".h5", "_notop.h5")),
        functools.partial(
            add_dropout_head, dropout=0.2, bias_initializer=initializers.Constant(0.0)
        ),
        default_size=scale.size,
    )
    return assemble_model(architecture, arguments)


def EfficientNetV2B0(
    include_top: bool = True,
    weights: PathLike | None = "imagenet",
    input_tensor: KerasTensor | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: ActivationLike = "softmax",
    include_preprocessing: bool = True,
    name: str = "efficientnetv2-b0",
) -> Model:
    """Create an EfficientNetV2B0: see `podium.applications`.

    Args:
        include_top: Whether the model ends with its classifier.
        weights: None for random weights, "imagenet", or the path of a file of weights.
        input_tensor: A symbolic value to use as the images.
        input_shape: The shape of an image, at least 32 x 32 pixels. With weights of
            ImageNet and the classifier, it is the default.
        pooling: Without a classifier: None, "avg" or "max" pooling of the features.
        classes: The number of classes.
        classifier_activation: The activation of the classifier; None for logits.
        include_preprocessing: Whether the model scales the pixels itself.
        name: The name of the model.

    Example:
        >>> podium.applications.EfficientNetV2B0(input_shape=(32, 32, 3))
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
    return _build_variant("b0", _B0, include_preprocessing, arguments)


def EfficientNetV2B1(
    include_top: bool = True,
    weights: PathLike | None = "imagenet",
    input_tensor: KerasTensor | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: ActivationLike = "softmax",
    include_preprocessing: bool = True,
    name: str = "efficientnetv2-b1",
) -> Model:
    """Create an EfficientNetV2B1. The arguments are those of `EfficientNetV2B0`.

    Example:
        >>> podium.applications.EfficientNetV2B1(input_shape=(32, 32, 3))
        Traceback (most recent call last):
        ValueError: input_shape=(32, 32, 3) was given with weights='imagenet' and \
include_top=True; (240, 240, 3), on which the classifier was trained, was expected. ...
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
    return _build_variant("b1", _B1, include_preprocessing, arguments)


def EfficientNetV2B2(
    include_top: bool = True,
    weights: PathLike | None = "imagenet",
    input_tensor: KerasTensor | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: ActivationLike = "softmax",
    include_preprocessing: bool = True,
    name: str = "efficientnetv2-b2",
) -> Model:
    """Create an EfficientNetV2B2. The arguments are those of `EfficientNetV2B0`.

    Example:
        >>> podium.applications.EfficientNetV2B2(input_shape=(32, 32, 3))
        Traceback (most recent call last):
        ValueError: input_shape=(32, 32, 3) was given with weights='imagenet' and \
include_top=True; (260, 260, 3), on which the classifier was trained, was expected. ...
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
    return _build_variant("b2", _B2, include_preprocessing, arguments)


def EfficientNetV2B3(
    include_top: bool = True,
    weights: PathLike | None = "imagenet",
    input_tensor: KerasTensor | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: ActivationLike = "softmax",
    include_preprocessing: bool = True,
    name: str = "efficientnetv2-b3",
) -> Model:
    """Create an EfficientNetV2B3. The arguments are those of `EfficientNetV2B0`.

    Example:
        >>> podium.applications.EfficientNetV2B3(input_shape=(32, 32, 3))
        Traceback (most recent call last):
        ValueError: input_shape=(32, 32, 3) was given with weights='imagenet' and \
include_top=True; (300, 300, 3), on which the classifier was trained, was expected. ...
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
    return _build_variant("b3", _B3, include_preprocessing, arguments)


def EfficientNetV2S(
    include_top: bool = True,
    weights: PathLike | None = "imagenet",
    input_tensor: KerasTensor | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: ActivationLike = "softmax",
    include_preprocessing: bool = True,
    name: str = "efficientnetv2-s",
) -> Model:
    """Create an EfficientNetV2S. The arguments are those of `EfficientNetV2B0`.

    Example:
        >>> podium.applications.EfficientNetV2S(input_shape=(32, 32, 3))
        Traceback (most recent call last):
        ValueError: input_shape=(32, 32, 3) was given with weights='imagenet' and \
include_top=True; (384, 384, 3), on which the classifier was trained, was expected. ...
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
    return _build_variant("s", _S, include_preprocessing, arguments)


def EfficientNetV2M(
    include_top: bool = True,
    weights: PathLike | None = "imagenet",
    input_tensor: KerasTensor | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: ActivationLike = "softmax",
    include_preprocessing: bool = True,
    name: str = "efficientnetv2-m",
) -> Model:
    """Create an EfficientNetV2M. The arguments are those of `EfficientNetV2B0`.

    Example:
        >>> podium.applications.EfficientNetV2M(input_shape=(32, 32, 3))
        Traceback (most recent call last):
        ValueError: input_shape=(32, 32, 3) was given with weights='imagenet' and \
include_top=True; (480, 480, 3), on which the classifier was trained, was expected. ...
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
    return _build_variant("m", _M, include_preprocessing, arguments)


def EfficientNetV2L(
    include_top: bool = True,
    weights: PathLike | None = "imagenet",
    input_tensor: KerasTensor | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: ActivationLike = "softmax",
    include_preprocessing: bool = True,
    name: str = "efficientnetv2-l",
) -> Model:
    """Create an EfficientNetV2L. The arguments are those of `EfficientNetV2B0`.

    Example:
        >>> podium.applications.EfficientNetV2L(input_shape=(32, 32, 3))
        Traceback (most recent call last):
        ValueError: input_shape=(32, 32, 3) was given with weights='imagenet' and \
include_top=True; (480, 480, 3), on which the classifier was trained, was expected. ...
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
    return _build_variant("l", _L, include_preprocessing, arguments)
