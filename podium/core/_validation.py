"""Validation of arguments: the one set of checks that all packages use.

A check returns the valid value, or raises an error that says what was passed, what was expected and
how to fix it. Exceptions and shared message texts are in `_errors.py`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from podium._typing import T
from podium.core._errors import unknown_choice
from podium.core._jax_config import jax_config

ArrayT = TypeVar("ArrayT", np.ndarray[Any, Any], np.generic)


def _describe_argument(owner: object, argument: str, value: object) -> str:
    """Return the first part of a message: the argument as the caller would type it."""
    if owner is None:
        return f"{argument}={value!r} was given"
    name = owner if isinstance(owner, str) else type(owner).__name__
    return f"{name} was given {argument}={value!r}"


def check_int(
    argument: str,
    value: object,
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
        raise type_error(f"{_describe_argument(owner, argument, value)} (bool); {expected}.")
    number: object = value
    if integral_floats and isinstance(value, (float, np.floating)):
        if not math.isfinite(value) or int(value) != value:
            raise ValueError(f"{_describe_argument(owner, argument, value)}; {expected}.")
        number = int(value)
    elif integral_floats and not isinstance(value, (int, np.integer)):
        try:
            number = operator.index(value)  # type: ignore[arg-type]
        except TypeError:
            number = None
    if not isinstance(number, (int, np.integer)):
        raise type_error(
            f"{_describe_argument(owner, argument, value)} ({type(value).__name__}); {expected}."
        )
    if minimum is not None and number < minimum:
        raise ValueError(f"{_describe_argument(owner, argument, value)}; {expected}.")
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
        raise type_error(f"{_describe_argument(owner, argument, value)}; {expected}.")
    number = float(value)
    too_small = minimum is not None and number < minimum
    too_large = maximum is not None and (number > maximum or (below_maximum and number == maximum))
    if not math.isfinite(number) or too_small or too_large:
        raise ValueError(f"{_describe_argument(owner, argument, value)}; {expected}.")
    return number


def check_fraction(
    argument: str, value: Any, *, below_one: bool = False, owner: object = None
) -> float:
    """Return `value` as a float if it is a number from 0 to 1.

    Args:
        argument: The name of the argument.
        value: What the caller passed.
        below_one: Whether 1 itself is excluded.
        owner: The object or the name of the function that received the argument, for the message.

    Example:
        >>> from podium.core.internal import check_fraction
        >>> check_fraction("rate", 0.25)
        0.25
        >>> check_fraction("rate", 2, owner="Dropout")
        Traceback (most recent call last):
        ValueError: Dropout was given rate=2; a number from 0 to 1 was expected.
    """
    return check_number(argument, value, 0, 1, below_maximum=below_one, owner=owner)


def _describe_range(minimum: float | None, maximum: float | None, below_maximum: bool) -> str:
    if minimum is None and maximum is None:
        return "a finite number"
    if maximum is None:
        return f"a finite number of at least {minimum:g}"
    if minimum is None:
        return f"a finite number of at most {maximum:g}"
    return f"a number from {minimum:g} to {'below ' if below_maximum else ''}{maximum:g}"


def check_bool(argument: str, value: object, *, owner: object = None) -> bool:
    """Return `value` as a bool if it is True, False, 1 or 0.

    A string such as "no" is true in Python, which is never meant.

    Args:
        argument: The name of the argument.
        value: What the caller passed.
        owner: The object or the name of the function that received the argument, for the message.

    Example:
        >>> from podium.core.internal import check_bool
        >>> check_bool("trainable", 0)
        False
        >>> check_bool("trainable", "no", owner="Dense")
        Traceback (most recent call last):
        ValueError: Dense was given trainable='no' (str); True or False was expected.
    """
    is_flag = isinstance(value, (bool, np.bool_, int, np.integer)) and value in (0, 1)
    if not is_flag:
        description = _describe_argument(owner, argument, value)
        raise ValueError(f"{description} ({type(value).__name__}); True or False was expected.")
    return bool(value)


def check_choice(argument: str, value: T, choices: Sequence[object]) -> T:
    """Return `value` if it is one of `choices`; raise a ValueError that lists them otherwise.

    Example:
        >>> podium.core.check_choice("padding", "same", ["valid", "same"])
        'same'
    """
    if value not in choices:
        raise unknown_choice(argument, value, choices)
    return value


def check_numeric(value: Any, argument: str = "value") -> None:
    """Raise a TypeError for an array of objects, strings or dates.

    Example:
        >>> podium.core.check_numeric(np.ones(3))
        >>> podium.core.check_numeric(np.array(["a"]), "x")
        Traceback (most recent call last):
        TypeError: `x` is an array of strings (dtype <U1). Podium computes with numbers and \
booleans only. Convert the strings to numbers first, for example with \
`np.unique(x, return_inverse=True)`.
    """
    dtype = getattr(value, "dtype", None)
    kind = getattr(dtype, "kind", "f")
    if kind == "O":
        raise TypeError(
            f"`{argument}` is an array of Python objects (dtype object, shape {value.shape}). "
            "Podium computes with numbers and booleans only. Rows of unequal length are the usual "
            "cause: pad them to one length, or convert with `np.asarray(x, dtype='float32')`."
        )
    if kind in "US":
        raise TypeError(
            f"`{argument}` is an array of strings (dtype {dtype}). Podium computes with numbers "
            "and booleans only. Convert the strings to numbers first, for example with "
            "`np.unique(x, return_inverse=True)`."
        )
    if kind in "Mm":
        raise TypeError(
            f"`{argument}` holds dates or times (dtype {dtype}). Podium computes with numbers and "
            "booleans only. Convert them first, for example with `x.astype('int64') / 1e9`."
        )


def as_number_array(value: object, argument: str = "value") -> np.ndarray[Any, Any]:
    """Return a NumPy array, list or scalar as a NumPy array of numbers or booleans, in the
    machine's byte order.

    Example:
        >>> podium.core.as_number_array([[1, 2], [3, 4]]).shape
        (2, 2)
    """
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ValueError(
            f"`{argument}` cannot be converted to an array: {error}. Every row must have the same "
            "length and dtype; pad the shorter rows."
        ) from error
    check_numeric(array, argument)
    return to_native_byte_order(array)


def to_native_byte_order(array: ArrayT) -> ArrayT:
    """Return an array in the machine's byte order, the only one that JAX accepts; files of other
    machines and formats (FITS, IDX, network data) may have the other one.
    """
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def check_int_range(array: ArrayT) -> ArrayT:
    """Return an array in the machine's byte order; raise an OverflowError for 64-bit integers that
    do not fit the 32 bits that JAX keeps.
    """
    array = to_native_byte_order(array)
    if array.dtype in (np.int64, np.uint64) and array.size and not jax_config.jax_enable_x64:
        low, high = (0, 2**32 - 1) if array.dtype == np.uint64 else (-(2**31), 2**31 - 1)
        if array.min() < low or array.max() > high:
            raise OverflowError(
                f"The integers range from {array.min()} to {array.max()}, beyond 32 bits, which is "
                "what JAX keeps. Map them to smaller numbers, or call "
                "`jax.config.update('jax_enable_x64', True)` at the start."
            )
    return array
