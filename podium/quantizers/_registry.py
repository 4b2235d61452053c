"""The names of quantizers in arguments and configs: `get`, `serialize` and `deserialize`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podium._typing import Config
from podium.core import unknown_choice
from podium.quantizers._quantization_config import QuantizationConfig
from podium.quantizers._quantizer import Quantizer, quantizer_registry


def get(identifier: object, **kwargs: Any) -> Quantizer | QuantizationConfig | None:
    """Return the quantizer, or the quantization config, that an argument means.

    Args:
        identifier: A name, a config, a class, an instance or a function; None for None.
        **kwargs: Arguments of the constructor, for a name or a class.

    Example:
        >>> podium.quantizers.get("abs_max_quantizer", axis=0).axis
        (0,)
        >>> podium.quantizers.get("abs_max")
        Traceback (most recent call last):
        ValueError: Unknown quantizer 'abs_max'. Choices: 'abs_max_quantizer', 'awq_config', \
'float8_quantization_config', 'gptq_config', 'int4_quantization_config', \
'int8_quantization_config', 'quantization_config', 'quantizer'.
    """
    if isinstance(identifier, (Quantizer, QuantizationConfig)):
        return identifier
    found: Quantizer | QuantizationConfig | None
    if isinstance(identifier, str):
        if identifier not in quantizer_registry.members:
            names = [name for name in quantizer_registry.members if name == name.lower()]
            raise unknown_choice("quantizer", identifier, names)
        found = quantizer_registry.members[identifier](**kwargs)
    elif isinstance(identifier, type):
        found = identifier(**kwargs)
    else:
        found = quantizer_registry.get(identifier)
    return found


def serialize(initializer: object) -> Config | str | None:
    """Return a config that `deserialize` accepts.

    Args:
        initializer: The quantizer or the quantization config, under Keras's name of the argument.

    Example:
        >>> podium.quantizers.serialize(podium.quantizers.AbsMaxQuantizer(axis=0))["config"]["axis"]
        (0,)
    """
    config: Config | str | None = quantizer_registry.serialize(initializer)
    return config


def deserialize(
    config: Mapping[str, Any] | None, custom_objects: Mapping[str, Any] | None = None
) -> Quantizer | QuantizationConfig | None:
    """Create a quantizer or a quantization config from the result of `serialize`.

    Args:
        config: The config.
        custom_objects: Custom classes by name.

    Example:
        >>> config = podium.quantizers.serialize(podium.quantizers.Int8QuantizationConfig())
        >>> podium.quantizers.deserialize(config).mode
        'int8'
    """
    found: Quantizer | QuantizationConfig | None
    found = quantizer_registry.deserialize(config, custom_objects)
    return found
