"""MobileNetV3Small and MobileNetV3Large: found by search, with squeeze and excitation.

Howard et al., "Searching for MobileNetV3", https://arxiv.org/abs/1905.02244.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

from podium import layers
from podium._typing import ActivationLike, PathLike
from podium.applications._architecture import (
    Architecture,
    ModelArguments,
    apply_layers,
    assemble_model,
    pool,
)
from podium.applications._input_shape import (
    height_and_width,
    image_channel_axis,
    make_image_shape,
    strided_padding,
)
from podium.applications._mobilenet import check_trained
from podium.applications._mobilenet_v2 import batch_norm, check_input_tensor, round_channels
from podium.applications._weights_files import IMAGENET, WeightsFiles, name_files
from podium.core import KerasTensor, warn_user
from podium.core.internal import check_fraction, check_number
from podium.models import Model

_HASHES = {
    "large_224_0.75_float": (
        "765b44a33ad4005b3ac83185abf1d0eb",
        "40af19a13ebea4e2ee0c676887f69a2e",
    ),
    "large_224_1.0_float": (
        "59e551e166be033d707958cf9e29a6a7",
        "07fb09a5933dd0c8eaafa16978110389",
    ),
    "large_minimalistic_224_1.0_float": (
        "675e7b876c45c57e9e63e6d90a36599c",
        "ec5221f64a2f6d1ef965a614bdae7973",
    ),
    "small_224_0.75_float": (
        "cb65d4e5be93758266aa0a7f2c6708b7",
        "ebdb5cc8e0b497cd13a7c275d475c819",
    ),
    "small_224_1.0_float": (
        "8768d4c2e7dee89b9d02b2d03d65d862",
        "d3e8ec802a04aa4fc771ee12a9a9b836",
    ),
    "small_minimalistic_224_1.0_float": (
        "99cd97fb2fcdad2bf028eb838de69e37",
        "cde8136e733e811080d9fcd8a252f7e4",
    ),
}
_TRAINED_SIZE = 224
_SQUEEZE_RATIO = 0.25


class _BlockSizes(NamedTuple):
    """The sizes of one block.

    Attributes:
        expansion: The factor of channels inside the block.
        channels: The number of output channels.
        large_kernel: Whether the kernel is 5 x 5, unless the model is minimalistic.
        stride: The stride of the depthwise convolution.
        squeezes: Whether it has squeeze and excitation, unless the model is minimalistic.
        swishes: Whether the activation is hard swish, unless the model is minimalistic.
    """

    expansion: float
    channels: int
    large_kernel: bool
    stride: int
    squeezes: bool
    swishes: bool


_SMALL = (
    _BlockSizes(1, 16, False, 2, True, False),
    _BlockSizes(72 / 16, 24, False, 2, False, False),
    _BlockSizes(88 / 24, 24, False, 1, False, False),
    _BlockSizes(4, 40, True, 2, True, True),
    _BlockSizes(6, 40, True, 1, True, True),
    _BlockSizes(6, 40, True, 1, True, True),
    _BlockSizes(3, 48, True, 1, True, True),
    _BlockSizes(3, 48, True, 1, True, True),
    _BlockSizes(6, 96, True, 2, True, True),
    _BlockSizes(6, 96, True, 1, True, True),
    _BlockSizes(6, 96, True, 1, True, True),
)
_LARGE = (
    _BlockSizes(1, 16, False, 1, False, False),
    _BlockSizes(4, 24, False, 2, False, False),
    _BlockSizes(3, 24, False, 1, False, False),
    _BlockSizes(3, 40, True, 2, True, False),
    _BlockSizes(3, 40, True, 1, True, False),
    _BlockSizes(3, 40, True, 1, True, False),
    _BlockSizes(6, 80, False, 2, False, True),
    _BlockSizes(2.5, 80, False, 1, False, True),
    _BlockSizes(2.3, 80, False, 1, False, True),
    _BlockSizes(2.3, 80, False, 1, False, True),
    _BlockSizes(6, 112, False, 1, True, True),
    _BlockSizes(6, 112, False, 1, True, True),
    _BlockSizes(6, 160, True, 2, True, True),
    _BlockSizes(6, 160, True, 1, True, True),
    _BlockSizes(6, 160, True, 1, True, True),
)


def _activation(swishes: bool) -> layers.Layer:
    return layers.Activation("hard_swish") if swishes else layers.ReLU()


def _pointwise(filters: int, name: str, use_bias: bool = False) -> layers.Conv2D:
    return layers.Conv2D(filters, 1, padding="same", use_bias=use_bias, name=name)


def _excite(inputs: KerasTensor, channels: int, prefix: str) -> KerasTensor:
    """Scale each channel by a factor that depends on the means of all channels."""
    prefix = f"{prefix}squeeze_excite_"
    x = apply_layers(
        inputs,
        layers.GlobalAveragePooling2D(keepdims=True, name=f"{prefix}avg_pool"),
        _pointwise(round_channels(channels * _SQUEEZE_RATIO), f"{prefix}conv", use_bias=True),
        layers.ReLU(name=f"{prefix}relu"),
        _pointwise(channels, f"{prefix}conv_1", use_bias=True),
    )
    factors = layers.ReLU(6.0)(x + 3.0) * (1.0 / 6.0)
    scaled: KerasTensor = layers.Multiply(name=f"{prefix}mul")([inputs, factors])
    return scaled


def _apply_block(
    inputs: KerasTensor, block: _BlockSizes, filters: int, minimalistic: bool, index: int
) -> KerasTensor:
    prefix = f"expanded_conv_{index}_" if index else "expanded_conv_"
    x, channels = inputs, inputs.shape[image_channel_axis(-1)] or 0
    expanded = round_channels(channels * block.expansion)
    swishes = block.swishes and not minimalistic
    if index:
        x = apply_layers(
            x,
            _pointwise(expanded, f"{prefix}expand"),
            batch_norm(f"{prefix}expand_bn"),
            _activation(swishes),
        )
    kernel_size = 5 if block.large_kernel and not minimalistic else 3
    padding = "same"
    if block.stride == 2:
        padding = "valid"
        margins = strided_padding(x, kernel_size)
        x = layers.ZeroPadding2D(margins, name=f"{prefix}depthwise_pad")(x)
    x = apply_layers(
        x,
        layers.DepthwiseConv2D(
            kernel_size, block.stride, padding, use_bias=False, name=f"{prefix}depthwise"
        ),
        batch_norm(f"{prefix}depthwise_bn"),
        _activation(swishes),
    )
    if block.squeezes and not minimalistic:
        x = _excite(x, expanded, prefix)
    x = apply_layers(x, _pointwise(filters, f"{prefix}project"), batch_norm(f"{prefix}project_bn"))
    if block.stride == 1 and channels == filters:
        x = layers.Add(name=f"{prefix}add")([inputs, x])
    return x


def _body(
    images: KerasTensor,
    blocks: tuple[_BlockSizes, ...],
    alpha: float,
    minimalistic: bool,
    include_preprocessing: bool,
) -> KerasTensor:
    x = layers.Rescaling(1 / 127.5, offset=-1.0)(images) if include_preprocessing else images
    x = apply_layers(
        x,
        layers.Conv2D(16, 3, strides=2, padding="same", use_bias=False, name="conv"),
        batch_norm("conv_bn"),
        _activation(not minimalistic),
    )
    for index, block in enumerate(blocks):
        filters = round_channels(block.channels * alpha)
        x = _apply_block(x, block, filters, minimalistic, index)
    return apply_layers(
        x,
        _pointwise(round_channels((x.shape[image_channel_axis(-1)] or 0) * 6), "conv_1"),
        batch_norm("conv_1_bn"),
        _activation(not minimalistic),
    )


def _head(
    x: KerasTensor,
    arguments: ModelArguments,
    channels: int,
    minimalistic: bool,
    dropout_rate: float,
) -> KerasTensor:
    if not arguments.include_top:
        return pool(x, arguments, "avg_pool", "max_pool")
    x = apply_layers(
        x,
        layers.GlobalAveragePooling2D(keepdims=True),
        _pointwise(channels, "conv_2", use_bias=True),
        _activation(not minimalistic),
    )
    if dropout_rate > 0:
        x = layers.Dropout(dropout_rate)(x)
    return apply_layers(
        x,
        _pointwise(arguments.classes, "logits", use_bias=True),
        layers.Flatten(),
        layers.Activation(arguments.classifier_activation, name="predictions"),
    )


def _choose_files(
    size: str, alpha: float, minimalistic: bool, arguments: ModelArguments
) -> WeightsFiles | None:
    """Return the files of ImageNet's weights if the caller asked for them.

    Raises:
        ValueError: There are none for these arguments.
    """
    if not isinstance(arguments.weights, str) or arguments.weights != IMAGENET:
        return None
    check_trained("alpha", alpha, (1.0,) if minimalistic else (0.75, 1.0))
    shape = arguments.input_shape
    if shape is not None and set(height_and_width(tuple(shape))) != {_TRAINED_SIZE}:
        warn_user(
            f"input_shape={tuple(shape)} was given, and weights of ImageNet are for images of "
            f"{_TRAINED_SIZE} pixels: those are loaded."
        )
    variant = f"{size}{'_minimalistic' if minimalistic else ''}_224_{float(alpha)}_float"
    folder = "tensorflow/keras-applications/mobilenet_v3"
    suffixes = (".h5", "_no_top_v2.h5")
    return name_files(folder, f"weights_mobilenet_v3_{variant}", _HASHES[variant], suffixes)


def _build_variant(
    size: str,
    alpha: float,
    minimalistic: bool,
    dropout_rate: float,
    include_preprocessing: bool,
    arguments: ModelArguments,
) -> Model:
    """Return a model of a size, "small" or "large"."""
    check_number("alpha", alpha, 0)
    check_fraction("dropout_rate", dropout_rate)
    check_input_tensor(arguments.input_tensor, arguments.input_shape)
    images = arguments.input_tensor
    if arguments.input_shape is None and isinstance(images, KerasTensor):
        shape = make_image_shape(*height_and_width(images.shape[1:]))
        arguments = arguments._replace(input_shape=shape)
    blocks, channels = (_SMALL, 1024) if size == "small" else (_LARGE, 1280)
    architecture = Architecture(
        functools.partial(
            _body,
            blocks=blocks,
            alpha=alpha,
            minimalistic=minimalistic,
            include_preprocessing=include_preprocessing,
        ),
        _choose_files(size, alpha, minimalistic, arguments),
        functools.partial(
            _head,
            channels=round_channels(channels * max(alpha, 1.0)),
            minimalistic=minimalistic,
            dropout_rate=dropout_rate,
        ),
        any_size=True,
    )
    return assemble_model(architecture, arguments)


def MobileNetV3Small(
    input_shape: Sequence[int | None] | None = None,
    alpha: float = 1.0,
    minimalistic: bool = False,
    include_top: bool = True,
    weights: PathLike | None = "imagenet",
    input_tensor: KerasTensor | None = None,
    classes: int = 1000,
    pooling: str | None = None,
    dropout_rate: float = 0.2,
    classifier_activation: ActivationLike = "softmax",
    include_preprocessing: bool = True,
    name: str = "MobileNetV3Small",
) -> Model:
    """Create a MobileNetV3Small: see `podium.applications`.

    Args:
        input_shape: The shape of an image, at least 32 x 32 pixels; by default images of any size
            are accepted. There are weights of ImageNet for 224.
        alpha: The factor of the number of channels. There are weights for 0.75 and 1.
        minimalistic: Whether blocks lack squeeze and excitation, hard swish and 5 x 5 kernels.
            There are weights for `alpha=1`.
        include_top: Whether the model ends with its classifier.
        weights: None for random weights, "imagenet", or the path of a file of weights.
        input_tensor: A symbolic value to use as the images.
        classes: The number of classes.
        pooling: Without a classifier: None, "avg" or "max" pooling of the features.
        dropout_rate: The rate of dropout before the classifier.
        classifier_activation: The activation of the classifier; None for logits.
        include_preprocessing: Whether the model scales pixels from 0..255 itself.
        name: The name of the model.

    Example:
        >>> podium.applications.MobileNetV3Small(minimalistic=True, alpha=0.75)
        Traceback (most recent call last):
        ValueError: alpha=0.75 was given with weights='imagenet'; 1.0 was expected. Pass \
`weights=None` for another one.
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
    return _build_variant(
        "small", alpha, minimalistic, dropout_rate, include_preprocessing, arguments
    )


def MobileNetV3Large(
    input_shape: Sequence[int | None] | None = None,
    alpha: float = 1.0,
    minimalistic: bool = False,
    include_top: bool = True,
    weights: PathLike | None = "imagenet",
    input_tensor: KerasTensor | None = None,
    classes: int = 1000,
    pooling: str | None = None,
    dropout_rate: float = 0.2,
    classifier_activation: ActivationLike = "softmax",
    include_preprocessing: bool = True,
    name: str = "MobileNetV3Large",
) -> Model:
    """Create a MobileNetV3Large. The arguments are those of `MobileNetV3Small`.

    Example:
        >>> podium.applications.MobileNetV3Large(alpha=0.5)
        Traceback (most recent call last):
        ValueError: alpha=0.5 was given with weights='imagenet'; 0.75 or 1.0 was expected. Pass \
`weights=None` for another one.
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
    return _build_variant(
        "large", alpha, minimalistic, dropout_rate, include_preprocessing, arguments
    )
