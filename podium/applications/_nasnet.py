"""NASNetMobile and NASNetLarge: two cells found by search, repeated.

Zoph et al., "Learning Transferable Architectures for Scalable Image Recognition",
https://arxiv.org/abs/1707.07012.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from podium import layers
from podium._typing import ActivationLike, PathLike
from podium.applications._architecture import (
    Architecture,
    ModelArguments,
    add_head,
    apply_layers,
    assemble_model,
)
from podium.applications._input_shape import strided_padding
from podium.applications._weights_files import IMAGENET, WeightsFile, WeightsFiles
from podium.core import KerasTensor, name_scope
from podium.models import Model

_FOLDER = "tensorflow/keras-applications/nasnet"


def _batch_norm(name: str) -> layers.BatchNormalization:
    return layers.BatchNormalization(axis=-1, momentum=0.9997, epsilon=1e-3, name=name)


def _project(filters: int, name: str) -> layers.Conv2D:
    return layers.Conv2D(
        filters, 1, padding="same", use_bias=False, kernel_initializer="he_normal", name=name
    )


def _pooling_layer(kind: Callable[..., layers.Layer], name: str, strides: int = 1) -> layers.Layer:
    padding = "same" if strides == 1 else "valid"
    return kind(3, strides=strides, padding=padding, name=name)


def _add_branches(x: KerasTensor, y: KerasTensor, name: str | None = None) -> KerasTensor:
    total: KerasTensor = layers.Add(name=name)([x, y])
    return total


def _separable_block(
    x: KerasTensor, filters: int, kernel_size: int, block: str, index: int, strides: int = 1
) -> KerasTensor:
    """Apply two separable convolutions, the first of which has the strides.

    The name scopes, here and elsewhere in this file, give weights Keras's paths.
    """
    convolve = functools.partial(layers.SeparableConv2D, filters, kernel_size, use_bias=False)
    with name_scope(f"block_{index}"), name_scope(f"separable_conv_block_{block}"):
        x = apply_layers(x, layers.Activation("relu"))
        padding = "same"
        if strides == 2:
            padding = "valid"
            margins = strided_padding(x, kernel_size)
            x = layers.ZeroPadding2D(margins, name=f"separable_conv_1_pad_{block}")(x)
        return apply_layers(
            x,
            convolve(strides=strides, padding=padding, name=f"separable_conv_1_{block}"),
            _batch_norm(f"separable_conv_1_bn_{block}"),
            layers.Activation("relu"),
            convolve(padding="same", name=f"separable_conv_2_{block}"),
            _batch_norm(f"separable_conv_2_bn_{block}"),
        )


def _adjust(previous: KerasTensor | None, x: KerasTensor, filters: int, block: str) -> KerasTensor:
    """Bring the inputs of the cell before to the size of `x` and to a number of channels."""
    if previous is None:
        return x
    if previous.shape[-2] != x.shape[-2]:
        with name_scope("adjust_block"), name_scope(f"adjust_reduction_block_{block}"):
            return _adjust_size(previous, filters, block)
    if previous.shape[-1] == filters:
        return previous
    with name_scope("adjust_block"), name_scope(f"adjust_projection_block_{block}"):
        return apply_layers(
            previous,
            layers.Activation("relu"),
            _project(filters, f"adjust_conv_projection_{block}"),
            _batch_norm(f"adjust_bn_{block}"),
        )


def _adjust_size(x: KerasTensor, filters: int, block: str) -> KerasTensor:
    """Halve height and width: half of the channels from even pixels, the others from odd ones."""
    active = apply_layers(x, layers.Activation("relu", name=f"adjust_relu_1_{block}"))
    halve = functools.partial(layers.AveragePooling2D, 1, strides=2)
    even = apply_layers(
        active,
        halve(name=f"adjust_avg_pool_1_{block}"),
        _project(filters // 2, f"adjust_conv_1_{block}"),
    )
    odd = apply_layers(
        active,
        layers.ZeroPadding2D(((0, 1), (0, 1))),
        layers.Cropping2D(((1, 0), (1, 0))),
        halve(name=f"adjust_avg_pool_2_{block}"),
        _project(filters // 2, f"adjust_conv_2_{block}"),
    )
    joined = layers.Concatenate(axis=-1)([even, odd])
    return apply_layers(joined, _batch_norm(f"adjust_bn_{block}"))


def _normal_cell(
    inputs: KerasTensor, previous: KerasTensor | None, filters: int, block: str
) -> KerasTensor:
    """Return features of the same size."""
    p = _adjust(previous, inputs, filters, block)
    project = _project(filters, f"normal_conv_1_{block}")
    normalize = _batch_norm(f"normal_bn_1_{block}")
    h = apply_layers(inputs, layers.Activation("relu"), project, normalize)
    x1 = _add_branches(
        _separable_block(h, filters, 5, f"normal_left1_{block}", 1),
        _separable_block(p, filters, 3, f"normal_right1_{block}", 1),
        f"normal_add_1_{block}",
    )
    x2 = _add_branches(
        _separable_block(p, filters, 5, f"normal_left2_{block}", 2),
        _separable_block(p, filters, 3, f"normal_right2_{block}", 2),
        f"normal_add_2_{block}",
    )
    average = layers.AveragePooling2D
    x3 = apply_layers(h, _pooling_layer(average, f"normal_left3_{block}"))
    x3 = _add_branches(x3, p, f"normal_add_3_{block}")
    x4 = _add_branches(
        apply_layers(p, _pooling_layer(average, f"normal_left4_{block}")),
        apply_layers(p, _pooling_layer(average, f"normal_right4_{block}")),
        f"normal_add_4_{block}",
    )
    x5 = _add_branches(
        _separable_block(h, filters, 3, f"normal_left5_{block}", 5), h, f"normal_add_5_{block}"
    )
    join = layers.Concatenate(axis=-1, name=f"normal_concat_{block}")
    joined: KerasTensor = join([p, x1, x2, x3, x4, x5])
    return joined


def _reduction_cell(
    inputs: KerasTensor, previous: KerasTensor | None, filters: int, block: str
) -> KerasTensor:
    """Return features of half the height and width."""
    p = _adjust(previous, inputs, filters, block)
    project = _project(filters, f"reduction_conv_1_{block}")
    normalize = _batch_norm(f"reduction_bn_1_{block}")
    h = apply_layers(inputs, layers.Activation("relu"), project, normalize)
    padding = layers.ZeroPadding2D(strided_padding(h, 3), name=f"reduction_pad_1_{block}")
    h3 = apply_layers(h, padding)
    x1 = _add_branches(
        _separable_block(h, filters, 5, f"reduction_left1_{block}", 1, 2),
        _separable_block(p, filters, 7, f"reduction_right1_{block}", 1, 2),
        f"reduction_add_1_{block}",
    )
    x2 = _add_branches(
        apply_layers(h3, _pooling_layer(layers.MaxPooling2D, f"reduction_left2_{block}", 2)),
        _separable_block(p, filters, 7, f"reduction_right2_{block}", 2, 2),
        f"reduction_add_2_{block}",
    )
    x3 = _add_branches(
        apply_layers(h3, _pooling_layer(layers.AveragePooling2D, f"reduction_left3_{block}", 2)),
        _separable_block(p, filters, 5, f"reduction_right3_{block}", 3, 2),
        f"reduction_add3_{block}",
    )
    x4 = apply_layers(x1, _pooling_layer(layers.AveragePooling2D, f"reduction_left4_{block}"))
    x4 = _add_branches(x2, x4)
    x5 = _add_branches(
        _separable_block(x1, filters, 3, f"reduction_left4_{block}", 5),
        apply_layers(h3, _pooling_layer(layers.MaxPooling2D, f"reduction_right5_{block}", 2)),
        f"reduction_add4_{block}",
    )
    joined: KerasTensor = layers.Concatenate(axis=-1, name=f"reduction_concat_{block}")(
        [x2, x3, x4, x5]
    )
    return joined


def _reduction(
    inputs: KerasTensor, previous: KerasTensor | None, filters: int, block: str
) -> KerasTensor:
    with name_scope(f"reduction_A_block_{block}"):
        return _reduction_cell(inputs, previous, filters, block)


def _body(
    images: KerasTensor, stem_filters: int, filters: int, depth: int, skip_reduction: bool
) -> KerasTensor:
    """Apply two stem cells, then three stacks of `depth` normal cells with reductions between.

    Args:
        images: The images.
        stem_filters: The number of channels of the first convolution.
        filters: The number of channels of the first stack, doubled at each reduction.
        depth: The number of normal cells in a stack.
        skip_reduction: Whether the first cell after a reduction gets, besides its outputs, what
            the cell before the reduction got.
    """
    stem = layers.Conv2D(
        stem_filters,
        3,
        strides=2,
        use_bias=False,
        kernel_initializer="he_normal",
        name="stem_conv1",
    )
    first = apply_layers(images, stem, _batch_norm("stem_bn1"))
    second = _reduction(first, None, filters // 4, "stem_1")
    x, previous = _reduction(second, first, filters // 2, "stem_2"), second
    for stack in range(3):
        width = filters * 2**stack
        if stack > 0:
            inputs = x
            x = _reduction(x, previous, width, f"reduce_{stack * depth}")
            previous = previous if skip_reduction else inputs
        for index in range(depth):
            block = stack * depth + index + min(stack, 1)
            with name_scope(f"normal_A_block_{block}"):
                x, previous = _normal_cell(x, previous, width, str(block)), x
    return apply_layers(x, layers.Activation("relu"))


def _nasnet(
    stem_filters: int,
    filters: int,
    depth: int,
    skip_reduction: bool,
    size: int,
    files: WeightsFiles,
) -> Architecture:
    body = functools.partial(
        _body,
        stem_filters=stem_filters,
        filters=filters,
        depth=depth,
        skip_reduction=skip_reduction,
    )
    head = functools.partial(add_head, top_name=None)
    return Architecture(body, files, head, default_size=size, channels_last_only=True)


_MOBILE = _nasnet(
    32,
    44,
    4,
    False,
    224,
    WeightsFiles(
        WeightsFile(
            f"{_FOLDER}/NASNet-mobile.h5", "020fb642bf7360b370c678b08e0adf61", "nasnet_mobile.h5"
        ),
        WeightsFile(
            f"{_FOLDER}/NASNet-mobile-no-top.h5",
            "1ed92395b5b598bdda52abe5c0dbfd63",
            "nasnet_mobile_no_top.h5",
        ),
    ),
)
_LARGE = _nasnet(
    96,
    168,
    6,
    True,
    331,
    WeightsFiles(
        WeightsFile(
            f"{_FOLDER}/NASNet-large.h5", "11577c9a518f0070763c2b964a382f17", "nasnet_large.h5"
        ),
        WeightsFile(
            f"{_FOLDER}/NASNet-large-no-top.h5",
            "d81d89dc07e6e56530c4e77faddd61b5",
            "nasnet_large_no_top.h5",
        ),
    ),
)


def _check_static(input_shape: Sequence[int | None] | None, weights: object) -> None:
    is_imagenet = isinstance(weights, str) and weights == IMAGENET
    if is_imagenet and input_shape is not None and None in tuple(input_shape):
        raise ValueError(
            f"input_shape={tuple(input_shape)} was given with weights='imagenet'; sizes without "
            "None were expected."
        )


def NASNetMobile(
    input_shape: Sequence[int | None] | None = None,
    include_top: bool = True,
    weights: PathLike | None = "imagenet",
    input_tensor: KerasTensor | None = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: ActivationLike = "softmax",
    name: str = "nasnet_mobile",
) -> Model:
    """Create a NASNetMobile: see `podium.applications`.

    Preprocess images with `podium.applications.nasnet.preprocess_input`. The data format
    "channels_first" is not available.

    Args:
        input_shape: The shape of an image, at least 32 x 32 pixels, by default 224 x 224. With
            weights of ImageNet and the classifier, it is the default.
        include_top: Whether the model ends with its classifier.
        weights: None for random weights, "imagenet", or the path of a file of weights.
        input_tensor: A symbolic value to use as the images.
        pooling: Without a classifier: None, "avg" or "max" pooling of the features.
        classes: The number of classes.
        classifier_activation: The activation of the classifier; None for logits.
        name: The name of the model.

    Example:
        >>> podium.applications.NASNetMobile(input_shape=(32, 32, 3))
        Traceback (most recent call last):
        ValueError: input_shape=(32, 32, 3) was given with weights='imagenet' and \
include_top=True; (224, 224, 3), on which the classifier was trained, was expected. ...
    """
    _check_static(input_shape, weights)
    if input_shape is None and not include_top:
        input_shape = (224, 224, 3)
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
    return assemble_model(_MOBILE, arguments)


def NASNetLarge(
    input_shape: Sequence[int | None] | None = None,
    include_top: bool = True,
    weights: PathLike | None = "imagenet",
    input_tensor: KerasTensor | None = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: ActivationLike = "softmax",
    name: str = "nasnet_large",
) -> Model:
    """Create a NASNetLarge. The arguments are those of `NASNetMobile`.

    Images have 331 x 331 pixels by default; without a classifier, they have any size.

    Example:
        >>> podium.applications.NASNetLarge(input_shape=(32, 32, 3))
        Traceback (most recent call last):
        ValueError: input_shape=(32, 32, 3) was given with weights='imagenet' and \
include_top=True; (331, 331, 3), on which the classifier was trained, was expected. ...
    """
    _check_static(input_shape, weights)
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
    return assemble_model(_LARGE, arguments)
