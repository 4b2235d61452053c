"""Adamax: Adam with the largest recent gradient instead of the root mean square."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from podium.core import Variable
from podium.optimizers._adam import AdamBase, decay_power
from podium.optimizers._update_math import Hyperparameters, Rule, Slots


def adamax(
    gradient: jax.Array,
    value: jax.Array,
    slots: Slots,
    learning_rate: jax.Array,
    step: jax.Array,
    hyper: Hyperparameters,
) -> tuple[jax.Array, Slots]:
    """Divide the mean gradient by the largest recent one."""
    m, u = slots["momentum"], slots["norm"]
    m = m + (gradient - m) * (1 - hyper.beta_1)
    u = jnp.maximum(hyper.beta_2 * u, jnp.abs(gradient))
    move = learning_rate * m / ((1 - decay_power(hyper.beta_1, step)) * (u + hyper.epsilon))
    return value - move, {"momentum": m, "norm": u}


class Adamax(AdamBase):
    """Adam with the infinity norm: the largest recent gradient replaces the root mean square.

    Args:
        learning_rate: A number, a `LearningRateSchedule` or a function.
        beta_1: The decay rate of the mean of gradients, from 0 to below 1.
        beta_2: The decay rate of the largest gradient, from 0 to below 1.
        epsilon: A small constant for numerical stability.
        **options: Arguments of all optimizers; see `Optimizer`.

    Example:
        >>> w = podium.Variable([1.0, 2.0])
        >>> podium.optimizers.Adamax(0.1).apply([podium.Tensor([3.0, -0.3])], [w])
        >>> w.numpy().round(4)
        array([0.9, 2.1], dtype=float32)
    """

    def _rule_of(self, variable: Variable) -> Rule:
        return adamax

    def _slot_groups(self) -> list[tuple[str, ...]]:
        return [("momentum", "norm")]
