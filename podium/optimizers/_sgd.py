"""SGD: down the gradient, with momentum if wanted."""

from __future__ import annotations

from typing import Any, Unpack

from podium.optimizers._argument_checks import number
from podium.optimizers._optimizer import Optimizer, Options


def sgd(
    gradient: Any, value: Any, slots: dict, learning_rate: Any, step: Any, hyper: Any
) -> tuple[Any, dict]:
    """Step down the gradient. The learning rate is part of the momentum, so a change of it takes
    hold slowly.
    """
    if not slots:
        return value - learning_rate * gradient, {}
    momentum = hyper.momentum * slots["momentum"] - learning_rate * gradient
    move = hyper.momentum * momentum - learning_rate * gradient if hyper.nesterov else momentum
    return value + move, {"momentum": momentum}


class SGD(Optimizer):
    """Stochastic gradient descent, with momentum if wanted.

    Args:
        learning_rate: A number, a schedule or a function.
        momentum: The share of the last move that is made again, from 0 to 1.
        nesterov: Whether to look ahead along the momentum.
        **options: What all optimizers take; see `Optimizer`.

    Example:
        >>> w = podium.Variable([1.0, 2.0])
        >>> optimizer = podium.optimizers.SGD(0.1, momentum=0.9)
        >>> for _ in range(2):
        ...     optimizer.apply([podium.Tensor([1.0, -1.0])], [w])
        >>> w.numpy()
        array([0.71, 2.29], dtype=float32)
    """

    _rule = staticmethod(sgd)
    _hyper = ("momentum", "nesterov")

    def __init__(
        self,
        learning_rate: Any = 0.01,
        momentum: float = 0.0,
        nesterov: bool = False,
        **options: Unpack[Options],
    ):
        super().__init__(learning_rate, **options)
        self.momentum = number("momentum", momentum, 0, 1)
        self.nesterov = bool(nesterov)

    def _slot_groups(self) -> list[tuple[str, ...]]:
        return [("momentum",)] if self.momentum else []
