"""ConvNeXt: a convolutional network with the design choices of vision transformers.

Liu et al., "A ConvNet for the 2020s", https://arxiv.org/abs/2201.03545.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

from podium import initializers, layers, ops, random
from podium._typing import ActivationLike, Config, PathLike, SymbolicShape
from podium.applications._architecture import (
    Architecture,
    ModelArguments,
    apply_layers,
    assemble_model,
    pool,
)
from podium.applications._weights_files import name_files
from podium.core import KerasTensor, Tensor
from podium.core.internal import check_fraction
from podium.models import Model, Sequential

_EPSILON = 1e-6
_MEAN = (0.485, 0.456, 0.406)
_STDDEV = (0.229, 0.224, 0.225)


class StochasticDepth(layers.Layer):
    """Drops entire samples while training, and scales the others so that the mean is kept.

    In front of a residual connection, it skips the block for these samples. Huang et al., "Deep
    Networks with Stochastic Depth", https://arxiv.org/abs/1603.09382.

    Args:
        drop_path_rate: The probability with which a sample is dropped.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> layer = podium.applications.convnext.StochasticDepth(0.5)
        >>> sorted(set(layer(np.ones((100, 3), "float32"), training=True).numpy().ravel().tolist()))
        [0.0, 2.0]
    """

    def __init__(self, drop_path_rate: float, **kwargs: Any):
        super().__init__(**kwargs)
        self.drop_path_rate = check_fraction("drop_path_rate", drop_path_rate)

    def call(self, x: Tensor, training: bool | None = None) -> Tensor:
        """Drop samples if training, else return the inputs."""
        if not training or self.drop_path_rate == 0:
            return x
        keep_rate = 1 - self.drop_path_rate
        shape = (x.shape[0],) + (1,) * (len(x.shape) - 1)
        draw = random.uniform(shape, dtype=self.compute_dtype)
        kept: Tensor = x / keep_rate * ops.floor(draw + keep_rate)
        return kept

    def compute_output_shape(self, input_shape: SymbolicShape) -> SymbolicShape:
        """Return the shape of the inputs."""
        return input_shape

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        return super().get_config() | {"drop_path_rate": self.drop_path_rate}


class LayerScale(layers.Layer):
    """Multiplies each channel by a trained factor, which starts near zero.

    Touvron et al., "Going deeper with Image Transformers", https://arxiv.org/abs/2103.17239.

    Args:
        init_values: The initial factor.
        projection_dim: The number of channels.
        **kwargs: `name`, `dtype`, `trainable`.

    Example:
        >>> podium.applications.convnext.LayerScale(0.5, 2)(np.ones((1, 2), "float32")).numpy()
        array([[0.5, 0.5]], dtype=float32)
    """

    def __init__(self, init_values: float, projection_dim: int, **kwargs: Any):
        super().__init__(**kwargs)
        self.init_values = init_values
        self.projection_dim = projection_dim

    def build(self, input_shape: SymbolicShape) -> None:
        """Create the factors."""
        self.gamma = self.add_weight(
            shape=(self.projection_dim,),
            initializer=initializers.Constant(self.init_values),
        )

    def call(self, x: Tensor) -> Tensor:
        """Scale the channels."""
        return x * self.gamma

    def compute_output_shape(self, input_shape: SymbolicShape) -> SymbolicShape:
        """Return the shape of the inputs."""
        return input_shape

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        return super().get_config() | {
            "init_values": self.init_values,
            "projection_dim": self.projection_dim,
        }


class _StageSizes(NamedTuple):
    """The number of blocks and of channels in each stage, and the hashes of the weights."""

    depths: tuple[int, int, int, int]
    channels: tuple[int, int, int, int]
    hashes: tuple[str, str]


_TINY = _StageSizes(
    (3, 3, 9, 3),
    (96, 192, 384, 768),
    (
        "8ae6e78ce2933352b1ef4008e6dd2f17bc40771563877d156bc6426c7cf503ff",
        "d547c096cabd03329d7be5562c5e14798aa39ed24b474157cef5e85ab9e49ef1",
    ),
)
_SMALL = _StageSizes(
    (3, 3, 27, 3),
    (96, 192, 384, 768),
    (
        "ce1277d8f1ee5a0ef0e171469089c18f5233860ceaf9b168049cb9263fd7483c",
        "6fc8009faa2f00c1c1dfce59feea9b0745eb260a7dd11bee65c8e20843da6eab",
    ),
)
_BASE = _StageSizes(
    (3, 3, 27, 3),
    (128, 256, 512, 1024),
    (
        "52cbb006d3dadd03f6e095a8ca1aca47aecdd75acb4bc74bce1f5c695d0086e6",
        "40a20c5548a5e9202f69735ecc06c990e6b7c9d2de39f0361e27baeb24cb7c45",
    ),
)
_LARGE = _StageSizes(
    (3, 3, 27, 3),
    (192, 384, 768, 1536),
    (
        "070c5ed9ed289581e477741d3b34beffa920db8cf590899d6d2c67fba2a198a6",
        "96f02b6f0753d4f543261bc9d09bed650f24dd6bc02ddde3066135b63d23a1cd",
    ),
)
_XLARGE = _StageSizes(
    (3, 3, 27, 3),
    (256, 512, 1024, 2048),
    (
        "c1f5ccab661354fc3a79a10fa99af82f0fbf10ec65cb894a3ae0815f17a889ee",
        "de3f8a54174130e0cecdc71583354753d557fcf1f4487331558e2a16ba0cfe05",
    ),
)


def _layer_norm(name: str | None = None) -> layers.LayerNormalization:
    return layers.LayerNormalization(epsilon=_EPSILON, name=name)


def _block(inputs: KerasTensor, channels: int, name: str) -> KerasTensor:
    x = apply_layers(
        inputs,
        layers.Conv2D(channels, 7, padding="same", groups=channels, name=f"{name}_depthwise_conv"),
        _layer_norm(f"{name}_layernorm"),
        layers.Dense(4 * channels, name=f"{name}_pointwise_conv_1"),
        layers.Activation("gelu", name=f"{name}_gelu"),
        layers.Dense(channels, name=f"{name}_pointwise_conv_2"),
        LayerScale(1e-6, channels, name=f"{name}_layer_scale"),
        layers.Activation("linear", name=f"{name}_identity"),
    )
    return inputs + x


def _reductions(channels: tuple[int, ...], name: str) -> list[Sequential]:
    """Return the layers before each stage: the stem, then halvings of height and width."""
    stem = [
        layers.Conv2D(channels[0], 4, strides=4, name=f"{name}_stem_conv"),
        _layer_norm(f"{name}_stem_layernorm"),
    ]
    halvings = [
        Sequential(
            [
                _layer_norm(f"{name}_downsampling_layernorm_{index}"),
                layers.Conv2D(filters, 2, strides=2, name=f"{name}_downsampling_conv_{index}"),
            ],
            name=f"{name}_downsampling_block_{index}",
        )
        for index, filters in enumerate(channels[1:])
    ]
    return [Sequential(stem, name=f"{name}_stem"), *halvings]


def _body(
    images: KerasTensor, variant: _StageSizes, name: str, include_preprocessing: bool
) -> KerasTensor:
    x = images
    if include_preprocessing and images.shape[-1] == 3:
        normalization = layers.Normalization(
            mean=[mean * 255 for mean in _MEAN],
            variance=[(stddev * 255) ** 2 for stddev in _STDDEV],
            name=f"{name}_prestem_normalization",
        )
        x = apply_layers(x, normalization)
    stages = zip(_reductions(variant.channels, name), variant.depths, variant.channels, strict=True)
    for stage, (reduce, depth, channels) in enumerate(stages):
        x = reduce(x)
        for index in range(depth):
            x = _block(x, channels, f"{name}_stage_{stage}_block_{index}")
    return x


def _head(x: KerasTensor, arguments: ModelArguments) -> KerasTensor:
    if not arguments.include_top:
        return apply_layers(pool(x, arguments), _layer_norm())
    name, activation = arguments.name, arguments.classifier_activation
    return apply_layers(
        x,
        layers.GlobalAveragePooling2D(name=f"{name}_head_gap"),
        _layer_norm(f"{name}_head_layernorm"),
        layers.Dense(arguments.classes, activation=activation, name=f"{name}_head_dense"),
    )


def _build_variant(
    weights_name: str, variant: _StageSizes, include_preprocessing: bool, arguments: ModelArguments
) -> Model:
    body = functools.partial(
        _body,
        variant=variant,
        name=arguments.name,
        include_preprocessing=include_preprocessing,
    )
    folder = "tensorflow/keras-applications/convnext"
    files = name_files(folder, weights_name, variant.hashes, (".h5", "_notop.h5"))
    return assemble_model(Architecture(body, files, _head, channels_last_only=True), arguments)


def ConvNeXtTiny(
    include_top: bool = True,
    include_preprocessing: bool = True,
    weights: PathLike | None = "imagenet",
    input_tensor: KerasTensor | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: ActivationLike = "softmax",
    name: str = "convnext_tiny",
) -> Model:
    """Create a ConvNeXtTiny: see `podium.applications`.

    The data format "channels_first" is not available.

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
        >>> podium.applications.ConvNeXtTiny(input_shape=(32, 32, 3))
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
    return _build_variant("convnext_tiny", _TINY, include_preprocessing, arguments)


def ConvNeXtSmall(
    include_top: bool = True,
    include_preprocessing: bool = True,
    weights: PathLike | None = "imagenet",
    input_tensor: KerasTensor | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: ActivationLike = "softmax",
    name: str = "convnext_small",
) -> Model:
    """Create a ConvNeXtSmall. The arguments are those of `ConvNeXtTiny`.

    Example:
        >>> podium.applications.ConvNeXtSmall(input_shape=(32, 32, 3))
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
    return _build_variant("convnext_small", _SMALL, include_preprocessing, arguments)


def ConvNeXtBase(
    include_top: bool = True,
    include_preprocessing: bool = True,
    weights: PathLike | None = "imagenet",
    input_tensor: KerasTensor | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: ActivationLike = "softmax",
    name: str = "convnext_base",
) -> Model:
    """Create a ConvNeXtBase. The arguments are those of `ConvNeXtTiny`.

    Example:
        >>> podium.applications.ConvNeXtBase(input_shape=(32, 32, 3))
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
    return _build_variant("convnext_base", _BASE, include_preprocessing, arguments)


def ConvNeXtLarge(
    include_top: bool = True,
    include_preprocessing: bool = True,
    weights: PathLike | None = "imagenet",
    input_tensor: KerasTensor | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: ActivationLike = "softmax",
    name: str = "convnext_large",
) -> Model:
    """Create a ConvNeXtLarge. The arguments are those of `ConvNeXtTiny`.

    Example:
        >>> podium.applications.ConvNeXtLarge(input_shape=(32, 32, 3))
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
    return _build_variant("convnext_large", _LARGE, include_preprocessing, arguments)


def ConvNeXtXLarge(
    include_top: bool = True,
    include_preprocessing: bool = True,
    weights: PathLike | None = "imagenet",
    input_tensor: KerasTensor | None = None,
    input_shape: Sequence[int | None] | None = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: ActivationLike = "softmax",
    name: str = "convnext_xlarge",
) -> Model:
    """Create a ConvNeXtXLarge. The arguments are those of `ConvNeXtTiny`.

    Example:
        >>> podium.applications.ConvNeXtXLarge(input_shape=(32, 32, 3))
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
    return _build_variant("convnext_xlarge", _XLARGE, include_preprocessing, arguments)
