"""The learning rate of an optimizer: a number in a Variable, a schedule, or a function.

It owns assignment and evaluation. The Variable itself is a state Variable of the optimizer.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from podium._typing import TensorLike
from podium.core import Tensor, Variable, convert_to_tensor, floatx
from podium.optimizers._option_checks import check_learning_rate
from podium.optimizers.schedules import LearningRateSchedule

# What the argument `learning_rate` accepts.
LearningRate: TypeAlias = "float | TensorLike | LearningRateSchedule | Callable[..., Any]"


def assign_learning_rate(variable: Variable, learning_rate: TensorLike) -> None:
    """Assign a learning rate: a number, which is validated, or an array, whose value may be known
    only inside a compiled step.
    """
    is_number = isinstance(learning_rate, np.generic) or not hasattr(learning_rate, "shape")
    variable.assign(check_learning_rate(learning_rate) if is_number else learning_rate)


def evaluate_schedule(schedule: Callable[..., Any], iteration: Tensor) -> Tensor:
    """Return the learning rate of a schedule or function at an iteration."""
    rate = schedule(iteration) if _takes_iteration(schedule) else schedule()
    value: Tensor = convert_to_tensor(rate, floatx())
    return value


def _takes_iteration(function: Callable[..., Any]) -> bool:
    """Return whether to call a function with the iteration; Keras calls plain functions without
    arguments.
    """
    if isinstance(function, LearningRateSchedule):
        return True
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(
        p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        for p in parameters
    )
