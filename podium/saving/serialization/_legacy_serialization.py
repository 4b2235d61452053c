"""`keras.legacy.saving`: configs of the form that Keras 2 had, `{"class_name", "config"}`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podium._typing import Config
from podium.core import get_registered_name, get_registered_object
from podium.saving.serialization import _deserialization


def serialize_keras_object(instance: object) -> Config | str | None:
    """Return Keras 2's config of an object: its class and arguments, or the name of a function.

    Example:
        >>> from podium.compat import keras
        >>> config = keras.legacy.saving.serialize_keras_object(keras.layers.Dropout(0.5))
        >>> config["class_name"], config["config"]["rate"]
        ('Dropout', 0.5)
    """
    if instance is None:
        return None
    if hasattr(instance, "get_config"):
        arguments = {key: _plain(value) for key, value in instance.get_config().items()}
        return {"class_name": get_registered_name(type(instance)), "config": arguments}
    if hasattr(instance, "__name__"):
        return get_registered_name(instance)
    raise ValueError(
        f"{instance!r} cannot be serialized: it has no `get_config`, and it is not a function."
    )


def _plain(value: Any) -> Any:
    return serialize_keras_object(value) if hasattr(value, "get_config") else value


def deserialize_keras_object(
    identifier: Config | str | None,
    module_objects: Mapping[str, Any] | None = None,
    custom_objects: Mapping[str, Any] | None = None,
    printable_module_name: str = "object",
) -> Any:
    """Build an object from Keras 2's config, or return the function or class of a name.

    Args:
        identifier: The config or the name.
        module_objects: The classes and functions that may be named.
        custom_objects: Your own, which come first.
        printable_module_name: What messages call such an object.

    Raises:
        ValueError: The name is unknown.

    Example:
        >>> from podium.compat import keras
        >>> config = {"class_name": "Dropout", "config": {"rate": 0.5}}
        >>> keras.legacy.saving.deserialize_keras_object(config).rate
        0.5
    """
    if identifier is None:
        return None
    objects = {**(module_objects or {}), **(custom_objects or {})}
    if isinstance(identifier, str):
        found = objects.get(identifier)
        if found is None:
            found = get_registered_object(identifier)
        if found is None:
            raise ValueError(
                f"Unknown {printable_module_name} {identifier!r}. Pass it in `custom_objects`, or "
                "register it with `@keras.saving.register_keras_serializable()`."
            )
        return found() if isinstance(found, type) else found
    return _deserialization.deserialize_keras_object(identifier, custom_objects=objects)
