"""RMSprop: steps divided by the root of a running mean of squared gradients."""

from __future__ import annotations

from typing import Unpack

import jax
import jax.numpy as jnp

from podium.core import Variable
from podium.core.internal import check_number
from podium.optimizers._learning_rate import LearningRate
from podium.optimizers._optimizer import Optimizer, OptimizerOptions
from podium.optimizers._update_math import Hyperparameters, Rule, Slots


def rmsprop(
    gradient: jax.Array,
    value: jax.Array,
    slots: Slots,
    learning_rate: jax.Array,
    step: jax.Array,
    hyper: Hyperparameters,
) -> tuple[jax.Array, Slots]:
    """Divide by the root mean square of recent gradients; epsilon is inside the root."""
    rho, new = hyper.rho, {}
    new["velocity"] = power = rho * slots["velocity"] + (1 - rho) * jnp.square(gradient)
    if hyper.centered:
        new["average_gradient"] = rho * slots["average_gradient"] + (1 - rho) * gradient
        power = power - jnp.square(new["average_gradient"])
    move = learning_rate * gradient / jnp.sqrt(power + hyper.epsilon)
    if "momentum" in slots:
        new["momentum"] = move = hyper.momentum * slots["momentum"] + move
    return value - move, new


class RMSprop(Optimizer):
    """Divides each step by the root of a running mean of squared gradients.

    Args:
        learning_rate: A number, a `LearningRateSchedule` or a function.
        rho: The share of the old mean at each update, from 0 to 1.
        momentum: The momentum: the fraction of the last step that is repeated, from 0 to 1.
        epsilon: A small constant for numerical stability.
        centered: Whether to subtract the mean gradient first, so as to divide by its variance.
        **options: Arguments of all optimizers; see `Optimizer`.

    Example:
        >>> w = podium.Variable([1.0, 2.0])
        >>> podium.optimizers.RMSprop(0.1).apply([podium.Tensor([3.0, -0.3])], [w])
        >>> w.numpy().round(3)
        array([0.684, 2.316], dtype=float32)
    """

    _hyper = ("rho", "momentum", "epsilon", "centered")

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        rho: float = 0.9,
        momentum: float = 0.0,
        epsilon: float = 1e-7,
        centered: bool = False,
        **options: Unpack[OptimizerOptions],
    ):
        super().__init__(learning_rate, **options)
        self.rho = check_number("rho", rho, 0, 1)
        self.momentum = check_number("momentum", momentum, 0, 1)
        self.epsilon = check_number("epsilon", epsilon, 0)
        self.centered = bool(centered)

    def _rule_of(self, variable: Variable) -> Rule:
        return rmsprop

    def _slot_groups(self) -> list[tuple[str, ...]]:
        groups: list[tuple[str, ...]] = [("velocity",)]
        groups += [("momentum",)] if self.momentum else []
        return groups + ([("average_gradient",)] if self.centered else [])
