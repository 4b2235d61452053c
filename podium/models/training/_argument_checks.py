"""Checks of the arguments of `compile` and `fit` that need nothing but the arguments."""

from __future__ import annotations

import inspect
import numbers
import re
from collections.abc import Callable, Collection
from typing import Any

from podium.core import closest_match

_RENAMED = {"nb_epoch": "epochs", "show_accuracy": "metrics"}  # what Keras 1 called them


def no_more_arguments(method: Callable, given: dict[str, Any], allowed: tuple[str, ...]) -> None:
    """Refuse arguments that a method does not have; `allowed` ones are accepted without effect."""
    for name in given:
        if name not in allowed:
            close = _RENAMED.get(name) or closest_match(
                name, list(inspect.signature(method).parameters)
            )
            hint = f" Did you mean `{close}`?" if close else ""
            raise TypeError(f"{method.__name__}() has no argument {name!r}.{hint}")


def whole_number(name: str, value: Any, least: int, or_none: bool = False) -> None:
    """Refuse what is not a whole number of at least `least`."""
    if value is None and or_none:
        return
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(
            f"{name}={value!r} was given; a whole number was expected, not {type(value).__name__}."
        )
    if value < least:
        raise ValueError(
            f"{name}={value!r} was given; a whole number of at least {least} was expected."
        )


def check_compile(run_eagerly: Any, steps_per_execution: Any, jit_compile: Any) -> None:
    """Check the execution knobs of `compile`."""
    if run_eagerly not in (None, True, False):
        raise TypeError(f"run_eagerly={run_eagerly!r} was given; True or False was expected.")
    if steps_per_execution != "auto":
        whole_number("steps_per_execution", steps_per_execution, 1, or_none=True)
    if jit_compile not in (None, True, False, "auto"):
        raise ValueError(
            f"jit_compile={jit_compile!r} was given; True, False or 'auto' was expected."
        )


def check_fit(
    epochs: Any,
    initial_epoch: Any,
    verbose: Any,
    validation_split: Any,
    validation_data: Any,
    validation_freq: Any,
) -> None:
    """Check the arguments of `fit` that are about counting."""
    whole_number("epochs", epochs, 0)
    whole_number("initial_epoch", initial_epoch, 0)
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
            "Both validation_split and validation_data were given. Give one: `validation_split` "
            "takes the end of the training arrays, `validation_data` is data of its own."
        )
    check_validation_freq(validation_freq)


def check_verbose(verbose: Any) -> None:
    """Check the `verbose` argument."""
    if not (verbose == "auto" or (isinstance(verbose, numbers.Integral) and verbose in (0, 1, 2))):
        raise ValueError(
            f"verbose={verbose!r} was given; 0 (silent), 1 (a bar), 2 (a line per epoch) or "
            "'auto' was expected."
        )


def check_validation_freq(value: Any) -> None:
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
            whole_number("validation_freq", epoch, 1)
    else:
        whole_number("validation_freq", value, 1)


def steps_between_validations(value: Any) -> int | None:
    """Return the number of steps if `validation_freq` is given in steps."""
    found = re.fullmatch(r"\s*([1-9]\d*)\s*steps?\s*", value) if isinstance(value, str) else None
    return int(found.group(1)) if found else None
