"""Lamb: Adam with a learning rate per variable, in proportion to its norm."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from podium.core import Variable
from podium.optimizers._adam import AdamBase, decay_power
from podium.optimizers._update_math import Hyperparameters, Rule, Slots


def lamb(
    gradient: jax.Array,
    value: jax.Array,
    slots: Slots,
    learning_rate: jax.Array,
    step: jax.Array,
    hyper: Hyperparameters,
) -> tuple[jax.Array, Slots]:
    """Step in Adam's direction, scaled to the norm of the weights of each variable."""
    m, v = slots["momentum"], slots["velocity"]
    m = m + (gradient - m) * (1 - hyper.beta_1)
    v = v + (jnp.square(gradient) - v) * (1 - hyper.beta_2)
    spread = jnp.sqrt(v / (1.0 - decay_power(hyper.beta_2, step))) + hyper.epsilon
    move = m / (1.0 - decay_power(hyper.beta_1, step)) / spread
    weight_norm, move_norm = (
        jnp.sqrt(jnp.sum(jnp.square(value))),
        jnp.sqrt(jnp.sum(jnp.square(move))),
    )
    ratio = jnp.where((weight_norm > 0) & (move_norm > 0), weight_norm / move_norm, 1.0)
    return value - ratio * learning_rate * move, {"momentum": m, "velocity": v}


class Lamb(AdamBase):
    """Adam with steps in proportion to the norm of each variable: for very large batches.

    Args:
        learning_rate: A number, a `LearningRateSchedule` or a function.
        beta_1: The decay rate of the mean of gradients, from 0 to below 1.
        beta_2: The decay rate of the mean of squared gradients, from 0 to below 1.
        epsilon: A small constant for numerical stability.
        **options: Arguments of all optimizers; see `Optimizer`.

    Example:
        >>> w = podium.Variable([3.0, 4.0])
        >>> podium.optimizers.Lamb(0.1).apply([podium.Tensor([1.0, -1.0])], [w])
        >>> w.numpy().round(4)
        array([2.6464, 4.3536], dtype=float32)
    """

    def _rule_of(self, variable: Variable) -> Rule:
        return lamb
