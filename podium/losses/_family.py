"""The table of losses by name. It stands below the losses, so that a wrapper can find the function
it wraps.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podium.core import Family, get_registered_object
from podium.losses._loss import Loss

family = Family("loss", Loss, module="keras.losses")


def resolve(config: Any, custom_objects: Mapping[str, Any] | None = None) -> Any:
    """Return the loss that a name or a config means; Keras's configs of functions are
    understood.
    """
    if isinstance(config, Mapping) and config.get("class_name") == "function":
        config = config["config"]
    if isinstance(config, str):
        found = get_registered_object(config, custom_objects)
        return family.get(config if found is None else found)
    return family.deserialize(config, custom_objects)
