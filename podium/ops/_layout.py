"""Where channels are, and sizes given once for all axes: shared by convolutions, pooling and image
operations.
"""

from typing import Any

import jax
import jax.numpy as jnp

from podium.core import check_choice, image_data_format

FORMATS = ("channels_last", "channels_first")


def data_format_of(data_format: str | None) -> str:
    """The layout to use: the one given, or the default."""
    return (
        image_data_format()
        if data_format is None
        else check_choice("data_format", data_format, FORMATS)
    )


def channels_last(x: jax.Array, data_format: str, axis: int = 1) -> jax.Array:
    """Move the channels to the end if they are at `axis`."""
    return jnp.moveaxis(x, axis, -1) if data_format == "channels_first" else x


def restore(x: jax.Array, data_format: str, axis: int = 1) -> jax.Array:
    """Undo `channels_last`."""
    return jnp.moveaxis(x, -1, axis) if data_format == "channels_first" else x


def sizes(name: str, value: Any, rank: int) -> tuple[int, ...]:
    """An int, or one for each of `rank` axes, as a tuple of positive ints (`output_padding` may be
    0).
    """
    values = (value,) * rank if isinstance(value, int) else tuple(value)
    lowest = 0 if name == "output_padding" else 1
    if len(values) == 1:
        values = values * rank
    if len(values) != rank or any(v < lowest for v in values):
        raise ValueError(
            f"`{name}` must be an int of at least {lowest}, or a tuple of {rank} of them."
        )
    return values
