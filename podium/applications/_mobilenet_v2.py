"""MobileNetV2: inverted residual blocks, which expand channels between narrow shortcuts.

Sandler et al., "MobileNetV2: Inverted Residuals and Linear Bottlenecks",
https://arxiv.org/abs/1801.04381.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from podium import layers
from podium._typing import ActivationLike, PathLike, SymbolicShape
from podium.applications._architecture import (
    Architecture,
    ModelArguments,
    add_head,
    apply_layers,
    assemble_model,
)
from podium.applications._input_shape import (
    height_and_width,
    image_channel_axis,
    is_channels_first,
    strided_padding,
)
from podium.applications._mobilenet import (
    check_trained,
    choose_trained_size,
    choose_weights_size,
)
from podium.applications._weights_files import IMAGENET, WeightsFile, WeightsFiles
from podium.core import KerasTensor
from podium.core.internal import check_number
from podium.models import Model

_FOLDER = "tensorflow/keras-applications/mobilenet_v2"
_TRAINED_SIZES = (96, 128, 160, 192, 224)  # heights and widths of images
_TRAINED_ALPHAS = (0.35, 0.5, 0.75, 1.0, 1.3, 1.4)
# Channels, number of blocks and stride of the first of each stack.
_STACKS = ((16, 1, 1), (24, 2, 2), (32, 3, 2), (64, 4, 2), (96, 3, 1), (160, 3, 2), (320, 1, 1))
_EXPANSION = 6

# The pooling before the classifier has no name.
_head = functools.partial(add_head, top_name=None)


def round_channels(channels: float, divisor: int = 8) -> int:
    """Return a multiple of `divisor` near a number of channels, and at least 90% of it."""
    nearest = max(divisor, int(channels + divisor / 2) // divisor * divisor)
    return nearest + divisor if nearest < 0.9 * channels else nearest


def batch_norm(name: str) -> layers.BatchNormalization:
    """Return the batch normalization of MobileNetV2 and MobileNetV3."""
    return layers.BatchNormalization(
        axis=image_channel_axis(-1), epsilon=1e-3, momentum=0.999, name=name
    )


def _pointwise(filters: int, name: str) -> layers.Conv2D:
    return layers.Conv2D(filters, 1, padding="same", use_bias=False, name=name)


def _block(
    inputs: KerasTensor, filters: int, stride: int, expansion: int, prefix: str
) -> KerasTensor:
    x, channels = inputs, inputs.shape[image_channel_axis(-1)] or 0
    if expansion > 1:
        x = apply_layers(
            x,
            _pointwise(expansion * channels, f"{prefix}expand"),
            batch_norm(f"{prefix}expand_BN"),
            layers.ReLU(6.0, name=f"{prefix}expand_relu"),
        )
    if stride == 2:
        x = layers.ZeroPadding2D(strided_padding(x, 3), name=f"{prefix}pad")(x)
    padding = "same" if stride == 1 else "valid"
    x = apply_layers(
        x,
        layers.DepthwiseConv2D(3, stride, padding, use_bias=False, name=f"{prefix}depthwise"),
        batch_norm(f"{prefix}depthwise_BN"),
        layers.ReLU(6.0, name=f"{prefix}depthwise_relu"),
        _pointwise(filters, f"{prefix}project"),
        batch_norm(f"{prefix}project_BN"),
    )
    if stride == 1 and channels == filters:
        x = layers.Add(name=f"{prefix}add")([inputs, x])
    return x


def _body(images: KerasTensor, alpha: float) -> KerasTensor:
    stem = layers.Conv2D(
        round_channels(32 * alpha), 3, strides=2, padding="same", use_bias=False, name="Conv1"
    )
    x = apply_layers(images, stem, batch_norm("bn_Conv1"), layers.ReLU(6.0, name="Conv1_relu"))
    block = 0
    for channels, depth, first_stride in _STACKS:
        filters = round_channels(int(channels * alpha))
        for index in range(depth):
            prefix = f"block_{block}_" if block else "expanded_conv_"
            stride = first_stride if index == 0 else 1
            x = _block(x, filters, stride, _EXPANSION if block else 1, prefix)
            block += 1
    return apply_layers(
        x,
        layers.Conv2D(round_channels(1280 * max(alpha, 1.0)), 1, use_bias=False, name="Conv_1"),
        batch_norm("Conv_1_bn"),
        layers.ReLU(6.0, name="out_relu"),
    )


def check_input_tensor(
    input_tensor: KerasTensor | None, input_shape: Sequence[int | None] | None
) -> None:
    """Raise unless a symbolic value of the caller has the width of `input_shape`."""
    if input_tensor is None or input_shape is None:
        return
    if not isinstance(input_tensor, KerasTensor):
        raise ValueError(
            f"input_tensor={input_tensor!r} was given; a KerasTensor was expected. Data are passed "
            "when the model is called; omit the argument."
        )
    axis = 1 if is_channels_first() else 2
    if len(input_shape) < 2 or input_tensor.shape[axis] != input_shape[1]:
        raise ValueError(
            f"input_shape={tuple(input_shape)} was given with an input_tensor of shape "
            f"{input_tensor.shape}; the same sizes were expected. Omit input_shape."
        )


def _image_shape(
    input_shape: Sequence[int | None] | None, input_tensor: KerasTensor | None
) -> SymbolicShape | None:
    """Return the shape of the images that decides which weights are loaded, or None."""
    if input_shape is not None:
        return tuple(input_shape)
    return input_tensor.shape[1:] if isinstance(input_tensor, KerasTensor) else None


def MobileNetV2(
    input_shape: Sequence[int | None] | None = None,
    alpha: float = 1.0,
    include_top: bool = True,
    weights: PathLike | None = "imagenet",
    input_tensor: KerasTensor | None = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: ActivationLike = "softmax",
    name: str | None = None,
) -> Model:
    """Create a MobileNetV2: see `podium.applications`.

    Preprocess images with `podium.applications.mobilenet_v2.preprocess_input`.

    Args:
        input_shape: The shape of an image, at least 32 x 32 pixels. There are weights of ImageNet
            for 96, 128, 160, 192 and 224.
        alpha: The factor of the number of channels. There are weights for 0.35, 0.5, 0.75, 1, 1.3
            and 1.4.
        include_top: Whether the model ends with its classifier.
        weights: None for random weights, "imagenet", or the path of a file of weights.
        input_tensor: A symbolic value to use as the images.
        pooling: Without a classifier: None, "avg" or "max" pooling of the features.
        classes: The number of classes.
        classifier_activation: The activation of the classifier; None for logits.
        name: The name of the model; by default it has `alpha` and the size of images.

    Example:
        >>> podium.applications.MobileNetV2(alpha=0.3)
        Traceback (most recent call last):
        ValueError: alpha=0.3 was given with weights='imagenet'; 0.35 or 0.5 or 0.75 or 1.0 or 1.3 \
or 1.4 was expected. Pass `weights=None` for another one.
    """
    check_number("alpha", alpha, 0)
    check_input_tensor(input_tensor, input_shape)
    shape = _image_shape(input_shape, input_tensor)
    size = choose_trained_size(shape, _TRAINED_SIZES)
    rows = height_and_width(tuple(input_shape))[0] if input_shape is not None else None
    files: WeightsFiles | None = None
    if isinstance(weights, str) and weights == IMAGENET:
        check_trained("alpha", alpha, _TRAINED_ALPHAS)
        given = None if input_shape is None else tuple(input_shape)
        rows = choose_weights_size(given, size, include_top, _TRAINED_SIZES)
        stem = f"{_FOLDER}/mobilenet_v2_weights_tf_dim_ordering_tf_kernels_{float(alpha)}_{rows}"
        files = WeightsFiles(WeightsFile(f"{stem}.h5"), WeightsFile(f"{stem}_no_top.h5"))
    elif input_shape is None and include_top:
        rows = size
    arguments = ModelArguments(
        include_top,
        weights,
        input_tensor,
        input_shape,
        pooling,
        classes,
        classifier_activation,
        f"mobilenetv2_{alpha:0.2f}_{rows}" if name is None else name,
    )
    body = functools.partial(_body, alpha=alpha)
    return assemble_model(Architecture(body, files, _head, default_size=size), arguments)
