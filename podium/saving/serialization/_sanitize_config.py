"""Descriptions from files, looked over before anything is made of them: code refused, foreign
spellings put right.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from podium import initializers, layers
from podium.core import get_registered_object

# Settings of Keras's that change nothing at these values, and that our classes may not have.
_NEUTRAL: dict[str, tuple[Any, ...]] = {
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
_NOTES = (
    "query_shape",
    "key_shape",
    "value_shape",
)  # what Keras 2 notes beside the arguments of MultiHeadAttention


def sanitize_config(config: Any) -> Any:
    """Return a copy of plain data in the spelling that our classes know; raise if it holds code."""
    if isinstance(config, (list, tuple)):
        return [sanitize_config(item) for item in config]
    if not isinstance(config, Mapping):
        return config
    if config.get("class_name") == "__lambda__":
        raise ValueError(
            "The config holds the code of a lambda, and running code from files is not safe, so it "
            "is refused. Write the function with `def`, register it with "
            "`@podium.saving.register_keras_serializable()`, and save the model again."
        )
    if config.get("class_name") == "Lambda" and isinstance(config.get("config"), Mapping):
        config = {**config, "config": _with_known_function(config["config"])}
    result = {key: sanitize_config(value) for key, value in config.items()}
    if isinstance(result.get("class_name"), str) and isinstance(result.get("config"), dict):
        result["config"] = _without_neutral(result["class_name"], result["config"])
    return result


def _with_known_function(config: Mapping[str, Any]) -> dict[str, Any]:
    """Put the function that the caller handed in, under the layer's name, in the place of code in
    the file.
    """
    given = config.get("function")
    legacy = isinstance(given, (list, tuple)) or config.get("function_type") == "lambda"
    is_code = legacy or (isinstance(given, Mapping) and given.get("class_name") == "__lambda__")
    name = config.get("name")
    kept = {
        key: value
        for key, value in config.items()
        if not key.endswith(("function_type", "_type", "module"))
    }
    if isinstance(given, str):  # Keras 2 writes the name alone
        return kept | {"function": {"class_name": "function", "config": given}}
    if not is_code:
        return kept
    if isinstance(name, str) and get_registered_object(name) is not None:
        return kept | {"function": {"class_name": "function", "config": name}}
    raise ValueError(
        f"The Lambda layer {name!r} holds the code of a function, and running code from files is "
        "not safe, so it is refused. Hand the function in under the layer's name, "
        f"`custom_objects={{{name!r}: function}}`; or write a Layer and save the model again."
    )


def _without_neutral(class_name: str, config: dict[str, Any]) -> dict[str, Any]:
    cls = getattr(layers, class_name, None) or getattr(initializers, class_name, None)
    if not isinstance(cls, type) or get_registered_object(class_name) is not None:
        return config
    known = _arguments_of(cls)
    dropped = {
        key for key, value in config.items() if key in _NOTES or value in _NEUTRAL.get(key, ())
    }
    return {key: value for key, value in config.items() if key in known or key not in dropped}


def _arguments_of(cls: type) -> set[str]:
    return {
        name
        for one in cls.__mro__
        if "__init__" in vars(one)
        for name in inspect.signature(vars(one)["__init__"]).parameters
    }
