"""Adagrad and Adadelta: steps divided by the root of all squared gradients so far, or of recent
ones.
"""

from __future__ import annotations

from typing import Unpack

import jax
import jax.numpy as jnp

from podium import initializers
from podium.core import Variable
from podium.core.internal import check_number
from podium.optimizers._learning_rate import LearningRate
from podium.optimizers._optimizer import Optimizer, OptimizerOptions
from podium.optimizers._update_math import Hyperparameters, Rule, Slots


def adagrad(
    gradient: jax.Array,
    value: jax.Array,
    slots: Slots,
    learning_rate: jax.Array,
    step: jax.Array,
    hyper: Hyperparameters,
) -> tuple[jax.Array, Slots]:
    """Divide by the root of the sum of all squared gradients."""
    accumulator = slots["accumulator"] + jnp.square(gradient)
    return value - learning_rate * gradient / jnp.sqrt(accumulator + hyper.epsilon), {
        "accumulator": accumulator
    }


class Adagrad(Optimizer):
    """Divides each step by the root of the sum of all squared gradients: rare features keep large
    steps.

    Args:
        learning_rate: A number, a `LearningRateSchedule` or a function.
        initial_accumulator_value: Where the sums start, at least 0.
        epsilon: A small constant for numerical stability.
        **options: Arguments of all optimizers; see `Optimizer`.

    Example:
        >>> w = podium.Variable([1.0])
        >>> optimizer = podium.optimizers.Adagrad(0.1, initial_accumulator_value=0.0)
        >>> optimizer.apply([podium.Tensor([4.0])], [w])
        >>> w.numpy()
        array([0.9], dtype=float32)
    """

    _hyper = ("initial_accumulator_value", "epsilon")

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        initial_accumulator_value: float = 0.1,
        epsilon: float = 1e-7,
        **options: Unpack[OptimizerOptions],
    ):
        super().__init__(learning_rate, **options)
        self.initial_accumulator_value = check_number(
            "initial_accumulator_value", initial_accumulator_value, 0
        )
        self.epsilon = check_number("epsilon", epsilon, 0)

    def _rule_of(self, variable: Variable) -> Rule:
        return adagrad

    def _slot_groups(self) -> list[tuple[str, ...]]:
        return [("accumulator",)]

    def _make_slot(self, variable: Variable, name: str) -> Variable | None:
        first = self.initial_accumulator_value if name == "accumulator" else 0.0
        return self.add_variable_from_reference(variable, name, initializers.Constant(first))


def adadelta(
    gradient: jax.Array,
    value: jax.Array,
    slots: Slots,
    learning_rate: jax.Array,
    step: jax.Array,
    hyper: Hyperparameters,
) -> tuple[jax.Array, Slots]:
    """Scale steps by the root mean square of recent steps over that of recent gradients."""
    rho, epsilon = hyper.rho, hyper.epsilon
    squares = rho * slots["accumulated_grad"] + (1 - rho) * jnp.square(gradient)
    moves = slots["accumulated_delta_var"]
    move = jnp.sqrt(moves + epsilon) * gradient / jnp.sqrt(squares + epsilon)
    moves = rho * moves + (1 - rho) * jnp.square(move)
    return value - learning_rate * move, {
        "accumulated_grad": squares,
        "accumulated_delta_var": moves,
    }


class Adadelta(Optimizer):
    """Steps in the units of the weights: scaled by recent steps, divided by recent gradients.

    Args:
        learning_rate: A number, a schedule or a function; 1.0 is the paper's.
        rho: The share of the old means at each update, from 0 to 1.
        epsilon: A small constant for numerical stability.
        **options: Arguments of all optimizers; see `Optimizer`.

    Example:
        >>> w = podium.Variable([1.0])
        >>> podium.optimizers.Adadelta(1.0, epsilon=1e-4).apply([podium.Tensor([4.0])], [w])
        >>> w.numpy().round(4)
        array([0.9553], dtype=float32)
    """

    _hyper = ("rho", "epsilon")

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        rho: float = 0.95,
        epsilon: float = 1e-7,
        **options: Unpack[OptimizerOptions],
    ):
        super().__init__(learning_rate, **options)
        self.rho = check_number("rho", rho, 0, 1)
        self.epsilon = check_number("epsilon", epsilon, 0)

    def _rule_of(self, variable: Variable) -> Rule:
        return adadelta

    def _slot_groups(self) -> list[tuple[str, ...]]:
        return [("accumulated_grad", "accumulated_delta_var")]
