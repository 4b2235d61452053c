"""Cosine schedules: one decay with an optional warmup, or decays with warm restarts."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp

from podium.core import Tensor, dispatch
from podium.core.internal import check_number
from podium.optimizers.schedules._decays import as_float, positive_steps
from podium.optimizers.schedules._schedule import LearningRateSchedule


class CosineDecay(LearningRateSchedule):
    """Down along half a cosine, after a straight rise if `warmup_target` is given.

    Args:
        initial_learning_rate: The rate at step 0.
        decay_steps: How long the descent takes, without the warmup.
        alpha: The rate at the end, as a share of the rate at the top.
        name: A name.
        warmup_target: The rate at the top; None for no warmup.
        warmup_steps: How many steps the rise takes.

    Example:
        >>> schedule = podium.optimizers.schedules.CosineDecay(
        ...     0.0, 100, warmup_target=0.1, warmup_steps=10
        ... )
        >>> [round(float(schedule(step)), 4) for step in (0, 5, 10, 60, 110, 500)]
        [0.0, 0.05, 0.1, 0.05, 0.0, 0.0]
    """

    def __init__(
        self,
        initial_learning_rate: float,
        decay_steps: float,
        alpha: float = 0.0,
        name: str = "CosineDecay",
        warmup_target: float | None = None,
        warmup_steps: float = 0,
    ):
        self.initial_learning_rate = check_number("initial_learning_rate", initial_learning_rate)
        self.decay_steps = positive_steps("decay_steps", decay_steps)
        self.alpha = check_number("alpha", alpha)
        self.name = name
        self.warmup_target = (
            None if warmup_target is None else check_number("warmup_target", warmup_target, 0)
        )
        check_number("warmup_steps", warmup_steps, 0)
        self.warmup_steps = warmup_steps

    def __call__(self, step: Any) -> Tensor:
        """Return the learning rate at a step."""

        def rate(step: Any) -> Any:
            step = as_float(step)
            if self.warmup_target is None:
                return self._descent(step, self.initial_learning_rate)
            descent = self._descent(step - self.warmup_steps, self.warmup_target)
            if not self.warmup_steps:
                return descent
            start = jnp.asarray(self.initial_learning_rate, step.dtype)
            rise = (self.warmup_target - start) * (step / self.warmup_steps) + start
            return jnp.where(step < self.warmup_steps, rise, descent)

        result: Tensor = dispatch(rate, step)
        return result

    def _descent(self, step: Any, top: float) -> Any:
        passed = jnp.minimum(step, jnp.asarray(self.decay_steps, step.dtype)) / self.decay_steps
        cosine = 0.5 * (1.0 + jnp.cos(math.pi * passed))
        return top * ((1 - self.alpha) * cosine + self.alpha)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this schedule again."""
        return {
            "initial_learning_rate": self.initial_learning_rate,
            "decay_steps": self.decay_steps,
            "alpha": self.alpha,
            "name": self.name,
            "warmup_target": self.warmup_target,
            "warmup_steps": self.warmup_steps,
        }


class CosineDecayRestarts(LearningRateSchedule):
    """Cosine decay with warm restarts (SGDR): each period can be longer and start lower.

    Args:
        initial_learning_rate: The rate at step 0.
        first_decay_steps: The number of steps of the first period.
        t_mul: How many times longer each descent is than the one before.
        m_mul: What the top of each descent is multiplied by.
        alpha: The rate at the bottom, as a share of `initial_learning_rate`.
        name: A name.

    Example:
        >>> schedule = podium.optimizers.schedules.CosineDecayRestarts(0.1, 10)
        >>> [round(float(schedule(step)), 4) for step in (0, 5, 10, 20, 30)]
        [0.1, 0.05, 0.1, 0.05, 0.1]
    """

    def __init__(
        self,
        initial_learning_rate: float,
        first_decay_steps: float,
        t_mul: float = 2.0,
        m_mul: float = 1.0,
        alpha: float = 0.0,
        name: str = "SGDRDecay",
    ):
        self.initial_learning_rate = check_number("initial_learning_rate", initial_learning_rate)
        self.first_decay_steps = positive_steps("first_decay_steps", first_decay_steps)
        self.t_mul = check_number("t_mul", t_mul, 1)
        self.m_mul = check_number("m_mul", m_mul)
        self.alpha = check_number("alpha", alpha)
        self.name = name

    def __call__(self, step: Any) -> Tensor:
        """Return the learning rate at a step."""

        def rate(step: Any) -> Any:
            passed = as_float(step) / self.first_decay_steps  # in units of the first descent
            growth, shrink = (
                jnp.asarray(factor, passed.dtype) for factor in (self.t_mul, self.m_mul)
            )
            if self.t_mul == 1.0:
                restarts = jnp.floor(passed)
                passed = passed - restarts
            else:  # descent i starts at 1 + t + ... + t^(i-1) and takes t^i
                restarts = jnp.floor(jnp.log(1.0 - passed * (1.0 - growth)) / jnp.log(growth))
                length = jnp.power(growth, restarts)
                passed = (passed - (1.0 - length) / (1.0 - growth)) / length
            cosine = 0.5 * jnp.power(shrink, restarts) * (1.0 + jnp.cos(math.pi * passed))
            return self.initial_learning_rate * ((1 - self.alpha) * cosine + self.alpha)

        result: Tensor = dispatch(rate, step)
        return result

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make this schedule again."""
        return {
            "initial_learning_rate": self.initial_learning_rate,
            "first_decay_steps": self.first_decay_steps,
            "t_mul": self.t_mul,
            "m_mul": self.m_mul,
            "alpha": self.alpha,
            "name": self.name,
        }
