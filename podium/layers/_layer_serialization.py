"""Serialization of layers to configs and back, for wrappers and models.

Configs themselves are written by `get_config`; objects are built by `build_object` of core.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from podium._typing import Config
from podium.core import get_registered_name, unknown_choice
from podium.core.internal import build_object, load_class
from podium.layers._layer import Layer
from podium.layers._shared_layers import add_number, build_layer_once


def serialize(layer: Layer) -> Config:
    """Return a config from which `deserialize` recreates the layer, without its weights.

    Example:
        >>> podium.layers.serialize(podium.layers.Dense(2))["class_name"]
        'Dense'
    """
    cls = type(layer)
    registered = get_registered_name(cls)
    config = {
        "module": "keras.layers" if _is_builtin(cls) else cls.__module__,
        "class_name": cls.__name__,
        "config": layer.get_config(),
        "registered_name": None if _is_builtin(cls) else registered,
    }
    build_config = layer.get_build_config() if isinstance(layer, Layer) else None
    extra = {"build_config": build_config} if build_config is not None else {}
    return add_number(layer, config | extra)


def deserialize(
    config: Config | Layer | None, custom_objects: Mapping[str, Any] | None = None
) -> Any:
    """Create a layer from the result of `serialize`; a layer is returned unchanged.

    Only Podium's layers, registered classes and `custom_objects` can be created.

    Example:
        >>> config = podium.layers.serialize(podium.layers.Dense(2, activation="relu"))
        >>> podium.layers.deserialize(config).units
        2
    """
    if not isinstance(config, Mapping):
        return config
    return build_layer_once(
        config, lambda config: build_object(config, _find_builtin, custom_objects)
    )


def _find_builtin(config: Mapping[str, Any]) -> type:
    classes, name = _builtin_classes(), config["class_name"]
    if name not in classes:
        loaded = load_class(name)  # of a package that is imported when a config names the class
        if loaded is not None:
            return loaded
        raise ValueError(
            f"{unknown_choice('layer', name, classes)} If it is your own, decorate the class with "
            "`@podium.saving.register_keras_serializable()`, or load inside "
            "`podium.saving.custom_object_scope({...})`."
        )
    return classes[name]


def _is_builtin(cls: type) -> bool:
    return cls.__module__.startswith("podium.")


def _builtin_classes() -> dict[str, type]:
    return {cls.__name__: cls for cls in _subclasses(Layer) if _is_builtin(cls)}


def _subclasses(cls: type) -> Iterator[type]:
    yield cls
    subclasses: list[type] = type.__subclasses__(cls)
    for subclass in subclasses:
        yield from _subclasses(subclass)
