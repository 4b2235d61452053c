"""Modules of other libraries that layers wrap: how they are recognized, and their configs.

Their classes need `get_config` for the latter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podium._typing import Config
from podium.core import get_registered_name
from podium.layers._layer import Layer
from podium.layers._layer_serialization import deserialize


def is_module(value: object, package: str) -> bool:
    """Return whether a value is a module of a package: an instance of its class `Module`.

    The package is not imported for it; where it is not installed there are no modules of it.
    """
    return any(
        base.__name__ == "Module" and f"{base.__module__}.".startswith(f"{package}.")
        for base in type(value).__mro__
    )


def serialize_module(layer: Layer, module: object) -> Config:
    """Return a config from which `deserialize_module` recreates a module, without its weights."""
    cls = type(module)
    get_config = getattr(module, "get_config", None)
    if not callable(get_config):
        raise TypeError(
            f"{type(layer).__name__} {layer.name!r} has no config: it wraps a {cls.__name__}, "
            "which has no `get_config`. Save weights alone with `model.save_weights`, or give the "
            "class a `get_config`, a `from_config` and "
            "`@podium.saving.register_keras_serializable()`."
        )
    return {
        "module": cls.__module__,
        "class_name": cls.__name__,
        "config": get_config(),
        "registered_name": get_registered_name(cls),
    }


def deserialize_module(config: Config, custom_objects: Mapping[str, Any] | None) -> object:
    """Create a module of a registered class from its config; return other values unchanged."""
    module: object = deserialize(config, custom_objects)
    return module
