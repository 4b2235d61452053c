"""ArgumentNames: how the calling method names its arguments, so that messages name what the user
typed. Also validates `shuffle`; other arguments are validated by `podium.core.internal`.
"""

from __future__ import annotations

import dataclasses
import sys

import numpy as np


@dataclasses.dataclass(frozen=True)
class ArgumentNames:
    """The names of the arguments of `fit` or another method that reads data.

    Attributes:
        x: The name of the inputs.
        y: The name of the targets.
        sample_weight: The name of the sample weights.
        batch_size: The name of the batch size.
        steps: The name of the number of batches.
        allows_infinite: Whether infinite data are accepted without a number of steps.
    """

    x: str = "x"
    y: str = "y"
    sample_weight: str = "sample_weight"
    batch_size: str = "batch_size"
    steps: str = "steps_per_epoch"
    allows_infinite: bool = False

    def steps_for_infinite(self, message: str) -> int:
        """Return the number of steps for infinite data when none was passed.

        Raises:
            ValueError: The method needs a number of steps; `message` says so.
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


def check_shuffle(value: object) -> bool | str:
    """Return `fit`'s `shuffle`: True, False or "batch"."""
    if isinstance(value, (bool, int, np.bool_)) and value in (0, 1):
        return bool(value)
    if isinstance(value, str) and value.lower() == "batch":
        return "batch"
    error = ValueError if isinstance(value, (str, int)) else TypeError
    raise error(f"shuffle={value!r} was given; True, False or 'batch' was expected.")
