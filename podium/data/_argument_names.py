"""The words that messages use: how the caller names its arguments, checks of counts, and warnings
at the user's line.
"""

from __future__ import annotations

import dataclasses
import sys
from typing import Any

import numpy as np


@dataclasses.dataclass(frozen=True)
class ArgumentNames:
    """The names of `fit`'s (or another method's) arguments."""

    x: str = "x"
    y: str = "y"
    sample_weight: str = "sample_weight"
    batch_size: str = "batch_size"
    steps: str = "steps_per_epoch"
    allows_infinite: bool = (
        False  # whether data without an end are welcome, and are read for as long as somebody asks
    )

    def steps_for_infinite(self, message: str) -> int:
        """Return how many batches to take of a source without an end when nobody said; refuse it if
        it must have one.
        """
        if not self.allows_infinite:
            raise ValueError(message)
        return sys.maxsize


DEFAULT_NAMES = ArgumentNames()

ARGUMENT_NAMES = {
    "fit": DEFAULT_NAMES,
    "evaluate": ArgumentNames(steps="steps"),
    "predict": ArgumentNames(steps="steps"),
    "predict_iter": ArgumentNames(steps="steps", allows_infinite=True),
    "validation": ArgumentNames(
        "validation_data[0]",
        "validation_data[1]",
        "validation_data[2]",
        "validation_batch_size",
        "validation_steps",
    ),
}


def check_shuffle(value: Any) -> bool | str:
    """Return `fit`'s `shuffle`: True, False or "batch"."""
    if isinstance(value, (bool, int, np.bool_)) and value in (0, 1):
        return bool(value)
    if isinstance(value, str) and value.lower() == "batch":
        return "batch"
    kind = ValueError if isinstance(value, (str, int)) else TypeError
    raise kind(f"shuffle={value!r} was given; True, False or 'batch' was expected.")
