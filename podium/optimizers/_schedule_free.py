"""Schedule-free AdamW: averaging in place of a falling learning rate."""

from __future__ import annotations

from typing import Unpack

import jax
import jax.numpy as jnp

from podium.core import Variable
from podium.core.internal import check_int, check_number
from podium.optimizers._adam import decay_power
from podium.optimizers._learning_rate import LearningRate
from podium.optimizers._optimizer import Optimizer, OptimizerOptions
from podium.optimizers._option_checks import check_decay_rate
from podium.optimizers._update_math import Hyperparameters, Rule, Slots


def schedule_free_adamw(
    gradient: jax.Array,
    value: jax.Array,
    slots: Slots,
    learning_rate: jax.Array,
    step: jax.Array,
    hyper: Hyperparameters,
) -> tuple[jax.Array, Slots]:
    """Move z by Adam's step, x to the mean of all z, and the weights to a point between the two."""
    z, v = slots["momentum"], slots["velocity"]
    beta_1, beta_2 = (
        jnp.asarray(beta, value.dtype) for beta in (hyper.beta_1, hyper.beta_2)
    )  # rounded first, as in Keras
    if hyper.warmup_steps > 0:
        learning_rate = learning_rate * jnp.minimum(step / hyper.warmup_steps, 1.0)
    v = v + (jnp.square(gradient) - v) * (1 - beta_2)
    spread = jnp.sqrt(v / (1 - decay_power(hyper.beta_2, step))) + hyper.epsilon
    x = (value - (1 - beta_1) * z) / beta_1  # the weights hold beta_1 * x + (1 - beta_1) * z
    z = z - learning_rate * gradient / spread
    x = (1 - 1.0 / step) * x + (1.0 / step) * z
    return (1 - beta_1) * z + beta_1 * x, {"momentum": z, "velocity": v}


class ScheduleFreeAdamW(Optimizer):
    """AdamW that averages its weights instead of decaying the learning rate, so that the number of
    steps need not be known.

    Args:
        learning_rate: A number, a `LearningRateSchedule` or a function.
        beta_1: How near the weights stay to the average, from above 0 to 1.
        beta_2: The decay rate of the mean of squared gradients, from 0 to below 1.
        epsilon: A small constant for numerical stability.
        warmup_steps: Over how many updates the learning rate rises from 0.
        **options: Arguments of all optimizers; see `Optimizer`.

    Example:
        >>> w = podium.Variable([1.0, 2.0])
        >>> podium.optimizers.ScheduleFreeAdamW(0.1).apply([podium.Tensor([3.0, -0.3])], [w])
        >>> w.numpy().round(4)
        array([0.9, 2.1], dtype=float32)
    """

    _hyper = ("beta_1", "beta_2", "epsilon", "warmup_steps")

    def __init__(
        self,
        learning_rate: LearningRate = 0.0025,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-8,
        warmup_steps: int = 0,
        **options: Unpack[OptimizerOptions],
    ):
        super().__init__(learning_rate, **options)
        self.beta_1 = check_number("beta_1", beta_1, 0, 1)
        self.beta_2 = check_decay_rate("beta_2", beta_2)
        self.epsilon = check_number("epsilon", epsilon, 0)
        self.warmup_steps = check_int("warmup_steps", warmup_steps, 0, type_error=ValueError)
        if self.beta_1 == 0:
            raise ValueError(
                "beta_1=0.0 was given to ScheduleFreeAdamW; a number above 0 was expected: it "
                "divides by it."
            )

    def _rule_of(self, variable: Variable) -> Rule:
        return schedule_free_adamw

    def _slot_groups(self) -> list[tuple[str, ...]]:
        return [("momentum", "velocity")]

    def _make_slot(self, variable: Variable, name: str) -> Variable | None:
        if name != "momentum":
            return self.add_variable_from_reference(variable, name)
        # Called outside of every trace, where a variable has its value from before the step.
        return self.add_variable_from_reference(
            variable, name, lambda shape, dtype: variable.read_value()
        )
