"""Checks of layers' arguments: each returns the value, or says what was given, what was expected
and the way out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from podium import constraints, initializers, regularizers


def whole_number(layer: Any, name: str, value: Any, at_least: int = 1) -> int:
    """Return `value` if it is a whole number of at least `at_least`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < at_least:
        raise ValueError(
            f"{type(layer).__name__} was given {name}={value!r}; a whole number of at least "
            f"{at_least} was expected."
        )
    return int(value)


def fraction(layer: Any, name: str, value: Any) -> Any:
    """Return `value` if it lies between 0 and 1."""
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float, np.number))
        or not 0 <= value <= 1
    ):
        raise ValueError(
            f"{type(layer).__name__} was given {name}={value!r}; a number between 0 and 1 was "
            f"expected, such as {name}=0.5."
        )
    return value


def axes_of(layer: Any, axis: Any) -> tuple[int, ...]:
    """Return an axis or a list of axes as a tuple, in ascending order."""
    axes = axis if isinstance(axis, (list, tuple)) else (axis,)
    if not axes or any(isinstance(a, bool) or not isinstance(a, (int, np.integer)) for a in axes):
        raise TypeError(
            f"{type(layer).__name__} was given axis={axis!r}; a whole number or a list of them "
            "was expected, such as axis=-1."
        )
    return tuple(sorted(int(a) for a in axes))


def check_axes(layer: Any, axes: tuple[int, ...], shape: Any) -> None:
    """Refuse axes that an input of this shape does not have."""
    for axis in axes:
        if not -len(shape) <= axis < len(shape):
            raise ValueError(
                f"Layer {layer.name!r} ({type(layer).__name__}) works on axis {axis}, and its "
                f"input of shape {tuple(shape)} has {len(shape)} dimensions. Choose an `axis` "
                f"between {-len(shape)} and {len(shape) - 1}."
            )


_FAMILIES = {"initializer": initializers, "regularizer": regularizers, "constraint": constraints}


def set_weight_options(layer: Any, **options: Any) -> None:
    """Keep arguments such as `kernel_initializer="zeros"` as attributes, resolved by the family
    their name ends in.
    """
    for name, value in options.items():
        setattr(layer, name, _FAMILIES[name.rsplit("_", 1)[1]].get(value))


def weight_options_config(layer: Any, *weights: str) -> dict[str, Any]:
    """Return the config entries of what `set_weight_options` kept, for weights such as "kernel" and
    "bias".
    """
    return {
        f"{weight}_{kind}": family.serialize(getattr(layer, f"{weight}_{kind}"))
        for weight in weights
        for kind, family in _FAMILIES.items()
        if hasattr(layer, f"{weight}_{kind}")
    }


def weight_options(layer: Any, weight: str) -> dict[str, Any]:
    """Return the arguments `add_weight` takes from what `set_weight_options` kept for one
    weight.
    """
    return {kind: getattr(layer, f"{weight}_{kind}", None) for kind in _FAMILIES}
