"""Which string means which activation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from podium.activations._distributions import log_softmax, softmax, sparsemax
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
from podium.activations._shrinkers import hard_shrink, soft_shrink, tanh_shrink, threshold
from podium.activations._squashers import (
    exponential,
    hard_sigmoid,
    hard_tanh,
    log_sigmoid,
    sigmoid,
    softsign,
    sparse_sigmoid,
    tanh,
)
from podium.core import Family, get_registered_object

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
_SQUASHERS = (
    sigmoid,
    hard_sigmoid,
    sparse_sigmoid,
    log_sigmoid,
    tanh,
    hard_tanh,
    softsign,
    exponential,
)
_OTHERS = (
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

_family = Family("activation", module="keras.activations")
for _activation in (*_RECTIFIERS, *_SQUASHERS, *_OTHERS):
    _family.add(_activation.__name__, _activation)
_family.add("swish", silu)
_family.add("hard_swish", hard_silu)


def get(identifier: Any) -> Callable[..., Any]:
    """Return the function that an argument such as `activation` means.

    Args:
        identifier: A name such as `"relu"`, a config, any callable, or None for `linear`.

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
    return linear if identifier is None else _family.get(identifier)


def serialize(activation: Any) -> Any:
    """Return what `deserialize` turns back into the activation: a name for a function, a config for
    an object.

    Example:
        >>> podium.activations.serialize(podium.activations.swish)
        'silu'
    """
    return _family.serialize(activation)


def deserialize(config: Any, custom_objects: Mapping[str, Any] | None = None) -> Callable[..., Any]:
    """Return the activation that `serialize`, or Keras, wrote.

    Args:
        config: A name or a config.
        custom_objects: Your own functions and classes by name.

    Example:
        >>> podium.activations.deserialize("relu") is podium.activations.relu
        True
    """
    if isinstance(config, Mapping) and config.get("class_name") == "function":
        config = config["config"]  # how Keras writes functions that are not its own
    if isinstance(config, str):
        return get_registered_object(config, custom_objects) or get(config)
    return linear if config is None else _family.deserialize(config, custom_objects)
