"""The words that messages use: how the caller names its arguments, checks of counts, and warnings
at the user's line.
"""

from __future__ import annotations

import dataclasses
import operator
import sys
from typing import Any

import numpy as np


@dataclasses.dataclass(frozen=True)
class Words:
    """The names of `fit`'s (or another method's) arguments."""

    x: str = "x"
    y: str = "y"
    sample_weight: str = "sample_weight"
    batch_size: str = "batch_size"
    steps: str = "steps_per_epoch"
    may_never_end: bool = (
        False  # whether data without an end are welcome, and are read for as long as somebody asks
    )

    def steps_of_endless(self, message: str) -> int:
        """Return how many batches to take of a source without an end when nobody said; refuse it if
        it must have one.
        """
        if not self.may_never_end:
            raise ValueError(message)
        return sys.maxsize


CALLERS = {
    "fit": Words(),
    "evaluate": Words(steps="steps"),
    "predict": Words(steps="steps"),
    "predict_iter": Words(steps="steps", may_never_end=True),
    "validation": Words(
        "validation_data[0]",
        "validation_data[1]",
        "validation_data[2]",
        "validation_batch_size",
        "validation_steps",
    ),
}


def check_count(name: str, value: Any, least: int = 1) -> int:
    """Return a count as an int, or say what is wrong with it. Whole floats, as `np.ceil` gives, are
    accepted.
    """
    expected = f"a whole number of at least {least} was expected"
    if isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name}={value!r} was given (bool); {expected}.")
    if not isinstance(value, (int, float, np.integer, np.floating)):
        try:
            value = operator.index(value)  # a Tensor or array that holds one integer
        except TypeError:
            raise TypeError(
                f"{name}={value!r} was given ({type(value).__name__}); {expected}."
            ) from None
    if value != value or value in (float("inf"), float("-inf")) or int(value) != value:
        raise ValueError(f"{name}={value!r} was given; {expected}.")
    if value < least:
        raise ValueError(f"{name}={value!r} was given; {expected}.")
    return int(value)


def check_shuffle(value: Any) -> bool | str:
    """Return `fit`'s `shuffle`: True, False or "batch"."""
    if isinstance(value, (bool, int, np.bool_)) and value in (0, 1):
        return bool(value)
    if isinstance(value, str) and value.lower() == "batch":
        return "batch"
    kind = ValueError if isinstance(value, (str, int)) else TypeError
    raise kind(f"shuffle={value!r} was given; True, False or 'batch' was expected.")
