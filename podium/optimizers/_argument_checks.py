"""Checks of optimizers' arguments: each returns the value, or says what was given, what was
expected and the way out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np


def number(
    argument: str,
    value: Any,
    low: float | None = None,
    high: float | None = None,
    below: bool = False,
) -> float:
    """Return `value` as a float if it is a finite number from `low` to `high` (below `high`, if
    `below`).
    """
    expected = _range(low, high, below)
    scalar = hasattr(value, "__float__") and tuple(getattr(value, "shape", ())) == ()
    if not scalar or isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{argument}={value!r} was given; {expected} was expected.")
    given = float(value)
    outside = (low is not None and given < low) or (
        high is not None and (given > high or (below and given == high))
    )
    if not math.isfinite(given) or outside:
        raise ValueError(f"{argument}={given!r} was given; {expected} was expected.")
    return given


def _range(low: float | None, high: float | None, below: bool) -> str:
    if low is None and high is None:
        return "a finite number"
    if high is None:
        return f"a finite number of at least {low:g}"
    if low is None:
        return f"a finite number of at most {high:g}"
    return f"a number from {low:g} to {'below ' if below else ''}{high:g}"


def whole_number(argument: str, value: Any, at_least: int) -> int:
    """Return `value` if it is a whole number of at least `at_least`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < at_least:
        raise ValueError(
            f"{argument}={value!r} was given; a whole number of at least {at_least}, or None, "
            "was expected."
        )
    return int(value)


def optional(check: Callable, argument: str, value: Any, *limits: Any) -> Any:
    """Return None for None, and else what `check` says."""
    return None if value is None else check(argument, value, *limits)


def fraction(argument: str, value: Any) -> float:
    """Return a decay rate such as `beta_1`: a number from 0 to below 1."""
    return number(argument, value, 0, 1, below=True)


def only_one_clipping(clipnorm: Any, clipvalue: Any, global_clipnorm: Any) -> None:
    """Refuse two ways of clipping at once."""
    given = {"clipnorm": clipnorm, "clipvalue": clipvalue, "global_clipnorm": global_clipnorm}
    set_ones = [f"{name}={value!r}" for name, value in given.items() if value is not None]
    if len(set_ones) > 1:
        raise ValueError(
            f"{' and '.join(set_ones)} were given; only one of clipnorm, clipvalue and "
            "global_clipnorm can be set. Keep one of them."
        )
