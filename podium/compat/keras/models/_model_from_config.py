"""`model_from_config` and `model_from_yaml`, which Keras 3 has not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podium import layers
from podium._typing import Config
from podium.models import Model


def model_from_config(config: Config, custom_objects: Mapping[str, Any] | None = None) -> Model:
    """Create a model from a config with the name of its class, without weights.

    Args:
        config: A dictionary with "class_name" and "config", as in the result of `to_json`.
        custom_objects: Custom classes and functions by name.

    Raises:
        TypeError: The config is not a dictionary with these two keys, or it describes a layer.

    Example:
        >>> from podium.compat import keras
        >>> model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
        >>> config = {"class_name": "Sequential", "config": model.get_config()}
        >>> keras.models.model_from_config(config).output_shape
        (None, 2)
    """
    if not isinstance(config, Mapping) or not {"class_name", "config"} <= set(config):
        raise TypeError(
            f"model_from_config was given {config!r:.200}; a dictionary with 'class_name' and "
            "'config' was expected. For the result of `model.get_config()`, call "
            "`Model.from_config` or `Sequential.from_config`."
        )
    model = layers.deserialize(config, custom_objects)
    if not isinstance(model, Model):
        raise TypeError(
            f"model_from_config was given the config of a layer, {config['class_name']!r}. Call "
            "`keras.layers.deserialize`."
        )
    return model


def model_from_yaml(yaml_string: str, custom_objects: Mapping[str, Any] | None = None) -> Model:
    """Raise an error, as Keras 2.6 and later do: YAML can run code. Use `model_from_json`.

    Args:
        yaml_string: Not read.
        custom_objects: Not used.

    Raises:
        RuntimeError: Always.

    Example:
        >>> from podium.compat import keras
        >>> keras.models.model_from_yaml("")
        Traceback (most recent call last):
        RuntimeError: model_from_yaml() was removed from Keras, since loading YAML can run code. \
Save models with `model.to_json()` and load them with `model_from_json`.
    """
    raise RuntimeError(
        "model_from_yaml() was removed from Keras, since loading YAML can run code. Save models "
        "with `model.to_json()` and load them with `model_from_json`."
    )
