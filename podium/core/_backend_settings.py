"""Settings of the process: the default float dtype, `epsilon` and the image data format."""

from __future__ import annotations

import dataclasses

from podium._typing import DType
from podium.core._validation import check_choice


@dataclasses.dataclass
class _Settings:
    floatx: DType = "float32"
    epsilon: float = 1e-7
    image_data_format: str = "channels_last"


_settings = _Settings()


def floatx() -> DType:
    """Return the default float dtype, `"float32"` unless `set_floatx` changed it.

    Example:
        >>> podium.core.floatx()
        'float32'
    """
    return _settings.floatx


def set_floatx(value: DType) -> None:
    """Set the default float dtype: one of float16, bfloat16, float32, float64.

    float64 needs `jax.config.update("jax_enable_x64", True)` as well; JAX computes in float32
    otherwise.

    Example:
        >>> podium.core.set_floatx("float32")
    """
    _settings.floatx = check_choice("floatx", value, ("float16", "bfloat16", "float32", "float64"))


def epsilon() -> float:
    """Return the small number used to keep divisions and logarithms finite, 1e-7 by default.

    Example:
        >>> podium.core.epsilon()
        1e-07
    """
    return _settings.epsilon


def set_epsilon(value: float) -> None:
    """Set the number that `epsilon()` returns.

    Example:
        >>> podium.core.set_epsilon(1e-7)
    """
    if not value > 0:
        raise ValueError(f"epsilon={value!r} was given; a number above zero was expected.")
    _settings.epsilon = float(value)


def image_data_format() -> str:
    """Return the default order of image dimensions, initially `"channels_last"`.

    Example:
        >>> podium.core.image_data_format()
        'channels_last'
    """
    return _settings.image_data_format


def set_image_data_format(data_format: str) -> None:
    """Set the default order of image dimensions: "channels_last" (NHWC) or "channels_first" (NCHW).

    Example:
        >>> podium.core.set_image_data_format("channels_last")
    """
    _settings.image_data_format = check_choice(
        "data_format", data_format, ("channels_last", "channels_first")
    )
