"""EfficientNetB0 to B7: one architecture, scaled in width, depth and image size together.

Tan and Le, "EfficientNet: Rethinking Model Scaling for Convolutional Neural Networks",
https://arxiv.org/abs/1905.11946.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

from podium import initializers, layers
from podium._typing import ActivationLike, InitializerLike, PathLike
from podium.applications._architecture import (
    Architecture,
    ModelArguments,
    apply_layers,
    assemble_model,
    pool,
)
from podium.applications._input_shape import image_channel_axis, is_channels_first, strided_padding
from podium.applications._mobilenet_v2 import round_channels
from podium.applications._weights_files import IMAGENET, name_files
from podium.core import KerasTensor
from podium.models import Model

_DROP_RATE = 0.2  # of the last block; those before have less
_SQUEEZE_RATIO = 0.25


class _Stack(NamedTuple):
    """Blocks of the same sizes; the first of them changes the channels and has the stride."""

    kernel_size: int
    depth: int
    channels: int
    expansion: int
    stride: int


_STACKS = (
    _Stack(3, 1, 16, 1, 1),
    _Stack(3, 2, 24, 6, 2),
    _Stack(5, 2, 40, 6, 2),
    _Stack(3, 3, 80, 6, 2),
    _Stack(5, 3, 112, 6, 1),
    _Stack(5, 4, 192, 6, 2),
    _Stack(3, 1, 320, 6, 1),
)


class _Scale(NamedTuple):
    """What makes one variant.

    Attributes:
        width: The factor of channels.
        depth: The factor of the number of blocks.
        size: The default height and width of images.
        dropout: The rate of dropout before the classifier.
        hashes: Those of the files of weights: with the classifier, and without it.
    """

    width: float
    depth: float
    size: int
    dropout: float
    hashes: tuple[str, str]


_B0 = _Scale(
    1.0, 1.0, 224, 0.2, ("902e53a9f72be733fc0bcb005b3ebbac", "50bc09e76180e00e4465e1a485ddc09d")
)
_B1 = _Scale(
    1.0, 1.1, 240, 0.2, ("1d254153d4ab51201f1646940f018540", "74c4e6b3e1f6a1eea24c589628592432")
)
_B2 = _Scale(
    1.1, 1.2, 260, 0.3, ("b15cce36ff4dcbd00b6dd88e7857a6ad", "111f8e2ac8aa800a7a99e3239f7bfb39")
)
_B3 = _Scale(
    1.2, 1.4, 300, 0.3, ("ffd1fdc53d0ce67064dc6a9c7960ede0", "af6d107764bb5b1abb91932881670226")
)
_B4 = _Scale(
    1.4, 1.8, 380, 0.4, ("18c95ad55216b8f92d7e70b3a046e2fc", "ebc24e6d6c33eaebbd558eafbeedf1ba")
)
_B5 = _Scale(
    1.6, 2.2, 456, 0.4, ("ace28f2a6363774853a83a0b21b9421a", "38879255a25d3c92d5e44e04ae6cec6f")
)
_B6 = _Scale(
    1.8, 2.6, 528, 0.5, ("165f6e37dce68623721b423839de8be5", "9ecce42647a20130c1f39a5d4cb75743")
)
_B7 = _Scale(
    2.0, 3.1, 600, 0.5, ("8c03f828fec3ef71311cd463b6759d99", "cbcfe4450ddf6f3ad90b1b398090fe4a")
)


def initialize_kernel() -> initializers.VarianceScaling:
    """Return the initializer of convolutions in both versions of EfficientNet."""
    return initializers.VarianceScaling(2.0, mode="fan_out", distribution="truncated_normal")


def unbiased_convolution(
    filters: int, kernel_size: int, name: str, strides: int = 1
) -> layers.Conv2D:
    """Return the convolution of both versions, without a bias."""
    return layers.Conv2D(
        filters,
        kernel_size,
        strides=strides,
        padding="same",
        use_bias=False,
        kernel_initializer=initialize_kernel(),
        name=name,
    )


def normalize_and_activate(
    prefix: str, infix: str = "", momentum: float = 0.99
) -> tuple[layers.Layer, layers.Layer]:
    """Return batch normalization and swish."""
    return (
        layers.BatchNormalization(
            axis=image_channel_axis(), momentum=momentum, name=f"{prefix}{infix}bn"
        ),
        layers.Activation("swish", name=f"{prefix}{infix}activation"),
    )


def excite(x: KerasTensor, channels: int, squeezed: int, prefix: str) -> KerasTensor:
    """Scale each channel by a factor that depends on the means of all channels.

    Args:
        x: The values.
        channels: The number of channels of `x`.
        squeezed: The number of channels between the two convolutions.
        prefix: What the names of layers begin with.
    """
    shape = (channels, 1, 1) if is_channels_first() else (1, 1, channels)

    def project(filters: int, activation: str, name: str) -> layers.Conv2D:
        return layers.Conv2D(
            filters,
            1,
            padding="same",
            activation=activation,
            kernel_initializer=initialize_kernel(),
            name=name,
        )

    factors = apply_layers(
        x,
        layers.GlobalAveragePooling2D(name=f"{prefix}se_squeeze"),
        layers.Reshape(shape, name=f"{prefix}se_reshape"),
        project(squeezed, "swish", f"{prefix}se_reduce"),
        project(channels, "sigmoid", f"{prefix}se_expand"),
    )
    scaled: KerasTensor = layers.Multiply(name=f"{prefix}se_excite")([x, factors])
    return scaled


def add_shortcut(x: KerasTensor, inputs: KerasTensor, drop_rate: float, prefix: str) -> KerasTensor:
    """Add the inputs of a block to its outputs, which dropout omits for entire samples."""
    if drop_rate > 0:
        shape = (None, 1, 1, 1)
        x = layers.Dropout(drop_rate, noise_shape=shape, name=f"{prefix}drop")(x)
    total: KerasTensor = layers.Add(name=f"{prefix}add")([x, inputs])
    return total


def _block(
    inputs: KerasTensor, stack: _Stack, stride: int, filters: int, drop_rate: float, prefix: str
) -> KerasTensor:
    x, channels = inputs, inputs.shape[image_channel_axis()] or 0
    expanded = channels * stack.expansion
    if stack.expansion != 1:
        expand = unbiased_convolution(expanded, 1, f"{prefix}expand_conv")
        x = apply_layers(x, expand, *normalize_and_activate(prefix, "expand_"))
    padding = "same"
    if stride == 2:
        padding = "valid"
        margins = strided_padding(x, stack.kernel_size)
        x = layers.ZeroPadding2D(margins, name=f"{prefix}dwconv_pad")(x)
    depthwise = layers.DepthwiseConv2D(
        stack.kernel_size,
        stride,
        padding,
        use_bias=False,
        depthwise_initializer=initialize_kernel(),
        name=f"{prefix}dwconv",
    )
    x = apply_layers(x, depthwise, *normalize_and_activate(prefix))
    x = excite(x, expanded, max(1, int(channels * _SQUEEZE_RATIO)), prefix)
    x = apply_layers(
        x,
        unbiased_convolution(filters, 1, f"{prefix}project_conv"),
        layers.BatchNormalization(axis=image_channel_axis(), name=f"{prefix}project_bn"),
    )
    if stride == 1 and channels == filters:
        x = add_shortcut(x, inputs, drop_rate, prefix)
    return x


def _body(images: KerasTensor, scale: _Scale, is_imagenet: bool) -> KerasTensor:
    x = apply_layers(
        images, layers.Rescaling(1 / 255), layers.Normalization(axis=image_channel_axis())
    )
    if is_imagenet:  # with these weights, Keras divides by the roots of the standard deviations
        x = layers.Rescaling([1 / math.sqrt(s) for s in (0.229, 0.224, 0.225)])(x)
    stem = layers.Conv2D(
        round_channels(32 * scale.width),
        3,
        strides=2,
        use_bias=False,
        kernel_initializer=initialize_kernel(),
        name="stem_conv",
    )
    padding = layers.ZeroPadding2D(strided_padding(x, 3), name="stem_conv_pad")
    x = apply_layers(x, padding, stem, *normalize_and_activate("stem_"))
    depths = [math.ceil(scale.depth * stack.depth) for stack in _STACKS]
    block = 0
    for number, (stack, depth) in enumerate(zip(_STACKS, depths, strict=True), start=1):
        filters = round_channels(stack.channels * scale.width)
        for index in range(depth):
            stride = stack.stride if index == 0 else 1
            drop_rate = _DROP_RATE * block / sum(depths)
            x = _block(x, stack, stride, filters, drop_rate, f"block{number}{chr(97 + index)}_")
            block += 1
    top = unbiased_convolution(round_channels(1280 * scale.width), 1, "top_conv")
    return apply_layers(x, top, *normalize_and_activate("top_"))


def add_dropout_head(
    x: KerasTensor,
    arguments: ModelArguments,
    dropout: float,
    bias_initializer: InitializerLike = "zeros",
) -> KerasTensor:
    """Return the class probabilities, or without a classifier the features.

    Args:
        x: What the body returned.
        arguments: The caller's arguments.
        dropout: The rate of dropout before the classifier.
        bias_initializer: The initializer of the classifier's bias.
    """
    if not arguments.include_top:
        return pool(x, arguments, "avg_pool", "max_pool")
    return apply_layers(
        x,
        layers.GlobalAveragePooling2D(name="avg_pool"),
        layers.Dropout(dropout, name="top_dropout"),
        layers.Dense(
            arguments.classes,
            activation=arguments.classifier_activation,
            kernel_initializer=initializers.VarianceScaling(1 / 3, "fan_out", "uniform"),
            bias_initializer=bias_initializer,
            name="predictions",
        ),
    )


def _build_variant(variant: str, scale: _Scale, arguments: ModelArguments) -> Model:
    is_imagenet = isinstance(arguments.weights, str) and arguments.weights == IMAGENET
    architecture = Architecture(
        functools.partial(_body, scale=scale, is_imagenet=is_imagenet),
        name_files(
            "keras-applications", f"efficientnet{variant}", scale.hashes, (".h5", "_notop.h5")
        ),
        functools.partial(add_dropout_head, dropout=scale.dropout),
        default_size=scale.size,
    )
    return assemble_model(architecture, arguments)


def EfficientNetB0(
    include_top: bool = True,
    weights: PathLike | None = "imagenet",
    input_tensor: KerasTensor | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: ActivationLike = "softmax",
    name: str = "efficientnetb0",
) -> Model:
    """Create an EfficientNetB0: see `podium.applications`.

    The model scales and normalizes pixels from 0..255 itself. The statistics are zeros and ones
    unless weights are loaded.

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
        >>> podium.applications.EfficientNetB0(input_shape=(32, 32, 3))
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
    return _build_variant("b0", _B0, arguments)


def EfficientNetB1(
    include_top: bool = True,
    weights: PathLike | None = "imagenet",
    input_tensor: KerasTensor | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: ActivationLike = "softmax",
    name: str = "efficientnetb1",
) -> Model:
    """Create an EfficientNetB1. The arguments are those of `EfficientNetB0`.

    Example:
        >>> podium.applications.EfficientNetB1(input_shape=(32, 32, 3))
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
    return _build_variant("b1", _B1, arguments)


def EfficientNetB2(
    include_top: bool = True,
    weights: PathLike | None = "imagenet",
    input_tensor: KerasTensor | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: ActivationLike = "softmax",
    name: str = "efficientnetb2",
) -> Model:
    """Create an EfficientNetB2. The arguments are those of `EfficientNetB0`.

    Example:
        >>> podium.applications.EfficientNetB2(input_shape=(32, 32, 3))
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
    return _build_variant("b2", _B2, arguments)


def EfficientNetB3(
    include_top: bool = True,
    weights: PathLike | None = "imagenet",
    input_tensor: KerasTensor | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: ActivationLike = "softmax",
    name: str = "efficientnetb3",
) -> Model:
    """Create an EfficientNetB3. The arguments are those of `EfficientNetB0`.

    Example:
        >>> podium.applications.EfficientNetB3(input_shape=(32, 32, 3))
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
    return _build_variant("b3", _B3, arguments)


def EfficientNetB4(
    include_top: bool = True,
    weights: PathLike | None = "imagenet",
    input_tensor: KerasTensor | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: ActivationLike = "softmax",
    name: str = "efficientnetb4",
) -> Model:
    """Create an EfficientNetB4. The arguments are those of `EfficientNetB0`.

    Example:
        >>> podium.applications.EfficientNetB4(input_shape=(32, 32, 3))
        Traceback (most recent call last):
        ValueError: input_shape=(32, 32, 3) was given with weights='imagenet' and \
include_top=True; (380, 380, 3), on which the classifier was trained, was expected. ...
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
    return _build_variant("b4", _B4, arguments)


def EfficientNetB5(
    include_top: bool = True,
    weights: PathLike | None = "imagenet",
    input_tensor: KerasTensor | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: ActivationLike = "softmax",
    name: str = "efficientnetb5",
) -> Model:
    """Create an EfficientNetB5. The arguments are those of `EfficientNetB0`.

    Example:
        >>> podium.applications.EfficientNetB5(input_shape=(32, 32, 3))
        Traceback (most recent call last):
        ValueError: input_shape=(32, 32, 3) was given with weights='imagenet' and \
include_top=True; (456, 456, 3), on which the classifier was trained, was expected. ...
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
    return _build_variant("b5", _B5, arguments)


def EfficientNetB6(
    include_top: bool = True,
    weights: PathLike | None = "imagenet",
    input_tensor: KerasTensor | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: ActivationLike = "softmax",
    name: str = "efficientnetb6",
) -> Model:
    """Create an EfficientNetB6. The arguments are those of `EfficientNetB0`.

    Example:
        >>> podium.applications.EfficientNetB6(input_shape=(32, 32, 3))
        Traceback (most recent call last):
        ValueError: input_shape=(32, 32, 3) was given with weights='imagenet' and \
include_top=True; (528, 528, 3), on which the classifier was trained, was expected. ...
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
    return _build_variant("b6", _B6, arguments)


def EfficientNetB7(
    include_top: bool = True,
    weights: PathLike | None = "imagenet",
    input_tensor: KerasTensor | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: ActivationLike = "softmax",
    name: str = "efficientnetb7",
) -> Model:
    """Create an EfficientNetB7. The arguments are those of `EfficientNetB0`.

    Example:
        >>> podium.applications.EfficientNetB7(input_shape=(32, 32, 3))
        Traceback (most recent call last):
        ValueError: input_shape=(32, 32, 3) was given with weights='imagenet' and \
include_top=True; (600, 600, 3), on which the classifier was trained, was expected. ...
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
    return _build_variant("b7", _B7, arguments)
