"""Arguments and shapes of layers with spatial axes: convolution, pooling, padding, upsampling.

It owns sizes given once or per axis, the position of the channels, and output sizes. It computes on
ints, never on arrays; sizes that are not known (None, or symbolic while a program is exported)
stay unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from podium._typing import SymbolicShape
from podium.core import closest_match, image_data_format
from podium.core.internal import check_int
from podium.layers._layer import Layer


def standardize_tuple(
    layer: Layer, argument: str, value: int | Sequence[int], rank: int, minimum: int = 1
) -> tuple[int, ...]:
    """Return an int for every spatial axis, from one int or a sequence of `rank` ints."""
    try:
        values = (value,) * rank if isinstance(value, (int, np.integer)) else tuple(value)
        if len(values) == rank:
            return tuple(check_int(argument, each, minimum) for each in values)
    except (TypeError, ValueError):
        pass  # the message below shows the complete argument
    alternative = f" or a tuple of {rank} of them" if rank > 1 else ""
    raise ValueError(
        f"{type(layer).__name__} was given {argument}={value!r}; an int of at least "
        f"{minimum}{alternative} was expected, such as "
        f"{argument}={(2,) * rank if rank > 1 else 2}."
    )


def standardize_pairs(
    layer: Layer, argument: str, value: int | Sequence[int | Sequence[int]], rank: int
) -> tuple[tuple[int, ...], ...]:
    """Return `(before, after)` for every spatial axis.

    The argument is one int, one int per axis, or one pair per axis.
    """
    try:
        per_axis = (value,) * rank if isinstance(value, (int, np.integer)) else tuple(value)
        if len(per_axis) == rank:
            return tuple(
                standardize_tuple(layer, argument, each, 2, minimum=0) for each in per_axis
            )
    except (TypeError, ValueError):
        pass  # the message below shows the complete argument
    raise ValueError(
        f"{type(layer).__name__} was given {argument}={value!r}; an int of at least 0, a "
        f"tuple of {rank} of them, or a tuple of {rank} pairs (before, after) was expected, such "
        f"as {argument}={((1, 1),) * rank}."
    )


def standardize_choice(layer: Layer, argument: str, value: str, choices: Sequence[str]) -> str:
    """Return `value` in lower case if it is one of `choices`; else raise and name the nearest."""
    choice = value.lower() if isinstance(value, str) else value
    if choice in choices:
        return choice
    nearest = closest_match(str(value), choices)
    hint = f" Did you mean {argument}={nearest!r}?" if nearest else ""
    raise ValueError(
        f"{type(layer).__name__} was given {argument}={value!r}; one of "
        f"{', '.join(map(repr, choices))} was expected.{hint}"
    )


def standardize_data_format(layer: Layer, data_format: str | None) -> str:
    """Return the data format: the argument, or the global default for None."""
    value = image_data_format() if data_format is None else data_format
    return standardize_choice(layer, "data_format", value, ("channels_last", "channels_first"))


def channel_axis(data_format: str) -> int:
    """Return the axis of the channels."""
    return -1 if data_format == "channels_last" else 1


def spatial_shape(shape: Sequence[Any], data_format: str) -> tuple[Any, ...]:
    """Return the spatial sizes of a shape."""
    return tuple(shape[1:-1] if data_format == "channels_last" else shape[2:])


def join_shape(
    batch: Any, sizes: Sequence[Any], channels: Any, data_format: str
) -> tuple[Any, ...]:
    """Return the shape with these sizes; also for other entries per axis, such as slices."""
    return (
        (batch, *sizes, channels) if data_format == "channels_last" else (batch, channels, *sizes)
    )


def map_known_sizes(
    fn: Callable[..., int], sizes: Sequence[Any], *settings: Sequence[Any]
) -> SymbolicShape:
    """Apply `fn(size, *settings)` to every known spatial size; for the others return None."""
    return tuple(
        fn(size, *per_axis) if isinstance(size, int) else None
        for size, *per_axis in zip(sizes, *settings, strict=True)
    )


def num_windows(size: int, window: int, stride: int, dilation: int, padding: str) -> int:
    """Return how many windows fit along one axis; zero or negative if none does."""
    if padding == "valid":
        return (size - (window - 1) * dilation - 1) // stride + 1
    return (size - 1) // stride + 1


def check_not_empty(
    layer: Layer,
    data_format: str,
    shape: Sequence[Any],
    output_sizes: Sequence[Any],
    *arguments: str,
) -> None:
    """Raise an error that shows the named arguments, if an output size is not positive."""
    if not any(isinstance(size, int) and size < 1 for size in output_sizes):
        return
    shown = tuple(max(size, 0) if isinstance(size, int) else size for size in output_sizes)
    values = ", ".join(f"{name}={getattr(layer, name)!r}" for name in arguments)
    fix = "Crop less" if "cropping" in arguments else 'Use a smaller window or padding="same"'
    raise ValueError(
        f"Layer {layer.name!r} ({type(layer).__name__}) was called with shape {tuple(shape)}; with "
        f"{values} and data_format={data_format!r} nothing is left of it: the output's "
        f"spatial size would be {shown}. {fix}, or pass a larger input."
    )
