"""MobileNet: depthwise separable convolutions, with a multiplier of all channels.

Howard et al., "MobileNets: Efficient Convolutional Neural Networks for Mobile Vision Applications",
https://arxiv.org/abs/1704.04861.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from podium import layers
from podium._typing import ActivationLike, PathLike, SymbolicShape
from podium.applications._architecture import (
    Architecture,
    ModelArguments,
    apply_layers,
    assemble_model,
    pool,
)
from podium.applications._input_shape import height_and_width, image_channel_axis
from podium.applications._weights_files import IMAGENET, WeightsFile, WeightsFiles
from podium.core import KerasTensor, warn_user
from podium.core.internal import check_int, check_number
from podium.models import Model

_FOLDER = "tensorflow/keras-applications/mobilenet"
_TRAINED_SIZES = (128, 160, 192, 224)  # heights and widths of images
_TRAINED_ALPHAS = {1.0: "1_0", 0.75: "7_5", 0.5: "5_0", 0.25: "2_5"}
_DEFAULT_SIZE = 224
# Channels and stride of each block.
_BLOCKS = (
    (64, 1),
    (128, 2),
    (128, 1),
    (256, 2),
    (256, 1),
    (512, 2),
    *((512, 1),) * 5,
    (1024, 2),
    (1024, 1),
)


def _normalize_and_activate(name: str) -> tuple[layers.Layer, layers.Layer]:
    return (
        layers.BatchNormalization(axis=image_channel_axis(-1), name=f"{name}_bn"),
        layers.ReLU(6.0, name=f"{name}_relu"),
    )


def _block(
    x: KerasTensor, filters: int, stride: int, depth_multiplier: int, index: int
) -> KerasTensor:
    padding = "same"
    if stride == 2:
        padding = "valid"
        x = layers.ZeroPadding2D(((0, 1), (0, 1)), name=f"conv_pad_{index}")(x)
    return apply_layers(
        x,
        layers.DepthwiseConv2D(
            3,
            stride,
            padding,
            depth_multiplier,
            use_bias=False,
            name=f"conv_dw_{index}",
        ),
        *_normalize_and_activate(f"conv_dw_{index}"),
        layers.Conv2D(filters, 1, padding="same", use_bias=False, name=f"conv_pw_{index}"),
        *_normalize_and_activate(f"conv_pw_{index}"),
    )


def _body(images: KerasTensor, alpha: float, depth_multiplier: int) -> KerasTensor:
    stem = layers.Conv2D(
        int(32 * alpha), 3, strides=2, padding="same", use_bias=False, name="conv1"
    )
    x = apply_layers(images, stem, *_normalize_and_activate("conv1"))
    for index, (filters, stride) in enumerate(_BLOCKS, start=1):
        x = _block(x, int(filters * alpha), stride, depth_multiplier, index)
    return x


def _head(x: KerasTensor, arguments: ModelArguments, dropout: float) -> KerasTensor:
    if not arguments.include_top:
        return pool(x, arguments)
    return apply_layers(
        x,
        layers.GlobalAveragePooling2D(keepdims=True),
        layers.Dropout(dropout, name="dropout"),
        layers.Conv2D(arguments.classes, 1, padding="same", name="conv_preds"),
        layers.Reshape((arguments.classes,), name="reshape_2"),
        layers.Activation(arguments.classifier_activation, name="predictions"),
    )


def choose_trained_size(shape: SymbolicShape | None, trained_sizes: tuple[int, ...]) -> int:
    """Return the height and width of a shape if there are weights for it, else the default.

    Args:
        shape: The shape of an image, or None.
        trained_sizes: The heights and widths with weights of ImageNet.
    """
    height, width = height_and_width(shape) if shape and len(shape) >= 3 else (None, None)
    is_trained = height is not None and height == width and height in trained_sizes
    return height if is_trained and height is not None else _DEFAULT_SIZE


def choose_weights_size(
    shape: SymbolicShape | None, size: int, include_top: bool, trained_sizes: tuple[int, ...]
) -> int:
    """Return the image size on which the weights of ImageNet to load were trained.

    Args:
        shape: The shape of an image that the caller passed, or None.
        size: What `choose_trained_size` returned.
        include_top: Whether the model has a classifier, which needs images of that size.
        trained_sizes: The heights and widths with weights of ImageNet.
    """
    if shape is None and include_top:
        return size
    height, width = height_and_width(shape) if shape and len(shape) >= 3 else (None, None)
    if height == width and height in trained_sizes:
        return size
    warn_user(
        f"input_shape={shape!r} was given, and weights of ImageNet are for images of "
        f"{', '.join(map(str, trained_sizes))} pixels: those for {_DEFAULT_SIZE} are loaded."
    )
    return _DEFAULT_SIZE


def check_trained(argument: str, value: float, choices: Sequence[float]) -> None:
    """Raise unless there are weights of ImageNet for the value of an argument."""
    if value not in choices:
        raise ValueError(
            f"{argument}={value!r} was given with weights='imagenet'; "
            f"{' or '.join(map(str, choices))} was expected. Pass `weights=None` for another one."
        )


def MobileNet(
    input_shape: Sequence[int | None] | None = None,
    alpha: float = 1.0,
    depth_multiplier: int = 1,
    dropout: float = 0.001,
    include_top: bool = True,
    weights: PathLike | None = "imagenet",
    input_tensor: KerasTensor | None = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: ActivationLike = "softmax",
    name: str | None = None,
) -> Model:
    """Create a MobileNet: see `podium.applications`.

    Preprocess images with `podium.applications.mobilenet.preprocess_input`.

    Args:
        input_shape: The shape of an image, at least 32 x 32 pixels. There are weights of ImageNet
            for 128, 160, 192 and 224.
        alpha: The factor of the number of channels. There are weights for 0.25, 0.5, 0.75 and 1.
        depth_multiplier: The number of outputs of depthwise convolutions for each channel.
        dropout: The rate of dropout before the classifier.
        include_top: Whether the model ends with its classifier.
        weights: None for random weights, "imagenet", or the path of a file of weights.
        input_tensor: A symbolic value to use as the images.
        pooling: Without a classifier: None, "avg" or "max" pooling of the features.
        classes: The number of classes.
        classifier_activation: The activation of the classifier; None for logits.
        name: The name of the model; by default it has `alpha` and the size of images.

    Example:
        >>> model = podium.applications.MobileNet((64, 64, 3), 0.25, weights=None, classes=10)
        >>> model.name, model.output_shape, model.count_params()
        ('mobilenet_0.25_64', (None, 10), 221114)
    """
    check_number("alpha", alpha, 0)
    check_int("depth_multiplier", depth_multiplier)
    shape = None if input_shape is None else tuple(input_shape)
    size = choose_trained_size(shape, _TRAINED_SIZES)
    rows = height_and_width(shape)[0] if shape and len(shape) == 3 else None
    files: WeightsFiles | None = None
    if isinstance(weights, str) and weights == IMAGENET:
        check_trained("depth_multiplier", depth_multiplier, (1,))
        check_trained("alpha", alpha, tuple(_TRAINED_ALPHAS))
        rows = choose_weights_size(shape, size, include_top, _TRAINED_SIZES)
        stem = f"{_FOLDER}/mobilenet_{_TRAINED_ALPHAS[alpha]}_{rows}_tf"
        files = WeightsFiles(WeightsFile(f"{stem}.h5"), WeightsFile(f"{stem}_no_top.h5"))
    elif shape is None and include_top:
        rows = size
    architecture = Architecture(
        functools.partial(_body, alpha=alpha, depth_multiplier=depth_multiplier),
        files,
        functools.partial(_head, dropout=dropout),
        default_size=size,
    )
    arguments = ModelArguments(
        include_top,
        weights,
        input_tensor,
        shape,
        pooling,
        classes,
        classifier_activation,
        f"mobilenet_{alpha:0.2f}_{rows}" if name is None else name,
    )
    return assemble_model(architecture, arguments)
