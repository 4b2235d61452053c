"""Validation of arguments: the one set of checkers that all packages use.

A checker returns the valid value, or raises an error that says what was passed, what was expected
and how to fix it. Messages for unknown strings and for mistakes of understanding are in
`_errors.py`.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np


def _passed(owner: object, argument: str, value: object) -> str:
    """Return the first part of a message: the argument as the caller would type it."""
    if owner is None:
        return f"{argument}={value!r} was given"
    name = owner if isinstance(owner, str) else type(owner).__name__
    return f"{name} was given {argument}={value!r}"


def check_int(
    argument: str,
    value: Any,
    minimum: int | None = 1,
    *,
    owner: object = None,
    integral_floats: bool = False,
    or_none: bool = False,
    type_error: type[Exception] = TypeError,
) -> int:
    """Return `value` as an int of at least `minimum`.

    Args:
        argument: The name of the argument.
        value: What the caller passed.
        minimum: The smallest value allowed; None for no limit.
        owner: The object or the name of the function that received the argument, for the message.
        integral_floats: Whether floats with an integral value, as `np.ceil` returns, are accepted,
            and arrays that hold one integer.
        or_none: Whether the message says that None is accepted; the caller handles None itself.
        type_error: The exception for a value of another type.

    Example:
        >>> from podium.core.internal import check_int
        >>> check_int("units", 3)
        3
        >>> check_int("units", 0, owner="Dense")
        Traceback (most recent call last):
        ValueError: Dense was given units=0; an int of at least 1 was expected.
    """
    expected = "an int" if minimum is None else f"an int of at least {minimum}"
    expected += ", or None, was expected" if or_none else " was expected"
    if isinstance(value, (bool, np.bool_)):
        raise type_error(f"{_passed(owner, argument, value)} (bool); {expected}.")
    number = value
    if integral_floats and isinstance(value, (float, np.floating)):
        if not math.isfinite(value) or int(value) != value:
            raise ValueError(f"{_passed(owner, argument, value)}; {expected}.")
        number = int(value)
    elif integral_floats and not isinstance(value, (int, np.integer)):
        try:
            number = operator.index(value)
        except TypeError:
            number = None
    if not isinstance(number, (int, np.integer)):
        raise type_error(f"{_passed(owner, argument, value)} ({type(value).__name__}); {expected}.")
    if minimum is not None and number < minimum:
        raise ValueError(f"{_passed(owner, argument, value)}; {expected}.")
    return int(number)


def check_number(
    argument: str,
    value: Any,
    minimum: float | None = None,
    maximum: float | None = None,
    *,
    below_maximum: bool = False,
    owner: object = None,
    type_error: type[Exception] = TypeError,
) -> float:
    """Return `value` as a float if it is a finite number between `minimum` and `maximum`.

    Args:
        argument: The name of the argument.
        value: What the caller passed; a scalar array or Variable is accepted.
        minimum: The smallest value allowed; None for no limit.
        maximum: The largest value allowed; None for no limit.
        below_maximum: Whether `maximum` itself is excluded.
        owner: The object or the name of the function that received the argument, for the message.
        type_error: The exception for a value of another type.

    Example:
        >>> from podium.core.internal import check_number
        >>> check_number("rate", 0.5, 0, 1)
        0.5
        >>> check_number("beta_1", 1, 0, 1, below_maximum=True)
        Traceback (most recent call last):
        ValueError: beta_1=1 was given; a number from 0 to below 1 was expected.
    """
    expected = f"{_describe_range(minimum, maximum, below_maximum)} was expected"
    is_scalar = hasattr(value, "__float__") and tuple(getattr(value, "shape", ())) == ()
    if not is_scalar or isinstance(value, (bool, np.bool_)):
        raise type_error(f"{_passed(owner, argument, value)}; {expected}.")
    number = float(value)
    too_small = minimum is not None and number < minimum
    too_large = maximum is not None and (number > maximum or (below_maximum and number == maximum))
    if not math.isfinite(number) or too_small or too_large:
        raise ValueError(f"{_passed(owner, argument, value)}; {expected}.")
    return number


def _describe_range(minimum: float | None, maximum: float | None, below_maximum: bool) -> str:
    if minimum is None and maximum is None:
        return "a finite number"
    if maximum is None:
        return f"a finite number of at least {minimum:g}"
    if minimum is None:
        return f"a finite number of at most {maximum:g}"
    return f"a number from {minimum:g} to {'below ' if below_maximum else ''}{maximum:g}"
