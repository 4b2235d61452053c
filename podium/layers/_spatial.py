"""What convolutions, pooling and padding share: sizes given once or per axis, where the channels
are, and output lengths.

Owns the wording of refused arguments in these families. It computes on numbers only, never on
arrays; lengths that are not known (None, or symbolic while a program is exported) pass through
unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from podium.core import closest_match, image_data_format
from podium.layers._argument_checks import whole_number


def whole_numbers(
    layer: Any, argument: str, value: Any, rank: int, lowest: int = 1
) -> tuple[int, ...]:
    """Return an int for every spatial axis, from one int or a sequence of `rank` of them."""
    values = (value,) * rank if isinstance(value, (int, np.integer)) else value
    try:
        values = tuple(values)
        if len(values) == rank:
            return tuple(whole_number(layer, argument, each, lowest) for each in values)
    except (TypeError, ValueError):
        pass  # said better below, with the whole argument
    many = f" or a tuple of {rank} of them" if rank > 1 else ""
    raise ValueError(
        f"{type(layer).__name__} was given {argument}={value!r}; a whole number of at least "
        f"{lowest}{many} was expected, such as "
        f"{argument}={(2,) * rank if rank > 1 else 2}."
    )


def pairs(layer: Any, argument: str, value: Any, rank: int) -> tuple[tuple[int, int], ...]:
    """Return (before, after) for every spatial axis, from one int, one int per axis, or one pair
    per axis.
    """
    try:
        each = (value,) * rank if isinstance(value, (int, np.integer)) else tuple(value)
        if len(each) == rank:
            two = [whole_numbers(layer, argument, item, 2, lowest=0) for item in each]
            return tuple((before, after) for before, after in two)
    except (TypeError, ValueError):
        pass  # said better below, with the whole argument
    raise ValueError(
        f"{type(layer).__name__} was given {argument}={value!r}; a whole number of at least 0, a "
        f"tuple of {rank} of them, or a tuple of {rank} pairs (before, after) was expected, such "
        f"as {argument}={((1, 1),) * rank}."
    )


def choice(layer: Any, argument: str, value: Any, choices: Sequence[str]) -> str:
    """Return one of the given lower-case words, in any case, or refuse it and name the nearest."""
    word = value.lower() if isinstance(value, str) else value
    if word in choices:
        return word
    close = closest_match(str(value), choices)
    hint = f" Did you mean {argument}={close!r}?" if close else ""
    listed = ", ".join(map(repr, choices))
    raise ValueError(
        f"{type(layer).__name__} was given {argument}={value!r}; one of {listed} was "
        f"expected.{hint}"
    )


def layout(layer: Any, data_format: str | None) -> str:
    """Return the layout: the one given, or channels last."""
    given = image_data_format() if data_format is None else data_format
    return choice(layer, "data_format", given, ("channels_last", "channels_first"))


def channel_axis(data_format: str) -> int:
    """Return the axis that holds the channels."""
    return -1 if data_format == "channels_last" else 1


def spatial(shape: Sequence[Any], data_format: str) -> tuple[Any, ...]:
    """Return the spatial lengths of a shape."""
    return tuple(shape[1:-1] if data_format == "channels_last" else shape[2:])


def with_spatial(
    batch: Any, lengths: Sequence[Any], channels: Any, data_format: str
) -> tuple[Any, ...]:
    """Put a shape together."""
    return (
        (batch, *lengths, channels)
        if data_format == "channels_last"
        else (batch, channels, *lengths)
    )


def map_lengths(
    fn: Callable[..., int], lengths: Sequence[Any], *settings: Sequence[Any]
) -> tuple[Any, ...]:
    """Apply `fn(length, *settings)` to every spatial length that is known; the others give None."""
    return tuple(
        fn(n, *each) if isinstance(n, int) else None
        for n, *each in zip(lengths, *settings, strict=True)
    )


def window_length(length: int, window: int, stride: int, dilation: int, padding: str) -> int:
    """Return how many windows fit along one axis; not positive if none does."""
    if padding == "valid":
        return (length - (window - 1) * dilation - 1) // stride + 1
    return (length - 1) // stride + 1


def refuse_empty(layer: Any, shape: Sequence[Any], lengths: Sequence[Any], *arguments: str) -> None:
    """Raise an error that shows the named arguments, if one of the output lengths is zero or
    negative.
    """
    if not any(isinstance(n, int) and n < 1 for n in lengths):
        return
    shown = tuple(max(n, 0) if isinstance(n, int) else n for n in lengths)
    given = ", ".join(f"{name}={getattr(layer, name)!r}" for name in arguments)
    way_out = "Crop less" if "cropping" in arguments else 'Use a smaller window or padding="same"'
    raise ValueError(
        f"Layer {layer.name!r} ({type(layer).__name__}) was called with shape {tuple(shape)}; with "
        f"{given} and data_format={layer.data_format!r} nothing is left of it: the output's "
        f"spatial size would be {shown}. {way_out}, or give a larger input."
    )
