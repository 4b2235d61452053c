"""Lion: steps by signs only."""

from __future__ import annotations

from typing import Unpack

import jax
import jax.numpy as jnp

from podium.core import Variable
from podium.core.internal import check_number
from podium.optimizers._learning_rate import LearningRate
from podium.optimizers._optimizer import Optimizer, OptimizerOptions
from podium.optimizers._update_math import Hyperparameters, Rule, Slots


def lion(
    gradient: jax.Array,
    value: jax.Array,
    slots: Slots,
    learning_rate: jax.Array,
    step: jax.Array,
    hyper: Hyperparameters,
) -> tuple[jax.Array, Slots]:
    """Step by the sign of a mean of momentum and gradient; the momentum follows more slowly."""
    momentum = slots["momentum"]
    beta_1, beta_2 = (
        jnp.asarray(beta, value.dtype) for beta in (hyper.beta_1, hyper.beta_2)
    )  # rounded first, as in Keras
    direction = jnp.sign(momentum * beta_1 + gradient * (1.0 - beta_1))
    momentum = momentum * beta_2 + gradient * (1.0 - beta_2)
    return value - learning_rate * direction, {"momentum": momentum}


class Lion(Optimizer):
    """Steps by signs: half of Adam's memory, and a learning rate 3 to 10 times smaller.

    Args:
        learning_rate: A number, a `LearningRateSchedule` or a function.
        beta_1: The share of the momentum in the direction of a step, from above 0 to 1.
        beta_2: The share of the old momentum at each update, from 0 to 1.
        **options: Arguments of all optimizers; see `Optimizer`.

    Example:
        >>> w = podium.Variable([1.0, 2.0])
        >>> podium.optimizers.Lion(0.1).apply([podium.Tensor([3.0, -0.3])], [w])
        >>> w.numpy()
        array([0.9, 2.1], dtype=float32)
    """

    _hyper = ("beta_1", "beta_2")

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.99,
        **options: Unpack[OptimizerOptions],
    ):
        super().__init__(learning_rate, **options)
        self.beta_1 = check_number("beta_1", beta_1, 0, 1)
        self.beta_2 = check_number("beta_2", beta_2, 0, 1)
        if self.beta_1 == 0:
            raise ValueError(
                "beta_1=0.0 was given to Lion; a number above 0 was expected, or it would "
                "ignore its momentum."
            )

    def _rule_of(self, variable: Variable) -> Rule:
        return lion

    def _slot_groups(self) -> list[tuple[str, ...]]:
        return [("momentum",)]
