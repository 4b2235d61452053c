"""SGD: down the gradient, optionally with momentum."""

from __future__ import annotations

from typing import Unpack

import jax

from podium.core import Variable
from podium.core.internal import check_number
from podium.optimizers._learning_rate import LearningRate
from podium.optimizers._optimizer import Optimizer, OptimizerOptions
from podium.optimizers._update_math import Hyperparameters, Rule, Slots


def sgd(
    gradient: jax.Array,
    value: jax.Array,
    slots: Slots,
    learning_rate: jax.Array,
    step: jax.Array,
    hyper: Hyperparameters,
) -> tuple[jax.Array, Slots]:
    """Step along the negative gradient. The learning rate is part of the momentum, so that a change
    takes effect gradually.
    """
    if not slots:
        return value - learning_rate * gradient, {}
    momentum = hyper.momentum * slots["momentum"] - learning_rate * gradient
    move = hyper.momentum * momentum - learning_rate * gradient if hyper.nesterov else momentum
    return value + move, {"momentum": momentum}


class SGD(Optimizer):
    """Stochastic gradient descent, optionally with momentum.

    Args:
        learning_rate: A number, a `LearningRateSchedule` or a function.
        momentum: The momentum: the fraction of the last step that is repeated, from 0 to 1.
        nesterov: Whether to use Nesterov momentum.
        **options: Arguments of all optimizers; see `Optimizer`.

    Example:
        >>> w = podium.Variable([1.0, 2.0])
        >>> optimizer = podium.optimizers.SGD(0.1, momentum=0.9)
        >>> for _ in range(2):
        ...     optimizer.apply([podium.Tensor([1.0, -1.0])], [w])
        >>> w.numpy()
        array([0.71, 2.29], dtype=float32)
    """

    _hyper = ("momentum", "nesterov")

    def __init__(
        self,
        learning_rate: LearningRate = 0.01,
        momentum: float = 0.0,
        nesterov: bool = False,
        **options: Unpack[OptimizerOptions],
    ):
        super().__init__(learning_rate, **options)
        self.momentum = check_number("momentum", momentum, 0, 1)
        self.nesterov = bool(nesterov)

    def _rule_of(self, variable: Variable) -> Rule:
        return sgd

    def _slot_groups(self) -> list[tuple[str, ...]]:
        return [("momentum",)] if self.momentum else []
