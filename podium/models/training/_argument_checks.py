"""Checks of the arguments of `compile` and `fit` that need nothing but the arguments."""

from __future__ import annotations

import datetime
import inspect
import math
import numbers
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, TypeVar

from podium.core import closest_match, max_epochs, warn_user
from podium.core.internal import check_int

_F = TypeVar("_F", bound=Callable[..., Any])

_RENAMED = {"nb_epoch": "epochs", "show_accuracy": "metrics"}  # names of Keras 1


def show_keywords(*names: str) -> Callable[[_F], _F]:
    """Decorate a method that accepts only some keyword arguments as `**kwargs`: Python shows these
    in its signature, with None as the default. Libraries filter the arguments that they pass on by
    the signature.
    """

    def decorate(method: _F) -> _F:
        signature = inspect.signature(method)
        parameters = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        kind = inspect.Parameter.KEYWORD_ONLY
        parameters += [inspect.Parameter(name, kind, default=None) for name in names]
        vars(method)["__signature__"] = signature.replace(parameters=parameters)
        return method

    return decorate


def check_keywords(
    method: Callable[..., Any], names: Iterable[str], allowed: tuple[str, ...]
) -> None:
    """Raise for keyword arguments that a method does not have.

    Args:
        method: The method.
        names: The names of further keyword arguments that it was called with.
        allowed: Those that are accepted.
    """
    for name in names:
        if name not in allowed:
            parameters = list(inspect.signature(method).parameters)
            close = _RENAMED.get(name) or closest_match(name, parameters)
            hint = f" Did you mean `{close}`?" if close else ""
            raise TypeError(f"{method.__name__}() has no argument {name!r}.{hint}")


def check_compile(run_eagerly: object, steps_per_execution: object, jit_compile: object) -> None:
    """Check the settings of `compile`."""
    if run_eagerly not in (None, True, False):
        raise TypeError(f"run_eagerly={run_eagerly!r} was given; True or False was expected.")
    if steps_per_execution not in (None, "auto"):
        check_int("steps_per_execution", steps_per_execution, or_none=True)
    if jit_compile not in (None, True, False, "auto"):
        raise ValueError(
            f"jit_compile={jit_compile!r} was given; True, False or 'auto' was expected."
        )


def check_fit(
    epochs: object,
    initial_epoch: object,
    verbose: object,
    validation_split: object,
    validation_data: object,
    validation_freq: object,
    max_steps: object,
) -> None:
    """Check the arguments of `fit` that need not be compared with data."""
    if epochs is not None:
        check_int("epochs", epochs, 0)
    if max_steps is not None:
        check_int("max_steps", max_steps, or_none=True)
    first_epoch = check_int("initial_epoch", initial_epoch, 0)
    if isinstance(epochs, int) and 0 < epochs <= first_epoch:
        warn_user(
            f"initial_epoch={first_epoch} and epochs={epochs} were given: nothing is trained. "
            "`epochs` is the epoch to stop before, not the number of epochs; to train for n more, "
            f"pass `epochs={first_epoch} + n`."
        )
    check_verbose(verbose)
    if isinstance(validation_split, bool) or not isinstance(validation_split, numbers.Real):
        raise TypeError(
            f"validation_split={validation_split!r} was given; a fraction between 0 and 1 was "
            "expected."
        )
    if not 0 <= float(validation_split) < 1:
        raise ValueError(
            f"validation_split={validation_split!r} was given; a fraction from 0 to below 1 was "
            "expected."
        )
    if validation_split and validation_data is not None:
        raise ValueError(
            "Both validation_split and validation_data were given. Pass one: `validation_split` "
            "uses the end of the training arrays, `validation_data` other data."
        )
    check_validation_freq(validation_freq)


def limit_epochs(epochs: int | None) -> int | None:
    """Return the number of epochs under the limit of `set_max_epochs`."""
    limit = max_epochs()
    if limit is None or (epochs is not None and epochs <= limit):
        return epochs
    warn_user(
        f"`epochs` is limited to {limit} by `set_max_epochs`, or by the environment variable "
        "KERAS_MAX_EPOCHS."
    )
    return limit


def check_verbose(verbose: object) -> None:
    """Check the argument `verbose`."""
    if not (verbose == "auto" or (isinstance(verbose, numbers.Integral) and verbose in (0, 1, 2))):
        raise ValueError(
            f"verbose={verbose!r} was given; 0 (silent), 1 (a progress bar), 2 (a line per epoch) "
            "or 'auto' was expected."
        )


def check_validation_freq(value: object) -> None:
    """Check `validation_freq`: a number of epochs, a collection of epochs, or a number of steps
    such as '100 steps'.
    """
    if isinstance(value, str):
        if steps_between_validations(value) is None:
            raise ValueError(
                f"validation_freq={value!r} was given; a number, a list of epochs or '100 steps' "
                "was expected."
            )
    elif isinstance(value, Collection):
        for epoch in value:
            check_int("validation_freq", epoch)
    else:
        check_int("validation_freq", value)


def steps_between_validations(value: object) -> int | None:
    """Return the number of steps if `validation_freq` is given in steps."""
    match = re.fullmatch(r"\s*([1-9]\d*)\s*steps?\s*", value) if isinstance(value, str) else None
    return int(match.group(1)) if match else None


def seconds_of(argument: str, value: object) -> float | None:
    """Return a duration in seconds; None for None.

    Args:
        argument: The name of the argument.
        value: Seconds, a `datetime.timedelta`, a text "days:hours:minutes:seconds", or a dictionary
            of arguments of `timedelta`.
    """
    if value is None:
        return None
    seconds = _to_seconds(value)
    if seconds is None or not math.isfinite(seconds) or seconds <= 0:
        error = (
            TypeError if seconds is None and not isinstance(value, (str, Mapping)) else ValueError
        )
        raise error(
            f"{argument}={value!r} was given; a duration above 0 was expected: seconds, a "
            "`datetime.timedelta`, '00:12:00:00' (days, hours, minutes, seconds) or {'hours': 12}."
        )
    return seconds


def _to_seconds(value: object) -> float | None:
    """Return a duration in seconds, or None if it is not one."""
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, str):
        match = re.fullmatch(r"\s*(\d+):(\d+):(\d+):(\d+)\s*", value)
        if match is None:
            return None
        days, hours, minutes, seconds = map(int, match.groups())
        return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
    if isinstance(value, Mapping):
        try:
            return datetime.timedelta(**value).total_seconds()
        except TypeError:
            return None
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        return float(value)
    return None
