"""Defaults for the whole process: the float type, the small number `epsilon`, the order of an
image's dimensions.
"""

from __future__ import annotations

from typing import Any

from podium.core._validation import check_choice

_defaults: dict[str, Any] = {
    "floatx": "float32",
    "epsilon": 1e-7,
    "image_data_format": "channels_last",
}


def floatx() -> str:
    """Return the default float type, `"float32"` unless `set_floatx` changed it.

    Example:
        >>> podium.core.floatx()
        'float32'
    """
    return _defaults["floatx"]


def set_floatx(value: str) -> None:
    """Set the default float type: one of float16, bfloat16, float32, float64.

    float64 needs `jax.config.update("jax_enable_x64", True)` as well; JAX computes in float32
    otherwise.

    Example:
        >>> podium.core.set_floatx("float32")
    """
    _defaults["floatx"] = check_choice(
        "floatx", value, ("float16", "bfloat16", "float32", "float64")
    )


def epsilon() -> float:
    """Return the small number used to keep divisions and logarithms finite, 1e-7 by default.

    Example:
        >>> podium.core.epsilon()
        1e-07
    """
    return _defaults["epsilon"]


def set_epsilon(value: float) -> None:
    """Set the number that `epsilon()` returns.

    Example:
        >>> podium.core.set_epsilon(1e-7)
    """
    if not value > 0:
        raise ValueError(f"epsilon={value!r} was given; a number above zero was expected.")
    _defaults["epsilon"] = float(value)


def image_data_format() -> str:
    """Return the order of an image's dimensions where none is given: `"channels_last"` at first.

    Example:
        >>> podium.core.image_data_format()
        'channels_last'
    """
    return _defaults["image_data_format"]


def set_image_data_format(data_format: str) -> None:
    """Set the order of an image's dimensions: "channels_last" (NHWC) or "channels_first" (NCHW).

    Example:
        >>> podium.core.set_image_data_format("channels_last")
    """
    _defaults["image_data_format"] = check_choice(
        "data_format", data_format, ("channels_last", "channels_first")
    )
