"""The registry of losses by name. The losses import it, so that a wrapper can look up the function
it wraps; `_registry.py` fills it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podium.core import NameRegistry, get_registered_object
from podium.losses._loss import Loss

registry = NameRegistry("loss", Loss, module="keras.losses")


def resolve_loss(config: Any, custom_objects: Mapping[str, Any] | None = None) -> Any:
    """Return the loss that a name or a config means; Keras's configs of functions are
    understood.
    """
    if isinstance(config, Mapping) and config.get("class_name") == "function":
        config = config["config"]
    if isinstance(config, str):
        registered = get_registered_object(config, custom_objects)
        return registry.get(config if registered is None else registered)
    return registry.deserialize(config, custom_objects)
