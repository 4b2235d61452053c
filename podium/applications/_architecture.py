"""Architecture: what a model of `podium.applications` consists of, and `assemble_model`, which all
of them share.

A family's file has a function for the layers of the body, an `Architecture` per variant and the
public functions. This file owns the arguments that all of them take, the head, and loading weights.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from podium import activations, layers
from podium._typing import ActivationLike, PathLike
from podium.applications._input_shape import check_input_shape, is_channels_first
from podium.applications._weights_files import WeightsFiles, check_weights, find_weights
from podium.core import KerasTensor, check_choice
from podium.core.internal import check_bool, check_int, context, override
from podium.models import Model


class ModelArguments(NamedTuple):
    """The arguments that all architectures take, in Keras's order."""

    include_top: bool = True
    weights: PathLike | None = "imagenet"
    input_tensor: KerasTensor | None = None
    input_shape: Sequence[int | None] | None = None
    pooling: str | None = None
    classes: int = 1000
    classifier_activation: ActivationLike = "softmax"
    name: str = ""


Body: TypeAlias = Callable[[KerasTensor], KerasTensor]
Head: TypeAlias = Callable[[KerasTensor, ModelArguments], KerasTensor]


def apply_layers(
    x: KerasTensor | list[KerasTensor], first: layers.Layer, *others: layers.Layer
) -> KerasTensor:
    """Return the result of one layer after the other, the first of which gets `x`."""
    result: KerasTensor = first(x)
    for layer in others:
        result = layer(result)
    return result


def pool(
    x: KerasTensor,
    arguments: ModelArguments,
    average_name: str | None = None,
    max_name: str | None = None,
) -> KerasTensor:
    """Return one vector per image if the caller asked for `pooling`, else `x`."""
    if arguments.pooling == "avg":
        return apply_layers(x, layers.GlobalAveragePooling2D(name=average_name))
    if arguments.pooling == "max":
        return apply_layers(x, layers.GlobalMaxPooling2D(name=max_name))
    return x


def add_head(
    x: KerasTensor,
    arguments: ModelArguments,
    top_name: str | None = "avg_pool",
    average_name: str | None = None,
    max_name: str | None = None,
) -> KerasTensor:
    """Return the class probabilities, or without a classifier the features.

    Args:
        x: What the body returned.
        arguments: The caller's arguments.
        top_name: The name of the pooling before the classifier.
        average_name: The name of average pooling without a classifier.
        max_name: The name of max pooling without a classifier.
    """
    if not arguments.include_top:
        return pool(x, arguments, average_name, max_name)
    return apply_layers(
        x,
        layers.GlobalAveragePooling2D(name=top_name),
        layers.Dense(
            arguments.classes, activation=arguments.classifier_activation, name="predictions"
        ),
    )


# The head of architectures whose pooling layers have names.
add_named_head = functools.partial(add_head, average_name="avg_pool", max_name="max_pool")


class Architecture(NamedTuple):
    """A family of layers with its sizes filled in.

    Attributes:
        body: Returns the features of images.
        files: The files of weights trained on ImageNet, if there are any.
        head: Returns the class probabilities, or the features that the caller asked for.
        default_size: The default height and width of images.
        min_size: The smallest height and width.
        channels_last_only: Whether it is not available for the data format "channels_first".
        any_size: Whether the classifier takes images of any size.
    """

    body: Body
    files: WeightsFiles | None
    head: Head = add_head
    default_size: int = 224
    min_size: int = 32
    channels_last_only: bool = False
    any_size: bool = False


def assemble_model(architecture: Architecture, arguments: ModelArguments) -> Model:
    """Return the model of an architecture, with the weights that the caller asked for.

    The weights are found, and downloaded if needed, before the model is built.
    """
    check_arguments(arguments)
    if architecture.channels_last_only and is_channels_first():
        raise ValueError(
            f"{arguments.name!r} was built with image_data_format='channels_first'; "
            "'channels_last' was expected. Call "
            "`podium.config.set_image_data_format('channels_last')`."
        )
    include_top, weights = arguments.include_top, arguments.weights
    shape = check_input_shape(
        arguments.input_shape,
        architecture.default_size,
        architecture.min_size,
        include_top and not architecture.any_size,
        weights,
    )
    path = find_weights(weights, architecture.files, include_top, arguments.name)
    images = arguments.input_tensor
    if images is None:
        images = layers.Input(shape)
    elif not isinstance(images, KerasTensor):
        images = layers.Input(shape, tensor=images)  # raises an error that says what is expected
    with override(skips_initialization=path is not None or context.skips_initialization):
        outputs = architecture.head(architecture.body(images), arguments)
    model = Model(find_inputs(images), outputs, name=arguments.name)
    if path is not None:
        model.load_weights(path)
    return model


def check_arguments(arguments: ModelArguments) -> None:
    """Raise unless the arguments are valid, whatever the architecture."""
    check_bool("include_top", arguments.include_top)
    check_int("classes", arguments.classes)
    check_choice("pooling", arguments.pooling, (None, "avg", "max"))
    weights, activation = arguments.weights, arguments.classifier_activation
    check_weights(weights, arguments.include_top, arguments.classes)
    if weights is None or not arguments.include_top:
        return
    if activations.get(activation) not in (activations.softmax, activations.linear):
        raise ValueError(
            f"classifier_activation={activation!r} was given with weights={weights!r}; 'softmax' "
            "or None was expected, with which such weights are trained. Pass `weights=None`, or "
            "None and apply the activation to the outputs."
        )


def find_inputs(x: KerasTensor) -> KerasTensor | list[KerasTensor]:
    """Return the inputs that a symbolic value is computed from: one, or a list of several."""
    inputs: dict[int, KerasTensor] = {}
    pending, seen = [x], set()
    while pending:
        symbol = pending.pop()
        if id(symbol) in seen:
            continue
        seen.add(id(symbol))
        if symbol.node is None or not symbol.node.inputs:
            inputs[id(symbol)] = symbol
        else:
            pending.extend(reversed(symbol.node.inputs))
    found = list(inputs.values())
    return found[0] if len(found) == 1 else found
