"""Schedules that only go down, or step from value to value: exponential, inverse-time, polynomial,
piecewise constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

from podium.core import Tensor, dispatch, floatx
from podium.core.internal import check_number
from podium.optimizers.schedules._schedule import LearningRateSchedule


def positive_steps(argument: str, value: Any) -> Any:
    """Return a number of steps, whole or not, if it is above zero."""
    if check_number(argument, value) <= 0:
        raise ValueError(
            f"{argument}={value!r} was given to a schedule; a number of steps above 0 was expected."
        )
    return value


def as_float(step: Any) -> Any:
    """Return a step count in the default float type."""
    return jnp.asarray(step).astype(floatx())


class ExponentialDecay(LearningRateSchedule):
    """The rate times `decay_rate ** (step / decay_steps)`.

    Args:
        initial_learning_rate: The rate at step 0.
        decay_steps: After how many steps the rate has shrunk by `decay_rate` once.
        decay_rate: The factor.
        staircase: Whether it shrinks in jumps, every `decay_steps` steps.
        name: A name.

    Example:
        >>> schedule = podium.optimizers.schedules.ExponentialDecay(
        ...     0.1, decay_steps=100, decay_rate=0.5
        ... )
        >>> [round(float(schedule(step)), 4) for step in (0, 50, 100)]
        [0.1, 0.0707, 0.05]
    """

    def __init__(
        self,
        initial_learning_rate: float,
        decay_steps: float,
        decay_rate: float,
        staircase: bool = False,
        name: str = "ExponentialDecay",
    ):
        self.initial_learning_rate = check_number("initial_learning_rate", initial_learning_rate)
        self.decay_steps = positive_steps("decay_steps", decay_steps)
        self.decay_rate = check_number("decay_rate", decay_rate)
        self.staircase = staircase
        self.name = name

    def __call__(self, step: Any) -> Tensor:
        """Return the learning rate at a step."""

        def rate(step: Any) -> Any:
            passed = as_float(step) / self.decay_steps
            passed = jnp.floor(passed) if self.staircase else passed
            return self.initial_learning_rate * jnp.power(
                jnp.asarray(self.decay_rate, passed.dtype), passed
            )

        result: Tensor = dispatch(rate, step)
        return result

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this schedule again."""
        return {
            "initial_learning_rate": self.initial_learning_rate,
            "decay_steps": self.decay_steps,
            "decay_rate": self.decay_rate,
            "staircase": self.staircase,
            "name": self.name,
        }


class InverseTimeDecay(LearningRateSchedule):
    """The rate divided by `1 + decay_rate * step / decay_steps`.

    Args:
        initial_learning_rate: The rate at step 0.
        decay_steps: The unit in which steps are counted.
        decay_rate: How fast it shrinks.
        staircase: Whether it shrinks in jumps, every `decay_steps` steps.
        name: A name.

    Example:
        >>> schedule = podium.optimizers.schedules.InverseTimeDecay(
        ...     0.1, decay_steps=10, decay_rate=1.0
        ... )
        >>> [round(float(schedule(step)), 4) for step in (0, 10, 30)]
        [0.1, 0.05, 0.025]
    """

    def __init__(
        self,
        initial_learning_rate: float,
        decay_steps: float,
        decay_rate: float,
        staircase: bool = False,
        name: str = "InverseTimeDecay",
    ):
        self.initial_learning_rate = check_number("initial_learning_rate", initial_learning_rate)
        self.decay_steps = positive_steps("decay_steps", decay_steps)
        self.decay_rate = check_number("decay_rate", decay_rate)
        self.staircase = staircase
        self.name = name

    def __call__(self, step: Any) -> Tensor:
        """Return the learning rate at a step."""

        def rate(step: Any) -> Any:
            passed = as_float(step) / self.decay_steps
            passed = jnp.floor(passed) if self.staircase else passed
            return self.initial_learning_rate / (1 + self.decay_rate * passed)

        result: Tensor = dispatch(rate, step)
        return result

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this schedule again."""
        return {
            "initial_learning_rate": self.initial_learning_rate,
            "decay_steps": self.decay_steps,
            "decay_rate": self.decay_rate,
            "staircase": self.staircase,
            "name": self.name,
        }


class PolynomialDecay(LearningRateSchedule):
    """From one rate to another along a power of the steps left; a straight line for `power=1`.

    Args:
        initial_learning_rate: The rate at step 0.
        decay_steps: When `end_learning_rate` is reached.
        end_learning_rate: The rate from then on.
        power: The power of `1 - step / decay_steps`.
        cycle: Whether to start again after `decay_steps`, over an ever longer stretch, instead of
            staying.
        name: A name.

    Example:
        >>> schedule = podium.optimizers.schedules.PolynomialDecay(
        ...     0.1, decay_steps=100, end_learning_rate=0.0
        ... )
        >>> [round(float(schedule(step)), 4) for step in (0, 25, 100, 200)]
        [0.1, 0.075, 0.0, 0.0]
    """

    def __init__(
        self,
        initial_learning_rate: float,
        decay_steps: float,
        end_learning_rate: float = 0.0001,
        power: float = 1.0,
        cycle: bool = False,
        name: str = "PolynomialDecay",
    ):
        self.initial_learning_rate = check_number("initial_learning_rate", initial_learning_rate)
        self.decay_steps = positive_steps("decay_steps", decay_steps)
        self.end_learning_rate = check_number("end_learning_rate", end_learning_rate)
        self.power = check_number("power", power)
        self.cycle = cycle
        self.name = name

    def __call__(self, step: Any) -> Tensor:
        """Return the learning rate at a step."""

        def rate(step: Any) -> Any:
            step = as_float(step)
            length = jnp.asarray(self.decay_steps, step.dtype)
            if self.cycle:
                length = length * jnp.where(step == 0, 1.0, jnp.ceil(step / length))
            left = 1 - jnp.minimum(step, length) / length
            span = jnp.asarray(self.initial_learning_rate, step.dtype) - self.end_learning_rate
            return (
                span * jnp.power(left, jnp.asarray(self.power, step.dtype)) + self.end_learning_rate
            )

        result: Tensor = dispatch(rate, step)
        return result

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this schedule again."""
        return {
            "initial_learning_rate": self.initial_learning_rate,
            "decay_steps": self.decay_steps,
            "end_learning_rate": self.end_learning_rate,
            "power": self.power,
            "cycle": self.cycle,
            "name": self.name,
        }


class PiecewiseConstantDecay(LearningRateSchedule):
    """One rate after another: `values[i]` up to and including step `boundaries[i]`, then the next.

    Args:
        boundaries: The last steps of each rate but the last, ascending.
        values: The rates, one more than the boundaries.
        name: A name.

    Example:
        >>> schedule = podium.optimizers.schedules.PiecewiseConstantDecay([10, 20], [1.0, 0.5, 0.1])
        >>> [round(float(schedule(step)), 4) for step in (0, 10, 11, 21)]
        [1.0, 1.0, 0.5, 0.1]
    """

    def __init__(
        self, boundaries: Sequence[float], values: Sequence[float], name: str = "PiecewiseConstant"
    ):
        if len(boundaries) != len(values) - 1:
            raise ValueError(
                f"PiecewiseConstantDecay was given {len(boundaries)} boundaries and "
                f"{len(values)} values; one boundary fewer "
                f"than values was expected. boundaries={list(boundaries)}, values={list(values)}."
            )
        self.boundaries = [
            edge if isinstance(edge, int) else check_number("boundaries", edge)
            for edge in boundaries
        ]
        self.values = [check_number("values", value, 0) for value in values]
        if sorted(self.boundaries) != self.boundaries:
            raise ValueError(
                f"PiecewiseConstantDecay was given boundaries={self.boundaries}; ascending steps "
                "were expected."
            )
        self.name = name

    def __call__(self, step: Any) -> Tensor:
        """Return the learning rate at a step."""

        def rate(step: Any) -> Any:
            step = as_float(step)
            edges = jnp.asarray(self.boundaries, step.dtype)
            return jnp.asarray(self.values, step.dtype)[jnp.sum(step > edges)]

        result: Tensor = dispatch(rate, step)
        return result

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this schedule again."""
        return {"boundaries": self.boundaries, "values": self.values, "name": self.name}
