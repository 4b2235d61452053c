"""The names of activations in arguments and configs: `get`, `serialize` and `deserialize`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from podium._typing import Config
from podium.activations._rectifiers import (
    celu,
    elu,
    gelu,
    glu,
    hard_silu,
    leaky_relu,
    linear,
    mish,
    relu,
    relu6,
    selu,
    silu,
    softplus,
    sparse_plus,
    squareplus,
)
from podium.activations._shrinkage import hard_shrink, soft_shrink, tanh_shrink, threshold
from podium.activations._sigmoids import (
    exponential,
    hard_sigmoid,
    hard_tanh,
    log_sigmoid,
    sigmoid,
    softsign,
    sparse_sigmoid,
    tanh,
)
from podium.activations._softmax import log_softmax, softmax, sparsemax
from podium.core import NameRegistry, Tensor, get_registered_object
from podium.core.internal import find_layer_class

Activation = Callable[..., Tensor]

_RECTIFIERS = (
    relu,
    leaky_relu,
    relu6,
    elu,
    celu,
    selu,
    gelu,
    glu,
    silu,
    hard_silu,
    mish,
    softplus,
    sparse_plus,
)
_SIGMOIDS = (
    sigmoid,
    hard_sigmoid,
    sparse_sigmoid,
    log_sigmoid,
    tanh,
    hard_tanh,
    softsign,
    exponential,
)
_FURTHER_ACTIVATIONS = (
    linear,
    squareplus,
    hard_shrink,
    soft_shrink,
    tanh_shrink,
    threshold,
    softmax,
    log_softmax,
    sparsemax,
)


class _ActivationRegistry(NameRegistry):
    """Activations by name; an activation may also be a layer."""

    def serialize(self, member: object) -> Config | str | None:
        """Return a name or config; a layer is described as one, as in Keras."""
        config = super().serialize(member)
        if isinstance(config, dict) and find_layer_class(type(member).__name__) is type(member):
            return config | {"module": "keras.layers"}
        return config

    def _find(self, name: str) -> Any:
        # Names of classes are those of layers: activations themselves are functions.
        is_class_name = name[:1].isupper() and get_registered_object(name) is None
        layer_class = find_layer_class(name) if is_class_name else None
        return super()._find(name) if layer_class is None else layer_class


_registry = _ActivationRegistry("activation", module="keras.activations")
for _activation in (*_RECTIFIERS, *_SIGMOIDS, *_FURTHER_ACTIVATIONS):
    _registry.add(_activation.__name__, _activation)
_registry.add("swish", silu)
_registry.add("hard_swish", hard_silu)


def get(identifier: str | Mapping[str, Any] | Activation | None) -> Activation:
    """Return the activation that an argument such as `activation` names.

    Args:
        identifier: A name such as `"relu"`, a config, any callable such as a layer, or None for
            `linear`.

    Returns:
        A function of a Tensor.

    Example:
        >>> podium.activations.get("swish") is podium.activations.silu
        True
        >>> podium.activations.get(None) is podium.activations.linear
        True
    """
    if isinstance(identifier, Mapping):
        return deserialize(identifier)
    activation: Activation = linear if identifier is None else _registry.get(identifier)
    return activation


def serialize(activation: Activation | None) -> str | Config | None:
    """Return a name (for a function) or a config (for a layer or another object) that `deserialize`
    accepts.

    Args:
        activation: The activation.

    Example:
        >>> podium.activations.serialize(podium.activations.swish)
        'silu'
    """
    name_or_config: str | Config | None = _registry.serialize(activation)
    return name_or_config


def deserialize(
    config: str | Mapping[str, Any] | None, custom_objects: Mapping[str, Any] | None = None
) -> Activation:
    """Return the activation for the result of `serialize`, of Podium or of Keras.

    Args:
        config: A name or a config.
        custom_objects: Custom functions and classes by name.

    Example:
        >>> podium.activations.deserialize("relu") is podium.activations.relu
        True
    """
    if isinstance(config, Mapping) and config.get("class_name") == "function":
        config = config["config"]  # the form in which Keras stores custom functions
    if isinstance(config, str):
        activation: Activation = get_registered_object(config, custom_objects) or get(config)
        return activation
    return linear if config is None else _registry.deserialize(config, custom_objects)
