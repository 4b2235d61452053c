"""Ranges of numbers: factors that layers draw from, and the values of pixels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from podium import ops
from podium import random as podium_random
from podium._typing import DTypeLike
from podium.core import SeedGenerator, Tensor
from podium.core.internal import check_number

# A number, or the bounds of a range.
Factor: TypeAlias = float | Sequence[float]
Range: TypeAlias = tuple[float, float]


def check_factor(
    owner: object,
    factor: Factor,
    minimum: float,
    maximum: float,
    name: str = "factor",
    symmetric: bool = False,
) -> Range:
    """Return the range that a factor stands for: a number x means -x to x, within the bounds.

    Args:
        owner: The layer, for messages.
        factor: A number or a pair.
        minimum: The smallest value allowed.
        maximum: The largest value allowed.
        name: The name of the argument.
        symmetric: Whether a number x means -x to x, whatever the smallest value allowed is.
    """
    if isinstance(factor, (list, tuple)):
        if len(factor) != 2:
            raise ValueError(
                f"{type(owner).__name__} was given {name}={factor!r}; a number from {minimum:g} to "
                f"{maximum:g}, or a pair of them, was expected."
            )
        lower, upper = sorted(
            check_number(name, value, minimum, maximum, owner=owner, type_error=ValueError)
            for value in factor
        )
        return lower, upper
    value = abs(check_number(name, factor, minimum, maximum, owner=owner, type_error=ValueError))
    return -value if symmetric else max(-value, float(minimum)), value


def check_value_range(owner: object, value_range: Sequence[float]) -> Range:
    """Return the lowest and the highest value of pixels."""
    is_pair = isinstance(value_range, (list, tuple, np.ndarray)) and len(value_range) == 2
    if not is_pair or value_range[0] == value_range[1]:
        raise ValueError(
            f"{type(owner).__name__} was given value_range={value_range!r}; two different numbers "
            "were expected, such as (0, 255) or (0, 1)."
        )
    lower, upper = sorted(value_range)
    return lower, upper


def change_value_range(
    images: Tensor, source: Sequence[float], target: Sequence[float], dtype: DTypeLike
) -> Tensor:
    """Scale values from one range to another; equal ranges leave them as they are."""
    if tuple(source) == tuple(target):
        return images
    fractions = (ops.cast(images, dtype) - source[0]) / (source[1] - source[0])
    return fractions * (target[1] - target[0]) + target[0]


def draw_uniform(
    shape: Sequence[int],
    bounds: Range,
    seed: int | SeedGenerator,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """Draw numbers between two bounds."""
    return podium_random.uniform(shape, bounds[0], bounds[1], dtype=dtype, seed=seed)


def draw_decisions(num: int, probability: Range, seed: int | SeedGenerator) -> Tensor:
    """Draw `num` booleans, each true with a probability that is itself drawn from a range."""
    drawn = draw_uniform((num,), probability, seed)
    return ops.less(podium_random.uniform((num,), seed=seed), drawn)


def per_image(values: Tensor, rank: int = 4) -> Tensor:
    """Return one value per image with the axes of the images, to broadcast against them."""
    values = ops.convert_to_tensor(values)
    return ops.reshape(values, (-1, *(1,) * (rank - 1)))
