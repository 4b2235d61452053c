"""InceptionResNetV2: Inception blocks with a shortcut around each.

Szegedy et al., "Inception-v4, Inception-ResNet and the Impact of Residual Connections on
Learning", https://arxiv.org/abs/1602.07261.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from podium import layers
from podium._typing import ActivationLike, Config, PathLike, SymbolicShape
from podium.applications._architecture import (
    Architecture,
    ModelArguments,
    apply_layers,
    assemble_model,
)
from podium.applications._input_shape import image_channel_axis
from podium.applications._weights_files import name_kernel_files
from podium.core import KerasTensor, Tensor
from podium.models import Model


class CustomScaleLayer(layers.Layer):
    """Computes `inputs[0] + inputs[1] * scale`, the residual connection of InceptionResNetV2.

    Args:
        scale: The factor.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> layer = podium.applications.inception_resnet_v2.CustomScaleLayer(0.5)
        >>> layer([np.array([1.0]), np.array([4.0])]).numpy()
        array([3.], dtype=float32)
    """

    def __init__(self, scale: float, **kwargs: Any):
        super().__init__(**kwargs)
        self.scale = scale

    def call(self, inputs: list[Tensor]) -> Tensor:
        """Add the second input, scaled, to the first."""
        return inputs[0] + inputs[1] * self.scale

    def compute_output_shape(self, input_shape: Sequence[SymbolicShape]) -> SymbolicShape:
        """Return the shape of the first input."""
        return input_shape[0]

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        return super().get_config() | {"scale": self.scale}


def _apply_convolution(
    x: KerasTensor,
    filters: int,
    kernel_size: int | tuple[int, int],
    strides: int = 1,
    padding: str = "same",
    name: str | None = None,
) -> KerasTensor:
    return apply_layers(
        x,
        layers.Conv2D(
            filters, kernel_size, strides=strides, padding=padding, use_bias=False, name=name
        ),
        layers.BatchNormalization(
            axis=image_channel_axis(), scale=False, name=name and f"{name}_bn"
        ),
        layers.Activation("relu", name=name and f"{name}_ac"),
    )


def _halve_size(x: KerasTensor, filters: int) -> KerasTensor:
    """Halve height and width."""
    return _apply_convolution(x, filters, 3, strides=2, padding="valid")


def _merge_branches(branches: list[KerasTensor], name: str) -> KerasTensor:
    joined: KerasTensor = layers.Concatenate(axis=image_channel_axis(), name=name)(branches)
    return joined


def _branch_35(x: KerasTensor) -> list[KerasTensor]:
    return [
        _apply_convolution(x, 32, 1),
        _apply_convolution(_apply_convolution(x, 32, 1), 32, 3),
        _apply_convolution(_apply_convolution(_apply_convolution(x, 32, 1), 48, 3), 64, 3),
    ]


def _branch_17(x: KerasTensor) -> list[KerasTensor]:
    first = _apply_convolution(x, 192, 1)
    second = _apply_convolution(_apply_convolution(x, 128, 1), 160, (1, 7))
    return [first, _apply_convolution(second, 192, (7, 1))]


def _branch_8(x: KerasTensor) -> list[KerasTensor]:
    first = _apply_convolution(x, 192, 1)
    second = _apply_convolution(_apply_convolution(x, 192, 1), 224, (1, 3))
    return [first, _apply_convolution(second, 256, (3, 1))]


def _add_residual(
    x: KerasTensor, branches: list[KerasTensor], scale: float, name: str, activate: bool = True
) -> KerasTensor:
    mixed = _merge_branches(branches, f"{name}_mixed")
    channels = x.shape[image_channel_axis()] or 0
    up = layers.Conv2D(channels, 1, padding="same", name=f"{name}_conv")(mixed)
    total: KerasTensor = CustomScaleLayer(scale)([x, up])
    return apply_layers(total, layers.Activation("relu", name=f"{name}_ac")) if activate else total


def _stem(images: KerasTensor) -> KerasTensor:
    x = _apply_convolution(_halve_size(images, 32), 32, 3, padding="valid")
    x = apply_layers(_apply_convolution(x, 64, 3), layers.MaxPooling2D(3, strides=2))
    x = _apply_convolution(_apply_convolution(x, 80, 1, padding="valid"), 192, 3, padding="valid")
    x = apply_layers(x, layers.MaxPooling2D(3, strides=2))
    branches = [
        _apply_convolution(x, 96, 1),
        _apply_convolution(_apply_convolution(x, 48, 1), 64, 5),
        _apply_convolution(_apply_convolution(_apply_convolution(x, 64, 1), 96, 3), 96, 3),
    ]
    average = apply_layers(x, layers.AveragePooling2D(3, strides=1, padding="same"))
    return _merge_branches([*branches, _apply_convolution(average, 64, 1)], "mixed_5b")


def _body(images: KerasTensor) -> KerasTensor:
    x = _stem(images)
    for index in range(1, 11):
        x = _add_residual(x, _branch_35(x), 0.17, f"block35_{index}")
    branches = [
        _halve_size(x, 384),
        _halve_size(_apply_convolution(_apply_convolution(x, 256, 1), 256, 3), 384),
        apply_layers(x, layers.MaxPooling2D(3, strides=2)),
    ]
    x = _merge_branches(branches, "mixed_6a")
    for index in range(1, 21):
        x = _add_residual(x, _branch_17(x), 0.1, f"block17_{index}")
    branches = [
        _halve_size(_apply_convolution(x, 256, 1), 384),
        _halve_size(_apply_convolution(x, 256, 1), 288),
        _halve_size(_apply_convolution(_apply_convolution(x, 256, 1), 288, 3), 320),
        apply_layers(x, layers.MaxPooling2D(3, strides=2)),
    ]
    x = _merge_branches(branches, "mixed_7a")
    for index in range(1, 10):
        x = _add_residual(x, _branch_8(x), 0.2, f"block8_{index}")
    x = _add_residual(x, _branch_8(x), 1.0, "block8_10", activate=False)
    return _apply_convolution(x, 1536, 1, name="conv_7b")


_INCEPTION_RESNET_V2 = Architecture(
    _body,
    name_kernel_files(
        "inception_resnet_v2",
        "inception_resnet_v2",
        ("e693bd0210a403b3192acc6073ad2e96", "d19885ff4a710c122648d3b5c3b684e4"),
    ),
    default_size=299,
    min_size=75,
)


def InceptionResNetV2(
    include_top: bool = True,
    weights: PathLike | None = "imagenet",
    input_tensor: KerasTensor | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: ActivationLike = "softmax",
    name: str = "inception_resnet_v2",
) -> Model:
    """Create an InceptionResNetV2: see `podium.applications`.

    Preprocess images with `podium.applications.inception_resnet_v2.preprocess_input`. They have
    299 x 299 pixels by default.

    Args:
        include_top: Whether the model ends with its classifier.
        weights: None for random weights, "imagenet", or the path of a file of weights.
        input_tensor: A symbolic value to use as the images.
        input_shape: The shape of an image, at least 75 x 75 pixels. With weights of
            ImageNet and the classifier, it is the default.
        pooling: Without a classifier: None, "avg" or "max" pooling of the features.
        classes: The number of classes.
        classifier_activation: The activation of the classifier; None for logits.
        name: The name of the model.

    Example:
        >>> podium.applications.InceptionResNetV2(input_shape=(32, 32, 3))
        Traceback (most recent call last):
        ValueError: input_shape=(32, 32, 3) was given with weights='imagenet' and \
include_top=True; (299, 299, 3), on which the classifier was trained, was expected. ...
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
    return assemble_model(_INCEPTION_RESNET_V2, arguments)
