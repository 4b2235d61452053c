"""Sanitizes configs from files before objects are built: code is rejected, and the spelling of
other Keras versions is converted.

`_deserialization.py` builds the objects.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from podium import initializers, layers
from podium.core import get_registered_object

# Arguments of Keras that have no effect at these values, and that Podium's classes may not have.
_NEUTRAL_VALUES: dict[str, tuple[Any, ...]] = {
    "quantization_config": (None,),
    "synchronized": (False,),
    "renorm": (False,),
    "renorm_clipping": (None,),
    "renorm_momentum": (0.99,),
    "use_gate": (False,),
    "sliding_window": (None,),
    "input_axes": (None,),
    "output_axes": (None,),
    "ragged": (False, None),
    "sparse": (False, None),
    "time_major": (False,),
    "implementation": (0, 1, 2),
    "lora_rank": (None,),
    "lora_alpha": (None,),
    "flash_attention": (None, False),
    "virtual_batch_size": (None,),
    "fused": (None, True, False),
    "rms_scaling": (False,),
    "softmax_robust_masking": (False,),
    "input_length": (None,),
}
# What Keras 2 writes besides the arguments of MultiHeadAttention.
_RECORDED_SHAPES = ("query_shape", "key_shape", "value_shape")


def sanitize_config(config: Any) -> Any:
    """Return a copy of a config with the names that Podium's classes use.

    Raises:
        ValueError: The config contains code.
    """
    if isinstance(config, (list, tuple)):
        items = [sanitize_config(item) for item in config]
        return tuple(items) if isinstance(config, tuple) else items
    if not isinstance(config, Mapping):
        return config
    if config.get("class_name") == "__lambda__":
        raise ValueError(
            "The config contains the code of a lambda, and running code from files is not safe, so "
            "it is rejected. Write the function with `def`, register it with "
            "`@podium.saving.register_keras_serializable()`, and save the model again."
        )
    if config.get("class_name") == "Lambda" and isinstance(config.get("config"), Mapping):
        config = {**config, "config": _replace_function_code(config["config"])}
    result = {key: sanitize_config(value) for key, value in config.items()}
    if isinstance(result.get("class_name"), str) and isinstance(result.get("config"), dict):
        result["config"] = _drop_neutral(result["class_name"], result["config"])
    return result


def _replace_function_code(config: Mapping[str, Any]) -> dict[str, Any]:
    """Replace code in the config of a Lambda layer with the function that the caller passed under
    the layer's name.
    """
    function = config.get("function")
    is_legacy = isinstance(function, (list, tuple)) or config.get("function_type") == "lambda"
    is_code = is_legacy or (
        isinstance(function, Mapping) and function.get("class_name") == "__lambda__"
    )
    name = config.get("name")
    others = {
        key: value
        for key, value in config.items()
        if not key.endswith(("function_type", "_type", "module"))
    }
    if isinstance(function, str):  # Keras 2 writes the name alone
        return others | {"function": {"class_name": "function", "config": function}}
    if not is_code:
        return others
    if isinstance(name, str) and get_registered_object(name) is not None:
        return others | {"function": {"class_name": "function", "config": name}}
    raise ValueError(
        f"The Lambda layer {name!r} contains the code of a function, and running code from files "
        "is not safe, so it is rejected. Pass the function under the layer's name, "
        f"`custom_objects={{{name!r}: function}}`; or write a Layer and save the model again."
    )


def _drop_neutral(class_name: str, config: dict[str, Any]) -> dict[str, Any]:
    cls = getattr(layers, class_name, None) or getattr(initializers, class_name, None)
    if not isinstance(cls, type) or get_registered_object(class_name) is not None:
        return config
    known = _init_parameters(cls)
    dropped = {
        key
        for key, value in config.items()
        if key in _RECORDED_SHAPES or value in _NEUTRAL_VALUES.get(key, ())
    }
    return {key: value for key, value in config.items() if key in known or key not in dropped}


def _init_parameters(cls: type) -> set[str]:
    return {
        name
        for base in cls.__mro__
        if "__init__" in vars(base)
        for name in inspect.signature(vars(base)["__init__"]).parameters
    }
