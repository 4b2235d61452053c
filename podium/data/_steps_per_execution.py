"""StepsPerExecution: how many steps one execution runs, as a number that can change.

The model creates it; a `DataHandler` sets it while it iterates.
"""

from __future__ import annotations

import numpy as np

from podium.core.internal import TraceSetting, check_int
from podium.data._int_operators import IntOperators


class StepsPerExecution(IntOperators, TraceSetting):
    """The number of steps of an execution, as a value that code written for Keras 2 can read.

    A user's `make_train_function` may read `model._steps_per_execution`. While a `DataHandler`
    iterates, it sets the number to the steps of the current execution, which are fewer at the end
    of an epoch, and restores it. A compiled function that reads it has one program for each number.
    Podium itself passes the number by value.

    Args:
        value: The number of steps, or "auto" for a number that is chosen while steps run.

    Example:
        >>> k = podium.data.StepsPerExecution(4)
        >>> k.assign(3)
        >>> int(k), k.value(), k.numpy().item(), k - 1, k == 3
        (3, 3, 3, 2, True)
    """

    dtype = np.dtype("int64")
    shape = ()

    def __init__(self, value: int | str = 1):
        super().__init__(1)
        self.auto = value == "auto"
        self.assign(1 if value == "auto" else value)

    def assign(self, value: int | str) -> None:
        """Set the number; a run that has started is not affected."""
        self.current = self.given = check_int("steps_per_execution", value, integral_floats=True)

    def numpy(self) -> np.int64:
        """Return the number as a NumPy scalar."""
        return np.int64(self.read())

    def value(self) -> int:
        """Return the number."""
        return self.read()

    def __int__(self) -> int:
        return self.read()

    def __repr__(self) -> str:
        return f"StepsPerExecution({self.current})"
