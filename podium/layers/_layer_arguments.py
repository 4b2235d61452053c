"""Arguments that several layers share: fractions, axes, and the options of weights.

Each function validates or resolves one kind of argument; ints are checked by
`podium.core.internal.check_int`, spatial arguments by `_spatial.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from podium import constraints, initializers, regularizers
from podium._typing import Config
from podium.core.internal import check_number
from podium.layers._layer import Layer

_OPTION_PACKAGES = {
    "initializer": initializers,
    "regularizer": regularizers,
    "constraint": constraints,
}


def check_rate(layer: Layer, name: str, value: float) -> float:
    """Return `value` unchanged if it is a number from 0 to 1."""
    check_number(name, value, 0, 1, owner=layer, type_error=ValueError)
    return value


def standardize_axes(layer: Layer, axis: int | Sequence[int]) -> tuple[int, ...]:
    """Return an axis or a list of axes as a tuple, in ascending order."""
    axes = axis if isinstance(axis, (list, tuple)) else (axis,)
    if not axes or any(isinstance(a, bool) or not isinstance(a, (int, np.integer)) for a in axes):
        raise TypeError(
            f"{type(layer).__name__} was given axis={axis!r}; an int or a list of ints was "
            "expected, such as axis=-1."
        )
    return tuple(sorted(int(a) for a in axes))


def check_axes(layer: Layer, axes: Sequence[int], shape: Sequence[int | None]) -> None:
    """Raise if an input of this shape does not have all `axes`."""
    for axis in axes:
        if not -len(shape) <= axis < len(shape):
            raise ValueError(
                f"Layer {layer.name!r} ({type(layer).__name__}) works on axis {axis}, and its "
                f"input of shape {tuple(shape)} has {len(shape)} dimensions. Choose an `axis` "
                f"between {-len(shape)} and {len(shape) - 1}."
            )


def set_weight_options(layer: Layer, **options: Any) -> None:
    """Set arguments such as `kernel_initializer="zeros"` as attributes.

    The end of the name decides which package resolves the value.
    """
    for name, value in options.items():
        setattr(layer, name, _OPTION_PACKAGES[name.rsplit("_", 1)[1]].get(value))


def weight_options_config(layer: Layer, *weights: str) -> Config:
    """Return the config of the options of weights such as "kernel" and "bias"."""
    return {
        f"{weight}_{option}": package.serialize(getattr(layer, f"{weight}_{option}"))
        for weight in weights
        for option, package in _OPTION_PACKAGES.items()
        if hasattr(layer, f"{weight}_{option}")
    }


def weight_options(layer: Layer, weight: str) -> dict[str, Any]:
    """Return the options of one weight as arguments of `Layer.add_weight`."""
    return {option: getattr(layer, f"{weight}_{option}", None) for option in _OPTION_PACKAGES}
